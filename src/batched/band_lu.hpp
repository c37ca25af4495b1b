// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The LU factorisation P A = L U of a band matrix and its solves by the lanes of a lane group.
#include <prekond/batched/banded.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/core/stopping.hpp>

#include "batched/lane_group.hpp"

namespace prekond::impl::batched {

/// |re| + |im|
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T sum_of_parts(const T& x) {
  return Kokkos::abs(x);
}
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T sum_of_parts(const Kokkos::complex<T>& x) {
  return Kokkos::abs(x.real()) + Kokkos::abs(x.imag());
}

/// The sizes of the factors. Entry (i, j) of both is at above + i - j + j leading: U with the reciprocals of
/// its diagonal, and below it the multipliers of L as in LAPACK's gbtrf, without later row exchanges.
struct BandShape {
  int num_rows = 0, lower = 0, upper = 0;
  bool pivots = true;

  KOKKOS_FORCEINLINE_FUNCTION int above() const { return upper + (pivots ? lower : 0); }
  KOKKOS_FORCEINLINE_FUNCTION int leading() const { return lower + above() + 1; }
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t length() const { return std::int64_t(num_rows) * leading(); }
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t place(int i, int j) const {
    return above() + i - j + std::int64_t(j) * leading();
  }
  /// Rows below the diagonal of a column
  KOKKOS_FORCEINLINE_FUNCTION int below(int j) const {
    return lower < num_rows - 1 - j ? lower : num_rows - 1 - j;
  }
};

/// The factors of one system.
template <class Scalar>
struct BandLu {
  BandShape shape;
  Scalar* values;
  int* exchanged;  ///< the row that row j was exchanged with in step j

  /// A step of the elimination, known to all lanes.
  struct Step {
    int j, row;      ///< the row of the pivot, before the exchange
    int last;        ///< the last column that the pivot's row reaches
    Scalar inverse;  ///< the reciprocal of the pivot
  };

  /// Computes the factors. \returns rtol, breakdown_singular or nan
  template <class LaneGroup, class System>
  KOKKOS_FORCEINLINE_FUNCTION StopReason factor(const LaneGroup& lane_group, const System& a) const {
    copy(lane_group, a);
    Step step{0, 0, 0, Scalar(0)};
    for (int j = 0; j < shape.num_rows; ++j) {
      const Step before = step;
      const Scalar pivot = find_pivot(step, j);
      if (!is_finite(pivot)) return StopReason::nan;
      step.inverse = Scalar(1) / pivot;
      if (pivot == Scalar(0) || !is_finite(step.inverse)) return StopReason::breakdown_singular;
      if constexpr (LaneGroup::width == 1) {
        eliminate_alone(step);
      } else {
        exchange(lane_group, step, before);
        eliminate(lane_group, step);
      }
    }
    if (LaneGroup::width != 1 && shape.num_rows > 0)
      lane_group.region([&](int lane) { keep_multipliers(step, lane, lane_group.size()); });
    return StopReason::rtol;
  }

  /// y = A^-1 y
  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION void solve(const LaneGroup& lane_group, Scalar* y) const {
    const int n = shape.num_rows;
    for (int j = 0; j < n; ++j) {
      const int row = shape.pivots ? exchanged[j] : j;
      if (row != j) lane_group.once([&] { swap(y[j], y[row]); });
      const int below = shape.below(j);
      if (below == 0) continue;
      const Scalar* l = values + shape.place(j + 1, j);
      subtract(lane_group, below, l, y[j], y + j + 1);
    }
    for (int j = n - 1; j > 0; --j) {
      const int count = j < shape.above() ? j : shape.above();
      const Scalar* u = values + shape.place(j - count, j);
      subtract(lane_group, count, u, u[count] * y[j], y + j - count);
    }
    for_elements(lane_group, n, [&](int i) { y[i] = values[shape.place(i, i)] * y[i]; });
  }

