// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The data of a row of the adaptive FSAI: the matrix, the parameters, its workspace.
#include <prekond/core/scalar.hpp>
#include "dense/inverse_factor.hpp"
#include "sparse_product/column_set.hpp"

#include <cstdint>
#include <limits>

namespace prekond::impl::adaptive_fsai {

/// The end of a row.
enum class RowStatus : unsigned char {
  done,
  pivot,     ///< growth ended at a pivot under the floor, or psi is under its own
  diagonal,  ///< psi was negative: 1/sqrt(a_ii) instead
  overflow,  ///< the workspace was too small: the row is to be done again in a larger one
};

/// The part of a workspace that was too small; negated, it is in place of the length of a row that is to be
/// done again.
enum class Shortage : int { members = 1, capacity = 2, pool = 3 };

/// The matrix, as the kernel reads it: `values` in the setup's precision, times one power of two for the
/// whole matrix.
template <class Scalar, class Real>
struct Matrix {
  const std::size_t* row_ptrs;
  const int* col_idxs;
  const in_precision_t<Scalar, Real>* values;
  const Scalar* original;
  const Real* diagonal;        ///< in the units of `values`
  const Real* root;            ///< its square roots
  const int* representatives;  ///< of each row, the first row of its run of rows with equal columns
  std::int64_t num_rows;
};

struct Parameters {
  int max_members;  ///< off-diagonal entries a row may have
  int max_steps;
  int step_size;
  int most_at_once;  ///< entries that a row may gain in one step, a start's included
  double tolerance;
  double step_tolerance;
  double candidate_floor;  ///< |r_j| / sqrt(a_ii a_jj) that a candidate has to exceed
  double pivot_floor;
  const unsigned char* wanted = nullptr;  ///< not 0: rows that grow; null: all do

  /// The number of entries up to which row i may grow.
  KOKKOS_FUNCTION int limit_of(int i) const { return wanted == nullptr || wanted[i] != 0 ? max_members : 0; }
};

/// A row of A whose entries left of column i have their slots remembered.
struct alignas(16) RememberedRow {
  std::size_t begin;  ///< of the row in A
  int length;         ///< entries left of column i
  int slots;          ///< where their slots begin in the pool
};

/// Lanes without an entry work on a place of their own after the others: cheaper than a branch.
inline constexpr int unused_slots = 16;

/// Gives arrays of a workspace their places, one after another.
struct Places {
  std::size_t end = 0;
  /// The beginning of n elements of `size` bytes.
  std::size_t operator()(std::size_t n, std::size_t size) {
    const std::size_t begin = (end + size - 1) / size * size;
    end = begin + n * size;
    return begin;
  }
};

/// Sizes of a row's workspace and where its arrays begin, in bytes, largest alignment first. The pool of
/// remembered slots is apart: on a device it lies in global memory (28 instead of 21 rows a processor: 171 ms
/// of 207). `Number` is the growth's scalar.
template <class Number, class Slot, class Set>
struct Layout {
  int max_members;  ///< off-diagonal entries there is room for
  int capacity;     ///< columns it has slots for
  int pool;         ///< entries of A's rows it can remember

  /// The halves of a warp add two rows to the gradient at a time: in single precision into a part each, which
  /// makes 171 ms of 183; in double the second part's scratch costs more than it gains (277 ms, and 263
  /// without).
  static constexpr int gradient_parts = Set::shared_insertion && sizeof(Number) == 4 ? 2 : 1;
  static constexpr int gradient_stride = gradient_parts * static_cast<int>(sizeof(Number));
  /// Columns whose places in the gradient, in bytes, a `Slot` can hold, with one value to spare.
  static constexpr std::int64_t most_columns() {
    return static_cast<std::int64_t>(static_cast<Slot>(~Slot(0)) / unsigned(gradient_stride)) - unused_slots -
           2;
  }

  std::size_t rows, representatives, gradient, factor, column, l, step, g, y, cols, member_cols, buckets,
      num_buckets, count, bytes, pool_bytes;

  Layout() = default;
  /// `batch`: the most that are added in one step.
  Layout(int members, int columns, int entries, int batch)
      : max_members(members), capacity(columns), pool(entries) {
    Places place;
    const std::size_t m = static_cast<std::size_t>(members);
    rows = place(m + 1, sizeof(RememberedRow));
    column = place(m + 1, sizeof(Number));
    l = place(m, sizeof(Number));
    step = place(m, sizeof(Number));
    g = place(m, sizeof(Number));
    y = place(static_cast<std::size_t>(batch), sizeof(Number));
    gradient = place(static_cast<std::size_t>(capacity) + 1 + unused_slots, gradient_parts * sizeof(Number));
    factor = place(InverseFactor<Number>::size(m), sizeof(Number));
    // Lookups without branches read beyond the last.
    constexpr std::size_t behind = Set::uses_markers && !Set::shared_insertion ? 1 : 0;
    cols = place(static_cast<std::size_t>(capacity) + behind, sizeof(int));
    representatives = place(m + 1, sizeof(int));
    member_cols = place(m, sizeof(int));
    count = place(1, sizeof(int));
    num_buckets = 0;
    buckets = place.end;
    if constexpr (!Set::uses_markers) {
      num_buckets = Set::num_buckets(capacity);
      buckets = place(num_buckets * sizeof(typename Set::bucket_type) / sizeof(unsigned), sizeof(unsigned));
    }
    bytes = (place.end + 15) / 16 * 16;
    pool_bytes = (static_cast<std::size_t>(pool) * sizeof(Slot) + 15) / 16 * 16;
  }
};

/// Stands where the other strategies have their set of columns.
struct NoColumnSet {
  static constexpr bool shared_insertion = false;
  static constexpr bool uses_markers = false;
  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION void release(const LaneGroup&) const {}
};

/// The part of a row of A left of column i.
struct alignas(16) MergeSource {
  std::size_t begin;  ///< in A
  int length;
  int next;  ///< the entry at the head of the row
};

/// The same for a row that is grown by merges.
template <class Number>
struct MergeLayout {
  int max_members;  ///< off-diagonal entries there is room for
  int capacity;     ///< entries of a gradient
  int pool;         ///< unused here

  std::size_t sources, column, l, own_g, g, y, gradient, factor, cols, member_cols, heads, bytes;
  std::size_t pool_bytes = 0;

  static constexpr std::int64_t most_columns() { return std::numeric_limits<int>::max(); }

  MergeLayout() = default;
  MergeLayout(int members, int columns, int entries, int batch)
      : max_members(members), capacity(columns), pool(entries) {
    Places place;
    const std::size_t m = static_cast<std::size_t>(members);
    sources = place(m + 1, sizeof(MergeSource));
    column = place(m + 1, sizeof(Number));
    l = place(m, sizeof(Number));
    own_g = place(1, sizeof(Number));  // in front of the members'
    g = place(m, sizeof(Number));
    y = place(static_cast<std::size_t>(batch), sizeof(Number));
    gradient = place(capacity, sizeof(Number));
    factor = place(InverseFactor<Number>::size(m), sizeof(Number));
    cols = place(capacity, sizeof(int));
    member_cols = place(m, sizeof(int));
    heads = place(m + 1, sizeof(unsigned));
    bytes = (place.end + 15) / 16 * 16;
  }
};

}  // namespace prekond::impl::adaptive_fsai
