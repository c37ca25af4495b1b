// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The levels of a triangle in one launch, each row waiting for those of the rows that it needs.
#include <prekond/pattern/level_schedule.hpp>

#include "core/relaxed_words.hpp"
#include "core/resident_bounds.hpp"

#include <algorithm>
#include <thread>

namespace prekond::impl::levels {

struct WaitTuning {
  static constexpr int rows_per_block = 512;  ///< on a device a thread each
  static constexpr int resident_threads = 1536;
  static constexpr int batch = 4;  ///< needs that a row asks for at a time
};

/// Does row i need row `col`?
KOKKOS_FORCEINLINE_FUNCTION bool is_need(Triangle which, std::int64_t i, int col, std::int64_t num_rows) {
  return which == Triangle::lower ? col < i : col > i && col < num_rows;
}

/// levels(i) = 1 + max levels(j) of the rows j that row i needs, 0 where it needs none. Teams take blocks of
/// rows by tickets, of an upper triangle the last ones first: what a row needs is of a block before, whose
/// team runs, or of its own. A row that waits asks once a turn, in the same loop in which others of its warp
/// write: so none waits for a lane that does not get its turn, on devices of any kind.
template <class Space>
struct WaitForLevels {
  using Tuning = WaitTuning;
  using Bounds = ResidentBounds<Tuning::rows_per_block, Tuning::resident_threads, int>;
  using Policy = Kokkos::TeamPolicy<Space, Bounds>;
  using Member = typename Policy::member_type;
  using Block =
      Kokkos::View<int*, typename Space::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  static constexpr int unknown = -1, no_need = -2;

  CsrGraphView<Space> graph;
  Triangle which;
  VectorView<int, Space> levels;  ///< `unknown` at first
  VectorView<int, Space> next;    ///< of blocks

  std::int64_t num_blocks() const {
    return (graph.num_rows + Tuning::rows_per_block - 1) / Tuning::rows_per_block;
  }
  Policy policy(const Space& space) const {
    constexpr int threads = is_host_space<Space> ? 1 : +Tuning::rows_per_block;
    const std::int64_t most = std::max(1, space.concurrency() / threads);
    return Policy(space, static_cast<int>(std::min(num_blocks(), most)), threads)
        .set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(Block::shmem_size(Tuning::rows_per_block))));
  }

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const Block own(team.team_scratch(0), Tuning::rows_per_block);
    for (;;) {
      int block = 0;
      Kokkos::single(
          Kokkos::PerTeam(team), [&](int& taken) { taken = Kokkos::atomic_fetch_add(&next(0), 1); }, block);
      const std::int64_t begin = std::int64_t(block) * Tuning::rows_per_block;
      if (begin >= graph.num_rows) return;
      const std::int64_t left = graph.num_rows - begin;
      const int count = left < Tuning::rows_per_block ? static_cast<int>(left) : +Tuning::rows_per_block;
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count), [&](int k) { own(k) = unknown; });
      team.team_barrier();
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count), [&](int k) { find(own, begin, k); });
      team.team_barrier();
    }
  }

 private:
  /// Rows in the order in which they can be done.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t place_of(std::int64_t row) const {
    return which == Triangle::lower ? row : graph.num_rows - 1 - row;
  }

  KOKKOS_FUNCTION void find(const Block& own, std::int64_t begin, int k) const {
    const std::int64_t i = place_of(begin + k);
    std::size_t at = graph.row_ptrs(i);
    const std::size_t end = graph.row_ptrs(i + 1);
    int level = 0;
    // The condition reads what the body writes, so that no compiler moves the writing out of the loop.
    while (load_relaxed(own(k)) == unknown) {
      int known[Tuning::batch];
#pragma unroll
      for (int p = 0; p < Tuning::batch; ++p)
        known[p] = at + p < end ? level_of(own, begin, i, graph.col_idxs(at + p)) : +unknown;
      bool is_known = true;
      int found = 0;
#pragma unroll
      for (int p = 0; p < Tuning::batch; ++p) {
        is_known = is_known && known[p] != unknown;
        if (!is_known) continue;
        level = known[p] + 1 > level ? known[p] + 1 : level;
        ++found;
      }
      at += found;
      if (at < end) {
        KOKKOS_IF_ON_HOST(
            (if (found == 0) std::this_thread::yield();))  // whom it waits for may want this core
        continue;
      }
      store_relaxed(levels(i), level);
      store_relaxed(own(k), level);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION int level_of(const Block& own, std::int64_t begin, std::int64_t i,
                                           int col) const {
    if (!is_need(which, i, col, graph.num_rows)) return no_need;
    const std::int64_t place = place_of(col) - begin;
    return load_relaxed(place >= 0 ? own(place) : levels(col));
  }
};

/// Of each row. \pre graph.num_rows > 0
template <class Space>
Vector<int, Space> wait_for_levels(const Space& space, const CsrGraphView<Space>& graph, Triangle which) {
  const auto levels = allocate<Vector<int, Space>>(space, "prekond::level_schedule::levels", graph.num_rows);
  Kokkos::deep_copy(space, levels, WaitForLevels<Space>::unknown);
  const auto next = allocate_zero<Vector<int, Space>>(space, "prekond::level_schedule::next", 1);
  const WaitForLevels<Space> wait{graph, which, levels, next};
  Kokkos::parallel_for("prekond::level_schedule::wait", wait.policy(space), wait);
  space.fence("prekond::level_schedule::next");  // it is freed
  return levels;
}

}  // namespace prekond::impl::levels
