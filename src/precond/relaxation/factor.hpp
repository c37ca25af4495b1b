// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// ILU(0) and IC(0) in the order of the colours, in place: one launch a colour.
#include <prekond/core/levels.hpp>

#include "precond/relaxation/values.hpp"

namespace prekond::impl::relaxation {

struct FactorTuning {
  static constexpr int team_threads = 128;
  static constexpr int short_lanes = 8, long_lanes = 32;
  static constexpr int short_rows = 12;  ///< entries of a triangle's mean row, up to which vectors are short
};

/// A triangle's pattern and the values that become a factor's.
template <class Scalar, class Space>
struct FactorTriangle {
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<const int, Space> col_idxs;
  VectorView<Scalar, Space> values;

  KOKKOS_FORCEINLINE_FUNCTION std::size_t begin(std::int64_t i) const { return row_ptrs(i); }
  KOKKOS_FORCEINLINE_FUNCTION int length(std::int64_t i) const {
    return static_cast<int>(row_ptrs(i + 1) - row_ptrs(i));
  }
  /// Where column `col` stands among the entries [first, end); `end` where it does not.
  KOKKOS_FUNCTION std::size_t find(std::size_t first, std::size_t end, int col) const {
    const std::size_t none = end;
    while (first < end) {
      const std::size_t middle = first + (end - first) / 2;
      if (col_idxs(middle) < col)
        first = middle + 1;
      else
        end = middle;
    }
    return first < none && col_idxs(first) == col ? first : none;
  }
};

/// What the two factorisations share: L and D^-1 of the rows before, and how a row ends.
template <class Scalar, class Space, class Level>
struct FactorRow {
  using level_type = Level;
  FactorTriangle<Scalar, Space> lower, upper;
  VectorView<Scalar, Space> pivots;  ///< D^-1; of the row in work w_ii
  VectorView<const int, Space> permutation;
  VectorView<BreakdownCounter, Space> outcome;
  bool positive;  ///< pivots have to be

