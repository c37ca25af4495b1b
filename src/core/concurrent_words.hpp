// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Words that several threads read and write at once, where any order does.
#include <Kokkos_Core.hpp>

#include <type_traits>

namespace prekond::impl {

/// A word that the hardware reads and writes as a whole.
template <class T>
inline constexpr bool is_whole_word = std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8);

/// Reads a word that other threads of the kernel may write meanwhile: what was there at some time since the
/// kernel began, if need be an old value. `Kokkos::atomic_load` is a loop of compare-and-swaps on CUDA, which
/// moves the cache line from thread to thread; here it is a load.
///
/// \pre what is done with the value is right for any older one too, an atomic that follows say
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T concurrent_load(const T& word) {
  static_assert(is_whole_word<T>, "an aligned number of 4 or 8 bytes is read as a whole");
  return *static_cast<const volatile T*>(&word);
}

/// Writes a word that other threads of the kernel may read meanwhile, as a whole.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void concurrent_store(T& word, T value) {
  static_assert(is_whole_word<T>, "an aligned number of 4 or 8 bytes is written as a whole");
  *static_cast<volatile T*>(&word) = value;
}

/// Sets a word that only ever becomes `value`, in this kernel. Reads first: a line that all threads write is
/// slow, one that they all read is not.
///
/// \pre no thread of the kernel writes anything else to it
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void raise_flag(T& word, T value) {
  if (concurrent_load(word) != value) concurrent_store(word, value);
}

}  // namespace prekond::impl
