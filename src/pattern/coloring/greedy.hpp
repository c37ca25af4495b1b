// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The greedy colouring in rounds.
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/pattern/coloring.hpp>
#include "core/concurrency.hpp"

#include "core/concurrent_words.hpp"
#include "core/row_teams.hpp"

#include <algorithm>

namespace prekond::impl::coloring {

struct GreedyTuning {
  static constexpr int rounds_per_fence = 16;
  static constexpr int team_threads = 256;
  static constexpr int max_teams = 1024;  // a round's rows are shared by them
};

/// All bits depend on all of i's.
KOKKOS_FORCEINLINE_FUNCTION unsigned hash_of(unsigned i) {
  i ^= i >> 16;
  i *= 0x85ebca6bu;
  i ^= i >> 13;
  i *= 0xc2b2ae35u;
  return i ^ i >> 16;
}

/// An order of rows: the larger comes first, of equal ones the smaller index.
template <class Space>
struct Priorities {
  CsrGraphView<Space> s;
  ColoringOrder order;
  VectorView<std::uint64_t, Space> priority;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const std::uint64_t hash = hash_of(static_cast<unsigned>(i));
    const std::uint64_t degree = s.row_ptrs(i + 1) - s.row_ptrs(i);
    priority(i) = order == ColoringOrder::natural         ? 0
                  : order == ColoringOrder::largest_first ? degree << 32 | hash
                                                          : hash;
  }
};

/// The counts that rounds share. Three counts take turns: of the rows of this round, of the next, and the
/// one that is cleared.
struct Progress {
  int rows[3];
  int rounds;
  int num_colors;
};

/// A symmetric graph and the colours so far, -1 of rows without one.
template <class Space>
struct Greedy {
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;

  CsrGraphView<Space> s;
  int distance;
  VectorView<const std::uint64_t, Space> priority;
  VectorView<int, Space> colors;
  VectorView<int, Space> waits_for;  ///< paths to rows before it that have no colour
  VectorView<int, Space> rows[2];    ///< of this round, and of the next, in any order
  VectorView<Progress, Space> progress;

  KOKKOS_FORCEINLINE_FUNCTION bool before(int j, int i) const {
    return priority(j) != priority(i) ? priority(j) > priority(i) : j < i;
  }

  /// Calls visit(j) for the ends of all paths of up to `distance` edges from i, by one lane of those that
  /// share the row.
  template <class Visit>
  KOKKOS_FORCEINLINE_FUNCTION void visit_paths(int i, int k, const Visit& visit) const {
    const int j = s.col_idxs(s.row_ptrs(i) + k);
    if (j == i) return;
    visit(j);
    if (distance == 1) return;
    for (std::size_t l = s.row_ptrs(j); l < s.row_ptrs(j + 1); ++l) {
      const int end = s.col_idxs(l);
      if (end != j && end != i) visit(end);
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION int length(int i) const {
    return static_cast<int>(s.row_ptrs(i + 1) - s.row_ptrs(i));
  }

  KOKKOS_FORCEINLINE_FUNCTION void append(int slot, int i) const {
    rows[slot % 2](Kokkos::atomic_fetch_add(&progress(0).rows[slot % 3], 1)) = i;
  }
};

/// Counts what each row waits for, and begins with those that wait for nothing.
template <class Space>
struct BeginGreedy {
  using Rows = RowTeams<Space>;
  Greedy<Space> greedy;
  int slot;
  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{greedy.s.num_rows}.for_each_row(team, [&](std::int64_t row) {
      const int i = static_cast<int>(row);
      if (greedy.colors(i) >= 0) return;
      int paths = 0;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, greedy.length(i)),
          [&](int k, int& sum) {
            greedy.visit_paths(i, k, [&](int j) {
              if (greedy.colors(j) < 0 && greedy.before(j, i)) ++sum;
            });
          },
          paths);
      Kokkos::single(Kokkos::PerThread(team), [&] {
        greedy.waits_for(i) = paths;
        if (paths == 0) greedy.append(slot, i);
      });
    });
  }
};

/// Colours the rows of a round. No two of them are neighbours.
template <class Space>
struct GreedyRound {
  using Member = typename Greedy<Space>::Member;
  Greedy<Space> greedy;
  int slot;

