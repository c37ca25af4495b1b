// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Powers of two to scale by, which is exact.
#include <prekond/core/views.hpp>

#include <cstdint>

namespace prekond::impl {

/// 2^-k with x 2^-k in [1, 2): scaling by it is exact.
KOKKOS_INLINE_FUNCTION float inverse_power_of_two(float x) {
  unsigned exponent = (Kokkos::bit_cast<unsigned>(x) >> 23) & 0xffu;
  exponent = exponent < 1 ? 1 : (exponent > 253 ? 253 : exponent);
  return Kokkos::bit_cast<float>((254u - exponent) << 23);
}
KOKKOS_INLINE_FUNCTION double inverse_power_of_two(double x) {
  std::uint64_t exponent = (Kokkos::bit_cast<std::uint64_t>(x) >> 52) & 0x7ffu;
  exponent = exponent < 1 ? 1 : (exponent > 2045 ? 2045 : exponent);
  return Kokkos::bit_cast<double>((2046ull - exponent) << 52);
}

}  // namespace prekond::impl
