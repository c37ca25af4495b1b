// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Launches of rows, each worked on by a lane group: the rows of a level; small levels by one team; all rows
/// in one launch, where a row waits for the rows that it needs.
///
/// A `Row` has its `LaneGroup` and the number of its `lanes`, a `Launch` (see LaunchTuning), the bytes of
/// scratch that a lane group needs, row(lane_group, i, memory), and `has_stalled()`: no more rows are to be
/// begun.
#include "core/concurrency.hpp"
#include "core/lane_group.hpp"

#include "core/packed.hpp"
#include "core/resident_bounds.hpp"
#include "precond/triangular/row_schedule.hpp"

#include <algorithm>
#include <cstdint>

namespace prekond::impl {

/// Whether a kernel raised a flag. Fences.
template <class Space>
bool is_raised(const Space& space, const int* flag) {
  int raised = 0;
  Kokkos::deep_copy(space, Kokkos::View<int, Kokkos::HostSpace>(&raised),
                    Kokkos::View<const int, typename Space::memory_space>(flag));
  space.fence("prekond::is_raised");
  return raised != 0;
}

/// How rows are launched, where a kind of rows does not tell otherwise.
struct LaunchTuning {
  static constexpr int team_lanes = 128, small_team_lanes = 128;
  static constexpr int rows_of_host_team = 64;
  /// The rows of this many mean levels are worked on at a time; more of them would only poll.
  static constexpr int levels_on_their_way = 4;
  /// Bounds of large launches keep the registers of a thread few enough.
  using Bounds = ResidentBounds<team_lanes, 1024, double>;
  using SmallBounds = Bounds;  ///< of launches of one team

  /// The largest scratch of a team at level 0; on a device eight teams then fit a multiprocessor. More
  /// scratch is at level 1.
  template <class Space>
  static constexpr int fast_scratch = is_host_space<Space> ? 20000 : 26000;
};

/// A row that needs no scratch and waits for none.
template <class Body>
struct FreeRow {
  struct Launch : LaunchTuning {
    using Bounds = Kokkos::LaunchBounds<>;
  };
  using LaneGroup = typename Body::lane_group_type;
  static constexpr int lanes = LaneGroup::width, scratch_bytes = 0;
  Body body;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const LaneGroup& lane_group, int i, const char*) const {
    body(lane_group, i);
  }
};

/// The threads of a team.
template <class Row, class Space>
inline constexpr int team_threads = is_host_space<Space> ? 1 : Row::Launch::team_lanes / Row::lanes;

/// Whether the scratch of a team fits level 0 with these bytes for each vector of lanes.
template <class Space, class Row>
bool fits_fast_scratch(std::size_t bytes_of_vector) {
  const auto vectors = static_cast<std::size_t>(team_threads<Row, Space>);
  return bytes_of_vector * vectors + 16 <=
         static_cast<std::size_t>(Row::Launch::template fast_scratch<Space>);
}

/// The scratch of this thread's vector of lanes, or what the row makes of it.
template <class Space, class Row, class Member>
KOKKOS_FORCEINLINE_FUNCTION auto memory_of(const Member& team, const Row& row) {
  if constexpr (requires { row.memory(team); }) {
    return row.memory(team);
  } else {
    const int all = row.scratch_bytes * team.team_size();
    if (all == 0) return static_cast<char*>(nullptr);
    const int level = all + 16 <= Row::Launch::template fast_scratch<Space> ? 0 : 1;
    char* base = static_cast<char*>(team.team_scratch(level).get_shmem_aligned(all, 16));
    return base + row.scratch_bytes * team.team_rank();
  }
}

/// Row i, which stands at `place` of a list.
template <class Row, class Member, class Memory>
KOKKOS_FORCEINLINE_FUNCTION void work_on(const Row& row, const Member& team, int i, int place,
                                         const Memory& memory) {
  if constexpr (requires(const typename Row::LaneGroup& lane_group) { row.solve(lane_group, i, place); })
    row.solve(typename Row::LaneGroup(team), i, place);
  else
    row(typename Row::LaneGroup(team), i, memory);
}

/// The rows at places [begin, end) of a list; without a list all rows, where `first` counts up or down.
template <class Row, class Space>
struct RowsOfRange {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  Row row;
  PackedVector<const int> rows;  ///< empty: row k, or of `reversed` the k-th from the end
  std::int64_t begin, end, rows_per_team;
  bool reversed;
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const auto memory = memory_of<Space>(team, row);
    const std::int64_t first = begin + team.league_rank() * rows_per_team;
    const std::int64_t last = first + rows_per_team < end ? first + rows_per_team : end;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, first, last), [&](std::int64_t k) {
      if constexpr (is_host_space<Space> && requires { row.prefetch(0); })
        if (k + row.rows_ahead < last) row.prefetch(number_of(k + row.rows_ahead));
      work_on(row, team, number_of(k), static_cast<int>(k), memory);
    });
  }
  KOKKOS_FORCEINLINE_FUNCTION int number_of(std::int64_t k) const {
    if (!rows.is_empty()) return rows(k);
    return static_cast<int>(reversed ? end - 1 - k : k);
  }
};

/// Levels one after another, by one team. With `only_stalled` nothing is done unless a row gave up waiting.
template <class Row, class Space>
struct RowsOfLevels {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  Row row;
  PackedVector<const int> rows, level_ptrs;
  int first, last;
  bool only_stalled;
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    if (only_stalled && !row.has_stalled()) return;
    const auto memory = memory_of<Space>(team, row);
    for (int k = first; k < last; ++k) {
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, level_ptrs(k), level_ptrs(k + 1)),
                           [&](int place) { work_on(row, team, rows(place), place, memory); });
      team.team_barrier();
    }
  }
};

