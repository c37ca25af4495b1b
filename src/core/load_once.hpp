// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

namespace prekond::impl {

/// The unsigned number with this number of bytes, void where there is none.
template <int Bytes>
using UnsignedOf = std::conditional_t<
    Bytes == 1, unsigned char,
    std::conditional_t<
        Bytes == 2, unsigned short,
        std::conditional_t<Bytes == 4, unsigned, std::conditional_t<Bytes == 8, unsigned long long, void>>>>;

/// An element that a kernel reads once, of a matrix say: with CUDA by a load that its caches evict first
/// (ld.global.cs), so that they keep the vector. A plain load elsewhere, and of more than 8 bytes.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T load_once(const T* from) {
#ifdef KOKKOS_ENABLE_CUDA
  if constexpr (std::is_trivially_copyable_v<T> && !std::is_void_v<UnsignedOf<sizeof(T)>>) {
    KOKKOS_IF_ON_DEVICE(
        (return Kokkos::bit_cast<T>(__ldcs(reinterpret_cast<const UnsignedOf<sizeof(T)>*>(from)));))
  }
#endif
  return *from;
}

/// Count elements, one next to the other. With CUDA doubles come in pairs where these are aligned: for lanes
/// that read in as many lines of the cache, each load takes as many steps.
template <int Count, class T>
KOKKOS_FORCEINLINE_FUNCTION void load_adjacent(const T* from, T* to) {
#ifdef KOKKOS_ENABLE_CUDA
  if constexpr (std::is_same_v<T, double> && Count % 2 == 0) {
    KOKKOS_IF_ON_DEVICE((if (reinterpret_cast<std::uintptr_t>(from) % sizeof(double2) == 0) {
      for (int k = 0; k < Count; k += 2) {
        const double2 pair = *reinterpret_cast<const double2*>(from + k);
        to[k] = pair.x;
        to[k + 1] = pair.y;
      }
      return;
    }))
  }
#endif
  for (int k = 0; k < Count; ++k) to[k] = from[k];
}

}  // namespace prekond::impl
