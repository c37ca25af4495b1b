// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <Kokkos_Macros.hpp>

#include <cstddef>

namespace prekond::impl {

/// The next n elements of a workspace at `base`, whose arrays begin at multiples of 16 bytes; `end` moves
/// past them. Null where `base` is null, that is while sizes are counted.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T* place_array(char* base, std::size_t& end, std::size_t n) {
  const std::size_t begin = end;
  end += (n * sizeof(T) + 15) / 16 * 16;
  return base ? reinterpret_cast<T*>(base + begin) : nullptr;
}

}  // namespace prekond::impl
