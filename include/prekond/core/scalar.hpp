// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The functions of a scalar that one code for real and complex matrices needs. For a real one every function
/// here is the identity, or what the real code says anyway, so that it computes the same bits as without
/// them.
#include <Kokkos_Core.hpp>

namespace prekond {

namespace impl {
template <class Scalar>
struct scalar_parts {
  static constexpr bool is_complex = false;
  using real_type = Scalar;
  template <class Real>
  using with = Real;
};
template <class T>
struct scalar_parts<Kokkos::complex<T>> {
  static constexpr bool is_complex = true;
  using real_type = T;
  template <class Real>
  using with = Kokkos::complex<Real>;
};
}  // namespace impl

template <class Scalar>
inline constexpr bool is_complex = impl::scalar_parts<Scalar>::is_complex;

/// The type of a scalar's real part and magnitude.
template <class Scalar>
using real_type_t = typename impl::scalar_parts<Scalar>::real_type;

/// Real, or complex<Real> where `Scalar` is complex: a scalar of the same kind in another precision.
template <class Scalar, class Real>
using in_precision_t = typename impl::scalar_parts<Scalar>::template with<Real>;

/// Multiplications and additions of a complex product with accumulation for one of a real one.
template <class Scalar>
inline constexpr double flops_of_scalar = is_complex<Scalar> ? 4 : 1;

template <class T>
KOKKOS_FORCEINLINE_FUNCTION constexpr T conjugate(const T& x) {
  return x;
}
template <class T>
KOKKOS_FORCEINLINE_FUNCTION constexpr Kokkos::complex<T> conjugate(const Kokkos::complex<T>& x) {
  return Kokkos::complex<T>(x.real(), -x.imag());
}

template <class T>
KOKKOS_FORCEINLINE_FUNCTION constexpr T real_part(const T& x) {
  return x;
}
template <class T>
KOKKOS_FORCEINLINE_FUNCTION constexpr T real_part(const Kokkos::complex<T>& x) {
  return x.real();
}

template <class T>
KOKKOS_FORCEINLINE_FUNCTION constexpr T imaginary_part(const T&) {
  return T(0);
}
template <class T>
KOKKOS_FORCEINLINE_FUNCTION constexpr T imaginary_part(const Kokkos::complex<T>& x) {
  return x.imag();
}

/// |x|^2
template <class T>
KOKKOS_FORCEINLINE_FUNCTION constexpr T abs2(const T& x) {
  return x * x;
}
template <class T>
KOKKOS_FORCEINLINE_FUNCTION constexpr T abs2(const Kokkos::complex<T>& x) {
  return x.real() * x.real() + x.imag() * x.imag();
}

/// The real part of x y, without the other's products.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION constexpr T real_of_product(const T& x, const T& y) {
  return x * y;
}
template <class T>
KOKKOS_FORCEINLINE_FUNCTION constexpr T real_of_product(const Kokkos::complex<T>& x,
                                                        const Kokkos::complex<T>& y) {
  return x.real() * y.real() - x.imag() * y.imag();
}

template <class T>
KOKKOS_FORCEINLINE_FUNCTION bool is_finite(const T& x) {
  return Kokkos::isfinite(x);
}
template <class T>
KOKKOS_FORCEINLINE_FUNCTION bool is_finite(const Kokkos::complex<T>& x) {
  return Kokkos::isfinite(x.real()) && Kokkos::isfinite(x.imag());
}

/// The number in double precision: double, or complex<double>.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION in_precision_t<Scalar, double> to_double(const Scalar& x) {
  return static_cast<in_precision_t<Scalar, double>>(x);
}

}  // namespace prekond
