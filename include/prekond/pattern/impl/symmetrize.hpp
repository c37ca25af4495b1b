// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_graph.hpp>

#include <type_traits>

namespace prekond {

/// The pattern of S + S^T, for a square S: (i, j) is in it where (i, j) or (j, i) is in S; sorted, num_rows x
/// num_rows. Columns >= num_rows are skipped. No diagonal entry is added.
///
/// An entry whose mirror is not stored is appended to the mirror's row, and the rows are sorted: S^T is not
/// formed, and a symmetric S is copied. The result has the same bits whatever the threads.
///
/// Cost: two readings of S with a binary search an entry; the sort. Memory: the result and one int a row.
/// Fences once, inside the scan.
///
/// \pre sorted rows
template <class Space>
CsrGraph<Space> symmetrize(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& s);

}  // namespace prekond
