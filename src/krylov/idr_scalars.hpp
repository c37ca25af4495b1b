// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The small systems of IDR(s), solved on the device by one thread, so that the host need not wait.
#include <prekond/core/scalar.hpp>
#include <prekond/core/views.hpp>

#include "run.hpp"

namespace prekond::krylov {

/// A column's M = P^H G (s x s, lower triangular), f = P^H r, and the coefficients of a step, in s^2 + 3 s +
/// 2 places.
template <class Scalar>
struct IdrState {
  Scalar* data;
  int s;

  static int size(int s) { return s * s + 3 * s + 2; }
  KOKKOS_FORCEINLINE_FUNCTION Scalar& m(int i, int j) const { return data[i + j * s]; }
  KOKKOS_FORCEINLINE_FUNCTION Scalar& f(int i) const { return data[s * s + i]; }
  KOKKOS_FORCEINLINE_FUNCTION Scalar& c(int i) const { return data[s * s + s + i]; }
  KOKKOS_FORCEINLINE_FUNCTION Scalar& alpha(int i) const { return data[s * s + 2 * s + i]; }
  KOKKOS_FORCEINLINE_FUNCTION Scalar& beta() const { return data[s * s + 3 * s]; }
  KOKKOS_FORCEINLINE_FUNCTION Scalar& omega() const { return data[s * s + 3 * s + 1]; }

  /// M(k:s, k:s) c(k:s) = f(k:s)
  KOKKOS_FUNCTION void solve(int k) const {
    for (int i = k; i < s; ++i) {
      Scalar sum = f(i);
      for (int j = k; j < i; ++j) sum -= m(i, j) * c(j);
      c(i) = ratio_or_zero<Scalar>(sum, m(i, i));
    }
  }
};

/// M = I, omega = 1, and f = P^H r; then the first c.
template <class Scalar, class Space>
struct IdrStart {
  IdrState<Scalar> state;
  VectorView<const Scalar, Space> projection;
  KOKKOS_FUNCTION void operator()(int) const {
    for (int i = 0; i < state.s; ++i) {
      for (int j = 0; j < state.s; ++j) state.m(i, j) = i == j ? Scalar(1) : Scalar(0);
      state.f(i) = projection(i);
    }
    state.omega() = Scalar(1);
    state.solve(0);
  }
};

/// From the projections P^H g of the new g = g_k: the alpha that make it orthogonal to p_0 .. p_(k-1), column
/// k of M, beta, f; then the next step's c. `pivot` is for the host: M(k, k).
template <class Scalar, class Space>
struct IdrStep {
  IdrState<Scalar> state;
  int k;
  VectorView<Scalar, Space> projection;
  VectorView<Scalar, Space> pivot;
  KOKKOS_FUNCTION void operator()(int) const {
    const int s = state.s;
    for (int i = 0; i < k; ++i) {
      state.alpha(i) = ratio_or_zero<Scalar>(projection(i), state.m(i, i));
      for (int l = i; l < s; ++l) projection(l) -= state.alpha(i) * state.m(l, i);
    }
    for (int l = k; l < s; ++l) state.m(l, k) = projection(l);
    state.beta() = ratio_or_zero<Scalar>(state.f(k), state.m(k, k));
    for (int l = k + 1; l < s; ++l) state.f(l) -= state.beta() * state.m(l, k);
    state.f(k) = Scalar(0);
    pivot(0) = state.m(k, k);
    if (k + 1 < s) state.solve(k + 1);
  }
};

/// omega = (t, r) / (t, t), enlarged where |cos(t, r)| < kappa. Where that is 0 it is kappa ||r|| / ||t||, as
/// of a (t, r) that was rounded away; (t, r) is then set to what would have made it.
template <class Scalar, class Space>
struct IdrOmega {
  IdrState<Scalar> state;
  VectorView<Scalar, Space> dots;            ///< (t, r), (t, t)
  VectorView<const Scalar, Space> residual;  ///< (r, r)
  double kappa;
  KOKKOS_FUNCTION void operator()(int) const {
    using Real = real_type_t<Scalar>;
    Scalar omega = ratio_or_zero<Scalar>(dots(0), dots(1));
    const Real norms = Kokkos::sqrt(real_part(dots(1))) * Kokkos::sqrt(real_part(residual(0)));
    const Real cosine = norms > Real(0) ? Kokkos::abs(dots(0)) / norms : Real(0);
    if (cosine > Real(0) && cosine < Real(kappa)) {
      const Scalar larger = omega * (Real(kappa) / cosine);
      if (is_finite(larger)) omega = larger;
    } else if (cosine == Real(0) && norms > Real(0) && kappa > 0) {
      const Scalar chosen(Real(kappa) * Kokkos::sqrt(real_part(residual(0))) /
                          Kokkos::sqrt(real_part(dots(1))));
      if (is_finite(chosen)) {
        omega = chosen;
        dots(0) = omega * dots(1);
      }
    }
    state.omega() = omega;
  }
};

/// f = P^H r after the dimension was reduced; then the next step's c.
template <class Scalar, class Space>
struct IdrReduced {
  IdrState<Scalar> state;
  VectorView<const Scalar, Space> projection;
  KOKKOS_FUNCTION void operator()(int) const {
    for (int i = 0; i < state.s; ++i) state.f(i) = projection(i);
    state.solve(0);
  }
};

}  // namespace prekond::krylov
