// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The levels of a triangle by frontiers: what a device does. A launch finds in memory what the one before
/// left, so that the host need not wait between them.
#include <prekond/pattern/level_schedule.hpp>

#include "core/row_teams.hpp"
#include "pattern/reordering/sorted_rows.hpp"

#include <algorithm>

namespace prekond::impl::levels {

struct FrontierTuning {
  static constexpr int team_lanes = 512;
  static constexpr int max_teams = 256;  ///< a frontier's rows are shared by them
  /// Frontiers of so few rows, one after another, are left to one team: estimates, not measured.
  static constexpr int small = 256;
  static constexpr int levels_per_launch = 2048;  ///< of those
  static constexpr int launches_per_fence = 32;
  static constexpr int longest_of_vector = 1024;  ///< a row that more rows need is the whole team's
  static constexpr int most_ready = 2048;         ///< rows that a team collects before it appends them
};

/// Does row i need row `col`?
KOKKOS_FORCEINLINE_FUNCTION bool is_need(Triangle which, std::int64_t i, int col, std::int64_t num_rows) {
  return which == Triangle::lower ? col < i : col > i && col < num_rows;
}

/// Counts the needs of each row and who needs it; or lists the latter, where `counts` ends with zeros.
template <class Space>
struct FindDependents {
  using Rows = RowTeams<Space>;
  CsrGraphView<Space> graph;
  Triangle which;
  VectorView<int, Space> needs, counts;
  VectorView<const std::size_t, Space> ptrs;  ///< empty: counts
  VectorView<int, Space> dependents;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{graph.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const std::size_t first = graph.row_ptrs(i);
      int found = 0;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, static_cast<int>(graph.row_ptrs(i + 1) - first)),
          [&](int k, int& sum) {
            const int col = graph.col_idxs(first + k);
            if (!is_need(which, i, col, graph.num_rows)) return;
            ++sum;
            if (ptrs.extent(0) == 0)
              Kokkos::atomic_inc(&counts(col));
            else
              dependents(ptrs(col) + Kokkos::atomic_fetch_sub(&counts(col), 1) - 1) = static_cast<int>(i);
          },
          found);
      if (ptrs.extent(0) == 0) Kokkos::single(Kokkos::PerThread(team), [&] { needs(i) = found; });
    });
  }
};

/// Rows of one level: places begin .. begin + count - 1 of the queue, which has the level and then the row.
struct Frontier {
  int begin, count, level;
};

template <class Space>
struct FirstFrontier {
  using value_type = int;
  VectorView<const int, Space> needs;
  VectorView<std::uint64_t, Space> queue;
  VectorView<Frontier, Space> frontiers;
  KOKKOS_FUNCTION void operator()(std::int64_t i, int& sum, bool final) const {
    if (needs(i) == 0) {
      if (final) queue(sum) = reordering::sort_key(0, i);
      ++sum;
    }
    if (final && i + 1 == static_cast<std::int64_t>(needs.extent(0))) frontiers(0) = Frontier{0, sum, 0};
  }
};

/// Finds the next frontier, or, by one team, the next ones while they are small. Three places for frontiers
/// take turns: this launch's, which nobody writes, the next one's, and one whose count is cleared.
template <class Space>
struct AdvanceFrontier {
  using Tuning = FrontierTuning;
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;
  using Ints =
      Kokkos::View<int*, typename Space::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  VectorView<const std::size_t, Space> ptrs;
  VectorView<const int, Space> dependents;
  VectorView<int, Space> needs;
  VectorView<std::uint64_t, Space> queue;
  VectorView<int, Space> level_ptrs;
  VectorView<Frontier, Space> frontiers;
  int slot;

  /// A team's own.
  struct Scratch {
    Ints ints, long_rows, ready_rows;
    KOKKOS_FUNCTION explicit Scratch(const Member& team)
        : ints(team.team_scratch(0), 4),
          long_rows(team.team_scratch(0), team.team_size()),
          ready_rows(team.team_scratch(0), Tuning::most_ready) {}
    KOKKOS_FUNCTION int& ready() const { return ints(0); }
    KOKKOS_FUNCTION int& num_long() const { return ints(1); }
    KOKKOS_FUNCTION int& base() const { return ints(2); }
    KOKKOS_FUNCTION int& appended() const { return ints(3); }
  };

  /// Threads of a host's team: two, where the space has them.
  static int host_team(const Space& space) {
    return std::min(2, Policy(space, 1, 1).team_size_max(AdvanceFrontier(), Kokkos::ParallelForTag()));
  }

