// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_graph.hpp>

#include <cstdint>

namespace prekond {

/// The entries of a pattern's longest row; 0 where it has no rows. Cost: a reading of the row pointers.
/// Fences.
template <class Space>
std::int64_t longest_row_length(const Space& space, const CsrGraphView<Space>& pattern);

}  // namespace prekond