  /// y -= factor v by one lane. `restrict` tells the compiler that they do not overlap.
  KOKKOS_FORCEINLINE_FUNCTION static void subtract_alone(int count, const Scalar* KOKKOS_RESTRICT v,
                                                         Scalar factor, Scalar* KOKKOS_RESTRICT y) {
    for (int i = 0; i < count; ++i) y[i] -= v[i] * factor;
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION static void swap(Scalar& a, Scalar& b) {
    const Scalar kept = a;
    a = b;
    b = kept;
  }

  /// y -= factor v, where `factor` is an element of y that is not changed.
  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION static void subtract(const LaneGroup& lane_group, int count, const Scalar* v,
                                                   const Scalar& factor, Scalar* y) {
    const Scalar own = factor;
    if constexpr (LaneGroup::width == 1)
      subtract_alone(count, v, own, y);
    else
      for_elements(lane_group, count, [&](int i) { y[i] -= v[i] * own; });
  }
  /// Copies the matrix, and zeros where it fills.
  template <class LaneGroup, class System>
  KOKKOS_FORCEINLINE_FUNCTION void copy(const LaneGroup& lane_group, const System& a) const {
    const int leading = shape.leading(), above = shape.above();
    const int shift = above - shape.upper;
    const auto copy_column = [&](int j, int lane, int stride) {
      Scalar* to = values + std::int64_t(j) * leading;
      const Scalar* from = a.values + std::int64_t(j) * a.leading - shift;
      const int first = j < shape.upper ? above - j : shift, last = above + shape.below(j);
      for (int k = lane; k < leading; k += stride)
        if (k < first || k > last) to[k] = Scalar(0);
      for (int k = first + lane; k <= last; k += stride) to[k] = from[k];
    };
    lane_group.region([&](int lane) {
      if (leading >= lane_group.size())
        for (int j = 0; j < shape.num_rows; ++j) copy_column(j, lane, lane_group.size());
      else
        for (int j = lane; j < shape.num_rows; j += lane_group.size()) copy_column(j, 0, 1);
    });
  }

  /// Finds the pivot of column j, in every lane by itself: a column is short, and no lane writes to it now.
  KOKKOS_FORCEINLINE_FUNCTION Scalar find_pivot(Step& step, int j) const {
    const Scalar* column = values + shape.place(j, j);
    int row = 0;
    if (shape.pivots) {
      auto largest = sum_of_parts(column[0]);
      const int below = shape.below(j);
      for (int i = 1; i <= below; ++i) {
        const auto size = sum_of_parts(column[i]);
        const bool larger = size > largest || size != size;
        largest = larger ? size : largest;
        row = larger ? i : row;
      }
    }
    step.j = j;
    step.row = j + row;
    const int reach =
        step.row < shape.num_rows - 1 - shape.upper ? step.row + shape.upper : shape.num_rows - 1;
    step.last = reach > step.last ? reach : step.last;
    return column[row];
  }

  /// Exchanges rows j and step.row right of column j, and stores the multipliers of the step before.
  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION void exchange(const LaneGroup& lane_group, const Step& step,
                                            const Step& before) const {
    lane_group.region([&](int lane) {
      if (step.row != step.j)
        for (int c = step.j + 1 + lane; c <= step.last; c += lane_group.size())
          swap(values[shape.place(step.j, c)], values[shape.place(step.row, c)]);
      if (step.j > 0) keep_multipliers(before, lane, lane_group.size());
    });
  }

  /// An entry of column j after the exchange; in memory the column is as before the exchange.
  KOKKOS_FORCEINLINE_FUNCTION const Scalar& unscaled(const Step& step, int i) const {
    return values[shape.place(i == step.row ? step.j : i, step.j)];
  }

  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION void eliminate(const LaneGroup& lane_group, const Step& step) const {
    const int below = shape.below(step.j), columns = step.last - step.j;
    lane_group.region([&](int lane) {
      if (below == 0 || columns == 0) return;
      const int whole = lane_group.size() / below, rest = lane_group.size() % below;
      int c = lane / below, i = lane % below;
      while (c < columns) {
        const Scalar multiplier = unscaled(step, step.j + 1 + i) * step.inverse;
        values[shape.place(step.j + 1 + i, step.j + 1 + c)] -=
            multiplier * values[shape.place(step.j, step.j + 1 + c)];
        c += whole;
        i += rest;
        if (i >= below) {
          i -= below;
          ++c;
        }
      }
    });
  }

  /// Stores column j of the factors. Each lane writes different numbers; lane 0 writes both places of the
  /// exchange.
  KOKKOS_FORCEINLINE_FUNCTION void keep_multipliers(const Step& step, int lane, int stride) const {
    const int below = shape.below(step.j), row = step.row - step.j;
    Scalar* column = values + shape.place(step.j, step.j);
    for (int i = 1 + lane; i <= below; i += stride)
      if (i != row) column[i] *= step.inverse;
    if (lane != 0) return;
    if (row != 0) column[row] = column[0] * step.inverse;
    column[0] = step.inverse;
    if (shape.pivots) exchanged[step.j] = step.row;
  }

  /// The elimination by one lane, column by column.
  KOKKOS_FORCEINLINE_FUNCTION void eliminate_alone(const Step& step) const {
    const int below = shape.below(step.j), row = step.row - step.j;
    Scalar* pivots = values + shape.place(step.j, step.j);
    Scalar* l = pivots + 1;
    const Scalar inverse = step.inverse;
    if (row != 0) pivots[row] = pivots[0];
    pivots[0] = inverse;
    for (int i = 0; i < below; ++i) l[i] *= inverse;
    if (shape.pivots) exchanged[step.j] = step.row;
    for (int c = step.j + 1; c <= step.last; ++c) {
      Scalar* column = values + shape.place(step.j, c);
      if (row != 0) swap(column[0], column[row]);
      subtract_alone(below, l, column[0], column + 1);
    }
  }
};

}  // namespace prekond::impl::batched
