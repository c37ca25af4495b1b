// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The levels of a triangle in one launch, each row waiting for those of the rows that it needs.
#include <prekond/pattern/level_schedule.hpp>
#include "core/concurrency.hpp"
#include "core/lane_group.hpp"

#include "core/concurrent_words.hpp"
#include "core/resident_bounds.hpp"

#include <algorithm>
#include <thread>

namespace prekond::impl::levels {

struct WaitTuning {
  static constexpr int team_lanes = 256;
  static constexpr int resident_threads = 2048;  ///< of a multiprocessor
  static constexpr int rows_of_thread = 64;      ///< of a ticket, where lanes keep no registers
  static constexpr int batch = 4;                ///< needs that a row asks for at a time
};

/// Does row i need row `col`?
KOKKOS_FORCEINLINE_FUNCTION bool is_need(Triangle which, std::int64_t i, int col, std::int64_t num_rows) {
  return which == Triangle::lower ? col < i : col > i && col < num_rows;
}

/// levels(i) = 1 + max levels(j) of the rows j that row i needs, 0 where it needs none. Vectors of lanes take
/// rows next to each other by tickets, of an upper triangle the last ones first: what a row needs is of a
/// ticket before, whose vector runs, or of the same vector. All lanes ask for what is missing in turns that
/// they take together, and then go through the needs among themselves, lane by lane. Where lanes keep no
/// registers one thread of a vector works by itself: a lane that waits for another one of its vector might
/// wait for ever.
template <class Space>
struct WaitForLevels {
  using Tuning = WaitTuning;
  using Policy = Kokkos::TeamPolicy<Space, ResidentBounds<Tuning::team_lanes, Tuning::resident_threads, int>>;
  using Member = typename Policy::member_type;
  using LaneGroup = NativeLaneGroup<Space, Member, 32>;
  static constexpr int rows_of_ticket =
      LaneGroup::keeps_registers ? LaneGroup::width : Tuning::rows_of_thread;
  static constexpr int unknown = -1, no_need = -2;

  CsrGraphView<Space> graph;
  Triangle which;
  VectorView<int, Space> levels;  ///< `unknown` at first
  VectorView<int, Space> next;    ///< tickets

  Policy policy(const Space& space) const {
    int lanes = 1;
    if constexpr (!is_host_space<Space>)
      lanes = LaneGroup::keeps_registers ? LaneGroup::width : Policy::vector_length_max();
    const int threads = is_host_space<Space> ? 1 : Tuning::team_lanes / lanes;
    const std::int64_t tickets = (graph.num_rows + rows_of_ticket - 1) / rows_of_ticket;
    const std::int64_t most = std::max(1, concurrency(space) / (threads * lanes));
    return Policy(space, static_cast<int>(std::min((tickets + threads - 1) / threads, most)), threads, lanes);
  }

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    for (;;) {
      int ticket = 0;
      Kokkos::single(
          Kokkos::PerThread(team), [&](int& taken) { taken = Kokkos::atomic_fetch_add(&next(0), 1); },
          ticket);
      const std::int64_t begin = std::int64_t(ticket) * rows_of_ticket;
      if (begin >= graph.num_rows) return;
      if constexpr (LaneGroup::keeps_registers) {
        find_together(LaneGroup(team), begin);
      } else {
        const std::int64_t end =
            begin + rows_of_ticket < graph.num_rows ? begin + rows_of_ticket : graph.num_rows;
        Kokkos::single(Kokkos::PerThread(team), [&] {
          for (std::int64_t place = begin; place < end; ++place) find(place);
        });
      }
    }
  }

  /// The rows at places [begin, begin + width), a lane each. In a turn each lane asks for what it lacks, and
  /// then the rows that have all are done, lane by lane where they need each other.
  template <class AnyLaneGroup>
  KOKKOS_FUNCTION void find_together(const AnyLaneGroup& lane_group, std::int64_t begin) const {
    constexpr unsigned all = ~0u;
    Row row = row_at(begin + lane_group.lane());
    for (unsigned done = 0; done != all;) {
      if (row.at < row.end) ask(row, begin);
      for (;;) {
        take_from_lanes(lane_group, row, done);
        const bool ends =
            row.at >= row.end && (done >> lane_group.lane() & 1) == 0 && row.taken == row.within;
        const unsigned end_now = lane_group.vote(ends);
        if (end_now == 0) break;
        if (ends && row.index >= 0) concurrent_store(levels(row.index), row.level);
        done |= end_now;
      }
      if (done != all) lane_group.pause();
    }
  }

