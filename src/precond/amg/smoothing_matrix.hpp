// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
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

/// S = I - omega D^-1 A_F, and what omega was made of.
template <class Scalar, class Space>
struct SmoothingMatrix {
  CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> s;
  double lambda = 0;  ///< estimate of the largest eigenvalue of D^-1 A_F
};

/// S on the pattern of A_F: a^F_ij = a_ij, a^F_ii = a_ii + the sum of what A_F has not, D = diag(A_F), omega
/// = damping / lambda. lambda is 1.1 times what ten Lanczos steps find, and where these find nothing (A_F
/// D^-1 is not definite, say) max_i sum_j |a^F_ij| / |d_i|. Rows without a positive finite d_i are those of
/// I.
///
/// Cost: two passes over A, ten products with A_F. Fences.
template <class Scalar, class Space>
SmoothingMatrix<Scalar, Space> smoothing_matrix(const Space& space, const CsrView<Scalar, Space>& a,
                                                const CsrGraph<Space>& pattern, double damping);

}  // namespace prekond::impl::amg
