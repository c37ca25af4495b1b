// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_graph.hpp>

#include <cstdint>
#include <type_traits>

namespace prekond {

/// The lower triangle of the pattern of S^k, for a square S whose diagonal is taken as present: row i has the
/// columns j <= i that at most k steps along entries of S lead to from i; sorted, the diagonal last.
///
/// k = 0 is the diagonal, k = 1 the lower triangle of S. Columns >= num_rows are skipped. No lower power is
/// made: each row is found by a breadth-first search of depth k, whose steps may lead above the diagonal,
/// once to count and once to fill. The result has the same bits whatever the threads and `slab_bytes`.
///
/// Cost: twice a reading of the rows of S within k - 1 steps of each row, of the last ones only up to
/// the diagonal; then the sort. Memory: the result, one int a row, and workspaces of `slab_bytes` together. A
/// row that reaches more columns than its workspace holds is searched again in one four times larger, until
/// it fits; a single workspace may exceed `slab_bytes`. On the host each thread has a workspace, of which
/// only the first size follows `slab_bytes`, and num_rows ints. Fences a few times.
///
/// \pre sorted rows
/// \throws InputError for k < 0, and, before it is allocated, for a result of more than `max_bytes`
///
/// It is the power of the pattern of static FSAI: Bernaschi et al. (2019), section 4.1.
template <class Space>
CsrGraph<Space> lower_power(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& s, int k,
                            std::int64_t max_bytes, std::int64_t slab_bytes);

/// The whole pattern of S^k, as `lower_power` makes its lower triangle: (I + |S|)^k, of the columns below
/// num_rows.
///
/// \throws InputError for k < 0, and, before it is allocated, for a result of more than `max_bytes` (for k =
/// 1 where S's own columns would take more)
///
/// It is the a priori pattern of SPAI: Chow, SIAM J. Sci. Comput. 21 (2000).
template <class Space>
CsrGraph<Space> power(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& s, int k,
                      std::int64_t max_bytes, std::int64_t slab_bytes);

}  // namespace prekond
