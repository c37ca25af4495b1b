// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_matrix.hpp>

#include <cstdint>

namespace prekond {

/// How a matching is found.
enum class MatchingMethod {
  automatic,         ///< the auction on a device, augmenting paths on a host
  auction,           ///< all rows without a column bid at once; what rows are left at the end is left to
                     ///< augmenting paths
  augmenting_paths,  ///< exact and sequential, on one host thread, on copies of the pattern and the
                     ///< logarithms
};

/// Parameters of maximum_product_matching.
struct MatchingOptions {
  MatchingMethod method = MatchingMethod::automatic;
  /// The slack of the auction: the product is at least exp(-n epsilon) times the largest one, and no scaled
  /// entry above exp(epsilon). From 1e-5 to 10.
  double epsilon = 0.01;
};

/// A column for each row, and the scaling that goes with it. Four bytes a row and two numbers.
template <class Space>
struct Matching {
  Vector<int, Space> column_of_row;    ///< a permutation of 0 .. num_rows - 1
  Vector<double, Space> row_scale;     ///< r
  Vector<double, Space> column_scale;  ///< c
  std::int64_t rank = 0;               ///< rows whose matched entry is there: the structural rank
  double log_product = 0;              ///< sum of log |a_i,c(i)| over these rows
  std::int64_t rounds = 0;             ///< of the auction
  std::int64_t rows_on_host = 0;       ///< rows that the auction left, or all, to augmenting paths
  double host_seconds = 0;             ///< of these paths, on one thread of the host, with the copies
};

/// The permutation that makes the product of |a_i,c(i)| as large as possible, and the scaling that the dual
/// variables give with it: r_i |a_ij| c_j <= 1 for all entries, and = 1 for the matched ones.
///
/// With the costs log(max_i |a_ij|) - log |a_ij| >= 0 it is a linear assignment problem (Duff and Koster).
/// Its dual variables have u_i + v_j <= cost_ij, with equality on the matching: r_i = exp(u_i), c_j =
/// exp(v_j) / max_i |a_ij|. Explicit zeros and entries that are not finite count as missing, and so do
/// columns >= num_rows, which are other ranks'. Where several matchings are best, entries near the
/// diagonal are preferred.
///
/// `augmenting_paths`: shortest augmenting paths by Dijkstra's method with a heap, from dual variables and a
/// matching on zero reduced costs. The largest product. O(n (nnz + n log n)) at worst, usually near O(nnz).
///
/// `auction`: every row without a column bids for that of least cost and price; a column takes the highest
/// bid, of equal ones the smallest row, and its price rises to it. Epsilon falls in steps, the prices stay.
/// Three kernels a round, a wait every eighth. A matrix of smaller structural rank has no end of bids: where
/// the rows without a column are no fewer after n / 128 rounds, and at least 64, augmenting paths go
/// on from the prices, on the host, and find the rest with the same bounds: the product is at least exp(-n
/// epsilon) times the largest, scaled entries are at most exp(epsilon). Costs and prices are integers, in
/// units of 2^-20, and both bounds hold but for 1e-5. At the end the prices fall to the least ones that go
/// with the matching, so that other entries of the scaled matrix are as small as they can be with columns as
/// they are (Bellman and Ford, at most 1000 sweeps over the entries; where that does not do the prices stay).
///
/// Where the structural rank is smaller than num_rows the matching has as many rows as any; the product is
/// not the largest of those. The other rows get the other columns, both in ascending order. A row without a
/// column is scaled to a largest entry of 1; rows and columns without entries have the scale 1. Scales are
/// kept in [1e-300, 1e300].
///
/// Same bits for any number of threads. Memory: 12 bytes an entry and 64 a row. Fences: as described,
/// and some for the phases.
///
/// \pre sorted rows \throws InputError for an epsilon that is out of its range
/// Sources: Duff and Koster, SIAM J. Matrix Anal. Appl. 22 (2001), sections 4 and 5; Bertsekas, Ann. Oper.
/// Res. 14 (1988), for the auction in Jacobi's form.
template <class Scalar, class Space>
Matching<Space> maximum_product_matching(const Space& space, const CsrView<Scalar, Space>& a,
                                         const MatchingOptions& options = {});

}  // namespace prekond
