// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/batched/options.hpp>
#include "matrix/counter_hash.hpp"

#include "batched/work.hpp"

namespace prekond::impl::batched {

/// BiCGSTAB with the preconditioner on the right, as krylov/bicgstab.hpp has it.
/// ```
/// z = M^-1 p   v = A z   alpha = (r^, r) / (r^, v)   x += alpha z   s = r - alpha v
/// y = M^-1 s   t = A y   omega = (t, s) / (t, t)     x += omega y   r = s - omega t
/// beta = (r^, r) / (r^, r)_old alpha / omega         p = r + beta (p - omega v)
/// ```
/// s takes r's place, y takes z's. Five steps with a barrier an iteration, and those of M^-1.
struct BicgstabMethod {
  static constexpr BatchedMethod kind = BatchedMethod::bicgstab;
  static constexpr bool needs_symmetric = false, restarts = true;
  enum { product, second_product, residual, direction, shadow, preconditioned };
  static constexpr int spare = second_product;
  static constexpr int num_vectors(bool, bool identity) { return identity ? 5 : 6; }

  template <class Work>
  KOKKOS_FUNCTION static void iterate(const Work& w) {
    using Scalar = typename Work::scalar_type;
    using Real = real_type_t<Scalar>;
    constexpr bool pointwise = Work::inverse_type::is_pointwise, identity = Work::inverse_type::is_identity;
    const int n = w.size();
    Scalar *x = w.x, *v = w.vector(product), *t = w.vector(second_product), *r = w.vector(residual);
    Scalar *p = w.vector(direction), *r0 = w.vector(shadow);
    Scalar *z = identity ? p : w.vector(preconditioned), *y = identity ? r : z;
    const auto add_rho = [&](int i, Scalar* sums) {
      sums[0] += conjugate(r0[i]) * r[i];
      sums[1] += conjugate(r[i]) * r[i];
    };
    Scalar rho[2];
    begin_shadow(w, r, r0);
    update_and_sum<Scalar>(
        w.lane_group, n, rho, [](int) {}, add_rho);
    const double norm_of_shadow = Kokkos::sqrt(
        static_cast<double>(sum_elements<Real>(w.lane_group, n, [&](int i) { return abs2(r0[i]); })));
    bool on = w.goes_on(real_part(rho[1]), is_finite(rho[0]), rho_vanishes(rho, norm_of_shadow));
    Scalar beta = 0, omega = 0;
    for (bool first = true; on; first = false) {
      for_elements(w.lane_group, n, [&](int i) {
        const Scalar p_i = first ? r[i] : r[i] + beta * (p[i] - omega * v[i]);
        p[i] = p_i;
        if constexpr (pointwise && !identity) z[i] = w.inverse_at(i, p_i);
      });
      w.precondition(p, z);
      const Scalar sigma = multiply_and_sum<Scalar>(
          w.lane_group, w.a, z, v, [&](int i, const Scalar& v_i) { return conjugate(r0[i]) * v_i; });
      const Scalar alpha = ratio_or_zero<Scalar>(rho[0], sigma);
      const Real ss = sum_elements<Real>(w.lane_group, n, [&](int i) {
        if (alpha != Scalar(0)) {
          r[i] -= alpha * v[i];
          x[i] += alpha * z[i];
        }
        if constexpr (pointwise && !identity) y[i] = w.inverse_at(i, r[i]);
        return abs2(r[i]);
      });
      w.precondition(r, y);
      Scalar ts[2];
      omega_dots(w, y, r, t, ts);
      const bool half = static_cast<double>(ss) <= w.course.target2();
      const Scalar step = half ? Scalar(0) : ratio_or_zero<Scalar>(ts[0], ts[1]);
      update_and_sum<Scalar>(
          w.lane_group, n, rho,
          [&](int i) {
            if (step == Scalar(0)) return;
            x[i] += step * y[i];
            r[i] -= step * t[i];
          },
          add_rho);
      w.course.count_iteration();
      StopReason breakdown = rho_vanishes(rho, norm_of_shadow);
      if (omega_vanishes<Scalar>(ts, ss)) breakdown = StopReason::breakdown_omega;
      if (sigma == Scalar(0)) breakdown = StopReason::breakdown_pivot;
      const bool finite = is_finite(rho[0]) && is_finite(sigma) && is_finite(ts[0]) && is_finite(ts[1]);
      on = w.goes_on(real_part(rho[1]), finite, breakdown);
      // alpha is (r^, r)_old / sigma, so that beta has no (r^, r)_old.
      omega = ts[0] / ts[1];
      beta = rho[0] / sigma / omega;
    }
  }

 private:
  /// r^ = r, or random numbers after a breakdown: those of krylov/bicgstab.hpp.
  template <class Work, class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION static void begin_shadow(const Work& w, const Scalar* r, Scalar* r0) {
    if (w.course.breakdowns() == 0) return for_elements(w.lane_group, w.size(), [&](int i) { r0[i] = r[i]; });
    using Real = real_type_t<Scalar>;
    constexpr std::uint64_t seed = 2026;
    const std::uint64_t key = counter_hash(seed, static_cast<std::uint64_t>(w.size()));
    const auto number = [key](int i, std::uint64_t part) {
      return static_cast<Real>(2 * unit_interval(counter_hash(key, static_cast<std::uint64_t>(i), part)) - 1);
    };
    for_elements(w.lane_group, w.size(), [&](int i) {
      if constexpr (is_complex<Scalar>)
        r0[i] = Scalar(number(i, 0), number(i, 1));
      else
        r0[i] = number(i, 0);
    });
  }

  /// t = A y, (t, s) and (t, t)
  template <class Work, class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION static void omega_dots(const Work& w, const Scalar* y, const Scalar* s,
                                                     Scalar* t, Scalar (&ts)[2]) {
    const auto add = [&](int i, Scalar* sums) {
      sums[0] += conjugate(t[i]) * s[i];
      sums[1] += conjugate(t[i]) * t[i];
    };
    if (w.a.rows_are_long()) {
      multiply(w.lane_group, w.a, y, t);
      update_and_sum<Scalar>(
          w.lane_group, w.size(), ts, [](int) {}, add);
    } else {
      update_and_sum<Scalar>(
          w.lane_group, w.size(), ts, [&](int i) { t[i] = w.a.template row_product<Scalar>(i, y); }, add);
    }
  }

  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION static StopReason rho_vanishes(const Scalar (&rho)[2], double norm_of_shadow) {
    constexpr double epsilon = static_cast<double>(Kokkos::Experimental::epsilon_v<real_type_t<Scalar>>);
    const double size = norm_of_shadow * Kokkos::sqrt(static_cast<double>(real_part(rho[1])));
    return static_cast<double>(Kokkos::abs(rho[0])) > epsilon * size ? Course<Scalar>::nothing
                                                                     : StopReason::breakdown_rho;
  }
  /// Is t orthogonal to s, but for rounding, or zero?
  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION static bool omega_vanishes(const Scalar (&ts)[2], real_type_t<Scalar> ss) {
    constexpr double epsilon = static_cast<double>(Kokkos::Experimental::epsilon_v<real_type_t<Scalar>>);
    const double cosine =
        static_cast<double>(Kokkos::abs(ts[0])) /
        (Kokkos::sqrt(static_cast<double>(ss)) * Kokkos::sqrt(static_cast<double>(real_part(ts[1]))));
    return !(cosine > 4 * epsilon);
  }
};

}  // namespace prekond::impl::batched
