// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A block row of a triangular solve.
#include <prekond/core/impl/multiply_add.hpp>
#include <prekond/matrix/bcsr_matrix.hpp>
#include "core/lane_group.hpp"

#include "core/packed.hpp"
#include "matrix/block_product.hpp"
#include "precond/triangular/awaited_words.hpp"
#include "precond/triangular/row_launches.hpp"

#include <algorithm>
#include <cstdint>

namespace prekond::impl::triangular {

struct BlockRowTuning {
  static constexpr int batch = 4;                  ///< values that a lane looks for at a time
  static constexpr std::size_t line = 64;          ///< bytes that a host asks for at a time
  static constexpr std::size_t prefetched = 2048;  ///< of a row, at most
  static constexpr double bytes_ahead = 2048;      ///< from the row that is solved to the one asked for
  static constexpr int most_rows_ahead = 16;
  // Rows in their own order on one thread were faster than levels on two
  // (perf_tests/results/cpu/block_ilu.md).
  static constexpr int threads_in_order = 2;
  // On a device, rows of at most this many entries in the mean go to 8 lanes, to 16, else to 32.
  static constexpr int mean_of_eight = 16, mean_of_sixteen = 48;

  template <class Graph>
  static int lanes_of(const Graph& n, int block_size) {
    const double rows = static_cast<double>(std::max<std::int64_t>(1, n.num_rows));
    const double mean = static_cast<double>(n.nnz()) * block_size * block_size / rows;
    if (mean <= mean_of_eight && block_size <= 8) return 8;
    return mean <= mean_of_sixteen && block_size <= 16 ? 16 : 32;
  }
};

/// Whether the values that a row needs of other rows are all there, or some are still to come.
enum class Known { settled, awaited };

/// The strip of b rows that the blocks of a row are, b entries a column, over lanes: each has one row p of it
/// and the columns g, g + groups, ...
struct StripLanes {
  int block_size, groups;
  int block_step, column_step;  ///< groups = block_step b + column_step
  unsigned reciprocal;          ///< 2^16 / b, rounded up

  StripLanes(int b, int lanes)
      : block_size(b),
        groups(lanes / b),
        block_step(groups / b),
        column_step(groups % b),
        reciprocal((65536u + unsigned(b) - 1) / unsigned(b)) {}

  /// lane / b
  KOKKOS_FORCEINLINE_FUNCTION int group(int lane) const { return int(unsigned(lane) * reciprocal >> 16); }
};

/// y_i = S_i x_i - sum_k N_ik y_k for block row i of all vectors; S = I where there are no scales.
///
/// On a device a lane group computes a row, and adds the lanes' sums in scratch. On a host a thread computes
/// it, with loops of length `Size` where that is not 0. Other rows are read and written at the same time.
template <class Scalar, class Space, int Lanes, int Size>
struct SolveBlockRow {
  using Tuning = BlockRowTuning;
  using Launch = LaunchTuning;
  using Word = WordOf<Scalar>;
  static constexpr bool host = is_host_space<Space>;
  static constexpr int lanes = host ? 1 : Lanes;
  using LaneGroup = NativeLaneGroup<Space, typename Kokkos::TeamPolicy<Space>::member_type, lanes>;

  StripLanes strip;
  int scratch_bytes = host ? 0 : lanes * int(sizeof(Scalar));
  int num_columns = 0;
  std::int64_t num_rows = 0;  ///< of single rows
  int rows_ahead = 2;         ///< that a host asks for
  PackedVector<const std::size_t> row_ptrs;
  PackedVector<const int> cols;
  PackedVector<const Scalar> values, scale;
  PackedColumns<const Scalar> x;
  PackedColumns<Word> y;
  AwaitedWords<Scalar> others;

  explicit SolveBlockRow(int block_size) : strip(block_size, host ? block_size : lanes) {}

  KOKKOS_FORCEINLINE_FUNCTION bool has_stalled() const { return others.has_stalled(); }

  /// Brings the beginning of a row's entries near, on a host.
  KOKKOS_FORCEINLINE_FUNCTION void prefetch([[maybe_unused]] int i) const {
    KOKKOS_IF_ON_HOST(
        (const std::size_t entries = static_cast<std::size_t>(strip.block_size) * strip.block_size;
         const auto* const begin = reinterpret_cast<const char*>(values.data() + row_ptrs(i) * entries);
         std::size_t bytes = (row_ptrs(i + 1) - row_ptrs(i)) * entries * sizeof(Scalar);
         if (bytes > Tuning::prefetched) bytes = Tuning::prefetched;
         for (std::size_t at = 0; at < bytes; at += Tuning::line) __builtin_prefetch(begin + at);))
  }

