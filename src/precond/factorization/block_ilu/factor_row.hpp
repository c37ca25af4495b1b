// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A block row of an incomplete factorisation M = (D + W) (I + U).
#include <prekond/core/impl/multiply_add.hpp>
#include <prekond/core/scalar.hpp>
#include "core/lane_group.hpp"

#include "core/concurrent_words.hpp"
#include "core/packed.hpp"
#include "dense/block_inverse.hpp"
#include "matrix/block_sizes.hpp"
#include "precond/factorization/ilu/triangles.hpp"
#include "precond/setup/breakdown_counter.hpp"
#include "precond/triangular/awaited_words.hpp"
#include "precond/triangular/row_launches.hpp"

#include <cstdint>

namespace prekond::impl::block_ilu {

struct FactorTuning {
  /// Entries of other rows that a lane group has in scratch; at least a block.
  static constexpr int stage_entries = 256;
  static constexpr int batch = 4;   ///< entries of other rows that a lane asks for at a time
  static constexpr int lanes = 32;  ///< of a device's row
  /// A host's rows in their own order on one thread were mostly faster than levels on two
  /// (perf_tests/results/cpu/block_ilu.md).
  static constexpr int threads_in_order = 2;
};

/// Block row i of A's own pattern, from the rows k < i that it has entries for:
///
///   w_ij = a_ij - sum_{k < min(i, j)} w_ik u_kj,    D_i = w_ii,    n_ij = D_i^-1 w_ij for j < i and j > i:
///
/// u_ij is n_ij above the diagonal, and the row of the lower factor D (I + N) is scaled likewise. The row is
/// worked on in scratch, or, if it is too long, in global memory. Which blocks of the other rows it needs is
/// found before it waits for them; they come into scratch, as many as fit at a time, each block once.
///
/// A block D_i that is singular (see BlockInverse) or a row with entries that are not finite loses all blocks
/// but the diagonal one, of which it keeps the diagonal entries of A, or the largest one of the row where
/// that has no finite inverse.
template <class Scalar, class Space, int Size, int Lanes>
struct FactorBlockRow {
  using Tuning = FactorTuning;
  using Launch = LaunchTuning;
  static constexpr bool host = is_host_space<Space>;
  static constexpr int lanes = host ? 1 : Lanes;
  using LaneGroup = NativeLaneGroup<Space, typename Kokkos::TeamPolicy<Space>::member_type, lanes>;
  using Inverse = BlockInverse<Scalar, Size>;
  using Word = WordOf<Scalar>;

  int size;  ///< b
  blocks::BlockStrides strides;
  int stage_blocks = 1;
  int scratch_bytes = 0;
  int row_blocks = 0;  ///< of a row in scratch; 0: in `work`
  Scalar shift = 0, floor = 0;
  std::int64_t num_rows = 0;  ///< of single rows
  PackedVector<const std::size_t> a_ptrs;
  PackedVector<const Scalar> a_values;
  PackedVector<const int> diagonal;  ///< its place in A's row, or -1
  PackedVector<const std::size_t> lower_ptrs, upper_ptrs;
  PackedVector<const int> lower_cols, upper_cols;
  PackedVector<Scalar> lower, upper, inverse;  ///< N's triangles, D^-1
  PackedVector<Scalar> work;
  /// AwaitedValues of the scalar factorisations, which polls in longer rounds, was slower here on an H200.
  triangular::AwaitedWords<Scalar> others;
  PackedVector<BreakdownCounter> outcome;

  FactorBlockRow(int block_size, const blocks::BlockStrides& of_a) : size(block_size), strides(of_a) {}

  KOKKOS_FORCEINLINE_FUNCTION int block_size() const { return Size > 0 ? Size : size; }
  KOKKOS_FORCEINLINE_FUNCTION int entries() const { return block_size() * block_size(); }
  KOKKOS_FORCEINLINE_FUNCTION bool has_stalled() const { return others.has_stalled(); }

  /// Scratch of a lane group: the inverse, entries of other rows and their places, the row.
  static std::size_t bytes_of(int b, int stage, int row) {
    const std::size_t entries = static_cast<std::size_t>(b) * b;
    return (Inverse::bytes(b) + static_cast<std::size_t>(stage) * sizeof(Listed) +
            (static_cast<std::size_t>(stage) + row) * entries * sizeof(Scalar) +
            Lanes * (sizeof(std::size_t) + sizeof(int)) + static_cast<std::size_t>(row) * sizeof(int) + 15) /
           16 * 16;
  }

