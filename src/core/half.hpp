// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// 16-bit numbers to store values in. They convert and do nothing else, in a few integer operations and at
/// most one product, with the same bits on every backend. (Kokkos's half_t and bhalf_t are float in disguise
/// on most hosts.)
#include <Kokkos_Core.hpp>
#include <cstdint>

namespace prekond {

/// IEEE binary16: 5 bits of exponent, 10 of mantissa; from 2^-24 (2^-14 normal) to 65504. Rounds to nearest,
/// ties to even. It cannot hold numbers beyond its range, infinities or NaN. \pre |value| < 65520
class Half {
 public:
  Half() = default;
  KOKKOS_FORCEINLINE_FUNCTION explicit Half(float value) {
    const unsigned all = Kokkos::bit_cast<unsigned>(value), bits = all & 0x7fffffffu;
    // Subnormal ones are multiples of 2^-24, which is the last bit of 1/2.
    const unsigned rounded =
        bits < 0x38800000u ? Kokkos::bit_cast<unsigned>(Kokkos::bit_cast<float>(bits) + 0.5f) - 0x3f000000u
                           : (bits - (112u << 23) + 0xfffu + (bits >> 13 & 1u)) >> 13;
    m_bits = static_cast<std::uint16_t>((all >> 16 & 0x8000u) | rounded);
  }
  KOKKOS_FORCEINLINE_FUNCTION explicit Half(double value) : Half(static_cast<float>(value)) {}
  KOKKOS_FORCEINLINE_FUNCTION explicit operator float() const {
    const unsigned bits = (m_bits & 0x8000u) << 16 | (m_bits & 0x7fffu) << 13;
    return Kokkos::bit_cast<float>(bits) * 0x1p112f;
  }
  KOKKOS_FORCEINLINE_FUNCTION explicit operator double() const { return static_cast<float>(*this); }

 private:
  std::uint16_t m_bits;
};

/// bfloat16: the upper half of a float, with its range and 7 bits of mantissa. Rounds to nearest, ties to
/// even. \pre not NaN
class BFloat16 {
 public:
  BFloat16() = default;
  KOKKOS_FORCEINLINE_FUNCTION explicit BFloat16(float value) {
    const unsigned bits = Kokkos::bit_cast<unsigned>(value);
    m_bits = static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
  }
  KOKKOS_FORCEINLINE_FUNCTION explicit BFloat16(double value) : BFloat16(static_cast<float>(value)) {}
  KOKKOS_FORCEINLINE_FUNCTION explicit operator float() const {
    return Kokkos::bit_cast<float>(static_cast<unsigned>(m_bits) << 16);
  }
  KOKKOS_FORCEINLINE_FUNCTION explicit operator double() const { return static_cast<float>(*this); }

 private:
  std::uint16_t m_bits;
};

/// A complex number to store, as two such numbers.
template <class Real>
class ComplexPair {
 public:
  ComplexPair() = default;
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION explicit ComplexPair(const Kokkos::complex<T>& value)
      : m_real(value.real()), m_imag(value.imag()) {}
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION explicit operator Kokkos::complex<T>() const {
    return Kokkos::complex<T>(static_cast<T>(m_real), static_cast<T>(m_imag));
  }

 private:
  Real m_real;
  Real m_imag;
};

}  // namespace prekond