 private:
  struct Row {
    std::int64_t index = -1;
    std::size_t at = 0, end = 0;  ///< entries that are left
    int level = 0;
    int missing = -1;     ///< the row whose level was not there, if any
    unsigned within = 0;  ///< bit l: needs the row of lane l
    unsigned taken = 0;   ///< those whose level is known
  };

  /// The levels of the rows of lanes that are done.
  template <class AnyLaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION static void take_from_lanes(const AnyLaneGroup& lane_group, Row& row,
                                                          unsigned done) {
    while (true) {
      const unsigned open = row.within & done & ~row.taken;
      if (lane_group.vote(open != 0) == 0) return;
      const int lane = open != 0 ? lowest_bit(open) : lane_group.lane();
      const int other = lane_group.broadcast(row.level, lane);
      if (open == 0) continue;
      row.level = larger(row.level, other + 1);
      row.taken |= 1u << lane;
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION static int lowest_bit(unsigned bits) {
    return Kokkos::Experimental::countr_zero_builtin(bits);
  }

  /// Rows stand in the order in which they can be done.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t place_of(std::int64_t row) const {
    return which == Triangle::lower ? row : graph.num_rows - 1 - row;
  }
  KOKKOS_FORCEINLINE_FUNCTION Row row_at(std::int64_t place) const {
    Row row;
    if (place >= graph.num_rows) return row;
    row.index = place_of(place);
    row.at = graph.row_ptrs(row.index);
    row.end = graph.row_ptrs(row.index + 1);
    return row;
  }
  KOKKOS_FORCEINLINE_FUNCTION static int larger(int a, int b) { return a < b ? b : a; }

  /// By one thread. \pre all rows before are of other tickets, or done
  KOKKOS_FUNCTION void find(std::int64_t place) const {
    Row row = row_at(place);
    while (row.at < row.end) {
      const std::size_t before = row.at;
      ask(row, place);
      KOKKOS_IF_ON_HOST((if (row.at == before) std::this_thread::yield();))  // whom it waits for needs a core
    }
    concurrent_store(levels(row.index), row.level);
  }

  /// Asks once: only for the need that was not there, since those who wait slow down those who work; or for
  /// the next ones, up to the first that is not there.
  KOKKOS_FORCEINLINE_FUNCTION void ask(Row& row, std::int64_t begin) const {
    if (row.missing >= 0 && concurrent_load(levels(row.missing)) == unknown) return;
    row.missing = -1;
    int cols[Tuning::batch], known[Tuning::batch];
#pragma unroll
    for (int p = 0; p < Tuning::batch; ++p) {
      cols[p] = row.at + p < row.end ? graph.col_idxs(row.at + p) : -1;
      known[p] = cols[p] >= 0 ? level_of(row, begin, cols[p]) : +unknown;
    }
    bool is_known = true;
    int found = 0;
#pragma unroll
    for (int p = 0; p < Tuning::batch; ++p) {
      if (is_known && known[p] == unknown) row.missing = cols[p];
      is_known = is_known && known[p] != unknown;
      if (!is_known) continue;
      row.level = larger(row.level, known[p] + 1);
      ++found;
    }
    row.at += found;
  }

  KOKKOS_FORCEINLINE_FUNCTION int level_of(Row& row, std::int64_t begin, int col) const {
    if (!is_need(which, row.index, col, graph.num_rows)) return no_need;
    const std::int64_t lane = place_of(col) - begin;
    if (lane < 0) return concurrent_load(levels(col));
    row.within |= 1u << lane;
    return no_need;
  }
};

/// The level of each row. \pre graph.num_rows > 0
template <class Space>
Vector<int, Space> wait_for_levels(const Space& space, const CsrGraphView<Space>& graph, Triangle which) {
  const auto levels = allocate<Vector<int, Space>>(space, "prekond::level_schedule::levels", graph.num_rows);
  Kokkos::deep_copy(space, levels, +WaitForLevels<Space>::unknown);
  const auto next = allocate_zero<Vector<int, Space>>(space, "prekond::level_schedule::next", 1);
  const WaitForLevels<Space> wait{graph, which, levels, next};
  Kokkos::parallel_for("prekond::level_schedule::wait", wait.policy(space), wait);
  space.fence("prekond::level_schedule::next");  // it is freed
  return levels;
}

}  // namespace prekond::impl::levels