  template <class AnyLaneGroup>
  KOKKOS_FUNCTION void operator()(const AnyLaneGroup& lane_group, int i, char* memory) const {
    const Row row = row_of(i, memory);
    if constexpr (AnyLaneGroup::width == 1) {
      load_by_thread(i, row);
      for (int t = 0; t < row.num_lower; ++t) subtract_by_thread(i, row, t, lower_cols(row.lower_first + t));
    } else {
      load(lane_group, i, row);
      subtract_rows(lane_group, i, row);
    }
    finish(lane_group, i, row, memory);
  }

 private:
  /// w_ij -= w_ik u_kj
  struct Listed {
    std::size_t block;  ///< u_kj in U
    int left, place;    ///< w_ik and w_ij in the row
  };
  /// The row in work: blocks of N's lower triangle, the diagonal, the upper triangle.
  struct Row {
    std::size_t lower_first, upper_first;
    int num_lower, num_upper;
    Scalar* blocks;
    Scalar* stage;
    Listed* listed;
    std::size_t* begins;  ///< of rows of U
    int* lengths;
    int* cols;  ///< of a row in scratch
    KOKKOS_FORCEINLINE_FUNCTION int num_blocks() const { return num_lower + 1 + num_upper; }
  };

  KOKKOS_FORCEINLINE_FUNCTION Row row_of(int i, char* memory) const {
    Row row;
    row.lower_first = lower_ptrs(i);
    row.upper_first = upper_ptrs(i);
    row.num_lower = static_cast<int>(lower_ptrs(i + 1) - row.lower_first);
    row.num_upper = static_cast<int>(upper_ptrs(i + 1) - row.upper_first);
    row.listed = reinterpret_cast<Listed*>(memory + Inverse::bytes(block_size()));
    row.begins = reinterpret_cast<std::size_t*>(row.listed + stage_blocks);
    row.stage = reinterpret_cast<Scalar*>(row.begins + Lanes);
    Scalar* const rest = row.stage + stage_blocks * entries();
    row.blocks = row_blocks > 0
                     ? rest
                     : work.data() + (row.lower_first + row.upper_first + std::size_t(i)) * entries();
    row.lengths = reinterpret_cast<int*>(rest + row_blocks * entries());
    row.cols = row.lengths + Lanes;
    return row;
  }

  KOKKOS_FORCEINLINE_FUNCTION const Word* words_of_upper() const {
    return reinterpret_cast<const Word*>(upper.data());
  }
  KOKKOS_FORCEINLINE_FUNCTION Scalar a_diagonal(int i, int p) const {
    return diagonal(i) < 0 ? Scalar(0)
                           : a_values((a_ptrs(i) + diagonal(i)) * entries() + strides.place(p, p));
  }
  /// Rows of the padding have 1 on the diagonal.
  KOKKOS_FORCEINLINE_FUNCTION bool is_padding(int i, int p) const {
    return std::int64_t(i) * block_size() + p >= num_rows;
  }

  template <class AnyLaneGroup>
  KOKKOS_FUNCTION void load(const AnyLaneGroup& lane_group, int i, const Row& row) const {
    const int b = block_size(), n = entries();
    const std::size_t first = a_ptrs(i);
    const bool has_diagonal = diagonal(i) >= 0;
    lane_group.region([&](int lane) {
      for (int e = lane; e < row.num_blocks() * n; e += lane_group.size()) {
        const int block = e / n, q = e % n / b, p = e % b;
        const bool own = block == row.num_lower;
        const std::size_t k = first + block - (block > row.num_lower && !has_diagonal ? 1 : 0);
        Scalar value = own && !has_diagonal ? Scalar(0) : a_values(k * n + strides.place(p, q));
        if (own && p == q) {
          value += shift * value;
          if (is_padding(i, p)) value = 1;
        }
        row.blocks[e] = value;
      }
      if (row_blocks > 0) {
        for (int k = lane; k < row.num_lower; k += lane_group.size())
          row.cols[k] = lower_cols(row.lower_first + k);
        for (int k = lane; k < row.num_upper; k += lane_group.size())
          row.cols[row.num_lower + k] = upper_cols(row.upper_first + k);
      }
    });
  }