  static typename Greedy<Space>::Policy policy(const Space& space, std::int64_t num_rows, std::int64_t nnz) {
    if (is_host_space<Space>) return {space, std::max(1, concurrency(space)), 1, 1};
    int lanes = 2;
    while (lanes < 32 && lanes * num_rows < nnz) lanes *= 2;
    const int threads = GreedyTuning::team_threads / lanes;
    const auto teams = std::min<std::int64_t>(GreedyTuning::max_teams, (num_rows + threads - 1) / threads);
    return {space, static_cast<int>(teams), threads, lanes};
  }

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    Progress& progress = greedy.progress(0);
    const int count = progress.rows[slot % 3];  // complete: this round appends to another
    if (team.league_rank() == 0)
      Kokkos::single(Kokkos::PerTeam(team), [&] {
        progress.rows[(slot + 2) % 3] = 0;
        if (count > 0) ++progress.rounds;
      });
    const int stride = team.league_size() * team.team_size();
    for (int at = team.league_rank() * team.team_size(); at < count; at += stride) {
      const int end = at + team.team_size() < count ? at + team.team_size() : count;
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, at, end),
                           [&](int k) { color_row(team, greedy.rows[slot % 2](k)); });
    }
  }

  KOKKOS_FUNCTION void color_row(const Member& team, int i) const {
    const int color = smallest_free(team, i);
    Kokkos::single(Kokkos::PerThread(team), [&] {
      greedy.colors(i) = color;
      if (color >= concurrent_load(greedy.progress(0).num_colors))
        Kokkos::atomic_max(&greedy.progress(0).num_colors, color + 1);
    });
    // A neighbour without a colour comes after this row.
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, greedy.length(i)), [&](int k) {
      greedy.visit_paths(i, k, [&](int j) {
        if (greedy.colors(j) < 0 && Kokkos::atomic_fetch_sub(&greedy.waits_for(j), 1) == 1)
          greedy.append(slot + 1, j);
      });
    });
  }

  /// By words of 64 colours.
  KOKKOS_FUNCTION int smallest_free(const Member& team, int i) const {
    for (int first = 0;; first += 64) {
      std::uint64_t taken = 0;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, greedy.length(i)),
          [&](int k, std::uint64_t& mask) {
            greedy.visit_paths(i, k, [&](int j) {
              const int color = greedy.colors(j) - first;
              if (color >= 0 && color < 64) mask |= std::uint64_t(1) << color;
            });
          },
          Kokkos::BOr<std::uint64_t>(taken));
      if (~taken != 0) return first + Kokkos::countr_one(taken);
    }
  }
};

template <class Space>
Progress fetch(const Space& space, const Vector<Progress, Space>& progress) {
  Progress result{};
  Kokkos::deep_copy(space, Kokkos::View<Progress, Kokkos::HostSpace>(&result), Kokkos::subview(progress, 0));
  space.fence("prekond::coloring::progress");
  return result;
}

/// Rounds until no row is left, or `max_rounds`. `so_far` has the rounds and colours before, and gets those
/// in the end. \returns are there rows left?
template <class Space>
bool run_rounds(const Space& space, const Greedy<Space>& greedy, const Vector<Progress, Space>& progress,
                std::int64_t max_rounds, Progress& so_far) {
  const std::int64_t n = greedy.s.num_rows, nnz = greedy.s.nnz();
  Kokkos::deep_copy(space, progress, Progress{{0, 0, 0}, so_far.rounds, so_far.num_colors});
  Kokkos::parallel_for("prekond::coloring::begin", RowTeams<Space>::policy(space, n, nnz),
                       BeginGreedy<Space>{greedy, 0});
  for (std::int64_t round = 0;;) {
    const std::int64_t batch = std::min<std::int64_t>(GreedyTuning::rounds_per_fence, max_rounds - round);
    for (std::int64_t k = 0; k < batch; ++k, ++round)
      // Slots are numbered modulo 6, which is enough.
      Kokkos::parallel_for("prekond::coloring::round", GreedyRound<Space>::policy(space, n, nnz),
                           GreedyRound<Space>{greedy, static_cast<int>(round % 6)});
    so_far = fetch(space, progress);
    const bool left = so_far.rows[round % 3] > 0;
    if (!left || round == max_rounds) return left;
  }
}

}  // namespace prekond::impl::coloring
