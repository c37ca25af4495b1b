// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Magnitudes that an arg max compares.
#include <prekond/core/scalar.hpp>

namespace prekond::impl::adaptive_fsai {

/// The magnitude of x as an integer of the same order.
KOKKOS_FORCEINLINE_FUNCTION unsigned magnitude(float x) {
  return Kokkos::bit_cast<unsigned>(x) & 0x7fffffffu;
}
KOKKOS_FORCEINLINE_FUNCTION unsigned long long magnitude(double x) {
  return Kokkos::bit_cast<unsigned long long>(x) & 0x7fffffffffffffffull;
}

/// |x| without a square that leaves the range, and of a real number exactly its own. (By hypot the setup in
/// double precision took 8.0 s instead of 4.5, magnetic3d:48 with preset=medium on two threads.)
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Real modulus(const Kokkos::complex<Real>& x) {
  constexpr Real least = sizeof(Real) == 4 ? Real(0x1p-100) : Real(0x1p-960);
  constexpr Real most = 1 / least;
  const Real square = abs2(x);
  if (square > least && square < most) return Kokkos::sqrt(square);
  const Real a = Kokkos::abs(x.real()), b = Kokkos::abs(x.imag());
  const Real larger = a < b ? b : a, ratio = (a < b ? a : b) / larger;
  return larger > 0 ? larger * Kokkos::sqrt(1 + ratio * ratio) : larger;
}
KOKKOS_FORCEINLINE_FUNCTION unsigned magnitude(const Kokkos::complex<float>& x) {
  return magnitude(modulus(x));
}
KOKKOS_FORCEINLINE_FUNCTION unsigned long long magnitude(const Kokkos::complex<double>& x) {
  return magnitude(modulus(x));
}

}  // namespace prekond::impl::adaptive_fsai