  /// Where column j of row i stands among its blocks; -1: it does not.
  KOKKOS_FUNCTION int place_of(int i, const Row& row, int j) const {
    if (j == i) return row.num_lower;
    const bool is_lower = j < i;
    const int* cols = is_lower ? lower_cols.data() + row.lower_first : upper_cols.data() + row.upper_first;
    if (row_blocks > 0) cols = is_lower ? row.cols : row.cols + row.num_lower;
    int begin = 0, end = is_lower ? row.num_lower : row.num_upper;
    const int last = end;
    while (begin < end) {
      const int middle = begin + (end - begin) / 2;
      if (cols[middle] < j)
        begin = middle + 1;
      else
        end = middle;
    }
    if (begin == last || cols[begin] != j) return -1;
    return is_lower ? begin : row.num_lower + 1 + begin;
  }

  /// w_ij -= w_ik u_kj for all k, in their order. The blocks of a few rows k of U, or of a part of one, are
  /// looked up before they are waited for.
  template <class AnyLaneGroup>
  KOKKOS_FUNCTION void subtract_rows(const AnyLaneGroup& lane_group, int i, const Row& row) const {
    for (int t = 0, done = 0; t < row.num_lower;) {
      const int end = t + AnyLaneGroup::width < row.num_lower ? t + AnyLaneGroup::width : row.num_lower;
      lane_group.region([&](int lane) {
        for (int k = t + lane; k < end; k += AnyLaneGroup::width) {
          const int other = lower_cols(row.lower_first + k);
          row.begins[k - t] = upper_ptrs(other);
          row.lengths[k - t] = static_cast<int>(upper_ptrs(other + 1) - upper_ptrs(other));
        }
      });
      const int first = t;
      while (t < end) {  // as many as there is room for
        const int left = row.lengths[t - first] - done;
        if (left > stage_blocks) {
          subtract_some(lane_group, i, row, first, t, done, stage_blocks);
          done += stage_blocks;
          continue;
        }
        int last = t + 1, count = left;
        while (last < end && count + row.lengths[last - first] <= stage_blocks)
          count += row.lengths[last++ - first];
        subtract_some(lane_group, i, row, first, t, done, count);
        t = last;
        done = 0;
      }
      lane_group.region([](int) {});  // begins and lengths have been read
    }
  }

  /// `count` blocks of the rows of U from the row's block `begin` on, without the first `done` of that one.
  /// `first` is the block whose row's place is the first of `begins`.
  template <class AnyLaneGroup>
  KOKKOS_FUNCTION void subtract_some(const AnyLaneGroup& lane_group, int i, const Row& row, int first,
                                     int begin, int done, int count) const {
    lane_group.region([&](int lane) {
      int t = begin, before = 0;  // those of rows before t
      for (int u = lane; u < count; u += AnyLaneGroup::width) {
        int length = row.lengths[t - first] - (t == begin ? done : 0);
        while (u - before >= length) {
          before += length;
          length = row.lengths[++t - first];
        }
        const std::size_t block = row.begins[t - first] + (t == begin ? done : 0) + (u - before);
        row.listed[u] = {block, t, place_of(i, row, upper_cols(block))};
      }
    });
    lane_group.region([&](int lane) { fetch<AnyLaneGroup::width>(lane, row, count); });
    for (int from = 0; from < count;) {
      const int t = row.listed[from].left;
      int to = from + row.lengths[t - first] - (t == begin ? done : 0);
      if (to > count) to = count;
      lane_group.region([&](int lane) { subtract<AnyLaneGroup::width>(lane, row, from, to); });
      from = to;
    }
  }

  /// Lists the blocks of one w_ik.
  template <int Stride>
  KOKKOS_FORCEINLINE_FUNCTION void subtract(int lane, const Row& row, int first, int last) const {
    const int b = block_size(), n = entries();
    for (int e = lane; e < (last - first) * n; e += Stride) {
      const int u = first + e / n, within = e % n, q = within / b, p = within - q * b;
      const Listed own = row.listed[u];
      if (own.place < 0) continue;
      const Scalar* const left = row.blocks + own.left * n;
      const Scalar* const right = row.stage + u * n + q * b;
      Scalar* const target = row.blocks + own.place * n + within;
      Scalar sum = *target;
#pragma unroll
      for (int r = 0; r < (Size > 0 ? Size : b); ++r) sum = multiply_add(-left[r * b + p], right[r], sum);
      *target = sum;
    }
  }

