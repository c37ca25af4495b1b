// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "core/stopping_rules.hpp"

namespace prekond {

/// The small system of IDR(s): M = P^H G (s x s, lower triangular), f = P^H r and the coefficients of a step.
/// One thread or lane calls its functions.
///
/// Source: van Gijzen, Sonneveld, ACM Trans. Math. Softw. 38 (2011), algorithm 913.
template <class Scalar>
struct IdrSystem {
  Scalar* data;  ///< length(s) numbers
  int s;

  KOKKOS_FORCEINLINE_FUNCTION static constexpr std::int64_t length(std::int64_t s) {
    return s * s + 4 * s + 3;
  }
  KOKKOS_FORCEINLINE_FUNCTION Scalar& m(int i, int j) const { return data[i + j * s]; }
  KOKKOS_FORCEINLINE_FUNCTION Scalar* f() const { return data + s * s; }
  KOKKOS_FORCEINLINE_FUNCTION Scalar* c() const { return data + s * s + s; }
  KOKKOS_FORCEINLINE_FUNCTION Scalar* alpha() const { return data + s * s + 2 * s; }
  KOKKOS_FORCEINLINE_FUNCTION Scalar* projection() const { return data + s * s + 3 * s; }
  KOKKOS_FORCEINLINE_FUNCTION Scalar& beta() const { return data[s * s + 4 * s]; }
  KOKKOS_FORCEINLINE_FUNCTION Scalar& pivot() const { return data[s * s + 4 * s + 1]; }
  KOKKOS_FORCEINLINE_FUNCTION Scalar& omega() const { return data[s * s + 4 * s + 2]; }

  /// M = I and the first c, once f is set.
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

  /// From the projections p = P^H g of g = g_k: the alpha that make g orthogonal to p_0 .. p_(k-1), column k
  /// of M, its pivot M(k, k), beta and f; then c of the next step. Overwrites p.
  KOKKOS_FUNCTION void step(int k, Scalar* p) const {
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

  /// (t, r) / (t, t), enlarged to kappa ||r|| / ||t|| in magnitude where |cos(t, r)| < kappa. Where the
  /// cosine is 0, as for a (t, r) that was lost to rounding, omega is kappa ||r|| / ||t||, and (t, r) becomes
  /// the value that fits it.
  template <class Real>
  KOKKOS_FORCEINLINE_FUNCTION static Scalar enlarged_omega(Scalar& tr, const Scalar& tt, Real rr,
                                                           Real kappa) {
    Scalar omega = ratio_or_zero<Scalar>(tr, tt);
    const Real norms = Kokkos::sqrt(real_part(tt)) * Kokkos::sqrt(rr);
    const Real cosine = norms > Real(0) ? Kokkos::abs(tr) / norms : Real(0);
    if (cosine > Real(0) && cosine < kappa) {
      const Scalar larger = omega * (kappa / cosine);
      if (is_finite(larger)) omega = larger;
    } else if (cosine == Real(0) && norms > Real(0) && kappa > Real(0)) {
      const Scalar chosen(kappa * Kokkos::sqrt(rr) / Kokkos::sqrt(real_part(tt)));
      if (is_finite(chosen)) {
        omega = chosen;
        tr = omega * tt;
      }
    }
    return omega;
  }
};

}  // namespace prekond
