// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <Kokkos_Core.hpp>

#include <type_traits>

namespace prekond::impl {

/// The unsigned number of so many bytes, void where there is none.
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

}  // namespace prekond::impl
