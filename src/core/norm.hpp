// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The 2-norm of a vector, where neither its square nor the norm itself has to be a number of the vector's
/// type.
#include <prekond/core/impl/block_reduce.hpp>
#include <prekond/core/reducer.hpp>
#include <prekond/core/scalar.hpp>

#include <cmath>
#include <limits>

namespace prekond {

/// A non-negative number fraction 2^exponent whose exponent no type limits: fraction in [1/2, 1), or 0, or
/// NaN.
struct ExtendedNumber {
  double fraction = 0;
  int exponent = 0;

  /// value 2^exponent
  static ExtendedNumber of(double value, int exponent = 0) {
    if (!std::isfinite(value)) return {std::numeric_limits<double>::quiet_NaN(), 0};
    int own = 0;
    const double fraction = std::frexp(value, &own);
    return {fraction, fraction == 0 ? 0 : own + exponent};
  }
  bool is_finite() const { return std::isfinite(fraction); }
  bool is_zero() const { return fraction == 0; }
  ExtendedNumber times_power(int power) const { return {fraction, is_zero() ? 0 : exponent + power}; }
  /// The nearest double: infinity or 0 where it is out of range.
  double value() const { return std::ldexp(fraction, exponent); }
};

/// a / b as a double: infinity or 0 where that is out of range.
inline double ratio(const ExtendedNumber& a, const ExtendedNumber& b) {
  return std::ldexp(a.fraction / b.fraction, a.exponent - b.exponent);
}

namespace impl {

/// 2^k for an exponent of normal numbers.
template <class Real>
constexpr Real power_of_two(int k) {
  Real power = 1;
  for (; k > 0; --k) power *= Real(2);
  for (; k < 0; ++k) power /= Real(2);
  return power;
}

/// Numbers below `small` and above `big` are scaled before they are squared (Blue, ACM Trans. Math. Softw. 4,
/// 1978; with the bounds of Anderson, Algorithm 978, ACM Trans. Math. Softw. 44, 2017).
template <class Real>
struct NormRanges {
  using Limits = std::numeric_limits<Real>;
  static constexpr int big_power = -((Limits::max_exponent + Limits::digits) / 2);
  static constexpr int small_power = (Limits::digits - Limits::min_exponent + 1) / 2;
  static constexpr Real big = power_of_two<Real>((Limits::max_exponent - Limits::digits + 1) / 2);
  static constexpr Real small = power_of_two<Real>((Limits::min_exponent - 1) / 2);
  static constexpr Real big_scale = power_of_two<Real>(big_power);
  static constexpr Real small_scale = power_of_two<Real>(small_power);
};

/// Four sums: squares of what is small and scaled up, of the ordinary, of what is big and scaled down, and
/// the number of entries that are not finite.
template <class Scalar, class Space>
struct NormBody {
  using Real = real_type_t<Scalar>;
  VectorView<const Scalar, Space> v;

  KOKKOS_FUNCTION void operator()(std::int64_t i, Scalar* sum) const {
    const Scalar x = v(i);
    if (!is_finite(x)) {
      sum[3] += Scalar(1);
      return;
    }
    add(real_part(x), sum);
    if constexpr (is_complex<Scalar>) add(imaginary_part(x), sum);
  }
  KOKKOS_FUNCTION static void add(Real x, Scalar* sum) {
    const Real size = x < Real(0) ? -x : x;
    if (size > NormRanges<Real>::big)
      sum[2] += Scalar((size * NormRanges<Real>::big_scale) * (size * NormRanges<Real>::big_scale));
    else if (size < NormRanges<Real>::small)
      sum[0] += Scalar((size * NormRanges<Real>::small_scale) * (size * NormRanges<Real>::small_scale));
    else
      sum[1] += Scalar(size * size);
  }
};

}  // namespace impl

/// The sums of `start_norm` as a norm; NaN where an entry is not finite.
template <class Real>
ExtendedNumber norm_of_sums(double small, double ordinary, double big, double not_finite) {
  using Ranges = impl::NormRanges<Real>;
  if (!(not_finite == 0)) return {std::numeric_limits<double>::quiet_NaN(), 0};
  const double big_scale = std::ldexp(1.0, Ranges::big_power),
               small_scale = std::ldexp(1.0, Ranges::small_power);
  if (big > 0) {
    if (ordinary > 0) big += (ordinary * big_scale) * big_scale;
    return ExtendedNumber::of(std::sqrt(big), -Ranges::big_power);
  }
  if (!(small > 0)) return ExtendedNumber::of(std::sqrt(ordinary));
  if (!(ordinary > 0)) return ExtendedNumber::of(std::sqrt(small), -Ranges::small_power);
  const double sum = std::sqrt(ordinary), part = std::sqrt(small) / small_scale;
  return ExtendedNumber::of(sum * std::sqrt(1 + (part / sum) * (part / sum)));
}

/// The parts of ||v||_2, in sums(0) to sums(3), to be added up over all processes: one kernel that reads v
/// once, and the same bits for any number of threads. For vectors without entries out of the ordinary,
/// sums(1) is (v, v).
template <class Scalar, class Space>
void start_norm(const Space& space, const char* label, VectorView<const Scalar, Space> v,
                VectorView<Scalar, Space> sums, const ReduceWorkspace<Scalar, Space>& workspace) {
  block_reduce<4>(space, label, static_cast<std::int64_t>(v.extent(0)), workspace, sums,
                  impl::NormBody<Scalar, Space>{v});
}

/// ||v||_2 over all processes of the reducer, for entries of any size; NaN where an entry is not finite.
/// Allocates a little and waits for the result.
template <class Scalar, class Space>
ExtendedNumber norm(const Space& space, VectorView<const Scalar, Space> v,
                    const Reducer<Scalar, Space>& reducer = {}) {
  const ReduceWorkspace<Scalar, Space> workspace(space, static_cast<std::int64_t>(v.extent(0)));
  const auto sums = allocate<Vector<Scalar, Space>>(space, "prekond::norm::sums", 4);
  start_norm<Scalar, Space>(space, "prekond::norm", v, sums, workspace);
  reducer.sum(space, sums);
  Scalar host[4];
  Kokkos::deep_copy(
      space, Kokkos::View<Scalar*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(host, 4),
      sums);
  space.fence("prekond::norm");
  return norm_of_sums<real_type_t<Scalar>>(real_part(host[0]), real_part(host[1]), real_part(host[2]),
                                           real_part(host[3]));
}

}  // namespace prekond
