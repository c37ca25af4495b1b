// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A row of a triangular solve in one launch.
#include <prekond/core/impl/multiply_add.hpp>
#include "core/lane_group.hpp"

#include "core/packed.hpp"
#include "precond/triangular/awaited_words.hpp"
#include "precond/triangular/row_launches.hpp"

#include <type_traits>

namespace prekond::impl::triangular {

// Chosen on an H200 (perf_tests/results/h200/ilu/results.md), but for the means and the polls.
struct SyncFreeTuning {
  // On a device, rows of at most this many entries in the mean go to a thread each, to 8 lanes, to 16, else
  // to 32.
  static constexpr int mean_of_thread = 8;
  static constexpr int mean_of_eight = 12;
  static constexpr int mean_of_sixteen = 64;
  static constexpr int batch = 4;  ///< values that a lane looks for at a time

  /// A row of this many entries holds up all others where few lanes work on it.
  static constexpr int longest_of_few_lanes = 1024;

  /// Lanes of a device's row.
  static constexpr int lanes(std::int64_t entries, std::int64_t rows, std::int64_t longest) {
    if (longest > longest_of_few_lanes) return 32;
    if (entries <= mean_of_thread * rows) return 1;
    if (entries <= mean_of_eight * rows) return 8;
    return entries <= mean_of_sixteen * rows ? 16 : 32;
  }
  /// For rows by that many lanes.
  template <int Lanes>
  struct Launch : LaunchTuning {
    static constexpr int team_lanes = Lanes == 1 ? 64 : 128;
    static constexpr int levels_on_their_way = 8;
    using SmallBounds = Kokkos::LaunchBounds<LaunchTuning::team_lanes, 1>;
  };
  static constexpr int rows_per_chunk(int lanes) {
    return lanes == 1 ? Launch<1>::team_lanes : LaunchTuning::team_lanes / lanes;
  }
};

/// y_i = s_i b_i - sum_k n_ik y_k for row i of all vectors, by a thread or a lane group. Other rows'
/// values are looked for in x by the places of the levels, or, where there are no places, in y itself. A row
/// that gives up waiting raises the flag, and goes on with 0 for the missing values; the result is not used.
template <class Value, class Scalar, class Space, int Lanes>
struct SolveRow {
  using Tuning = SyncFreeTuning;
  using Word = WordOf<Scalar>;
  using Launch = Tuning::Launch<Lanes>;
  static constexpr int lanes = is_host_space<Space> ? 1 : Lanes;
  static constexpr int scratch_bytes = 0;

  /// A thread by itself.
  struct OneLane {
    static constexpr int width = 1;
    template <class Member>
    KOKKOS_FORCEINLINE_FUNCTION explicit OneLane(const Member&) {}
    template <class T, class F>
    KOKKOS_FORCEINLINE_FUNCTION T sum(const F& f) const {
      return f(0);
    }
    template <class F>
    KOKKOS_FORCEINLINE_FUNCTION void region(const F& f) const {
      f(0);
    }
  };
  using LaneGroup =
      std::conditional_t<lanes == 1, OneLane,
                         NativeLaneGroup<Space, typename Kokkos::TeamPolicy<Space>::member_type, lanes>>;

  PackedVector<const std::size_t> row_ptrs;
  PackedVector<const int> cols;  ///< or their places
  PackedVector<const Value> values;
  PackedVector<const Scalar> scale;
  PackedColumns<const Scalar> b;
  PackedColumns<Word> x;
  PackedColumns<Scalar> y;  ///< empty: it is x
  AwaitedWords<Scalar> others;
  int num_columns;
  int num_rows;

  KOKKOS_FORCEINLINE_FUNCTION bool has_stalled() const { return others.has_stalled(); }

  /// Row i, which stands at `place`.
  template <class AnyLaneGroup>
  KOKKOS_FUNCTION void solve(const AnyLaneGroup& lane_group, std::int64_t i, std::int64_t place) const {
    const std::size_t first = row_ptrs(i);
    const int length = static_cast<int>(row_ptrs(i + 1) - first);
    const Scalar factor = scale.is_empty() ? Scalar(1) : scale(i);
    for (int v = 0; v < num_columns; ++v) {
      const Scalar source = factor * b(i, v);  // read while the row waits
      const Word* known = x.column(v);
      const Scalar sum = lane_group.template sum<Scalar>(
          [&](int lane) { return lane_sum<AnyLaneGroup::width>(lane, first, length, known); });
      lane_group.region([&](int lane) {
        if (lane == 0) keep(i, place, v, source - sum);
      });
    }
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION void keep(std::int64_t i, std::int64_t place, int v,
                                        const Scalar& value) const {
    const bool has_places = y.pointer != nullptr;
    others.keep(x(has_places ? place : i, v), value);
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
      others.template wait<batch>(known, col, word);
#pragma unroll
      for (int p = 0; p < batch; ++p)
        if (col[p] >= 0)
          sum = multiply_add(static_cast<Scalar>(value[p]), Kokkos::bit_cast<Scalar>(word[p]), sum);
    }
    return sum;
  }
};

}  // namespace prekond::impl::triangular