  /// Subtracts the listed blocks that have a place.
  template <int Stride>
  KOKKOS_FUNCTION void fetch(int lane, const Row& row, int count) const {
    constexpr int batch = Tuning::batch;
    const int n = entries();
    for (int e = lane; e < count * n; e += batch * Stride) {
      std::int64_t at[batch];
      Word word[batch];
#pragma unroll
      for (int m = 0; m < batch; ++m) {
        const int own = e + m * Stride;
        at[m] = own < count * n && row.listed[own / n].place >= 0
                    ? static_cast<std::int64_t>(row.listed[own / n].block * n + own % n)
                    : -1;
      }
      others.template wait<batch>(words_of_upper(), at, word);
#pragma unroll
      for (int m = 0; m < batch; ++m)
        if (at[m] >= 0) row.stage[e + m * Stride] = Kokkos::bit_cast<Scalar>(word[m]);
    }
  }

  static constexpr int most_rows = Size > 0 ? Size : largest_block_size;  ///< of a thread's block

  /// As `load`, where the row is not looked up in scratch.
  KOKKOS_FUNCTION void load_by_thread(int i, const Row& row) const {
    const int b = block_size(), n = entries();
    const bool has_diagonal = diagonal(i) >= 0;
    const Scalar* from = a_values.data() + a_ptrs(i) * n;
    for (int block = 0; block < row.num_blocks(); ++block) {
      Scalar* const to = row.blocks + block * n;
      const bool own = block == row.num_lower;
      if (own && !has_diagonal) {
        for (int e = 0; e < n; ++e) to[e] = 0;
      } else {
        for (int q = 0; q < b; ++q)
          for (int p = 0; p < b; ++p) to[q * b + p] = from[strides.place(p, q)];
        from += n;
      }
      if (!own) continue;
      for (int p = 0; p < b; ++p) {
        Scalar& value = to[p * b + p];
        value = is_padding(i, p) ? Scalar(1) : value + shift * value;
      }
    }
  }

  /// Column of block `place` of the row.
  KOKKOS_FORCEINLINE_FUNCTION int column_of(int i, const Row& row, int place) const {
    if (place < row.num_lower) return lower_cols(row.lower_first + place);
    return place == row.num_lower ? i : upper_cols(row.upper_first + (place - row.num_lower - 1));
  }

  /// w_ij -= w_ik u_kj for the row's block t, w_ik. Both rows' columns ascend.
  KOKKOS_FUNCTION void subtract_by_thread(int i, const Row& row, int t, int k) const {
    const int b = block_size(), n = entries();
    const Scalar* const left = row.blocks + t * n;
    const std::size_t end = upper_ptrs(k + 1);
    int place = t + 1;
    for (std::size_t next = upper_ptrs(k); next < end;) {
      place = ilu::seek_column(place, row.num_blocks(), upper_cols(next),
                               [&](int p) { return column_of(i, row, p); });
      if (place == row.num_blocks()) return;
      const int col = column_of(i, row, place);
      next = ilu::seek_column(next, end, col, upper_cols);
      if (next == end || upper_cols(next) != col) continue;
      const std::size_t u = next++;
      Scalar* const target = row.blocks + place * n;
      const Scalar* right = upper.data() + u * n;
      if (others.max_polls >= 0) {
        for (int e = 0; e < n; ++e) {
          const std::int64_t at[1] = {static_cast<std::int64_t>(u * n + e)};
          Word word[1];
          others.template wait<1>(words_of_upper(), at, word);
          row.stage[e] = Kokkos::bit_cast<Scalar>(word[0]);
        }
        right = row.stage;
      }
      for (int q = 0; q < b; ++q) {
        Scalar sums[most_rows];
        for (int p = 0; p < b; ++p) sums[p] = target[q * b + p];
        for (int r = 0; r < b; ++r) {
          const Scalar factor = -right[q * b + r];
          for (int p = 0; p < b; ++p) sums[p] = multiply_add(left[r * b + p], factor, sums[p]);
        }
        for (int p = 0; p < b; ++p) target[q * b + p] = sums[p];
      }
    }
  }

