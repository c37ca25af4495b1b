// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/batched/options.hpp>
#include "matrix/counter_hash.hpp"

#include "batched/solve_context.hpp"

namespace prekond::impl::batched {

/// BiCGSTAB with the preconditioner on the right, by the recurrences of krylov/bicgstab.hpp.
/// ```
/// z = M^-1 p   v = A z   alpha = (r^, r) / (r^, v)   x += alpha z   s = r - alpha v
/// y = M^-1 s   t = A y   omega = (t, s) / (t, t)     x += omega y   r = s - omega t
/// beta = (r^, r) / (r^, r)_old alpha / omega         p = r + beta (p - omega v)
/// ```
/// s overwrites r, and y overwrites z.
///
/// Cost of an iteration: five steps with a barrier, and those of M^-1.
struct BicgstabMethod {
  static constexpr BatchedMethod kind = BatchedMethod::bicgstab;
  static constexpr bool needs_symmetric = false, restarts = true;
  enum { product, second_product, residual, direction, shadow, preconditioned };
  static constexpr int spare = second_product;
  static constexpr int num_vectors(bool, bool identity) { return identity ? 5 : 6; }

  template <class Context>
  KOKKOS_FUNCTION static void iterate(const Context& context) {
    using Scalar = typename Context::scalar_type;
    using Real = real_type_t<Scalar>;
    constexpr bool pointwise = Context::precond_type::is_pointwise,
                   identity = Context::precond_type::is_identity;
    const int n = context.size();
    Scalar *x = context.x, *v = context.vector(product), *t = context.vector(second_product),
           *r = context.vector(residual);
    Scalar *p = context.vector(direction), *r0 = context.vector(shadow);
    Scalar *z = identity ? p : context.vector(preconditioned), *y = identity ? r : z;
    const auto add_rho = [&](int i, Scalar* sums) {
      sums[0] += conjugate(r0[i]) * r[i];
      sums[1] += conjugate(r[i]) * r[i];
    };
    Scalar rho[2];
    begin_shadow(context, r, r0);
    update_and_sum<Scalar>(
        context.lane_group, n, rho, [](int) {}, add_rho);
    const double norm_of_shadow = Kokkos::sqrt(
        static_cast<double>(sum_elements<Real>(context.lane_group, n, [&](int i) { return abs2(r0[i]); })));
    bool on = context.goes_on(real_part(rho[1]), is_finite(rho[0]), breakdown_of(rho, norm_of_shadow));
    Scalar beta = 0, omega = 0;
    for (bool first = true; on; first = false) {
      for_elements(context.lane_group, n, [&](int i) {
        const Scalar p_i = first ? r[i] : r[i] + beta * (p[i] - omega * v[i]);
        p[i] = p_i;
        if constexpr (pointwise && !identity) z[i] = context.precondition_at(i, p_i);
      });
      context.precondition(p, z);
      const Scalar sigma =
          multiply_and_sum<Scalar>(context.lane_group, context.a, z, v,
                                   [&](int i, const Scalar& v_i) { return conjugate(r0[i]) * v_i; });
      const Scalar alpha = ratio_or_zero<Scalar>(rho[0], sigma);
      const Real ss = sum_elements<Real>(context.lane_group, n, [&](int i) {
        if (alpha != Scalar(0)) {
          r[i] -= alpha * v[i];
          x[i] += alpha * z[i];
        }
        if constexpr (pointwise && !identity) y[i] = context.precondition_at(i, r[i]);
        return abs2(r[i]);
      });
      context.precondition(r, y);
      Scalar ts[2];
      omega_dots(context, y, r, t, ts);
      const bool half = static_cast<double>(ss) <= context.stopping.target2();
      const Scalar step = half ? Scalar(0) : ratio_or_zero<Scalar>(ts[0], ts[1]);
      update_and_sum<Scalar>(
          context.lane_group, n, rho,
          [&](int i) {
            if (step == Scalar(0)) return;
            x[i] += step * y[i];
            r[i] -= step * t[i];
          },
          add_rho);
      context.stopping.count_iteration();
      StopReason breakdown = breakdown_of(rho, norm_of_shadow);
      if (stopping::omega_vanishes<Real>(static_cast<double>(Kokkos::abs(ts[0])), static_cast<double>(ss),
                                         static_cast<double>(real_part(ts[1]))))
        breakdown = StopReason::breakdown_omega;
      if (sigma == Scalar(0)) breakdown = StopReason::breakdown_pivot;
      const bool finite = is_finite(rho[0]) && is_finite(sigma) && is_finite(ts[0]) && is_finite(ts[1]);
      on = context.goes_on(real_part(rho[1]), finite, breakdown);
      // alpha is (r^, r)_old / sigma, so that beta has no (r^, r)_old.
      omega = ts[0] / ts[1];
      beta = rho[0] / sigma / omega;
    }
  }

 private:
  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION static StopReason breakdown_of(const Scalar (&rho)[2], double norm_of_shadow) {
    const double size = norm_of_shadow * Kokkos::sqrt(static_cast<double>(real_part(rho[1])));
    const bool vanishes =
        stopping::rho_vanishes<real_type_t<Scalar>>(static_cast<double>(Kokkos::abs(rho[0])), size);
    return vanishes ? StopReason::breakdown_rho : stopping::no_breakdown;
  }

  /// r^ = r, or after a breakdown the random numbers of krylov/bicgstab.hpp.
  template <class Context, class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION static void begin_shadow(const Context& context, const Scalar* r, Scalar* r0) {
    if (context.stopping.breakdowns() == 0)
      return for_elements(context.lane_group, context.size(), [&](int i) { r0[i] = r[i]; });
    using Real = real_type_t<Scalar>;
    constexpr std::uint64_t seed = 2026;
    const std::uint64_t key = counter_hash(seed, static_cast<std::uint64_t>(context.size()));
    const auto number = [key](int i, std::uint64_t part) {
      return static_cast<Real>(2 * unit_interval(counter_hash(key, static_cast<std::uint64_t>(i), part)) - 1);
    };
    for_elements(context.lane_group, context.size(), [&](int i) {
      if constexpr (is_complex<Scalar>)
        r0[i] = Scalar(number(i, 0), number(i, 1));
      else
        r0[i] = number(i, 0);
    });
  }

  /// t = A y, (t, s) and (t, t)
  template <class Context, class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION static void omega_dots(const Context& context, const Scalar* y, const Scalar* s,
                                                     Scalar* t, Scalar (&ts)[2]) {
    const auto add = [&](int i, Scalar* sums) {
      sums[0] += conjugate(t[i]) * s[i];
      sums[1] += conjugate(t[i]) * t[i];
    };
    if (context.a.rows_are_long()) {
      multiply(context.lane_group, context.a, y, t);
      update_and_sum<Scalar>(
          context.lane_group, context.size(), ts, [](int) {}, add);
    } else {
      update_and_sum<Scalar>(
          context.lane_group, context.size(), ts,
          [&](int i) { t[i] = context.a.template row_product<Scalar>(i, y); }, add);
    }
  }
};

}  // namespace prekond::impl::batched
