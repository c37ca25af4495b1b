// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The solution of a tridiagonal system by the lanes of a lane group, or with row exchanges by one lane.
#include <prekond/core/scalar.hpp>
#include <prekond/core/stopping.hpp>

#include "batched/band_lu.hpp"
#include "batched/lane_group.hpp"

namespace prekond::impl::batched {

/// Chunks of consecutive rows, one a lane. The number of rows is odd, so that lanes access different banks of
/// scratch memory.
struct Chunks {
  int num_rows, rows, count;

  KOKKOS_FUNCTION Chunks(int n, int lanes) : num_rows(n), rows(((n + lanes - 1) / lanes) | 1) {
    count = (n + rows - 1) / rows;
  }
  KOKKOS_FORCEINLINE_FUNCTION int first(int k) const { return k * rows; }
  KOKKOS_FORCEINLINE_FUNCTION int last(int k) const {
    return (k + 1) * rows < num_rows ? (k + 1) * rows - 1 : num_rows - 1;
  }
  /// The length of `TridiagonalChunks::reduced` for up to `lanes` lanes
  KOKKOS_FORCEINLINE_FUNCTION static std::int64_t work_length(std::int64_t n, std::int64_t lanes) {
    return 6 * (n < lanes ? n : lanes);
  }
};

/// A copy of a tridiagonal matrix by columns: entry (i, j) at 1 + i - j + 3 j.
template <class Scalar>
struct TridiagonalCopy {
  Scalar* values;
  KOKKOS_FORCEINLINE_FUNCTION Scalar& lower(int i) const { return values[3 * i - 1]; }
  KOKKOS_FORCEINLINE_FUNCTION Scalar& diagonal(int i) const { return values[3 * i + 1]; }
  KOKKOS_FORCEINLINE_FUNCTION Scalar& upper(int i) const { return values[3 * i + 3]; }

  /// Copies the matrix; the corners outside of it become zeros.
  template <class LaneGroup, class System>
  KOKKOS_FORCEINLINE_FUNCTION void load(const LaneGroup& lane_group, const System& a) const {
    const int last = 3 * a.num_rows - 1;
    const auto load = [&](int k) {
      const int j = k / 3;
      const std::int64_t place = a.leading == 3 ? std::int64_t(k) : k - 3 * j + std::int64_t(j) * a.leading;
      return k == 0 || k == last ? Scalar(0) : a.values[place];
    };
    for_loaded(lane_group, 3 * a.num_rows, load, [&](int k, const Scalar& value) { values[k] = value; });
  }
};

/// The solution x of T x = f without row exchanges. Each lane eliminates the rows of a chunk but its last,
/// from both sides; the last rows make a tridiagonal system of one row a lane, which cyclic reduction of all
/// rows solves in log2 of the lanes steps; then each lane substitutes in its chunk.
///
/// Cost: about 2 divisions and 12 other operations a row; 5 barriers and one a step of the reduction.
///
/// Source: Wang, ACM Trans. Math. Softw. 7 (1981), 170-183 (the partition); Hockney, Jesshope, Parallel
/// Computers, 1981, section 5.4 (cyclic reduction of all rows).
template <class Scalar>
struct TridiagonalChunks {
  TridiagonalCopy<Scalar> matrix;
  Scalar* x;         ///< f at first, x at the end
  Scalar* inverses;  ///< the reciprocals of the pivots, one a row
  Scalar* reduced;   ///< Chunks::work_length

  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION void solve(const LaneGroup& lane_group, int n) const {
    const Chunks chunks(n, lane_group.size());
    const int count = chunks.count;
    Scalar* own = reduced;               // three numbers for the last row of each chunk
    Scalar* next = reduced + 3 * count;  // and for its first row, for the chunk before; later the second copy
    lane_group.region([&](int lane) {
      if (lane < count) eliminate(chunks.first(lane), chunks.last(lane), own + 3 * lane, next + 3 * lane);
    });
    lane_group.region([&](int lane) {
      if (lane < count) join(chunks.last(lane), lane + 1 < count, own + 3 * lane, next + 3 * (lane + 1));
    });
    for (int step = 1; step < count; step *= 2) {
      lane_group.region([&](int lane) {
        if (lane < count) reduce(own, next, lane, step, count);
      });
      Scalar* kept = own;
      own = next;
      next = kept;
    }
    lane_group.region([&](int lane) {
      if (lane >= count) return;
      const Scalar before = lane > 0 ? own[3 * (lane - 1) + 2] : Scalar(0);
      substitute(chunks.first(lane), chunks.last(lane), before, own[3 * lane + 2]);
    });
  }

