// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/views.hpp>
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/matrix/csr_matrix.hpp>

#include <cstdint>
#include <type_traits>

namespace prekond::impl::amg {

/// Vectors of a near null space at most.
inline constexpr int most_vectors = 32;

/// The aggregates of the smoothed prolongator W that a node's rows keep: the `most` with the largest blocks
/// in the Frobenius norm, of equal ones the first, its own among them whatever its block is; no zero blocks,
/// nor such that are not finite. A pattern by nodes.
///
/// `nodes`: W's by nodes; the rows of a node and the columns of an aggregate are whole blocks. `q`: the
/// tentative prolongator, whose columns say which aggregate is a node's own. Cost: a reading of W, and of the
/// norms of a node's row for each of them. Fences.
template <class Scalar, class Space>
CsrGraph<Space> largest_aggregates(const Space& space, const CsrView<Scalar, Space>& w,
                                   const std::type_identity_t<CsrGraphView<Space>>& nodes,
                                   const CsrView<Scalar, Space>& q, int most);

/// P: W without the blocks that P's pattern does not have, which are added to those of the own aggregates,
///
///   p_iJ = w_iJ + sum_{K not in P's row} w_iK R_K R_J^-1,  J the aggregate of row i's node,
///
/// with R the coarser level's near null space: P R = W R, where R_J is regular. To a column nothing is added
/// where R_J's diagonal entry is at most 1e-3 of the length of R_J's column: the vectors nearly depend on
/// each other in that aggregate, and 1 / r_cc would make large entries of rounding. R_J are upper triangles,
/// as tentative_prolongator makes them, of at most 32 vectors. Cost: a reading of W for each column of R. The
/// same bits whatever the threads. Does not fence: the arguments have to outlive the kernel.
///
/// The same as leaving weak couplings out of A_F by adding them to the diagonal (Vanek, Mandel, Brezina,
/// Computing 56 (1996)), but by P's entries.
template <class Scalar, class Space>
void truncate(const Space& space, const CsrView<Scalar, Space>& w, const CsrView<Scalar, Space>& q,
              const std::type_identity_t<MultiVectorView<const Scalar, Space>>& r,
              const CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>& p);

}  // namespace prekond::impl::amg