  /// L_i = w_i D^-1 and D_ii = `pivot`; `with_upper`: and U_i = D_ii^-1 w_i. Nothing but D_ii = 1 where the
  /// pivot is bad: with its L and U kept, the factors of the rows behind it can grow without bound.
  KOKKOS_FUNCTION void end(const Level& level, std::int64_t i, Scalar pivot, bool with_upper) const {
    const Scalar floor = Kokkos::sqrt(Kokkos::Experimental::epsilon_v<Scalar>);
    const bool sound = is_finite(pivot) && (positive ? pivot : Kokkos::abs(pivot)) > floor;
    const Scalar inverse = sound ? Scalar(1) / pivot : Scalar(1);
    const std::size_t first = lower.begin(i), first_upper = upper.begin(i);
    const int length = lower.length(i), length_upper = with_upper ? upper.length(i) : 0;
    const int broken = level.template max<int>([&](int lane) {
      int bad = 0;
      for (int k = lane; k < length; k += level.size()) {
        const Scalar value = lower.values(first + k) * pivots(lower.col_idxs(first + k));
        lower.values(first + k) = value;
        if (!is_finite(value)) bad = 1;
      }
      for (int k = lane; k < length_upper; k += level.size()) {
        upper.values(first_upper + k) *= inverse;
        if (!is_finite(upper.values(first_upper + k))) bad = 1;
      }
      return bad;
    });
    const bool keeps = broken == 0 && sound;
    level.region([&](int lane) {
      for (int k = lane; k < length && !keeps; k += level.size()) lower.values(first + k) = 0;
      for (int k = lane; k < length_upper && !keeps; k += level.size()) upper.values(first_upper + k) = 0;
      if (lane > 0) return;
      pivots(i) = keeps ? inverse : Scalar(1);
      if (keeps) return;
      const float reported = is_finite(pivot) ? static_cast<float>(pivot) : 0.0f;
      BreakdownCounter::count(outcome(0), permutation(i), true, reported);
    });
  }
};

/// Row i of L, D and U: for each k of L_i in turn, w_i -= w_ik U_k on the row's pattern.
template <class Scalar, class Space, class Level>
struct IluRow : FactorRow<Scalar, Space, Level> {
  using FactorRow<Scalar, Space, Level>::lower;
  using FactorRow<Scalar, Space, Level>::upper;
  KOKKOS_FUNCTION void operator()(const Level& level, std::int64_t i) const {
    const std::size_t first = lower.begin(i), end = first + lower.length(i);
    const std::size_t first_upper = upper.begin(i), end_upper = first_upper + upper.length(i);
    level.once([&] { this->pivots(i) = 1; });
    for (std::size_t k = first; k < end; ++k) {
      const int row = lower.col_idxs(k);
      const Scalar w = lower.values(k);
      const std::size_t of_row = upper.begin(row);
      const int length = upper.length(row);
      level.region([&](int lane) {
        for (int l = lane; l < length; l += level.size()) {
          const int col = upper.col_idxs(of_row + l);
          const Scalar step = w * upper.values(of_row + l);
          if (col == i) {
            this->pivots(i) -= step;
          } else if (col < i) {
            const std::size_t place = lower.find(k + 1, end, col);
            if (place < end) lower.values(place) -= step;
          } else {
            const std::size_t place = upper.find(first_upper, end_upper, col);
            if (place < end_upper) upper.values(place) -= step;
          }
        }
      });
    }
    this->end(level, i, this->pivots(i), true);
  }
};

/// Row i of L and D alone: for each k of L_i in turn, w_ik -= sum_m w_im l_km; D_ii = 1 - sum_k w_ik l_ik.
template <class Scalar, class Space, class Level>
struct IcRow : FactorRow<Scalar, Space, Level> {
  using FactorRow<Scalar, Space, Level>::lower;
  KOKKOS_FUNCTION void operator()(const Level& level, std::int64_t i) const {
    const std::size_t first = lower.begin(i);
    const int length = lower.length(i);
    for (int k = 0; k < length; ++k) {
      const int row = lower.col_idxs(first + k);
      const std::size_t of_row = lower.begin(row);
      const int count = lower.length(row);
      const Scalar sum = level.template sum<Scalar>([&](int lane) {
        Scalar mine = 0;
        for (int l = lane; l < count; l += level.size()) {
          const std::size_t place = lower.find(first, first + k, lower.col_idxs(of_row + l));
          if (place < first + k) mine += lower.values(place) * lower.values(of_row + l);
        }
        return mine;
      });
      level.once([&] { lower.values(first + k) -= sum; });
    }
    const Scalar square = level.template sum<Scalar>([&](int lane) {
      Scalar mine = 0;
      for (int k = lane; k < length; k += level.size()) {
        const Scalar w = lower.values(first + k);
        mine += w * (w * this->pivots(lower.col_idxs(first + k)));
      }
      return mine;
    });
    this->end(level, i, Scalar(1) - square, false);
  }
};

/// The rows of a colour.
template <class Row, class Space>
struct FactorColor {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  Row row;
  std::int64_t begin, end, rows_per_team;
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const std::int64_t first = begin + team.league_rank() * rows_per_team;
    const std::int64_t last = first + rows_per_team < end ? first + rows_per_team : end;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, first, last),
                         [&](std::int64_t i) { row(typename Row::level_type(team), i); });
  }
};

/// U = L^T, of IC; counts the entries of U that L does not have.
template <class Scalar, class Space>
struct TransposeLower {
  FactorTriangle<Scalar, Space> lower, upper;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& missing) const {
    for (std::size_t k = upper.row_ptrs(i); k < upper.row_ptrs(i + 1); ++k) {
      const int row = upper.col_idxs(k);
      const std::size_t end = lower.row_ptrs(row + 1);
      const std::size_t place = lower.find(lower.row_ptrs(row), end, static_cast<int>(i));
      if (place < end)
        upper.values(k) = lower.values(place);
      else
        ++missing;
    }
  }
};

}  // namespace prekond::impl::relaxation
