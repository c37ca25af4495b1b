// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Values that say by themselves that they are there: what is not is one pattern of bits, a NaN, and a value
/// is written and read as one word, so that who waits for it needs neither a flag nor a fence.
#include <Kokkos_Core.hpp>

#include "core/load_once.hpp"

namespace prekond::impl {

template <class Scalar>
using WordOf = UnsignedOf<sizeof(Scalar)>;
/// A value that is not there yet.
template <class Scalar>
inline constexpr WordOf<Scalar> missing_word = ~WordOf<Scalar>(0);

template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar missing_value() {
  constexpr WordOf<Scalar> word = missing_word<Scalar>;  // a static constant has no address on a device
  return Kokkos::bit_cast<Scalar>(word);
}
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION bool is_missing(Scalar value) {
  return Kokkos::bit_cast<WordOf<Scalar>>(value) == missing_word<Scalar>;
}

}  // namespace prekond::impl
