// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Rows of a factorisation, as they are launched.
#include "core/resident_bounds.hpp"
#include "precond/factorization/ilu/ic_row.hpp"
#include "precond/factorization/ilu/ilu_row.hpp"
#include "precond/triangular/row_launches.hpp"

#include <limits>

namespace prekond::impl::ilu {

/// Scratch of each lane group, for rows that use it.
template <class Row>
struct RowScratch {
  using Scalar = typename Row::scalar_type;
  using LaneGroup = typename Row::lane_group_type;
  using Tuning = RowMemoryTuning;

  static int bytes() {
    if constexpr (!LaneGroup::keeps_registers)
      return 0;
    else if constexpr (Row::is_lane)
      return static_cast<int>(LaneMemory<Scalar>::bytes(Tuning::lane_capacity, Tuning::lane_steps));
    else
      return static_cast<int>(RowMemory<Scalar>::bytes(Tuning::capacity, Tuning::chunk, LaneGroup::width));
  }
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION static typename Row::Memory of(const Row& row, const Member& team, int bytes) {
    if constexpr (Row::has_table) {
      return row.tables.template take<Scalar>();
    } else if constexpr (!LaneGroup::keeps_registers) {
      return {};
    } else {
      constexpr int room = Tuning::capacity, chunk = Tuning::chunk, width = LaneGroup::width;
      constexpr int room_of_lane = Tuning::lane_capacity, steps = Tuning::lane_steps;
      char* base = static_cast<char*>(team.team_scratch(0).get_shmem_aligned(bytes * team.team_size(), 8));
      if constexpr (Row::is_lane)
        return {base, room_of_lane, steps, team.team_rank(), team.team_size()};
      else
        return {base + bytes * team.team_rank(), room, chunk, width};
    }
  }
};

/// A row with its scratch, and the way in which it reads values of other rows.
template <class FactorRow, class Values>
struct LaunchedRow {
  using LaneGroup = typename FactorRow::lane_group_type;
  static constexpr int lanes = LaneGroup::width;
  struct Launch : LaunchTuning {
    static constexpr int rows_of_host_team = 4;
    static constexpr int small_team_lanes = lanes == 1 ? team_lanes : FactorTuning::small_team_lanes;
    using Bounds =
        ResidentBounds<team_lanes, lanes == 1 ? FactorTuning::resident_lanes : FactorTuning::resident_threads,
                       typename FactorRow::scalar_type>;
    using SmallBounds = Kokkos::LaunchBounds<unsigned(FactorTuning::small_team_lanes), 1>;
    template <class Space>
    static constexpr int fast_scratch = std::numeric_limits<int>::max();
  };

  FactorRow row;
  Values others;
  int scratch_bytes = RowScratch<FactorRow>::bytes();

  KOKKOS_FORCEINLINE_FUNCTION bool has_stalled() const { return others.has_stalled(); }
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION typename FactorRow::Memory memory(const Member& team) const {
    return RowScratch<FactorRow>::of(row, team, scratch_bytes);
  }
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const LaneGroup& lane_group, std::int64_t i,
                                              const typename FactorRow::Memory& memory) const {
    row(lane_group, i, memory, others);
  }
};

}  // namespace prekond::impl::ilu
