// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/matrix/csr_matrix.hpp>

#include <cstdint>
#include <type_traits>

namespace prekond::impl::amg {

/// Of the smoothed prolongator W the aggregates that a node's rows keep: the `most` with the largest blocks
/// in Frobenius' norm, of equal ones the first, its own among them whatever its block is. A pattern by nodes.
///
/// `nodes`: W's by nodes; the rows of a node and the columns of an aggregate are whole blocks. `q`: the
/// tentative prolongator, whose columns say which aggregate is a node's own. Cost: a reading of W, and of the
/// norms of a node's row for each of them. Fences.
template <class Scalar, class Space>
CsrGraph<Space> largest_aggregates(const Space& space, const CsrView<Scalar, Space>& w,
                                   const std::type_identity_t<CsrGraphView<Space>>& nodes,
                                   const CsrView<Scalar, Space>& q, int most);

/// P: W without the blocks that P's pattern has not, which are added to those of the own aggregates,
///
///   p_iJ = w_iJ + sum_{K not in P's row} w_iK R_K R_J^-1,  J the aggregate of row i's node,
///
/// with R the coarser level's near null space: P R = W R, where R_J is not singular. Of a column of R_J whose
/// diagonal is zero, which Q is zero in, nothing is added. R_J are upper triangles, as tentative_prolongator
/// makes them. Cost: a reading of W for each column of R. The same bits whatever the threads.
///
/// The same as leaving weak couplings out of A_F by adding them to the diagonal (Vanek, Mandel, Brezina,
/// Computing 56 (1996)), but by P's entries.
template <class Scalar, class Space>
void truncate(const Space& space, const CsrView<Scalar, Space>& w, const CsrView<Scalar, Space>& q,
              const std::type_identity_t<MultiVectorView<const Scalar, Space>>& r,
              const CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>& p);

}  // namespace prekond::impl::amg
