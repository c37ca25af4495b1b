// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Values on patterns that grew or were cut.
#include "core/row_teams.hpp"
#include "precond/factorization/par_ilu/sweep_entries.hpp"

namespace prekond::impl::par_ilu {

/// Values of the pattern before, by rows, on a new one: those of U go to their columns. New entries are 0.
template <class Scalar, class Space>
struct CarryOver {
  using Rows = RowTeams<Space>;
  SweepMatrix<Scalar, Space> a;
  CsrGraphView<Space> old_lower, old_upper;
  VectorView<const int, Space> lower_origin, upper_origin;
  VectorView<const Scalar, Space> lower, upper, pivots;
  SweepValues<Scalar, Space> to;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{a.lower.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const std::size_t first = a.lower.row_ptrs(i), behind = a.upper.row_ptrs(i);
      Kokkos::parallel_for(
          Kokkos::ThreadVectorRange(team, static_cast<int>(a.lower.row_ptrs(i + 1) - first)), [&](int k) {
            const int origin = lower_origin(first + k);
            to.lower(first + k) = origin < 0 ? Scalar(0) : lower(old_lower.row_ptrs(i) + origin);
          });
      Kokkos::parallel_for(
          Kokkos::ThreadVectorRange(team, static_cast<int>(a.upper.row_ptrs(i + 1) - behind)), [&](int k) {
            const int origin = upper_origin(behind + k);
            const std::size_t column = a.columns.row_ptrs(a.upper.col_idxs(behind + k));
            to.columns(column + a.places(behind + k)) =
                origin < 0 ? Scalar(0) : upper(old_upper.row_ptrs(i) + origin);
          });
      Kokkos::single(Kokkos::PerThread(team), [&] { to.pivots(i) = pivots(i); });
    });
  }
};

/// Row i of the factors with new entries: those of U are the residuals a_ij - (L U)_ij, those of L the same
/// divided by u_jj; the others stay.
template <class Entries, class Scalar, class Space, class LaneGroup>
struct CandidateRow {
  using lane_group_type = LaneGroup;
  Entries entries;
  SweepValues<Scalar, Space> from, to;
  VectorView<const int, Space> lower_origin, upper_origin;

  KOKKOS_FUNCTION void operator()(const LaneGroup& lane_group, std::int64_t i) const {
    const auto& a = entries.a;
    const std::size_t first = a.lower.row_ptrs(i), behind = a.upper.row_ptrs(i),
                      end = a.upper.row_ptrs(i + 1);
    const int length = entries.length(i);
    lane_group.region([&](int lane) {
      for (int k = lane; k < length; k += lane_group.size())
        to.lower(first + k) =
            lower_origin(first + k) < 0 ? finite(entries.lower(i, k, from)) : from.lower(first + k);
      for (std::size_t place = behind + lane; place < end; place += lane_group.size()) {
        const std::size_t at = entries.place_in_columns(place);
        to.columns(at) =
            upper_origin(place) < 0 ? finite(entries.upper(i, place, from, from)) : from.columns(at);
      }
      if (lane == 0) to.pivots(i) = from.pivots(i);
    });
  }
  KOKKOS_FORCEINLINE_FUNCTION static Scalar finite(Scalar value) {
    return is_finite(value) ? value : Scalar(0);
  }
};

/// U by rows.
template <class Scalar, class Space>
struct UpperByRows {
  using Rows = RowTeams<Space>;
  SweepMatrix<Scalar, Space> a;
  VectorView<const Scalar, Space> columns;
  VectorView<Scalar, Space> upper;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{a.upper.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const std::size_t behind = a.upper.row_ptrs(i);
      Kokkos::parallel_for(
          Kokkos::ThreadVectorRange(team, static_cast<int>(a.upper.row_ptrs(i + 1) - behind)), [&](int k) {
            const std::size_t column = a.columns.row_ptrs(a.upper.col_idxs(behind + k));
            upper(behind + k) = columns(column + a.places(behind + k));
          });
    });
  }
};

}  // namespace prekond::impl::par_ilu
