// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/views.hpp>

namespace prekond::impl::levels {

/// The level whose rows stand at `place`: level_ptrs(level) <= place < level_ptrs(level + 1).
template <class Space>
KOKKOS_FORCEINLINE_FUNCTION int level_at(const VectorView<const int, Space>& level_ptrs, std::int64_t place) {
  int level = 0, end = static_cast<int>(level_ptrs.extent(0)) - 1;
  while (end - level > 1) {
    const int middle = level + (end - level) / 2;
    if (level_ptrs(middle) <= place)
      level = middle;
    else
      end = middle;
  }
  return level;
}

}  // namespace prekond::impl::levels
