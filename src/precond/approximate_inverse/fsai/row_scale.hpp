// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <Kokkos_Core.hpp>

namespace prekond::impl {

/// The scale of a row g~ of G from psi = g~ A g~^T (g~ A g~^H) and the squared size of its diagonal entry.
struct RowScale {
  double scale;  ///< 1 / sqrt(psi), or less where psi is under the floor
  bool sound;    ///< false: g~ is useless, and the scale is 1 / sqrt(a_ii) for the diagonal
  bool floored;  ///< psi is under floor a_ii, which takes its place

  /// Where A is singular, g~ of a row that has all columns before its own is the null vector, and psi is of
  /// rounding size: divided by its root, the row would bring rounding errors of a residual back 1 / psi times
  /// as large.
  KOKKOS_FORCEINLINE_FUNCTION static RowScale of(double psi, double a_ii, double diagonal2, double floor) {
    const double least = floor * a_ii * diagonal2;
    if (!(psi > -least) || !Kokkos::isfinite(psi)) return {1 / Kokkos::sqrt(a_ii), false, false};
    return {1 / Kokkos::sqrt(psi > least ? psi : least), true, !(psi > least)};
  }
};

/// The root of epsilon, as for pivots that are shifted: an application keeps half of the digits.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION double psi_floor() {
  return Kokkos::sqrt(double(Kokkos::Experimental::epsilon_v<Real>));
}

}  // namespace prekond::impl
