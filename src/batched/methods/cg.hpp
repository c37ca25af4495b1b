// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/batched/options.hpp>

#include "batched/solve_context.hpp"

namespace prekond::impl::batched {

/// Conjugate gradients by the recurrences of krylov/cg.hpp with two reductions.
/// ```
/// q = A p     alpha = (r, z) / (p, q)     x += alpha p     r -= alpha q     z = M^-1 r
/// beta = (r, z) / (r, z)_old              p = z + beta p
/// ```
/// A pointwise z is not stored.
///
/// Cost of an iteration: four steps with a barrier, and those of M^-1.
struct CgMethod {
  static constexpr BatchedMethod kind = BatchedMethod::cg;
  static constexpr bool needs_symmetric = true, restarts = false;
  enum { direction, product, residual, preconditioned };
  static constexpr int spare = product;
  static constexpr int num_vectors(bool pointwise, bool) { return pointwise ? 3 : 4; }

  template <class Context>
  KOKKOS_FUNCTION static void iterate(const Context& context) {
    using Scalar = typename Context::scalar_type;
    using Real = real_type_t<Scalar>;
    constexpr bool pointwise = Context::precond_type::is_pointwise;
    const int n = context.size();
    Scalar *x = context.x, *p = context.vector(direction), *q = context.vector(product),
           *r = context.vector(residual);
    Scalar* z = pointwise ? r : context.vector(preconditioned);
    const auto z_at = [&](int i) -> Scalar {
      if constexpr (pointwise)
        return context.precondition_at(i, r[i]);
      else
        return z[i];
    };
    const auto add_dots = [&](int i, Scalar* sums) {
      sums[0] += conjugate(r[i]) * z_at(i);
      sums[1] += conjugate(r[i]) * r[i];
    };
    Scalar dots[2];
    context.precondition(r, z);
    update_and_sum<Scalar>(
        context.lane_group, n, dots, [](int) {}, add_dots);
    Real rz = 0, curvature = 1;
    for (bool first = true; judge(context, dots, curvature); first = false) {
      const Real beta = first ? Real(0) : real_part(dots[0]) / rz;
      rz = real_part(dots[0]);
      for_elements(context.lane_group, n, [&](int i) { p[i] = first ? z_at(i) : z_at(i) + beta * p[i]; });
      curvature = real_part(
          multiply_and_sum<Scalar>(context.lane_group, context.a, p, q,
                                   [&](int i, const Scalar& q_i) { return conjugate(p[i]) * q_i; }));
      const Real step = rz / curvature;
      const Real alpha = curvature > Real(0) && Kokkos::isfinite(step) ? step : Real(0);
      const auto update = [&](int i) {
        x[i] += alpha * p[i];
        r[i] -= alpha * q[i];
      };
      if constexpr (pointwise) {
        update_and_sum<Scalar>(context.lane_group, n, dots, update, add_dots);
      } else {
        for_elements(context.lane_group, n, update);
        context.precondition(r, z);
        update_and_sum<Scalar>(
            context.lane_group, n, dots, [](int) {}, add_dots);
      }
      context.stopping.count_iteration();
    }
  }

 private:
  template <class Context, class Scalar, class Real>
  KOKKOS_FORCEINLINE_FUNCTION static bool judge(const Context& context, const Scalar (&dots)[2],
                                                Real curvature) {
    const Real rz = real_part(dots[0]);
    StopReason breakdown = stopping::no_breakdown;
    if (!(rz > Real(0)))
      breakdown = StopReason::breakdown_preconditioner_not_spd;
    else if (!(curvature > Real(0)))
      breakdown = StopReason::breakdown_not_spd;
    return context.goes_on(real_part(dots[1]), Kokkos::isfinite(rz) && Kokkos::isfinite(curvature),
                           breakdown);
  }
};

}  // namespace prekond::impl::batched
