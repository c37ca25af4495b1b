// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_graph.hpp>

namespace prekond {

/// All entries of the wanted rows of a square pattern (1 in `wanted`), and only the diagonal of the other
/// rows, where it is there. The pattern itself for an empty `wanted`. Sorted as the pattern is.
///
/// It is what a setup by rows has to do for a rank: the rows of other ranks that it reads are theirs to
/// solve. Cost: two readings of the pattern. Memory: the result. Fences once, inside the scan.
template <class Space>
CsrGraph<Space> keep_wanted_rows(const Space& space, const CsrGraph<Space>& pattern,
                                 const VectorView<const unsigned char, Space>& wanted);

/// The same by columns: the entries in wanted columns, and the diagonal.
template <class Space>
CsrGraph<Space> keep_wanted_columns(const Space& space, const CsrGraph<Space>& pattern,
                                    const VectorView<const unsigned char, Space>& wanted);

}  // namespace prekond
