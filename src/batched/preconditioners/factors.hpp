// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Incomplete factors of a system on the shared pattern, and the solves with them.
#include <prekond/batched/csr.hpp>

#include "batched/analysis.hpp"
#include "batched/preconditioners/pointwise.hpp"
#include "core/pivot_policy.hpp"

#include <algorithm>

namespace prekond::impl::batched {

/// Rows by levels.
struct RowLevels {
  const int* rows;
  const int* ptrs;
  int count;

  /// row(i) for all rows, level after level, each by one lane.
  template <class LaneGroup, class Row>
  KOKKOS_FORCEINLINE_FUNCTION void by_lanes(const LaneGroup& lane_group, const Row& row) const {
    for (int l = 0; l < count; ++l) {
      const int begin = ptrs[l], end = ptrs[l + 1];
      lane_group.region([&](int lane) {
        for (int place = begin + lane; place < end; place += lane_group.size()) row(rows[place]);
      });
    }
  }
  /// row(vector, i) for all rows, level after level, each by one vector of lanes.
  template <class LaneGroup, class Row>
  KOKKOS_FORCEINLINE_FUNCTION void by_vectors(const LaneGroup& lane_group, const Row& row) const {
    const auto& vector = lane_group.vector();
    for (int l = 0; l < count; ++l) {
      for (int place = ptrs[l] + lane_group.group(); place < ptrs[l + 1]; place += lane_group.num_groups())
        row(vector, rows[place]);
      lane_group.join();
    }
  }
};

template <class Space>
RowLevels row_levels(const LevelSchedule<Space>& schedule) {
  return {schedule.rows.data(), schedule.level_ptrs.data(), schedule.num_levels()};
}

/// The pattern of L and U: the two triangles of A. The values of a system are those of the entries, by their
/// places in the pattern, then the reciprocals of the pivots (`num_entries + i`); a stored diagonal entry is
/// not used.
struct FactorPattern {
  int num_rows;
  int num_entries;
  bool long_rows;  ///< lanes share a row in the solves
  const std::size_t* row_ptrs;
  const int* col_idxs;
  const int* middle;
  RowLevels lower, upper;

  template <class Space>
  static FactorPattern of(const Analysis<Space>& analysis) {
    return {static_cast<int>(analysis.num_rows),
            static_cast<int>(analysis.num_entries),
            analysis.num_entries >= 2 * long_row * analysis.num_rows,
            analysis.pattern.row_ptrs.data(),
            analysis.pattern.col_idxs.data(),
            analysis.middle.data(),
            row_levels(analysis.lower),
            row_levels(analysis.upper)};
  }

  std::int64_t length() const { return std::int64_t(num_entries) + num_rows; }

  KOKKOS_FORCEINLINE_FUNCTION int begin(int i) const { return static_cast<int>(row_ptrs[i]); }
  KOKKOS_FORCEINLINE_FUNCTION int end(int i) const { return static_cast<int>(row_ptrs[i + 1]); }
  /// The first place of U's entries of row i.
  KOKKOS_FORCEINLINE_FUNCTION int after_diagonal(int i) const {
    const int place = middle[i];
    return place < end(i) && col_idxs[place] == i ? place + 1 : place;
  }

  /// Copies the values of A, and the diagonal entry, or 0, to the pivot's place.
  template <class LaneGroup, class System, class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION void load(const LaneGroup& lane_group, const System& a, Scalar* values) const {
    for_elements(lane_group, num_rows, [&](int i) {
      const int first = begin(i);
      Scalar diagonal = 0;
      a.for_each_entry(i, [&](std::size_t k, int col, const auto& value) {
        values[first + static_cast<int>(k)] = static_cast<Scalar>(value);
        if (col == i) diagonal = static_cast<Scalar>(value);
      });
      values[num_entries + i] = diagonal;
    });
  }

  /// to = U^-1 L^-1 from, level by level, so that no lane waits for another. With `Unit` L has ones on its
  /// diagonal, and U the pivots; otherwise both have the pivots.
  template <bool Unit, class LaneGroup, class Scalar>
  KOKKOS_FUNCTION void solve(const LaneGroup& lane_group, const Scalar* values, const Scalar* from,
                             Scalar* to) const {
    const Scalar* pivots = values + num_entries;
    const auto lower_row = [&](int i, const Scalar& sum) {
      to[i] = Unit ? from[i] - sum : (from[i] - sum) * pivots[i];
    };
    const auto upper_row = [&](int i, const Scalar& sum) { to[i] = (to[i] - sum) * pivots[i]; };
    const auto lower_begin = [&](int i) { return begin(i); };
    const auto lower_end = [&](int i) { return middle[i]; };
    const auto upper_begin = [&](int i) { return after_diagonal(i); };
    const auto upper_end = [&](int i) { return end(i); };
    half_solve(lane_group, lower, false, values, to, lower_begin, lower_end, lower_row);
    half_solve(lane_group, upper, true, values, to, upper_begin, upper_end, upper_row);
  }

 private:
  template <class LaneGroup, class Scalar, class Begin, class End, class Row>
  KOKKOS_FORCEINLINE_FUNCTION void half_solve(const LaneGroup& lane_group, const RowLevels& levels,
                                              bool backwards, const Scalar* values, const Scalar* x,
                                              const Begin& begin_of, const End& end_of,
                                              const Row& row) const {
    const auto by_one = [&](int i) {
      Scalar sum = 0;
      for (int k = begin_of(i); k < end_of(i); ++k) sum += values[k] * x[col_idxs[k]];
      row(i, sum);
    };
    if constexpr (LaneGroup::width == 1) {
      for (int k = 0; k < num_rows; ++k) by_one(backwards ? num_rows - 1 - k : k);
    } else {
      if (!long_rows) return levels.by_lanes(lane_group, by_one);
      levels.by_vectors(lane_group, [&](const auto& vector, int i) {
        const int first = begin_of(i), last = end_of(i);
        const Scalar sum = vector.template sum<Scalar>([&](int lane) {
          Scalar mine = 0;
          for (int k = first + lane; k < last; k += vector.size()) mine += values[k] * x[col_idxs[k]];
          return mine;
        });
        vector.once([&] { row(i, sum); });
      });
    }
  }
};

/// The reciprocal of a sound pivot; otherwise that of the diagonal entry, or 1.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar reciprocal(const Scalar& pivot, const Scalar& diagonal, bool sound) {
  if (sound) return Scalar(1) / pivot;
  const Scalar alone = Scalar(1) / diagonal;
  return is_finite(alone) && alone != Scalar(0) ? alone : Scalar(1);
}

/// The sum of what row(vector, i) returns, over rows level after level.
template <class LaneGroup, class Row>
KOKKOS_FORCEINLINE_FUNCTION int count_rows(const LaneGroup& lane_group, const RowLevels& levels,
                                           const Row& row) {
  int mine = 0;
  levels.by_vectors(lane_group, [&](const auto& vector, int i) { mine += row(vector, i); });
  // Every lane of a vector has its vector's count.
  const int share = lane_group.size() / lane_group.num_groups();
  return lane_group.template sum<int>([&](int lane) { return lane % share == 0 ? mine : 0; });
}

}  // namespace prekond::impl::batched
