// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A triangular solve in one launch. A value says by itself that it is there, see missing_word.
#include <prekond/core/impl/multiply_add.hpp>
#include <prekond/core/preconditioner.hpp>
#include <prekond/core/views.hpp>
#include "core/concurrency.hpp"
#include "core/lane_group.hpp"

#include "core/concurrent_words.hpp"
#include "core/load_once.hpp"
#include "core/missing_value.hpp"
#include "core/packed.hpp"
#include "core/resident_bounds.hpp"
#include "pattern/levels/chunks.hpp"

#include <algorithm>
#include <thread>

namespace prekond::impl::triangular {

// Chosen on an H200 (perf_tests/results/h200/ilu/results.md), but for the means and the polls.
struct SyncFreeTuning {
  // On a device, rows of at most this many entries in the mean go to a thread each, to 8 lanes, to 16, else
  // to 32.
  static constexpr int mean_of_thread = 8;
  static constexpr int mean_of_eight = 12;
  static constexpr int mean_of_sixteen = 64;
  static constexpr int team_lanes = 128;
  static constexpr int team_of_threads = 64;     ///< where a row is a thread's
  static constexpr int resident_threads = 1024;  ///< of a multiprocessor, which registers leave room for
  static constexpr int host_rows = 16;           ///< of a chunk
  static constexpr int batch = 4;                ///< values that a lane looks for at a time
  static constexpr int looks_at_flag = 64;       ///< polls between two looks whether another one gave up
  // The rows of this many mean levels are worked on at a time; more of them would only poll.
  static constexpr std::int64_t levels_on_their_way = 8;

  /// Lanes of a device's row.
  static constexpr int lanes(std::int64_t entries, std::int64_t rows) {
    if (entries <= mean_of_thread * rows) return 1;
    if (entries <= mean_of_eight * rows) return 8;
    return entries <= mean_of_sixteen * rows ? 16 : 32;
  }
  static constexpr int team_threads(bool is_host, int lanes) {
    if (is_host) return 1;
    return lanes == 1 ? team_of_threads : team_lanes / lanes;
  }
  static constexpr int rows_per_chunk(bool is_host, int lanes) {
    return is_host ? host_rows : team_threads(is_host, lanes);
  }
};

/// The data that the teams of a launch share.
struct SyncFreeProgress {
  int next_chunk;
  int gave_up;
};

template <class Scalar, class Space>
struct SyncFreeWorkspace : Workspace {
  MultiVector<WordOf<Scalar>, Space> x;  ///< by places; without rows where y itself is waited for
  Vector<SyncFreeProgress, Space> progress;
  std::int64_t num_rows = 0;
  std::size_t num_vectors = 0;
};

/// y's values as words.
template <class Scalar>
PackedColumns<WordOf<Scalar>> words_of(const PackedColumns<Scalar>& y) {
  PackedColumns<WordOf<Scalar>> words;
  words.pointer = reinterpret_cast<WordOf<Scalar>*>(y.pointer);
  words.stride = y.stride;
  return words;
}

/// Before a solve: no value is there, no chunk taken.
template <class Scalar, class Space>
struct BeginSyncFree {
  PackedColumns<WordOf<Scalar>> x;
  VectorView<SyncFreeProgress, Space> progress;
  int num_columns;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    for (int v = 0; v < num_columns; ++v) x(i, v) = missing_word<Scalar>;
    if (i == 0) progress(0) = SyncFreeProgress{0, 0};
  }
};

/// y_i = s_i b_i - sum_k n_ik y_k for row i of all vectors, by a thread or a lane group. Other rows'
/// values are looked for in x by the places of the levels, or, where there are no places, in y itself. A row
/// that gives up waiting raises the flag, and goes on with 0 for the missing values; the result is not used.
template <class Value, class Scalar, class Space, int Lanes>
struct SolveRow {
  using Tuning = SyncFreeTuning;
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  using Word = WordOf<Scalar>;
  static constexpr int lanes = is_host_space<Space> ? 1 : Lanes;

