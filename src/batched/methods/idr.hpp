// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/batched/options.hpp>

#include "batched/methods/basis.hpp"
#include "batched/work.hpp"
#include "dense/idr_system.hpp"

namespace prekond::impl::batched {

/// IDR(s) by biorthogonal vectors with the preconditioner on the right, as krylov/idr.hpp has it, with the
/// same random shadow vectors, which all systems share. A step has s / 4 sums and seven other barriers, the
/// step that reduces the dimension 2 + s / 4 and five.
///
/// Source: van Gijzen, Sonneveld, ACM Trans. Math. Softw. 38 (2011), algorithm 913.
struct IdrMethod {
  static constexpr BatchedMethod kind = BatchedMethod::idr;
  static constexpr bool needs_symmetric = false, restarts = true;
  enum { small, preconditioned, direction, residual, u_block, g_block };
  static constexpr int spare = direction;
  KOKKOS_FUNCTION static constexpr int num_vectors(bool, bool) { return 6; }
  static std::int64_t piece_length(int k, std::int64_t n, const BatchedOptions& options, bool identity) {
    const std::int64_t s = MethodSettings::of(options, n).shadow;
    if (k == small) return IdrSystem<double>::length(s);
    if (k == preconditioned) return identity ? 0 : n;
    return k == u_block || k == g_block ? s * n : n;
  }

  template <class Work>
  KOKKOS_FUNCTION static void iterate(const Work& w) {
    using Scalar = typename Work::scalar_type;
    using Real = real_type_t<Scalar>;
    const int n = w.size(), s = w.settings.shadow;
    const VectorBlock<const Scalar> p{w.shadow + (w.stopping.breakdowns() > 0 ? std::int64_t(s) * n : 0), n};
    const VectorBlock<Scalar> u{w.vector(u_block), n}, g{w.vector(g_block), n};
    const IdrSystem<Scalar> small_system{w.vector(small), s};
    const Scalar* r = w.vector(residual);
    for_elements(w.lane_group, n, [&](int i) {
      for (int k = 0; k < s; ++k) u[k][i] = g[k][i] = Scalar(0);
    });
    Real rr = sum_elements<Real>(w.lane_group, n, [&](int i) { return abs2(r[i]); });
    p.project(w.lane_group, s, r, small_system.f());
    w.lane_group.once([&] { small_system.start(); });
    Scalar omega = 1;
    bool on = w.goes_on(rr, true);
    while (on) {
      for (int k = 0; on && k < s; ++k) on = step(w, p, u, g, small_system, k, omega, rr);
      if (on) on = reduce(w, p, small_system, omega, rr);
    }
  }

 private:
  /// Along u_k: v = r - sum_(i >= k) c_i g_i, u_k = omega M^-1 v + sum_(i >= k) c_i u_i, g_k = A u_k, both
  /// without their parts along p_0 .. p_(k-1); x += beta u_k, r -= beta g_k.
  template <class Work, class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION static bool step(const Work& w, const VectorBlock<const Scalar>& p,
                                               const VectorBlock<Scalar>& u, const VectorBlock<Scalar>& g,
                                               const IdrSystem<Scalar>& small_system, int k,
                                               const Scalar& omega, real_type_t<Scalar>& rr) {
    using Real = real_type_t<Scalar>;
    const int n = w.size(), s = w.settings.shadow;
    Scalar *x = w.x, *v = w.vector(direction), *r = w.vector(residual);
    const Scalar *c = small_system.c(), *alpha = small_system.alpha();
    for_elements(w.lane_group, n, [&](int i) { v[i] = r[i] - g.combined(i, k, s, c); });
    const Scalar* z = w.preconditioned(v, w.vector(preconditioned));
    for_elements(w.lane_group, n, [&](int i) { u[k][i] = omega * z[i] + u.combined(i, k, s, c); });
    multiply(w.lane_group, w.a, u[k], g[k]);
    p.project(w.lane_group, s, g[k], small_system.projection());
    w.lane_group.once([&] { small_system.step(k, small_system.projection()); });
    const Scalar beta = small_system.beta();
    rr = sum_elements<Real>(w.lane_group, n, [&](int i) {
      g[k][i] -= g.combined(i, 0, k, alpha);
      u[k][i] -= u.combined(i, 0, k, alpha);
      if (beta != Scalar(0)) {
        x[i] += beta * u[k][i];
        r[i] -= beta * g[k][i];
      }
      return abs2(r[i]);
    });
    w.stopping.count_iteration();
    const Scalar pivot = small_system.pivot();
    return w.goes_on(rr, is_finite(pivot),
                     pivot == Scalar(0) ? StopReason::breakdown_pivot : stopping::no_breakdown);
  }

  /// t = A M^-1 r; x += omega M^-1 r, r -= omega t.
  template <class Work, class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION static bool reduce(const Work& w, const VectorBlock<const Scalar>& p,
                                                 const IdrSystem<Scalar>& small_system, Scalar& omega,
                                                 real_type_t<Scalar>& rr) {
    using Real = real_type_t<Scalar>;
    const int n = w.size();
    Scalar *x = w.x, *t = w.vector(direction), *r = w.vector(residual);
    const Scalar* z = w.preconditioned(r, w.vector(preconditioned));
    multiply(w.lane_group, w.a, z, t);
    Scalar dots[2];  // (t, r), (t, t)
    several_sums<Scalar, 2>(w.lane_group, n, dots, [&](int i, Scalar* sums) {
      sums[0] += conjugate(t[i]) * r[i];
      sums[1] += conjugate(t[i]) * t[i];
    });
    omega = small_system.enlarged_omega(dots[0], dots[1], rr, static_cast<Real>(w.settings.kappa));
    const Scalar step = omega;
    // Where z is r itself, x before r.
    rr = sum_elements<Real>(w.lane_group, n, [&](int i) {
      if (step != Scalar(0)) {
        x[i] += step * z[i];
        r[i] -= step * t[i];
      }
      return abs2(r[i]);
    });
    p.project(w.lane_group, w.settings.shadow, r, small_system.f());
    w.lane_group.once([&] { small_system.solve(0); });
    w.stopping.count_iteration();
    const bool broken = dots[0] == Scalar(0) || real_part(dots[1]) == Real(0);
    return w.goes_on(rr, is_finite(dots[0]) && is_finite(dots[1]),
                     broken ? StopReason::breakdown_omega : stopping::no_breakdown);
  }
};

}  // namespace prekond::impl::batched
