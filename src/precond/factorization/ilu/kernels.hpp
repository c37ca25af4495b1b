// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Kernels over the rows of a factorisation: those of a level; small levels by one team; all rows in one
/// launch, each of which waits for those that it needs.
#include "core/resident_bounds.hpp"
#include "precond/factorization/ilu/ic_row.hpp"
#include "precond/factorization/ilu/ilu_row.hpp"

#include <cstdint>

namespace prekond::impl::ilu {

/// The policy of large launches; its bounds keep the registers of a thread few enough.
template <class Space, class Scalar, int lanes>
using FactorPolicy = Kokkos::TeamPolicy<
    Space,
    ResidentBounds<FactorTuning::team_threads,
                   lanes == 1 ? FactorTuning::resident_lanes : FactorTuning::resident_threads, Scalar>>;
/// The policy of launches of small levels.
template <class Space>
using SmallLevelsPolicy =
    Kokkos::TeamPolicy<Space, Kokkos::LaunchBounds<unsigned(FactorTuning::small_team_threads), 1>>;

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
  static int team_bytes(int team_size) { return bytes() > 0 ? bytes() * team_size + 8 : 0; }
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION static typename Row::Memory of(const Member& team, int bytes) {
    if constexpr (!LaneGroup::keeps_registers) {
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

/// The rows at places [begin, end) of a list.
template <class Row, class Space>
struct FactorRows {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  Row row;
  PackedVector<const int> rows;
  std::int64_t begin, end, rows_per_team;
  int scratch;  ///< bytes of a lane group
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const auto memory = RowScratch<Row>::of(team, scratch);
    const std::int64_t first = begin + team.league_rank() * rows_per_team;
    const std::int64_t last = first + rows_per_team < end ? first + rows_per_team : end;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, first, last),
                         [&](std::int64_t k) { row(typename Row::lane_group_type(team), rows(k), memory); });
  }
};

/// Diagonal blocks, each by a team in the order of its rows.
template <class Row, class Space>
struct FactorBlocks {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  Row row;
  PackedVector<const int> bounds;
  int scratch;
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const auto memory = RowScratch<Row>::of(team, scratch);
    for (int i = bounds(team.league_rank()); i < bounds(team.league_rank() + 1); ++i)
      row(typename Row::lane_group_type(team), i, memory);
  }
};

/// Small levels one after another, by one team.
template <class Row, class Space>
struct FactorSmallLevels {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  Row row;
  PackedVector<const int> rows, level_ptrs;
  int first, last;
  int scratch;
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const auto memory = RowScratch<Row>::of(team, scratch);
    for (int k = first; k < last; ++k) {
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, level_ptrs(k), level_ptrs(k + 1)),
                           [&](int place) { row(typename Row::lane_group_type(team), rows(place), memory); });
      team.team_barrier();
    }
  }
};

/// All rows in one launch, by dynamic scheduling: a team takes the next chunk of rows of one level from a
/// counter, in the order of the levels. The rows that a chunk waits for are in chunks that were taken before,
/// by teams that run and do not wait for it. So the wait ends for any number of teams that run at the
/// same time.
template <class Row, class Space>
struct FactorRowsDynamically {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  Row row;
  AwaitedValues others;
  PackedVector<const int> rows, chunks;  ///< see levels::Chunks::bounds
  PackedVector<unsigned> next_chunk;
  unsigned num_chunks;
  int scratch;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const auto memory = RowScratch<Row>::of(team, scratch);
    while (true) {
      unsigned chunk = 0;
      Kokkos::single(
          Kokkos::PerTeam(team),
          [&](unsigned& mine) {
            const unsigned taken = Kokkos::atomic_fetch_add(&next_chunk(0), 1u);
            mine = others.has_stalled() ? num_chunks : taken;
          },
          chunk);
      if (chunk >= num_chunks) break;
      Kokkos::parallel_for(
          Kokkos::TeamThreadRange(team, chunks(2 * chunk), chunks(2 * chunk + 1)),
          [&](int place) { row(typename Row::lane_group_type(team), rows(place), memory, others); });
    }
  }
};

}  // namespace prekond::impl::ilu