  static Policy policy(const Space& space, std::int64_t num_rows, std::int64_t nnz) {
    int lanes = is_host_space<Space> ? 1 : 4;
    while (!is_host_space<Space> && lanes < 32 && lanes * num_rows < nnz) lanes *= 2;
    const int threads = is_host_space<Space> ? host_team(space) : Tuning::team_lanes / lanes;
    const auto teams = std::min<std::int64_t>(Tuning::max_teams, (num_rows + threads - 1) / threads);
    const std::size_t bytes =
        Ints::shmem_size(4) + Ints::shmem_size(threads) + Ints::shmem_size(Tuning::most_ready);
    return Policy(space, static_cast<int>(teams), threads, lanes)
        .set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(bytes)));
  }

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const Frontier now = frontiers(slot);
    if (now.count <= Tuning::small && team.league_rank() > 0) return;
    const Scratch scratch(team);
    Kokkos::single(Kokkos::PerTeam(team), [&] { scratch.ready() = scratch.num_long() = 0; });
    team.team_barrier();
    if (now.count <= Tuning::small)
      advance_alone(team, now, scratch);
    else
      advance_together(team, now, scratch);
  }

 private:
  KOKKOS_FUNCTION static std::uint64_t key_of(int level, int row) {
    return reordering::sort_key(static_cast<std::uint64_t>(level), static_cast<std::uint64_t>(row));
  }
  KOKKOS_FUNCTION Frontier& next() const { return frontiers((slot + 1) % 3); }
  KOKKOS_FUNCTION Frontier& one_after() const { return frontiers((slot + 2) % 3); }

  KOKKOS_FUNCTION void advance_together(const Member& team, const Frontier& now,
                                        const Scratch& scratch) const {
    if (team.league_rank() == 0)
      Kokkos::single(Kokkos::PerTeam(team), [&] {
        level_ptrs(now.level) = now.begin;
        next().begin = now.begin + now.count;
        next().level = now.level + 1;
        one_after().count = 0;
      });
    const std::int64_t stride = std::int64_t(team.league_size()) * team.team_size();
    for (std::int64_t at = std::int64_t(team.league_rank()) * team.team_size(); at < now.count; at += stride)
      advance_rows(team, now, static_cast<int>(at), next().count, scratch);
  }

  KOKKOS_FUNCTION void advance_alone(const Member& team, Frontier now, const Scratch& scratch) const {
    for (int k = 0; k < Tuning::levels_per_launch && now.count > 0 && now.count <= Tuning::small; ++k) {
      Kokkos::single(Kokkos::PerTeam(team), [&] {
        level_ptrs(now.level) = now.begin;
        scratch.appended() = 0;
      });
      team.team_barrier();
      for (int at = 0; at < now.count; at += team.team_size())
        advance_rows(team, now, at, scratch.appended(), scratch);
      now = Frontier{now.begin + now.count, scratch.appended(), now.level + 1};
      team.team_barrier();
    }
    Kokkos::single(Kokkos::PerTeam(team), [&] {
      next() = now;
      one_after().count = 0;
    });
  }

  /// A row for each thread of the team, from number `at` of the frontier on. Ends with a barrier.
  KOKKOS_FUNCTION void advance_rows(const Member& team, const Frontier& now, int at, int& appended,
                                    const Scratch& scratch) const {
    const int left = now.count - at;
    const int count = left < team.team_size() ? left : team.team_size();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count), [&](int k) {
      const int row = static_cast<int>(queue(now.begin + at + k) & 0xffffffffu);
      const std::size_t first = ptrs(row);
      const int length = static_cast<int>(ptrs(row + 1) - first);
      if (length > Tuning::longest_of_vector)
        Kokkos::single(Kokkos::PerThread(team),
                       [&] { scratch.long_rows(Kokkos::atomic_fetch_add(&scratch.num_long(), 1)) = row; });
      else
        Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, length),
                             [&](int l) { release(now, dependents(first + l), appended, scratch); });
    });
    team.team_barrier();
    const int num_long = scratch.num_long();
    for (int q = 0; q < num_long; ++q) {
      const int row = scratch.long_rows(q);
      const std::size_t first = ptrs(row);
      Kokkos::parallel_for(Kokkos::TeamVectorRange(team, static_cast<int>(ptrs(row + 1) - first)),
                           [&](int l) { release(now, dependents(first + l), appended, scratch); });
    }
    if (num_long > 0) team.team_barrier();
    append(team, now, appended, scratch);
  }

  /// Row j needs one row less.
  KOKKOS_FORCEINLINE_FUNCTION void release(const Frontier& now, int j, int& appended,
                                           const Scratch& scratch) const {
    if (Kokkos::atomic_fetch_sub(&needs(j), 1) != 1) return;
    const int place = Kokkos::atomic_fetch_add(&scratch.ready(), 1);
    if (place < Tuning::most_ready)
      scratch.ready_rows(place) = j;
    else
      queue(now.begin + now.count + Kokkos::atomic_fetch_add(&appended, 1)) = key_of(now.level + 1, j);
  }

  /// Those that were collected, by one atomic. Ends with a barrier.
  KOKKOS_FUNCTION void append(const Member& team, const Frontier& now, int& appended,
                              const Scratch& scratch) const {
    const int collected = scratch.ready();
    const int count = collected < Tuning::most_ready ? collected : +Tuning::most_ready;
    Kokkos::single(Kokkos::PerTeam(team),
                   [&] { scratch.base() = Kokkos::atomic_fetch_add(&appended, count); });
    team.team_barrier();
    const int to = now.begin + now.count + scratch.base();
    Kokkos::single(Kokkos::PerTeam(team), [&] { scratch.ready() = scratch.num_long() = 0; });
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, count),
                         [&](int k) { queue(to + k) = key_of(now.level + 1, scratch.ready_rows(k)); });
    team.team_barrier();
  }
};

