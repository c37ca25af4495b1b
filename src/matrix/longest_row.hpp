// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_graph.hpp>

#include <cstdint>

namespace prekond::impl {

struct LongestRow {
  std::int64_t length = 0;
  std::int64_t row = 0;  ///< the first of them
};

/// The longest row of a pattern whose rows have fewer than 2^31 entries. Cost: a reading of the row pointers.
/// Fences once.
template <class Space>
LongestRow longest_row(const Space& space, const VectorView<const std::size_t, Space>& row_ptrs);

}  // namespace prekond::impl