/// All rows in one launch. Teams take chunks of rows of one level, in the order of the levels, by tickets:
/// the rows that a chunk waits for are in chunks of smaller tickets, whose teams run and do not wait for it.
template <class Row, class Space>
struct RowsByTicket {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  Row row;
  PackedVector<const int> rows, chunks;  ///< see levels::Chunks::bounds
  int* next;
  int num_chunks;
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const auto memory = memory_of<Space>(team, row);
    for (;;) {
      int chunk = 0;
      Kokkos::single(
          Kokkos::PerTeam(team),
          [&](int& mine) {
            const int taken = Kokkos::atomic_fetch_add(next, 1);
            mine = row.has_stalled() ? num_chunks : taken;
          },
          chunk);
      if (chunk >= num_chunks) return;
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, chunks(2 * chunk), chunks(2 * chunk + 1)),
                           [&](int place) { work_on(row, team, rows(place), place, memory); });
    }
  }
};

/// Diagonal blocks, each by a team of a host in the order of its rows.
template <class Row, class Space>
struct RowsOfBlocks {
  Row row;
  PackedVector<const int> bounds;
  KOKKOS_FUNCTION void operator()(const typename Kokkos::TeamPolicy<Space>::member_type& team) const {
    const auto memory = memory_of<Space>(team, row);
    for (int i = bounds(team.league_rank()); i < bounds(team.league_rank() + 1); ++i)
      work_on(row, team, i, i, memory);
  }
};

/// A kind of rows, launched.
template <class Row, class Space>
class Launcher {
 public:
  using Tuning = typename Row::Launch;
  static constexpr bool host = is_host_space<Space>;
  static constexpr int threads = team_threads<Row, Space>;

  Launcher(const Space& space, const Row& row) : m_space(space), m_row(row) {}

  void by_levels(const char* label, const char* small_levels, const RowSchedule<Space>& schedule) const {
    const auto& level_ptrs = schedule.levels.host_level_ptrs;
    for (const LevelGroup& group : schedule.groups) {
      if (group.merged)
        by_one_team(small_levels, schedule, group.first, group.last, false);
      else
        range(label, schedule.levels.rows, level_ptrs[group.first], level_ptrs[group.last]);
    }
  }
  /// \pre next(0) is 0
  void by_tickets(const char* label, const RowSchedule<Space>& schedule, int* next) const {
    const int resident = std::max(1, concurrency(m_space) / (host ? 1 : Tuning::team_lanes));
    const auto useful = static_cast<int>(levels::chunks_of_levels(
        schedule.chunks.count, Tuning::levels_on_their_way, schedule.levels.num_levels()));
    Kokkos::parallel_for(
        label, policy<typename Tuning::Bounds>(std::min({resident, schedule.chunks.count, useful}), threads),
        RowsByTicket<Row, Space>{m_row, schedule.levels.rows, schedule.chunks.bounds, next,
                                 schedule.chunks.count});
  }
  /// Computes all rows again by one team, where a launch by tickets stalled.
  void stalled(const char* label, const RowSchedule<Space>& schedule) const {
    by_one_team(label, schedule, 0, schedule.levels.num_levels(), true);
  }
  void by_blocks(const char* label, const levels::RowBlocks<Space>& blocks) const {
    static_assert(host);
    Kokkos::parallel_for(label, policy<typename Tuning::Bounds>(blocks.count, 1),
                         RowsOfBlocks<Row, Space>{m_row, blocks.bounds});
  }
  /// Computes all rows in their own order, or from the last one up, by one team of a host.
  void in_order(const char* label, std::int64_t num_rows, bool reversed) const {
    static_assert(host);
    if (num_rows > 0)
      Kokkos::parallel_for(label, policy<typename Tuning::Bounds>(1, 1),
                           RowsOfRange<Row, Space>{m_row, {}, 0, num_rows, num_rows, reversed});
  }
  /// The rows at places [begin, end) of a list, or without a list these rows, in an order that the launch
  /// chooses.
  void range(const char* label, PackedVector<const int> rows, std::int64_t begin, std::int64_t end) const {
    constexpr std::int64_t rows_per_team = host ? Tuning::rows_of_host_team : threads;
    Kokkos::parallel_for(
        label, policy<typename Tuning::Bounds>((end - begin + rows_per_team - 1) / rows_per_team, threads),
        RowsOfRange<Row, Space>{m_row, rows, begin, end, rows_per_team, false});
  }

 private:
  template <class Bounds>
  Kokkos::TeamPolicy<Space, Bounds> policy(std::int64_t teams, int team_size) const {
    Kokkos::TeamPolicy<Space, Bounds> result(m_space, static_cast<int>(teams), team_size, Row::lanes);
    const int scratch = m_row.scratch_bytes * team_size + 16;
    if (m_row.scratch_bytes > 0)
      result.set_scratch_size(scratch <= Tuning::template fast_scratch<Space> ? 0 : 1,
                              Kokkos::PerTeam(scratch));
    return result;
  }
  void by_one_team(const char* label, const RowSchedule<Space>& schedule, int first, int last,
                   bool only_stalled) const {
    constexpr int small_team = host ? 1 : Tuning::small_team_lanes / Row::lanes;
    Kokkos::parallel_for(label, policy<typename Tuning::SmallBounds>(1, small_team),
                         RowsOfLevels<Row, Space>{m_row, schedule.levels.rows, schedule.levels.level_ptrs,
                                                  first, last, only_stalled});
  }

  Space m_space;
  Row m_row;
};

}  // namespace prekond::impl
