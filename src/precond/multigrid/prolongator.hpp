// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/operator.hpp>
#include <prekond/core/preconditioner.hpp>
#include <prekond/core/reducer.hpp>
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/matrix/csr_matrix.hpp>

#include <cstdint>
#include <type_traits>

namespace prekond::impl::amg {

/// The entries of A between strongly coupled nodes, of `unknowns` rows each, and within nodes, with the whole
/// diagonal: what A_F keeps of A. Columns >= num_rows are left out. Fences.
template <class Scalar, class Space>
CsrGraph<Space> filtered_pattern(const Space& space, const CsrView<Scalar, Space>& a,
                                 const std::type_identity_t<CsrGraphView<Space>>& strong, int unknowns);

/// A_F on its pattern: a^F_ij = a_ij, a^F_ii = a_ii + the sum of what A_F has not. Cost: two passes over A.
template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> filtered_matrix(
    const Space& space, const CsrView<Scalar, Space>& a, const CsrGraph<Space>& pattern);

/// The bounds that the rows of D^-1 F, D = diag(F), give for its eigenvalues.
struct RowSums {
  double most = 0;  ///< max_i sum_j |f_ij| / d_i, of the rows below
  std::int64_t unusable =
      0;  ///< rows without a positive finite d_i, or with other entries that are not finite

  /// No eigenvalue is larger than 2, which most graphs come near to.
  bool is_dominant() const { return unusable == 0 && most <= 2.01; }
  /// F is a diagonal matrix with a positive diagonal.
  bool is_diagonal() const { return unusable == 0 && most == 1; }
};

/// Columns >= num_rows are left out. Cost: one reading of F. Fences.
template <class Scalar, class Space>
RowSums row_sums(const Space& space, const CsrView<Scalar, Space>& f);

/// An estimate of the largest eigenvalue of M^-1 A: 1.15 times the largest Ritz value of ten Lanczos steps,
/// and where its residual is large the upper bound of twenty. It falls short where a larger eigenvalue is so
/// far from the first vector that the steps do not see it. \returns 0 where Lanczos's method fails. Cost: ten
/// products and applications, or thirty. Fences. Collective for products and sums over ranks.
template <class Scalar, class Space>
double estimated_largest_eigenvalue(const Space& space, const Operator<Scalar, Space>& a,
                                    const Preconditioner<Scalar, Space>& m,
                                    const Reducer<Scalar, Space>& reducer = {});

/// An estimate of the largest eigenvalue of D^-1 F, D = diag(F): the largest sum of a row, which is a bound,
/// and where rows are not diagonally dominant the one by Lanczos's method, if that is smaller, with
/// `products`, which has F in any format or precision. Where rows are unusable the sum is no bound, and the
/// estimate is taken if there is one. Cost: none, or that of the estimate. Fences. Collective for products
/// and sums over ranks, with the sums of all rows; of F, the rank's rows, only the diagonal is read.
template <class Scalar, class Space>
double largest_scaled_eigenvalue(const Space& space, const CsrView<Scalar, Space>& f,
                                 const Operator<Scalar, Space>& products, const RowSums& sums,
                                 const Reducer<Scalar, Space>& reducer = {});

/// P = Q - omega D^-1 (F Q), where P has the values of F Q before. Rows without a positive finite d_i are
/// those of Q.
///
/// \pre the columns of a row of Q are consecutive, and in P's row
template <class Scalar, class Space>
void smooth_prolongator(const Space& space, const CsrView<Scalar, Space>& f, double omega,
                        const CsrView<Scalar, Space>& q,
                        const CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>& p);

/// R = P^T on its pattern, which is there. Cost: a binary search in P's rows for each entry; on a host two
/// readings of P, in as many blocks of rows as there are threads, with an int a column for each.
template <class Scalar, class Space>
void write_transpose(const Space& space, const CsrView<Scalar, Space>& p,
                     const CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>& r);

}  // namespace prekond::impl::amg
