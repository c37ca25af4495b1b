// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Random numbers as functions of (seed, index), with the same bits on every machine and compiler: integers,
/// and floating-point formulas in which every multiply-add is an explicit fma, so that no compiler can
/// contract another.
#include <Kokkos_Core.hpp>
#include <cstdint>

namespace prekond::impl {

/// The finaliser of splitmix64.
KOKKOS_INLINE_FUNCTION constexpr std::uint64_t mix_bits(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

KOKKOS_INLINE_FUNCTION constexpr std::uint64_t counter_hash(std::uint64_t seed, std::uint64_t a) {
  return mix_bits(mix_bits(seed) ^ a);
}
KOKKOS_INLINE_FUNCTION constexpr std::uint64_t counter_hash(std::uint64_t seed, std::uint64_t a,
                                                            std::uint64_t b) {
  return mix_bits(counter_hash(seed, a) ^ b);
}

/// A multiple of 2^-53 in (0, 1].
KOKKOS_INLINE_FUNCTION double unit_interval(std::uint64_t hash) {
  return static_cast<double>((hash >> 11) + 1) * 0x1p-53;
}

/// 2^(a b), for |a b| < 1000: exponent and mantissa apart, the mantissa by the Taylor series of exp.
KOKKOS_INLINE_FUNCTION double exp2_of_product(double a, double b) {
  const double k = Kokkos::floor(Kokkos::fma(a, b, 0.5));
  const double t = Kokkos::fma(a, b, -k) * 0.6931471805599453;
  double mantissa = 1;
  for (int i = 14; i > 0; --i) mantissa = Kokkos::fma(t / i, mantissa, 1.0);
  return mantissa * Kokkos::bit_cast<double>((static_cast<std::int64_t>(k) + 1023) << 52);
}

/// log2(x) of a normal x > 0, by the series of atanh.
KOKKOS_INLINE_FUNCTION double log2_of(double x) {
  const std::int64_t bits = Kokkos::bit_cast<std::int64_t>(x);
  double exponent = static_cast<double>((bits >> 52) - 1023);
  double m = Kokkos::bit_cast<double>((bits & 0xfffffffffffff) | (std::int64_t(1023) << 52));
  if (m > 1.4142135623730951) {
    m /= 2;
    exponent += 1;
  }
  const double s = (m - 1) / (m + 1);
  const double s2 = s * s;
  double series = 0;
  for (int i = 27; i > 0; i -= 2) series = Kokkos::fma(s2, series, 1.0 / i);
  return Kokkos::fma(s * series, 2.8853900817779268, exponent);
}

}  // namespace prekond::impl
