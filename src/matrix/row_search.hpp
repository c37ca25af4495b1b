// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Walking over all entries of a matrix, and finding single ones.
#include <prekond/core/scalar.hpp>
#include <prekond/matrix/csr_matrix.hpp>
#include "core/geometric_mean.hpp"
#include "matrix/find_entry.hpp"

#include <cstdint>

namespace prekond::impl {

/// sqrt(|a_ii a_jj|), which neither overflows nor underflows on the way.
KOKKOS_INLINE_FUNCTION double diagonal_scale(double a_ii, double a_jj) {
  return geometric_mean(Kokkos::abs(a_ii), Kokkos::abs(a_jj));
}

/// The symmetry condition of check_spd_input, a_ji conjugated where it is complex; false for a NaN.
template <class Scalar>
KOKKOS_INLINE_FUNCTION bool is_symmetric_pair(Scalar a_ij, Scalar a_ji, double scale, double tolerance) {
  return a_ij == a_ji || Kokkos::abs(a_ij - a_ji) <= tolerance * scale;
}

/// Is the imaginary part at most rounding? (False where it is not a number.)
template <class Scalar>
KOKKOS_INLINE_FUNCTION bool is_real(Scalar a_ii, double tolerance) {
  const double real = static_cast<double>(real_part(a_ii)),
               imaginary = static_cast<double>(imaginary_part(a_ii));
  return Kokkos::abs(imaginary) <= tolerance * Kokkos::abs(real);
}

}  // namespace prekond::impl
