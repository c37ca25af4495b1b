// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The parts that setups by LU of a general matrix's rows share, besides the systems: the sizes of A's rows,
/// the kernel over the rows of a bin, the end of a row, and the order of the attempts.
#include "precond/approximate_inverse/fsai/setup.hpp"
#include "precond/approximate_inverse/row_lu/lu_system.hpp"
#include "precond/scaling/matrix_rows.hpp"
#include "precond/scaling/power_of_two.hpp"

#include <string>

namespace prekond::impl::lu {

/// The sizes of A's rows.
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
  KOKKOS_FUNCTION void operator()(const typename RowTeams<Space>::Member& team) const {
    RowTeams<Space>{a.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const auto sizes = measure_row<Scalar>(team, a, i, a.num_rows);
      Kokkos::single(Kokkos::PerThread(team), [&] { store(i, sizes.diagonal, sizes.largest); });
    });
  }
  KOKKOS_FUNCTION void store(std::int64_t i, Scalar diagonal, Scalar largest) const {
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
  Kokkos::parallel_for(
      label + "::measure_rows",
      RowTeams<Space>::policy(space, a.num_rows, static_cast<std::int64_t>(a.values.extent(0))),
      MeasureRow<Scalar, Space, Matrix>{a, sizes.scale, sizes.diagonal, sizes.magnitude});
  return sizes;
}

/// The end of a row, as its byte in `status` has it.
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

  /// Writes the status of row i. \returns whether the row is finished, the attempt with `pivoting` being the
  /// last one or a sound one
  template <class LaneGroup, class Bytes>
  KOKKOS_FUNCTION static bool end_row(const LaneGroup& lane_group, const Bytes& status, int i,
                                      const RowResult& result, Pivoting pivoting) {
    const bool last_try = pivoting == Pivoting::none;
    lane_group.once([&] { status(i) = of(result, last_try); });
    return !result.dropped || last_try;
  }
};

/// Solves the rows of one bin, or its rows of blocks. `Systems` has the rows' systems and results:
///   do_row<Real>(lane_group, base, k, floor, pivoting)   solves row k in the workspace at `base`
///   bytes<Real>(longest)                                 is the size of that for up to `longest` entries
template <class Systems, class Real, class Space, fsai::Unit unit>
struct SolveRows : fsai::RowKernel<Space, unit> {
  using typename fsai::RowKernel<Space, unit>::Member;
  using typename fsai::RowKernel<Space, unit>::LaneGroup;

  Systems systems;
  std::size_t bytes;
  Real floor;
  Pivoting pivoting;
  VectorView<const int, Space> rows;
  VectorView<char, Space> workspaces;
  VectorView<int, Space> next;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    this->for_rows(team, static_cast<std::int64_t>(rows.extent(0)), bytes, workspaces, next,
                   [&](char* base, std::int64_t k) { do_row(LaneGroup(team), base, rows(k)); });
  }

  /// By the lane group of the kernel, or by the threads of a host.
  template <class AnyLaneGroup>
  KOKKOS_FUNCTION void do_row(const AnyLaneGroup& lane_group, char* base, int k) const {
    systems.template do_row<Real>(lane_group, base, k, floor, pivoting);
  }
};

/// The lane group by which the size of a workspace is asked for; the size is the same for all.
template <class Space>
using AnyLanes = typename fsai::RowKernel<Space, fsai::Unit::slab>::LaneGroup;

/// Solves the rows, or those that are chosen, bin by bin. `row_ptrs` tells their lengths.
template <class Real, class Space, class Systems>
void solve_bins(const Space& space, const Systems& systems, VectorView<const std::size_t, Space> row_ptrs,
                VectorView<const unsigned char, Space> chosen, Real floor, Pivoting pivoting,
                VectorView<int, Space> next, std::int64_t workspace_budget, const char* label) {
  const auto bytes_of = [](int longest) { return Systems::template bytes<Real>(longest); };
  fsai::launch_bins<Space>(space, row_ptrs, chosen, bytes_of,
                           [&](auto unit, VectorView<const int, Space> rows, int longest) {
                             const std::size_t bytes = bytes_of(longest);
                             const SolveRows<Systems, Real, Space, decltype(unit)::value> kernel{
                                 {}, systems, bytes, floor, pivoting, rows, {}, next};
                             fsai::launch_rows(space, kernel, static_cast<std::int64_t>(rows.extent(0)),
                                               longest, bytes, workspace_budget, label);
                           });
}

/// Calls solve(floor, pivoting, broken) for all rows, and then for those that broke down: in single precision
/// (with the floor of a float) where `in_single`, in double, and in double without pivoting.
template <class Solve>
void solve_in_turn(bool in_single, const Solve& solve) {
  if (in_single) solve(16 * 0x1p-23f, Pivoting::rows, false);
  solve(16 * 0x1p-52, Pivoting::rows, in_single);
  // A factorisation without pivoting needs room for the growth of its entries: half of the digits.
  solve(0x1p-26, Pivoting::none, true);
}

}  // namespace prekond::impl::lu