  template <class AnyLaneGroup>
  KOKKOS_FUNCTION void finish(const AnyLaneGroup& lane_group, int i, const Row& row, char* memory) const {
    const int n = entries();
    Inverse own(memory, block_size());
    const bool regular = own.invert(lane_group, row.blocks + row.num_lower * n, floor);
    const int bad = lane_group.template max<int>([&](int lane) {
      int found = 0;
      for (int e = lane; e < row.num_blocks() * n; e += lane_group.size())
        if (!is_finite(row.blocks[e])) found = 1;
      for (int e = lane; regular && e < n; e += lane_group.size())
        if (!is_finite(own.result()[e])) found = 1;
      return found;
    });
    const bool sound = regular && bad == 0;
    // Others wait for U.
    scale_blocks(lane_group, row, own, sound, row.num_lower + 1, row.num_upper,
                 upper.data() + row.upper_first * n);
    scale_blocks(lane_group, row, own, sound, 0, row.num_lower, lower.data() + row.lower_first * n);
    lane_group.region([&](int lane) {
      for (int e = lane; e < n; e += lane_group.size())
        inverse(std::int64_t(i) * n + e) = sound ? own.result()[e] : fallback(i, row, e);
      if (lane == 0 && !sound)
        BreakdownCounter::count(outcome(0), i * block_size() + (regular ? 0 : own.failed_column()), true,
                                regular ? 1.0f : own.bad_pivot());
    });
  }

  /// 1 / a_pp; where that is not finite, of the largest entry of its row; 1 where that is not finite either.
  KOKKOS_FUNCTION Scalar fallback(int i, const Row& row, int e) const {
    const int b = block_size(), p = e % b;
    if (e / b != p) return 0;
    const Scalar entry = is_padding(i, p) ? Scalar(1) : a_diagonal(i, p);
    const Scalar direct = Scalar(1) / (entry + shift * entry);
    if (is_finite(entry) && is_finite(direct)) return direct;
    const int own_blocks = row.num_lower + row.num_upper + (diagonal(i) >= 0 ? 1 : 0);
    Scalar most = 0;
    for (int k = 0; k < own_blocks; ++k)
      for (int q = 0; q < b; ++q) {
        const Scalar other = Kokkos::abs(a_values((a_ptrs(i) + k) * entries() + strides.place(p, q)));
        if (is_finite(other) && other > most) most = other;
      }
    const Scalar value = Scalar(1) / most;
    return is_finite(value) ? value : Scalar(1);
  }

  /// n_ij = D_i^-1 w_ij; 0 where that is not finite, or the row fell back.
  template <class AnyLaneGroup>
  KOKKOS_FUNCTION void scale_blocks(const AnyLaneGroup& lane_group, const Row& row, const Inverse& own,
                                    bool sound, int first, int count, Scalar* target) const {
    const int b = block_size(), n = entries();
    const Scalar* const left = own.result();
    if constexpr (AnyLaneGroup::width == 1) {
      scale_by_thread(left, row.blocks + first * n, count * b, sound, target);
      return;
    }
    lane_group.region([&](int lane) {
      for (int e = lane; e < count * n; e += lane_group.size()) {
        const int block = e / n, within = e - block * n, q = within / b, p = within - q * b;
        const Scalar* const right = row.blocks + (first + block) * n + q * b;
        Scalar sum = 0;
        if (sound) {
#pragma unroll
          for (int r = 0; r < (Size > 0 ? Size : b); ++r) sum = multiply_add(left[r * b + p], right[r], sum);
        }
        concurrent_store(target[e], is_finite(sum) ? sum : Scalar(0));
      }
    });
  }
  /// The same for all columns of the blocks.
  KOKKOS_FUNCTION void scale_by_thread(const Scalar* left, const Scalar* blocks, int columns, bool sound,
                                       Scalar* target) const {
    const int b = block_size();
    for (int c = 0; c < columns; ++c) {
      Scalar sums[most_rows] = {};
      for (int r = 0; sound && r < b; ++r)
        for (int p = 0; p < b; ++p) sums[p] = multiply_add(left[r * b + p], blocks[c * b + r], sums[p]);
      for (int p = 0; p < b; ++p)
        concurrent_store(target[c * b + p], is_finite(sums[p]) ? sums[p] : Scalar(0));
    }
  }
};

}  // namespace prekond::impl::block_ilu
