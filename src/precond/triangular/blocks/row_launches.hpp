// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Launches of block rows, each worked on by a lane group: the rows of a level; small levels by one team; all
/// rows in one launch, where a row waits for the rows that it needs.
///
/// A `Row` has the number of its `lanes`, the bytes of scratch that a vector needs, row(lane_group, i,
/// memory), and `has_stalled()`: no more rows are to be begun.
#include "core/concurrency.hpp"
#include "core/lane_group.hpp"

#include "core/packed.hpp"
#include "core/resident_bounds.hpp"
#include "precond/triangular/row_schedule.hpp"

#include <algorithm>
#include <cstdint>

namespace prekond::impl::block_rows {

struct LaunchTuning {
  static constexpr int team_lanes = 128;
  static constexpr int resident_threads = 1024;
  static constexpr int rows_of_host_team = 64;
  // The rows of this many mean levels are worked on at a time; more of them would only poll.
  static constexpr int levels_on_their_way = 4;

  static constexpr int team_threads(bool is_host, int lanes) { return is_host ? 1 : team_lanes / lanes; }
};

template <class Space>
using Bounds = ResidentBounds<LaunchTuning::team_lanes, LaunchTuning::resident_threads, double>;
template <class Space>
using Policy = Kokkos::TeamPolicy<Space, Bounds<Space>>;

/// The largest scratch of a team at level 0; on a device eight teams then fit a multiprocessor. More scratch
/// is at level 1.
template <class Space>
inline constexpr int fast_scratch = is_host_space<Space> ? 20000 : 26000;

/// Whether the scratch of a team fits level 0 with these bytes for each vector of lanes.
template <class Space, class Row>
bool fits_fast_scratch(std::size_t bytes_of_vector) {
  const auto vectors = static_cast<std::size_t>(LaunchTuning::team_threads(is_host_space<Space>, Row::lanes));
  return bytes_of_vector * vectors + 16 <= static_cast<std::size_t>(fast_scratch<Space>);
}

/// The scratch of this thread's vector of lanes.
template <class Space, class Member>
KOKKOS_FORCEINLINE_FUNCTION char* vector_scratch(const Member& team, int bytes) {
  if (bytes == 0) return nullptr;
  const int all = bytes * team.team_size();
  const int level = all + 16 <= fast_scratch<Space> ? 0 : 1;
  char* base = static_cast<char*>(team.team_scratch(level).get_shmem_aligned(all, 16));
  return base + bytes * team.team_rank();
}

/// The rows at places [begin, end) of a list; without a list all rows, where `first` counts up or down.
template <class Row, class Space>
struct RowsOfRange {
  using Member = typename Policy<Space>::member_type;
  Row row;
  PackedVector<const int> rows;  ///< empty: row k, or of `reversed` the k-th from the end
  std::int64_t begin, end, rows_per_team;
  bool reversed;
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    char* const memory = vector_scratch<Space>(team, row.scratch_bytes);
    const std::int64_t first = begin + team.league_rank() * rows_per_team;
    const std::int64_t last = first + rows_per_team < end ? first + rows_per_team : end;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, first, last), [&](std::int64_t k) {
      if constexpr (is_host_space<Space> && requires { row.prefetch(0); })
        if (k + row.rows_ahead < last) row.prefetch(number_of(k + row.rows_ahead));
      row(typename Row::LaneGroup(team), number_of(k), memory);
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
  using Member = typename Policy<Space>::member_type;
  Row row;
  PackedVector<const int> rows, level_ptrs;
  int first, last;
  bool only_stalled;
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    if (only_stalled && !row.has_stalled()) return;
    char* const memory = vector_scratch<Space>(team, row.scratch_bytes);
    for (int k = first; k < last; ++k) {
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, level_ptrs(k), level_ptrs(k + 1)),
                           [&](int place) { row(typename Row::LaneGroup(team), rows(place), memory); });
      team.team_barrier();
    }
  }
};