  PackedVector<const std::size_t> row_ptrs;
  PackedVector<const int> cols;  ///< or their places
  PackedVector<const Value> values;
  PackedVector<const Scalar> scale;
  PackedColumns<const Scalar> b;
  PackedColumns<Word> x;
  PackedColumns<Scalar> y;  ///< empty: it is x
  PackedVector<SyncFreeProgress> progress;
  std::int64_t max_polls;  ///< -1: all values are there
  int num_columns;
  int num_rows;

  /// Row i, which stands at `place`.
  KOKKOS_FUNCTION void operator()(const Member& team, std::int64_t i, std::int64_t place) const {
    if constexpr (lanes == 1)
      solve(OneLane(), i, place);
    else
      solve(NativeLaneGroup<Space, Member, lanes>(team), i, place);
  }

  template <class LaneGroup>
  KOKKOS_FUNCTION void solve(const LaneGroup& lane_group, std::int64_t i, std::int64_t place) const {
    const std::size_t first = row_ptrs(i);
    const int length = static_cast<int>(row_ptrs(i + 1) - first);
    const Scalar factor = scale.is_empty() ? Scalar(1) : scale(i);
    for (int v = 0; v < num_columns; ++v) {
      const Scalar source = factor * b(i, v);  // read while the row waits
      const Word* known = x.column(v);
      const Scalar sum = lane_group.template sum<Scalar>(
          [&](int lane) { return lane_sum<LaneGroup::width>(lane, first, length, known); });
      lane_group.region([&](int lane) {
        if (lane == 0) keep(i, place, v, source - sum);
      });
    }
  }

 private:
  /// A thread by itself.
  struct OneLane {
    static constexpr int width = 1;
    template <class T, class F>
    KOKKOS_FORCEINLINE_FUNCTION T sum(const F& f) const {
      return f(0);
    }
    template <class F>
    KOKKOS_FORCEINLINE_FUNCTION void region(const F& f) const {
      f(0);
    }
  };

  /// A NaN that looks like a missing value is written as another one.
  KOKKOS_FORCEINLINE_FUNCTION void keep(std::int64_t i, std::int64_t place, int v,
                                        const Scalar& value) const {
    const Word word = Kokkos::bit_cast<Word>(value);
    constexpr Word missing = missing_word<Scalar>;
    const bool has_places = y.pointer != nullptr;
    concurrent_store(x(has_places ? place : i, v), word == missing ? Word(missing - 1) : word);
    if (has_places) y(i, v) = value;
  }

  template <int Stride>
  KOKKOS_FUNCTION Scalar lane_sum(int lane, std::size_t first, int length, const Word* known) const {
    constexpr int batch = Tuning::batch;
    Scalar sum = 0;
    for (int k = lane; k < length; k += batch * Stride) {
      int col[batch];
      Value value[batch] = {};
      Word word[batch];
#pragma unroll
      for (int p = 0; p < batch; ++p) {
        const int place = k + p * Stride;
        col[p] = place < length ? cols(first + place) : -1;
        if (place < length) value[p] = values(first + place);
        if (col[p] >= num_rows) col[p] = -1;  // of another rank, as is a place of -1
      }
      wait(known, col, word);
#pragma unroll
      for (int p = 0; p < batch; ++p)
        if (col[p] >= 0)
          sum = multiply_add(static_cast<Scalar>(value[p]), Kokkos::bit_cast<Scalar>(word[p]), sum);
    }
    return sum;
  }