 private:
  /// Eliminates the inner rows first .. last - 1 of a chunk, downwards for the equation of its last row and
  /// upwards for that of its first. `own`: in row `last` the factors of x(first - 1) and x(last) and the
  /// right-hand side, without x(last + 1) and the next chunk. `head`: x(first) = head[2] - head[0] x(first -
  /// 1) - head[1] x(last).
  KOKKOS_FORCEINLINE_FUNCTION void eliminate(int first, int last, Scalar* own, Scalar* head) const {
    own[0] = last > 0 ? matrix.lower(last) : Scalar(0);
    own[1] = matrix.diagonal(last);
    own[2] = x[last];
    head[0] = head[2] = Scalar(0);
    head[1] = Scalar(-1);
    if (first == last) return;
    const Scalar lower_of_first = first > 0 ? matrix.lower(first) : Scalar(0);
    Scalar down = Scalar(1) / matrix.diagonal(first), down_fill = lower_of_first, down_f = x[first];
    Scalar up = Scalar(1) / matrix.diagonal(last - 1), up_fill = matrix.upper(last - 1), up_f = x[last - 1];
    inverses[first] = down;
    for (int i = first + 1, j = last - 2; i < last; ++i, --j) {
      const Scalar w = matrix.lower(i) * down, v = matrix.upper(j) * up;
      down = Scalar(1) / (matrix.diagonal(i) - w * matrix.upper(i - 1));
      up = Scalar(1) / (matrix.diagonal(j) - v * matrix.lower(j + 1));
      down_fill = -w * down_fill;
      up_fill = -v * up_fill;
      down_f = x[i] - w * down_f;
      up_f = x[j] - v * up_f;
      inverses[i] = down;
    }
    const Scalar w = matrix.lower(last) * down;
    own[0] = -w * down_fill;
    own[1] -= w * matrix.upper(last - 1);
    own[2] -= w * down_f;
    head[0] = lower_of_first * up;
    head[1] = up_fill * up;
    head[2] = up_f * up;
  }

  /// Adds the first row of the next chunk: own[0] x(before) + x(last) + own[1] x(after) = own[2].
  KOKKOS_FORCEINLINE_FUNCTION void join(int last, bool has_next, Scalar* own, const Scalar* head) const {
    Scalar diagonal = own[1], after = 0, f = own[2];
    if (has_next) {
      const Scalar upper = matrix.upper(last);
      diagonal -= upper * head[0];
      after = -upper * head[1];
      f -= upper * head[2];
    }
    const Scalar inverse = Scalar(1) / diagonal;
    own[0] *= inverse;
    own[1] = after * inverse;
    own[2] = f * inverse;
  }

  KOKKOS_FORCEINLINE_FUNCTION static void reduce(const Scalar* from, Scalar* to, int k, int step, int count) {
    const Scalar a = from[3 * k], c = from[3 * k + 1];
    Scalar diagonal = 1, before = 0, after = 0, f = from[3 * k + 2];
    if (k >= step) {
      const Scalar* row = from + 3 * (k - step);
      diagonal -= a * row[1];
      before = -a * row[0];
      f -= a * row[2];
    }
    if (k + step < count) {
      const Scalar* row = from + 3 * (k + step);
      diagonal -= c * row[0];
      after = -c * row[1];
      f -= c * row[2];
    }
    const Scalar inverse = Scalar(1) / diagonal;
    to[3 * k] = before * inverse;
    to[3 * k + 1] = after * inverse;
    to[3 * k + 2] = f * inverse;
  }

  KOKKOS_FORCEINLINE_FUNCTION void substitute(int first, int last, const Scalar& before,
                                              const Scalar& own) const {
    Scalar value = before;
    for (int i = first; i < last; ++i) {
      const Scalar f = i > 0 ? x[i] - matrix.lower(i) * value : x[i];
      value = f * inverses[i];
      x[i] = value;
    }
    value = own;
    x[last] = value;
    for (int i = last - 1; i >= first; --i) {
      value = x[i] - matrix.upper(i) * inverses[i] * value;
      x[i] = value;
    }
  }
};

/// The solution of T x = f with partial pivoting by one lane, as LAPACK's gtsv. `second` is for the second
/// diagonal above, one number a row. Overwrites the copy. \returns rtol, breakdown_singular or nan
template <class Scalar>
KOKKOS_FUNCTION StopReason solve_tridiagonal(const TridiagonalCopy<Scalar>& matrix, int n, bool pivots,
                                             Scalar* x, Scalar* second) {
  for (int i = 0; i + 1 < n; ++i) {
    Scalar& diagonal = matrix.diagonal(i);
    Scalar& below = matrix.lower(i + 1);
    Scalar& next = matrix.diagonal(i + 1);
    Scalar& upper = matrix.upper(i);
    second[i] = Scalar(0);
    if (!pivots || !(sum_of_parts(diagonal) < sum_of_parts(below))) {
      if (diagonal == Scalar(0)) return StopReason::breakdown_singular;
      const Scalar factor = below / diagonal;
      next -= factor * upper;
      x[i + 1] -= factor * x[i];
    } else {
      const Scalar factor = diagonal / below, old_next = next, old_x = x[i];
      diagonal = below;
      next = upper - factor * old_next;
      upper = old_next;
      if (i + 2 < n) {
        second[i] = matrix.upper(i + 1);
        matrix.upper(i + 1) = -factor * second[i];
      }
      x[i] = x[i + 1];
      x[i + 1] = old_x - factor * x[i];
    }
    if (!is_finite(diagonal)) return StopReason::nan;
  }
  if (!is_finite(matrix.diagonal(n - 1))) return StopReason::nan;
  if (matrix.diagonal(n - 1) == Scalar(0)) return StopReason::breakdown_singular;
  Scalar value = x[n - 1] / matrix.diagonal(n - 1), after = 0;
  x[n - 1] = value;
  for (int i = n - 2; i >= 0; --i) {
    const Scalar own = (x[i] - matrix.upper(i) * value - second[i] * after) / matrix.diagonal(i);
    after = value;
    value = own;
    x[i] = own;
  }
  return StopReason::rtol;
}

}  // namespace prekond::impl::batched