/// All rows in one launch. Teams take chunks of rows of one level, in the order of the levels, by tickets:
/// the rows that a chunk waits for are in chunks of smaller tickets, whose teams run and do not wait for it.
template <class Row, class Space>
struct RowsByTicket {
  using Member = typename Policy<Space>::member_type;
  Row row;
  PackedVector<const int> rows, chunks;  ///< see levels::Chunks::bounds
  int* next;
  int num_chunks;
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    char* const memory = vector_scratch<Space>(team, row.scratch_bytes);
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
                           [&](int place) { row(typename Row::LaneGroup(team), rows(place), memory); });
    }
  }
};

/// A kind of rows, launched.
template <class Row, class Space>
class Launcher {
 public:
  static constexpr bool host = is_host_space<Space>;
  static constexpr int threads = LaunchTuning::team_threads(host, Row::lanes);

  Launcher(const Space& space, const Row& row) : m_space(space), m_row(row) {}

  void by_levels(const char* label, const RowSchedule<Space>& schedule) const {
    const auto& level_ptrs = schedule.levels.host_level_ptrs;
    for (const LevelGroup& group : schedule.groups) {
      if (group.merged)
        Kokkos::parallel_for(label, policy(1), levels_of(schedule, group.first, group.last, false));
      else
        range(label, schedule.levels.rows, level_ptrs[group.first], level_ptrs[group.last]);
    }
  }
  /// \pre next(0) is 0
  void by_tickets(const char* label, const RowSchedule<Space>& schedule, int* next) const {
    const int resident = std::max(1, concurrency(m_space) / (host ? 1 : LaunchTuning::team_lanes));
    const auto useful = static_cast<int>(levels::chunks_of_levels(
        schedule.chunks.count, LaunchTuning::levels_on_their_way, schedule.levels.num_levels()));
    Kokkos::parallel_for(label, policy(std::min({resident, schedule.chunks.count, useful})),
                         RowsByTicket<Row, Space>{m_row, schedule.levels.rows, schedule.chunks.bounds, next,
                                                  schedule.chunks.count});
  }
  /// Computes all rows again by one team, where a launch by tickets stalled.
  void stalled(const char* label, const RowSchedule<Space>& schedule) const {
    Kokkos::parallel_for(label, policy(1), levels_of(schedule, 0, schedule.levels.num_levels(), true));
  }
  /// Computes all rows in their own order, or from the last one up, by one team of a host.
  void in_order(const char* label, std::int64_t num_rows, bool reversed) const {
    static_assert(host);
    if (num_rows > 0)
      Kokkos::parallel_for(label, policy(1),
                           RowsOfRange<Row, Space>{m_row, {}, 0, num_rows, num_rows, reversed});
  }

  /// All rows, in an order that the launch chooses.
  void all(const char* label, std::int64_t num_rows) const { range(label, {}, 0, num_rows); }

 private:
  Policy<Space> policy(std::int64_t teams) const {
    Policy<Space> result(m_space, static_cast<int>(teams), threads, Row::lanes);
    const int scratch = m_row.scratch_bytes * threads + 16;
    if (m_row.scratch_bytes > 0)
      result.set_scratch_size(scratch <= fast_scratch<Space> ? 0 : 1, Kokkos::PerTeam(scratch));
    return result;
  }
  void range(const char* label, PackedVector<const int> rows, std::int64_t begin, std::int64_t end) const {
    constexpr std::int64_t rows_per_team = host ? LaunchTuning::rows_of_host_team : threads;
    Kokkos::parallel_for(label, policy((end - begin + rows_per_team - 1) / rows_per_team),
                         RowsOfRange<Row, Space>{m_row, rows, begin, end, rows_per_team, false});
  }
  RowsOfLevels<Row, Space> levels_of(const RowSchedule<Space>& schedule, int first, int last,
                                     bool only_stalled) const {
    return {m_row, schedule.levels.rows, schedule.levels.level_ptrs, first, last, only_stalled};
  }

  Space m_space;
  Row m_row;
};

}  // namespace prekond::impl::block_rows