  /// Asks for all values at once, and then again for those that were not there.
  KOKKOS_FORCEINLINE_FUNCTION void wait(const Word* known, const int* col, Word* word) const {
    constexpr int batch = Tuning::batch;
    constexpr Word missing = missing_word<Scalar>;
    bool is_missing = false;
#pragma unroll
    for (int p = 0; p < batch; ++p) {
      word[p] = missing;
      is_missing = is_missing || col[p] >= 0;
    }
    for (std::int64_t polls = 0; is_missing; ++polls) {
      if (max_polls >= 0 && gives_up(polls)) {
        raise_flag(progress(0).gave_up, 1);
#pragma unroll
        for (int p = 0; p < batch; ++p)
          if (word[p] == missing) word[p] = Word(0);
        return;
      }
#pragma unroll
      for (int p = 0; p < batch; ++p)
        if (col[p] >= 0 && word[p] == missing) word[p] = concurrent_load(known[col[p]]);
      if (max_polls < 0) return;
      is_missing = false;
#pragma unroll
      for (int p = 0; p < batch; ++p) is_missing = is_missing || (col[p] >= 0 && word[p] == missing);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION bool gives_up(std::int64_t polls) const {
    if (polls >= max_polls) return true;
    if (polls % Tuning::looks_at_flag != Tuning::looks_at_flag - 1) return false;
    KOKKOS_IF_ON_HOST((std::this_thread::yield();))  // whom it waits for may want this core
    return concurrent_load(progress(0).gave_up) != 0;
  }
};

/// Teams take chunks of rows, each of one level, in their order: all that a row needs is held by a team that
/// runs, so that it comes.
template <class Row, class Space>
struct SolveChunks {
  using Tuning = SyncFreeTuning;
  static constexpr int team_threads = Tuning::team_threads(is_host_space<Space>, Row::lanes);
  using Bounds = ResidentBounds<Tuning::team_lanes, Tuning::resident_threads, double>;
  using Policy = Kokkos::TeamPolicy<Space, Bounds>;

  Row row;
  PackedVector<const int> rows;    ///< by level
  PackedVector<const int> chunks;  ///< see levels::Chunks::bounds
  int num_chunks;

  Policy policy(const Space& space, int num_levels) const {
    const std::int64_t most = std::max(1, concurrency(space) / (team_threads * Row::lanes));
    const std::int64_t useful = levels::chunks_of_levels(num_chunks, Tuning::levels_on_their_way, num_levels);
    return Policy(space, static_cast<int>(std::min({std::int64_t(num_chunks), most, useful})), team_threads,
                  Row::lanes);
  }

  KOKKOS_FUNCTION void operator()(const typename Row::Member& team) const {
    for (;;) {
      int chunk = 0;
      Kokkos::single(
          Kokkos::PerTeam(team),
          [&](int& taken) {
            SyncFreeProgress& progress = row.progress(0);
            const int next = Kokkos::atomic_fetch_add(&progress.next_chunk, 1);
            taken = concurrent_load(progress.gave_up) != 0 ? num_chunks : next;
          },
          chunk);
      if (chunk >= num_chunks) return;
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, chunks(2 * chunk), chunks(2 * chunk + 1)),
                           [&](int place) { row(team, rows(place), place); });
    }
  }
};

/// Where a row gave up, all of them by one team, level by level. Else nothing.
template <class Row, class Space>
struct SolveAlone {
  using Policy = Kokkos::TeamPolicy<Space, Kokkos::LaunchBounds<SyncFreeTuning::team_lanes, 1>>;
  Row row;
  PackedVector<const int> rows, level_ptrs;
  int num_levels;

  static Policy policy(const Space& space) {
    return Policy(space, 1, is_host_space<Space> ? 1 : SyncFreeTuning::team_lanes / Row::lanes, Row::lanes);
  }

  KOKKOS_FUNCTION void operator()(const typename Row::Member& team) const {
    if (concurrent_load(row.progress(0).gave_up) == 0) return;
    for (int level = 0; level < num_levels; ++level) {
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, level_ptrs(level), level_ptrs(level + 1)),
                           [&](int place) { row(team, rows(place), place); });
      team.team_barrier();
    }
  }
};

}  // namespace prekond::impl::triangular