  template <class AnyLaneGroup>
  KOKKOS_FUNCTION void operator()(const AnyLaneGroup& lane_group, int i, char* memory) const {
    for (int v = 0; v < num_columns; ++v) {
      if constexpr (AnyLaneGroup::width == 1) {
        if (others.max_polls >= 0)
          solve_by_thread<Known::awaited>(i, v);
        else
          solve_by_thread<Known::settled>(i, v);
      } else {
        const int b = strip.block_size;
        Scalar* const sums = reinterpret_cast<Scalar*>(memory);
        lane_group.region([&](int lane) { sums[lane] = lane_sum(lane, i, v); });
        lane_group.region([&](int lane) {
          for (int p = lane; p < b; p += AnyLaneGroup::width) {
            Scalar sum = sums[p];
            for (int g = 1; g < strip.groups; ++g) sum += sums[g * b + p];
            keep(i, p, v, sum);
          }
        });
      }
    }
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION void keep(int i, int p, int v, const Scalar& value) const {
    const std::int64_t row = std::int64_t(i) * strip.block_size + p;
    if (row < num_rows) others.keep(y(row, v), value);
  }

  /// The part of S_i x_i of row p and the columns g, g + step, ...
  KOKKOS_FORCEINLINE_FUNCTION Scalar own_part(int i, int v, int p, int g, int step) const {
    const int b = strip.block_size;
    const std::int64_t first = std::int64_t(i) * b;
    if (scale.is_empty()) return g == 0 && first + p < num_rows ? x(first + p, v) : Scalar(0);
    const Scalar* block = scale.data() + std::size_t(i) * (b * b);
    Scalar sum = 0;
    for (int q = g; q < b; q += step)
      if (first + q < num_rows) sum = multiply_add(block[q * b + p], x(first + q, v), sum);
    return sum;
  }

  KOKKOS_FUNCTION Scalar lane_sum(int lane, int i, int v) const {
    constexpr int batch = Tuning::batch;
    const int b = strip.block_size, g = strip.group(lane), p = lane - g * b;
    if (g >= strip.groups) return Scalar(0);
    Scalar sum = own_part(i, v, p, g, strip.groups);
    const std::size_t first = row_ptrs(i);
    const int end = static_cast<int>(row_ptrs(i + 1) - first) * b;
    const Scalar* entry = values.data() + first * std::size_t(b * b) + p;
    const Word* known = y.column(v);
    int k = strip.group(g), q = g - k * b;
    for (int c = g; c < end;) {
      std::int64_t from[batch];
      Scalar value[batch] = {};
      Word word[batch];
#pragma unroll
      for (int m = 0; m < batch; ++m) {
        from[m] = c < end ? row_of_column(cols(first + k), q) : -1;
        if (from[m] >= 0) value[m] = entry[std::size_t(c) * b];
        c += strip.groups;
        k += strip.block_step;
        q += strip.column_step;
        if (q >= b) {
          q -= b;
          ++k;
        }
      }
      others.template wait<batch>(known, from, word);
#pragma unroll
      for (int m = 0; m < batch; ++m)
        if (from[m] >= 0) sum = multiply_add(-value[m], Kokkos::bit_cast<Scalar>(word[m]), sum);
    }
    return sum;
  }

  /// -1: of another rank, or of the padding.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t row_of_column(int block_col, int q) const {
    const std::int64_t row = std::int64_t(block_col) * strip.block_size + q;
    return row < num_rows ? row : -1;
  }

  static constexpr int most = Size > 0 ? Size : largest_block_size;  ///< of a thread's block
  KOKKOS_FORCEINLINE_FUNCTION int block_size() const {
    return Size > 0 ? Size : strip.block_size;
  }

  template <Known State>
  KOKKOS_FUNCTION void solve_by_thread(int i, int v) const {
    const int b = block_size();
    const std::int64_t first = std::int64_t(i) * b;
    const std::int64_t whole = num_rows / b;  // block rows without padding
    const std::size_t entries = static_cast<std::size_t>(b) * b, end = row_ptrs(i + 1);
    const int* const col_of = cols.data();
    const Scalar* const blocks_of_n = values.data();
    Word* const known = y.column(v);
    Scalar products[most] = {};
    for (std::size_t k = row_ptrs(i); k < end; ++k) {
      const std::int64_t col = col_of[k];
      Scalar factors[most];
      if (col < whole)
        find<State>(known + col * b, b, factors);
      else  // of another rank, or the padding's
        find<State>(known + col * b, static_cast<int>(num_rows - col * b), factors);
      blocks::add_product<BlockOrder::by_columns, Size>(b, blocks_of_n + k * entries, factors, products);
    }
    const int own = i < whole ? b : static_cast<int>(num_rows - first);
    Scalar source[most], sums[most] = {};
    for (int q = 0; q < b; ++q) source[q] = q < own ? x(first + q, v) : Scalar(0);
    if (scale.is_empty())
      for (int p = 0; p < b; ++p) sums[p] = source[p];
    else
      blocks::add_product<BlockOrder::by_columns, Size>(b, scale.data() + std::size_t(i) * entries, source,
                                                        sums);
    for (int p = 0; p < b; ++p) sums[p] -= products[p];
    if (own == b)
      keep_all<State>(known + first, b, sums);
    else
      keep_all<State>(known + first, own, sums);
  }

  // Loops over a whole block, so that the compiler has its numbers in registers.

  /// `count` values of y, from `known` on; 0 for those after them.
  template <Known State>
  KOKKOS_FORCEINLINE_FUNCTION void find(const Word* known, int count, Scalar* factors) const {
    const int b = block_size();
    for (int q = 0; q < b; ++q) {
      if (q >= count) {
        factors[q] = Scalar(0);
      } else if constexpr (State == Known::settled) {
        factors[q] = reinterpret_cast<const Scalar*>(known)[q];
      } else {
        Word word[1] = {concurrent_load(known[q])};
        const std::int64_t from[1] = {q};
        if (word[0] == missing_word<Scalar>) others.template wait<1>(known, from, word);
        factors[q] = Kokkos::bit_cast<Scalar>(word[0]);
      }
    }
  }
  template <Known State>
  KOKKOS_FORCEINLINE_FUNCTION void keep_all(Word* known, int count, const Scalar* found) const {
    const int b = block_size();
    for (int p = 0; p < b; ++p) {
      if (p >= count) continue;
      if constexpr (State == Known::settled) {
        reinterpret_cast<Scalar*>(known)[p] = found[p];
      } else {
        others.keep(known[p], found[p]);
      }
    }
  }
};

}  // namespace prekond::impl::triangular
