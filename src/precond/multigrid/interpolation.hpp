// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/matrix/csr_matrix.hpp>
#include <prekond/sparse_product/spgemm.hpp>
#include "precond/multigrid/pmis.hpp"

#include <cstdint>
#include <type_traits>

namespace prekond::impl::amg {

/// The parts of A that interpolation reads.
template <class Scalar, class Space>
struct Influences {
  CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> strong;  ///< a_ij of strong influences
  Vector<double, Space> rest;  ///< a_ii and the weak entries of the row, added up
};

/// Cost: one reading of A, with a binary search for each strong entry. `unknown_of`: as of strong_influences.
/// Fences.
template <class Scalar, class Space>
Influences<Scalar, Space> influences(const Space& space, const CsrView<Scalar, Space>& a,
                                     const CsrGraph<Space>& strong,
                                     const std::type_identity_t<VectorView<const int, Space>>& unknown_of);

/// The patterns of one interpolation, which a later numeric phase keeps.
template <class Space>
struct InterpolationPatterns {
  CsrGraph<Space> extended;  ///< E
  CsrGraph<Space> direct;    ///< B
  CsrGraph<Space> product;   ///< E B
  CsrGraph<Space> cut;       ///< P

  std::int64_t bytes() const { return extended.bytes() + direct.bytes() + product.bytes() + cut.bytes(); }
};

/// Which rows of P there are, and what its columns are.
template <class Space>
struct InterpolationTarget {
  CoarseFine<Space> points;
  VectorView<const int, Space> wanted = {};  ///< rows with wanted(i) < 0 stay empty; empty: all are wanted
  bool is_numbered = true;                   ///< columns are coarse vertices' numbers, else their rows
};

/// Extended+i interpolation as a product of matrices, P = E B, and of each row the `most` largest entries in
/// magnitude, of equal ones the first, times a number that keeps the row's sum.
///
/// S_i are the strong influences of row i, C coarse, F fine, and with
///   q_k = sum_{j in S_k and C} a_kj,  D_i = a_ii + sum_{j not in S_i} a_ij + sum_{k in S_i and F} a_ik a_ki
///   / (q_k + a_ki)  (where i is not in S_k, a_ki = 0 in the last sum)
/// a fine row has
///   e_ii = -1 / D_i,  e_ik = -1 / D_i a_ik / (q_k + a_ki)  for k in S_i and F,  b_ij = a_ij  for j in S_i
///   and C
/// and a coarse one e_ii = b_ii = 1, so that P is the identity there:
///   p_ij = -1 / D_i (a_ij + sum_{k in S_i and F} a_ik a_kj / (q_k + a_ki)).
/// It differs from extended+i in that q_k has only the strong influences of k, and all of them, and weak
/// entries are never in the interpolation. a_ik of k with q_k + a_ki = 0 is added to D_i. Where D_i has not
/// the sign that makes the row's sum positive, it is the number that makes it 1. Rows of constants are kept
/// where the row of A has the sum 0. Unconnected rows, and fine ones that have no coarse vertex within two
/// strong influences, are empty: only the smoother serves them.
///
/// The patterns are found where `patterns` is empty, and else kept, that of P too: what is cut does not
/// depend on the new values then. Cost: three readings of the strong influences with a binary search an
/// entry, a product (`spgemm`), and a reading of it for each entry of a row. Same bits whatever the threads.
/// Fences.
///
/// Source: Li, Sjogreen, Yang, SIAM J. Sci. Comput. 43 (2021), MM-ext+i; extended+i: De Sterck, Falgout,
/// Nolting, Yang, Numer. Linear Algebra Appl. 15 (2008).
template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> interpolation(
    const Space& space, const Influences<Scalar, Space>& influences, const InterpolationTarget<Space>& target,
    int most, InterpolationPatterns<Space>& patterns);

/// In each row of W the `most` largest entries that are not zero, times a number that keeps the row's sum
/// where that is possible; `pattern` is found where it is empty, and else kept.
template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> cut_rows(const Space& space,
                                                                           const CsrView<Scalar, Space>& w,
                                                                           int most,
                                                                           CsrGraph<Space>& pattern);

/// A B, on the pattern that is known where there is one, and else it is found.
template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> product_on(const Space& space,
                                                                             const CsrView<Scalar, Space>& a,
                                                                             const CsrView<Scalar, Space>& b,
                                                                             CsrGraph<Space>& pattern);

}  // namespace prekond::impl::amg