/// All frontiers.
template <class Space>
struct Frontiers {
  Vector<std::uint64_t, Space> queue;  ///< in any order within a level
  Vector<int, Space> level_ptrs;       ///< num_rows + 1 of them, where the first num_levels are set
  int num_levels = 0;
};

template <class Space>
Frontier fetch(const Space& space, const Vector<Frontier, Space>& frontiers, int slot) {
  Frontier result{};
  Kokkos::deep_copy(space, Kokkos::View<Frontier, Kokkos::HostSpace>(&result),
                    Kokkos::subview(frontiers, slot));
  space.fence("prekond::level_schedule::frontier");
  return result;
}

/// \pre graph.num_rows > 0
template <class Space>
Frontiers<Space> find_frontiers(const Space& space, const CsrGraphView<Space>& graph, Triangle which) {
  const std::int64_t n = graph.num_rows;
  const Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>> rows(space, 0, n);
  const auto needs = allocate<Vector<int, Space>>(space, "prekond::level_schedule::needs", n);
  const auto counts = allocate_zero<Vector<int, Space>>(space, "prekond::level_schedule::counts", n);
  FindDependents<Space> find{graph, which, needs, counts, {}, {}};
  const auto policy = RowTeams<Space>::policy(space, n, graph.nnz());
  Kokkos::parallel_for("prekond::level_schedule::count_needs", policy, find);
  const auto [ptrs, nnz] =
      scan_row_lengths(space, "prekond::level_schedule", n, VectorView<const int, Space>(counts));
  const auto dependents = allocate<Vector<int, Space>>(space, "prekond::level_schedule::dependents", nnz);
  find.ptrs = ptrs;
  find.dependents = dependents;
  Kokkos::parallel_for("prekond::level_schedule::list_dependents", policy, find);

  Frontiers<Space> result;
  result.queue = allocate<Vector<std::uint64_t, Space>>(space, "prekond::level_schedule::queue", n);
  result.level_ptrs = allocate<Vector<int, Space>>(space, "prekond::level_schedule::all_level_ptrs", n + 1);
  const auto frontiers =
      allocate_zero<Vector<Frontier, Space>>(space, "prekond::level_schedule::frontiers", 3);
  Kokkos::parallel_scan("prekond::level_schedule::first_frontier", rows,
                        FirstFrontier<Space>{needs, result.queue, frontiers});
  AdvanceFrontier<Space> advance{ptrs, dependents, needs, result.queue, result.level_ptrs, frontiers, 0};
  const auto teams = advance.policy(space, n, static_cast<std::int64_t>(nnz));
  for (;;) {
    for (int k = 0; k < FrontierTuning::launches_per_fence; ++k) {
      Kokkos::parallel_for("prekond::level_schedule::advance", teams, advance);
      advance.slot = (advance.slot + 1) % 3;
    }
    const Frontier last = fetch(space, frontiers, advance.slot);
    result.num_levels = last.level;
    if (last.count == 0) return result;
  }
}

}  // namespace prekond::impl::levels
