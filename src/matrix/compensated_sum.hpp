// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/impl/multiply_add.hpp>
#include <prekond/core/scalar.hpp>

namespace prekond::impl {

/// A real sum and the rounding errors of its additions and products, which are exact: sum + error is as good
/// as a sum in twice the precision. Only the sum of those errors is rounded: by at most `partial_errors`
/// times half an epsilon (a running error bound).
///
/// Source: Ogita, Rump, Oishi, SIAM J. Sci. Comput. 26 (2005), algorithm 5.3 (Dot2).
template <class Real>
struct CompensatedReal {
  Real sum = 0, error = 0, partial_errors = 0;

  KOKKOS_FORCEINLINE_FUNCTION void add_error(const Real& x) {
    error += x;
    partial_errors += Kokkos::fabs(error);
  }
  KOKKOS_FORCEINLINE_FUNCTION void add(const Real& x) {
    const Real next = sum + x, part = next - sum;
    add_error((sum - (next - part)) + (x - part));
    sum = next;
  }
  KOKKOS_FORCEINLINE_FUNCTION void add_product(const Real& a, const Real& b) {
    // The addition of zero keeps a compiler from fusing the product with the sum that it goes into.
    const Real product = multiply_add(a, b, Real(-0.0));
    add_error(Kokkos::fma(a, b, -product));
    add(product);
  }
  /// The error, made so much larger that sum + error is no smaller than what rounding took from it: digits
  /// that are lost do not look like a small sum.
  KOKKOS_FUNCTION Real safe_error() const {
    const Real bound = Kokkos::Experimental::epsilon_v<Real> / 2 * partial_errors;
    return error + (sum + error < 0 ? -bound : bound);
  }
};

/// The same of real or complex numbers.
template <class Scalar>
struct CompensatedSum {
  using Real = real_type_t<Scalar>;
  static constexpr int num_parts = is_complex<Scalar> ? 2 : 1;
  CompensatedReal<Real> parts[num_parts];

  KOKKOS_DEFAULTED_FUNCTION CompensatedSum() = default;
  KOKKOS_FUNCTION CompensatedSum(const Scalar& sum, const Scalar& error) {
    parts[0] = {real_part(sum), real_part(error), 0};
    if constexpr (is_complex<Scalar>) parts[1] = {imaginary_part(sum), imaginary_part(error), 0};
  }
  KOKKOS_FUNCTION void add_product(const Scalar& a, const Scalar& b) {
    if constexpr (is_complex<Scalar>) {
      parts[0].add_product(a.real(), b.real());
      parts[0].add_product(-a.imag(), b.imag());
      parts[1].add_product(a.real(), b.imag());
      parts[1].add_product(a.imag(), b.real());
    } else {
      parts[0].add_product(a, b);
    }
  }
  /// += factor other, for a factor that is a power of two, or minus one.
  KOKKOS_FUNCTION void add(const Real& factor, const CompensatedSum& other) {
    for (int p = 0; p < num_parts; ++p) {
      parts[p].add(factor * other.parts[p].sum);
      parts[p].add_error(factor * other.parts[p].error);
      parts[p].partial_errors += Kokkos::fabs(factor) * other.parts[p].partial_errors;
    }
  }
  KOKKOS_FUNCTION CompensatedSum& operator+=(const CompensatedSum& other) {
    add(Real(1), other);
    return *this;
  }
  KOKKOS_FUNCTION Scalar sum() const {
    if constexpr (is_complex<Scalar>)
      return Scalar(parts[0].sum, parts[1].sum);
    else
      return parts[0].sum;
  }
  KOKKOS_FUNCTION Scalar safe_error() const {
    if constexpr (is_complex<Scalar>)
      return Scalar(parts[0].safe_error(), parts[1].safe_error());
    else
      return parts[0].safe_error();
  }
};

}  // namespace prekond::impl

template <class Scalar>
struct Kokkos::reduction_identity<prekond::impl::CompensatedSum<Scalar>> {
  KOKKOS_FORCEINLINE_FUNCTION static prekond::impl::CompensatedSum<Scalar> sum() { return {}; }
};
