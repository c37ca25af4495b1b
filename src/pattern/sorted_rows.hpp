// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/views.hpp>

#include <cstdint>

namespace prekond {

/// Rows sort by a number of 32 bits, and then by their index.
KOKKOS_INLINE_FUNCTION std::uint64_t sort_key(std::uint64_t number, std::uint64_t row) {
  return number << 32 | row;
}

/// The rows of the keys in ascending order. `keys` is sorted in place.
template <class Space>
Vector<int, Space> sorted_rows(const Space& space, const Vector<std::uint64_t, Space>& keys);

}  // namespace prekond
