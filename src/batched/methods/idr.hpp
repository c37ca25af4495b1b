// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/batched/options.hpp>

#include "batched/methods/basis.hpp"
#include "batched/solve_context.hpp"
#include "dense/idr_system.hpp"

namespace prekond::impl::batched {

/// IDR(s) by biorthogonal vectors with the preconditioner on the right, as in krylov/idr.hpp, with the same
/// random shadow vectors, which all systems share.
///
/// Cost of a step: s / 4 sums over lanes and seven other barriers; 2 + s / 4 sums and five barriers for the
/// step that reduces the dimension.
///
/// Source: van Gijzen, Sonneveld, ACM Trans. Math. Softw. 38 (2011), algorithm 913.
struct IdrMethod {
  static constexpr BatchedMethod kind = BatchedMethod::idr;
  static constexpr bool needs_symmetric = false, restarts = true;
  enum { small, preconditioned, direction, residual, u_block, g_block };
  static constexpr int spare = direction;
  KOKKOS_FUNCTION static constexpr int num_vectors(bool, bool) { return 6; }
  static std::int64_t piece_length(int k, std::int64_t n, const BatchedOptions& options, bool identity) {
    const std::int64_t s = MethodSettings::of(options, n).shadow_dimension;
    if (k == small) return IdrSystem<double>::length(s);
    if (k == preconditioned) return identity ? 0 : n;
    return k == u_block || k == g_block ? s * n : n;
  }

  template <class Context>
  KOKKOS_FUNCTION static void iterate(const Context& context) {
    using Scalar = typename Context::scalar_type;
    using Real = real_type_t<Scalar>;
    const int n = context.size(), s = context.settings.shadow_dimension;
    const VectorBlock<const Scalar> p{
        context.shadow + (context.stopping.breakdowns() > 0 ? std::int64_t(s) * n : 0), n};
    const VectorBlock<Scalar> u{context.vector(u_block), n}, g{context.vector(g_block), n};
    const IdrSystem<Scalar> small_system{context.vector(small), s};
    const Scalar* r = context.vector(residual);
    for_elements(context.lane_group, n, [&](int i) {
      for (int k = 0; k < s; ++k) u[k][i] = g[k][i] = Scalar(0);
    });
    Real rr = sum_elements<Real>(context.lane_group, n, [&](int i) { return abs2(r[i]); });
    p.project(context.lane_group, s, r, small_system.f());
    context.lane_group.once([&] { small_system.start(); });
    Scalar omega = 1;
    bool on = context.goes_on(rr, true);
    while (on) {
      for (int k = 0; on && k < s; ++k) on = step(context, p, u, g, small_system, k, omega, rr);
      if (on) on = reduce(context, p, small_system, omega, rr);
    }
  }

 private:
  /// The step along u_k: v = r - sum_(i >= k) c_i g_i, u_k = omega M^-1 v + sum_(i >= k) c_i u_i, g_k = A
  /// u_k, both without their parts along p_0 .. p_(k-1); x += beta u_k, r -= beta g_k.
  template <class Context, class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION static bool step(const Context& context, const VectorBlock<const Scalar>& p,
                                               const VectorBlock<Scalar>& u, const VectorBlock<Scalar>& g,
                                               const IdrSystem<Scalar>& small_system, int k,
                                               const Scalar& omega, real_type_t<Scalar>& rr) {
    using Real = real_type_t<Scalar>;
    const int n = context.size(), s = context.settings.shadow_dimension;
    Scalar *x = context.x, *v = context.vector(direction), *r = context.vector(residual);
    const Scalar *c = small_system.c(), *alpha = small_system.alpha();
    for_elements(context.lane_group, n, [&](int i) { v[i] = r[i] - g.combined(i, k, s, c); });
    const Scalar* z = context.preconditioned(v, context.vector(preconditioned));
    for_elements(context.lane_group, n, [&](int i) { u[k][i] = omega * z[i] + u.combined(i, k, s, c); });
    multiply(context.lane_group, context.a, u[k], g[k]);
    p.project(context.lane_group, s, g[k], small_system.projection());
    context.lane_group.once([&] { small_system.step(k, small_system.projection()); });
    const Scalar beta = small_system.beta();
    rr = sum_elements<Real>(context.lane_group, n, [&](int i) {
      g[k][i] -= g.combined(i, 0, k, alpha);
      u[k][i] -= u.combined(i, 0, k, alpha);
      if (beta != Scalar(0)) {
        x[i] += beta * u[k][i];
        r[i] -= beta * g[k][i];
      }
      return abs2(r[i]);
    });
    context.stopping.count_iteration();
    const Scalar pivot = small_system.pivot();
    return context.goes_on(rr, is_finite(pivot),
                           pivot == Scalar(0) ? StopReason::breakdown_pivot : stopping::no_breakdown);
  }

  /// t = A M^-1 r; x += omega M^-1 r, r -= omega t.
  template <class Context, class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION static bool reduce(const Context& context, const VectorBlock<const Scalar>& p,
                                                 const IdrSystem<Scalar>& small_system, Scalar& omega,
                                                 real_type_t<Scalar>& rr) {
    using Real = real_type_t<Scalar>;
    const int n = context.size();
    Scalar *x = context.x, *t = context.vector(direction), *r = context.vector(residual);
    const Scalar* z = context.preconditioned(r, context.vector(preconditioned));
    multiply(context.lane_group, context.a, z, t);
    Scalar dots[2];  // (t, r), (t, t)
    several_sums<Scalar, 2>(context.lane_group, n, dots, [&](int i, Scalar* sums) {
      sums[0] += conjugate(t[i]) * r[i];
      sums[1] += conjugate(t[i]) * t[i];
    });
    omega = small_system.enlarged_omega(dots[0], dots[1], rr, static_cast<Real>(context.settings.kappa));
    const Scalar step = omega;
    // x comes before r, because z may be r itself.
    rr = sum_elements<Real>(context.lane_group, n, [&](int i) {
      if (step != Scalar(0)) {
        x[i] += step * z[i];
        r[i] -= step * t[i];
      }
      return abs2(r[i]);
    });
    p.project(context.lane_group, context.settings.shadow_dimension, r, small_system.f());
    context.lane_group.once([&] { small_system.solve(0); });
    context.stopping.count_iteration();
    const bool broken = dots[0] == Scalar(0) || real_part(dots[1]) == Real(0);
    return context.goes_on(rr, is_finite(dots[0]) && is_finite(dots[1]),
                           broken ? StopReason::breakdown_omega : stopping::no_breakdown);
  }
};

}  // namespace prekond::impl::batched
