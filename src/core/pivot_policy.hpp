// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The rule by which pivots of factorisations break down.
#include <prekond/core/scalar.hpp>

#include <Kokkos_Core.hpp>

namespace prekond::impl {

/// One rule for whole matrices, blocks and batches: a pivot breaks down unless it is finite and above
/// `threshold` times the scale of its row, in size or, where pivots have to be positive, with its sign.
///
/// There are two thresholds because there are two ways to go on. A factorisation that can be repeated with a
/// larger shift of the diagonal gives up early (`with_shifts`): factors with a smaller pivot lose half of the
/// digits in the solves, and a shift is better. A factorisation that has one try (`without_shifts`) refuses
/// only pivots that rounding errors can have made, since a refused row loses its couplings.
template <class Real>
struct PivotPolicy {
  Real threshold;
  bool positive = false;

  /// The root of epsilon; the scale is 1 where rows are scaled to the unit diagonal.
  KOKKOS_FORCEINLINE_FUNCTION static PivotPolicy with_shifts(bool positive) {
    return {Kokkos::sqrt(Kokkos::Experimental::epsilon_v<Real>), positive};
  }
  /// 16 epsilon; the scale is the largest entry of the row, or the diagonal entry.
  KOKKOS_FORCEINLINE_FUNCTION static PivotPolicy without_shifts(bool positive) {
    return {16 * Kokkos::Experimental::epsilon_v<Real>, positive};
  }

  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION bool accepts(const Scalar& pivot, Real scale = 1) const {
    return is_finite(pivot) && (positive ? real_part(pivot) : Kokkos::abs(pivot)) > threshold * scale;
  }
  /// Is an entry of a row of scale 1 finite when it is divided by any pivot that is accepted?
  KOKKOS_FORCEINLINE_FUNCTION bool keeps_finite(Real entry) const { return is_finite(entry / threshold); }
};

}  // namespace prekond::impl
