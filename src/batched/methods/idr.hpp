// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/batched/options.hpp>

#include "batched/methods/basis.hpp"
#include "batched/work.hpp"

namespace prekond::impl::batched {

/// The small systems of IDR(s): M = P^H G (s x s, lower triangular), f = P^H r, and the coefficients of a
/// step. Functions are called by one lane.
template <class Scalar>
struct SmallIdr {
  Scalar* data;
  int s;

  static std::int64_t length(std::int64_t s) { return s * s + 4 * s + 2; }
  KOKKOS_FORCEINLINE_FUNCTION Scalar& m(int i, int j) const { return data[i + j * s]; }
  KOKKOS_FORCEINLINE_FUNCTION Scalar* f() const { return data + s * s; }
  KOKKOS_FORCEINLINE_FUNCTION Scalar* c() const { return data + s * s + s; }
  KOKKOS_FORCEINLINE_FUNCTION Scalar* alpha() const { return data + s * s + 2 * s; }
  KOKKOS_FORCEINLINE_FUNCTION Scalar* projection() const { return data + s * s + 3 * s; }
  KOKKOS_FORCEINLINE_FUNCTION Scalar& beta() const { return data[s * s + 4 * s]; }
  KOKKOS_FORCEINLINE_FUNCTION Scalar& pivot() const { return data[s * s + 4 * s + 1]; }

  /// M = I; f is there.
  KOKKOS_FUNCTION void start() const {
    for (int i = 0; i < s; ++i)
      for (int j = 0; j < s; ++j) m(i, j) = i == j ? Scalar(1) : Scalar(0);
    solve(0);
  }

  /// M(k:s, k:s) c(k:s) = f(k:s)
  KOKKOS_FUNCTION void solve(int k) const {
    for (int i = k; i < s; ++i) {
      Scalar sum = f()[i];
      for (int j = k; j < i; ++j) sum -= m(i, j) * c()[j];
      c()[i] = ratio_or_zero<Scalar>(sum, m(i, i));
    }
  }

  /// From the projections P^H g of g = g_k: the alpha that make it orthogonal to p_0 .. p_(k-1), column k of
  /// M, beta, f; then the next step's c.
  KOKKOS_FUNCTION void step(int k) const {
    Scalar* p = projection();
    for (int i = 0; i < k; ++i) {
      alpha()[i] = ratio_or_zero<Scalar>(p[i], m(i, i));
      for (int l = i; l < s; ++l) p[l] -= alpha()[i] * m(l, i);
    }
    for (int l = k; l < s; ++l) m(l, k) = p[l];
    pivot() = m(k, k);
    beta() = ratio_or_zero<Scalar>(f()[k], m(k, k));
    for (int l = k + 1; l < s; ++l) f()[l] -= beta() * m(l, k);
    f()[k] = Scalar(0);
    if (k + 1 < s) solve(k + 1);
  }
};

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
    if (k == small) return SmallIdr<double>::length(s);
    if (k == preconditioned) return identity ? 0 : n;
    return k == u_block || k == g_block ? s * n : n;
  }

  template <class Work>
  KOKKOS_FUNCTION static void iterate(const Work& w) {
    using Scalar = typename Work::scalar_type;
    using Real = real_type_t<Scalar>;
    const int n = w.size(), s = w.settings.shadow;
    const VectorBlock<const Scalar> p{w.shadow + (w.course.breakdowns() > 0 ? std::int64_t(s) * n : 0), n};
    const VectorBlock<Scalar> u{w.vector(u_block), n}, g{w.vector(g_block), n};
    const SmallIdr<Scalar> small_system{w.vector(small), s};
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
                                               const SmallIdr<Scalar>& small_system, int k,
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
    w.lane_group.once([&] { small_system.step(k); });
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
    w.course.count_iteration();
    const Scalar pivot = small_system.pivot();
    return w.goes_on(rr, is_finite(pivot),
                     pivot == Scalar(0) ? StopReason::breakdown_pivot : Course<Scalar>::nothing);
  }

  /// t = A M^-1 r; x += omega M^-1 r, r -= omega t.
  template <class Work, class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION static bool reduce(const Work& w, const VectorBlock<const Scalar>& p,
                                                 const SmallIdr<Scalar>& small_system, Scalar& omega,
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
    omega = enlarged_omega(dots, rr, static_cast<Real>(w.settings.kappa));
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
    w.course.count_iteration();
    const bool broken = dots[0] == Scalar(0) || real_part(dots[1]) == Real(0);
    return w.goes_on(rr, is_finite(dots[0]) && is_finite(dots[1]),
                     broken ? StopReason::breakdown_omega : Course<Scalar>::nothing);
  }

  /// (t, r) / (t, t), enlarged where |cos(t, r)| < kappa. Where that is 0 it is kappa ||r|| / ||t||, as of a
  /// (t, r) that was rounded away, which is then set to what would have made it.
  template <class Scalar, class Real>
  KOKKOS_FORCEINLINE_FUNCTION static Scalar enlarged_omega(Scalar (&dots)[2], Real rr, Real kappa) {
    Scalar omega = ratio_or_zero<Scalar>(dots[0], dots[1]);
    const Real norms = Kokkos::sqrt(real_part(dots[1])) * Kokkos::sqrt(rr);
    const Real cosine = norms > Real(0) ? Kokkos::abs(dots[0]) / norms : Real(0);
    if (cosine > Real(0) && cosine < kappa) {
      const Scalar larger = omega * (kappa / cosine);
      if (is_finite(larger)) omega = larger;
    } else if (cosine == Real(0) && norms > Real(0) && kappa > Real(0)) {
      const Scalar chosen(kappa * Kokkos::sqrt(rr) / Kokkos::sqrt(real_part(dots[1])));
      if (is_finite(chosen)) {
        omega = chosen;
        dots[0] = omega * dots[1];
      }
    }
    return omega;
  }
};

}  // namespace prekond::impl::batched
