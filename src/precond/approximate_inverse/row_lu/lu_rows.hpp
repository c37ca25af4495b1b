// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// What setups by LU of a general matrix's rows have in common beside the systems: the sizes of A's rows, how
/// a row ends, and what is tried in turn.
#include "precond/approximate_inverse/fsai/setup.hpp"
#include "precond/approximate_inverse/row_lu/lu_system.hpp"
#include "precond/scaling/matrix_rows.hpp"
#include "precond/scaling/power_of_two.hpp"

#include <string>

namespace prekond::impl::lu {

/// What a setup needs of A's rows.
template <class Scalar, class Space>
struct RowSizes {
  Vector<double, Space> scale;      ///< 2^-k with the row's largest entry in [2^k, 2^(k + 1))
  Vector<Scalar, Space> diagonal;   ///< 0 where it is missing or not finite
  Vector<Scalar, Space> magnitude;  ///< |a_ii|, or where that is 0 the row's largest entry, or 1
};

template <class Scalar, class Space, class Matrix>
struct MeasureRow {
  Matrix a;
  VectorView<double, Space> scale;
  VectorView<Scalar, Space> diagonals;
  VectorView<Scalar, Space> magnitudes;  ///< may be empty
  KOKKOS_FUNCTION void operator()(int i) const {
    Scalar largest = 0, diagonal = 0;
    for (RowCursor<Matrix> entry(a, i, 0, 1); !entry.is_done() && entry.col() < a.num_rows; entry.advance()) {
      const Scalar value = entry.value(), size = Kokkos::abs(value);
      if (!Kokkos::isfinite(value)) continue;
      if (size > largest) largest = size;
      if (entry.col() == i) diagonal = value;
    }
    scale(i) = largest > 0 ? inverse_power_of_two(double(largest)) : 1.0;
    diagonals(i) = diagonal;
    if (magnitudes.extent(0) > 0)
      magnitudes(i) = diagonal != 0 ? Kokkos::abs(diagonal) : (largest > 0 ? largest : Scalar(1));
  }
};

/// `label` is the phase's, "prekond::isai::numeric".
template <class Scalar, class Space, class Matrix>
RowSizes<Scalar, Space> measure_rows(const Space& space, const Matrix& a, const std::string& label,
                                     bool with_magnitude) {
  const RowSizes<Scalar, Space> sizes{
      allocate<Vector<double, Space>>(space, label + "::row_scale", a.num_rows),
      allocate<Vector<Scalar, Space>>(space, label + "::diagonal", a.num_rows),
      allocate<Vector<Scalar, Space>>(space, label + "::magnitude", with_magnitude ? a.num_rows : 0)};
  Kokkos::parallel_for(label + "::measure_rows", Kokkos::RangePolicy<Space>(space, 0, a.num_rows),
                       MeasureRow<Scalar, Space, Matrix>{a, sizes.scale, sizes.diagonal, sizes.magnitude});
  return sizes;
}

/// How a row ended: what its byte in `status` says.
struct Status {
  enum : unsigned char {
    solved = 0,
    again = 1,  ///< by the next kernel
    shortened = 2,
    diagonal = 3
  };

  KOKKOS_FUNCTION static unsigned char of(const RowResult& result, bool last_try) {
    if (!result.dropped) return solved;
    if (!last_try) return again;
    return result.last ? diagonal : shortened;
  }
};

/// Calls solve(floor, pivoting, broken) for all rows, and then for those that broke down: in single precision
/// (a float's floor) where that is asked for, in double, and in double without pivoting.
template <class Solve>
void solve_in_turn(bool in_single, const Solve& solve) {
  if (in_single) solve(16 * 0x1p-23f, Pivoting::rows, false);
  solve(16 * 0x1p-52, Pivoting::rows, in_single);
  // What is not pivoted needs room for the growth of its entries: half of the digits.
  solve(0x1p-26, Pivoting::none, true);
}

}  // namespace prekond::impl::lu
