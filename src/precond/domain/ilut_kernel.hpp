// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// ILUT of blocks, a vector of lanes a block: rows in order, each in a dense working row of the block's
/// length.
#include "precond/domain/incomplete_kernels.hpp"

#include <cstdint>
#include <type_traits>

namespace prekond::impl::block {

/// Rows of L and U as they grow: row k has room from begin(k) on, for L's entries and behind them U's.
template <class Scalar, class Space>
struct GrowingFactors {
  VectorView<const std::size_t, Space> begin;
  VectorView<int, Space> lower_length;
  VectorView<int, Space> length;  ///< of both
  VectorView<int, Space> col_idxs;
  VectorView<Scalar, Space> values;
  VectorView<Scalar, Space> pivots;  ///< reciprocals
};

/// The most entries that a row of ILUT keeps: as many as A has in the row of L (of U), and `fill`.
template <class Space>
struct IlutRoom {
  CsrGraphView<Space> pattern;
  VectorView<const int, Space> ptrs;
  VectorView<const int, Space> subdomain;
  int fill;

  struct Limits {
    int lower, upper;
  };
  KOKKOS_FUNCTION Limits limits(int k) const {
    const int d = subdomain(k);
    const std::size_t middle = pattern.first_from(k, k);
    const bool has_diagonal = middle < pattern.row_ptrs(k + 1) && pattern.col_idxs(middle) == k;
    return {at_most(static_cast<std::int64_t>(middle - pattern.row_ptrs(k)) + fill, k - ptrs(d)),
            at_most(static_cast<std::int64_t>(pattern.row_ptrs(k + 1) - middle - has_diagonal) + fill,
                    ptrs(d + 1) - 1 - k)};
  }
  KOKKOS_FUNCTION int operator()(std::int64_t k) const {
    const Limits room = limits(static_cast<int>(k));
    return room.lower + room.upper;
  }
  KOKKOS_FORCEINLINE_FUNCTION static int at_most(std::int64_t n, int most) {
    return n < most ? static_cast<int>(n) : most;
  }
};

template <class Scalar, class Space>
struct IlutBlock {
  using Key = std::conditional_t<sizeof(Scalar) == 4, unsigned, unsigned long long>;
  static constexpr int max_lanes = 32;

  IlutRoom<Space> room;
  VectorView<const std::size_t, Space> source;
  VectorView<const Scalar, Space> a;
  GrowingFactors<Scalar, Space> factors;
  VectorView<const int, Space> rows;
  VectorView<Scalar, Space> work;  ///< of each place; begins and ends as 0
  VectorView<int, Space> list;     ///< of each place
  VectorView<int, Space> counts;   ///< 2 max_lanes of each block
  VectorView<BreakdownCounter, Space> outcome;
  double drop_tolerance;

  template <class LaneGroup>
  KOKKOS_FUNCTION void operator()(const LaneGroup& lane_group, int d) const {
    const int begin = room.ptrs(d), end = room.ptrs(d + 1);
    for (int k = begin; k < end; ++k) factor_row(lane_group, d, k, begin, end);
  }

 private:
  struct Row {
    Scalar norm;
    Scalar largest;
    Scalar diagonal;
  };

  template <class LaneGroup>
  KOKKOS_FUNCTION void factor_row(const LaneGroup& lane_group, int d, int row, int begin, int end) const {
    const Row own = scatter(lane_group, row);
    const Scalar tau = static_cast<Scalar>(drop_tolerance) * own.norm;
    for (int k = next_nonzero(lane_group, begin, row); k < row; k = next_nonzero(lane_group, k + 1, row))
      subtract(lane_group, k, tau);
    const Scalar pivot = work(row);
    const int bad = lane_group.template sum<int>([&](int lane) {
      int count = 0;
      for (int k = begin + lane; k < end; k += lane_group.size()) count += !Kokkos::isfinite(work(k));
      return count;
    });
    const bool sound =
        bad == 0 && Kokkos::abs(pivot) > pivot_floor<Scalar> * own.largest && Kokkos::isfinite(1 / pivot);
    const auto limits = room.limits(row);
    const std::size_t to = factors.begin(row);
    const int lower = sound ? keep(lane_group, d, begin, row, Scalar(0), limits.lower, to) : 0;
    const int upper =
        sound ? keep(lane_group, d, row + 1, end, tau, limits.upper, to + static_cast<std::size_t>(lower))
              : 0;
    lane_group.once([&] {
      factors.lower_length(row) = lower;
      factors.length(row) = lower + upper;
      const Scalar alone = 1 / own.diagonal;
      const bool usable = Kokkos::isfinite(own.diagonal) && Kokkos::isfinite(alone);
      if (!sound)
        BreakdownCounter::count(outcome(0), rows(row), true,
                                own.largest > 0 ? static_cast<float>(pivot / own.largest) : 0.0f);
      factors.pivots(row) = sound ? 1 / pivot : (usable ? alone : Scalar(1));
    });
    lane_group.region([&](int lane) {
      for (int k = begin + lane; k < end; k += lane_group.size()) work(k) = 0;
    });
  }

  /// The working row gets A's row.
  template <class LaneGroup>
  KOKKOS_FUNCTION Row scatter(const LaneGroup& lane_group, int row) const {
    const std::size_t first = room.pattern.row_ptrs(row), behind = room.pattern.row_ptrs(row + 1);
    const Scalar largest = lane_group.template max<Scalar>([&](int lane) {
      Scalar most = 0;
      for (std::size_t e = first + lane; e < behind; e += lane_group.size()) {
        const Scalar value = a(source(e));
        work(room.pattern.col_idxs(e)) = value;
        most = Kokkos::fmax(most, Kokkos::abs(value));
      }
      return most;
    });
    // Relative to the largest one: squares of tiny or huge entries leave the range.
    const Scalar unit = largest > 0 && Kokkos::isfinite(largest) ? largest : Scalar(1);
    const Scalar square = lane_group.template sum<Scalar>([&](int lane) {
      Scalar sum = 0;
      for (std::size_t e = first + lane; e < behind; e += lane_group.size()) {
        const Scalar value = a(source(e)) / unit;
        sum += value * value;
      }
      return sum;
    });
    return {unit * Kokkos::sqrt(square), largest, work(row)};
  }

  /// The first place from `from` on with an entry, or `end`.
  template <class LaneGroup>
  KOKKOS_FUNCTION int next_nonzero(const LaneGroup& lane_group, int from, int end) const {
    if constexpr (LaneGroup::width == 1) {
      while (from < end && work(from) == 0) ++from;
      return from < end ? from : end;
    } else {
      for (int first = from; first < end; first += lane_group.size()) {
        const int found = lane_group.template min<int>([&](int lane) {
          const int k = first + lane;
          return k < end && work(k) != 0 ? k : end;
        });
        if (found < end) return found;
      }
      return end;
    }
  }

  /// row -= l_k U's row k, where l_k is not dropped.
  template <class LaneGroup>
  KOKKOS_FUNCTION void subtract(const LaneGroup& lane_group, int k, Scalar tau) const {
    // Before it is divided by the pivot, as U's entries are: neither depends on the scales of rows.
    const Scalar multiplier = work(k) * factors.pivots(k);
    const bool dropped = Kokkos::abs(work(k)) < tau;
    lane_group.region([](int) {});
    lane_group.region([&](int lane) {
      if (lane == 0) work(k) = dropped ? Scalar(0) : multiplier;
      if (dropped) return;
      const std::size_t first = factors.begin(k) + static_cast<std::size_t>(factors.lower_length(k));
      const std::size_t behind = factors.begin(k) + static_cast<std::size_t>(factors.length(k));
      for (std::size_t e = first + lane; e < behind; e += lane_group.size())
        work(factors.col_idxs(e)) -= multiplier * factors.values(e);
    });
  }

  KOKKOS_FORCEINLINE_FUNCTION Key key_of(int k) const { return Kokkos::bit_cast<Key>(Kokkos::abs(work(k))); }

  /// Writes the largest entries of the working row's part [from, end), at most `most` and none below tau, to
  /// `to` and behind it, ascending; of equal ones the first. \returns their number
  template <class LaneGroup>
  KOKKOS_FUNCTION int keep(const LaneGroup& lane_group, int d, int from, int end, Scalar tau, int most,
                           std::size_t to) const {
    const int found = compact(
        lane_group, d, from, end,
        [&](int k) { return work(k) != 0 && !(Kokkos::abs(work(k)) < tau) ? above : none; }, 0,
        [&](int place, int k) { list(from + place) = k; });
    Key least = 0;
    if (found > most) least = largest_key(lane_group, from, found, most);
    return compact(
        lane_group, d, 0, found,
        [&](int i) {
          const Key key = key_of(list(from + i));
          return key > least ? above : (key == least ? equal : none);
        },
        found > most ? most : -1,
        [&](int place, int i) {
          const int k = list(from + i);
          factors.col_idxs(to + static_cast<std::size_t>(place)) = k;
          factors.values(to + static_cast<std::size_t>(place)) = work(k);
        });
  }

  /// The key of the most-th largest entry of a list, bit by bit; all ones for none.
  template <class LaneGroup>
  KOKKOS_FUNCTION Key largest_key(const LaneGroup& lane_group, int from, int found, int most) const {
    if (most == 0) return ~Key(0);
    Key key = 0;
    for (int bit = 8 * int(sizeof(Key)) - 2; bit >= 0; --bit) {  // none is negative
      const Key higher = key | Key(1) << bit;
      const int count = lane_group.template sum<int>([&](int lane) {
        int sum = 0;
        for (int i = lane; i < found; i += lane_group.size()) sum += key_of(list(from + i)) >= higher;
        return sum;
      });
      if (count >= most) key = higher;
    }
    return key;
  }

  enum Class { none, equal, above };

  /// Calls put(place, i) for the i of [from, end) that are `above`, and for the first `equal` ones as long as
  /// there are no more than `most` in all; places ascend with i. Each lane has a run of them. With most < 0
  /// there is no limit.
  template <class LaneGroup, class ClassOf, class Put>
  KOKKOS_FUNCTION int compact(const LaneGroup& lane_group, int d, int from, int end, const ClassOf& class_of,
                              int most, const Put& put) const {
    const int lanes = lane_group.size(), run = (end - from + lanes - 1) / lanes;
    int* const above_of = counts.data() + std::size_t(2 * max_lanes) * static_cast<std::size_t>(d);
    int* const equal_of = above_of + max_lanes;
    lane_group.region([&](int lane) {
      int all_above = 0, all_equal = 0;
      for (int i = from + lane * run; i < from + (lane + 1) * run && i < end; ++i) {
        const Class own = class_of(i);
        all_above += own == above;
        all_equal += own == equal;
      }
      above_of[lane] = all_above;
      equal_of[lane] = all_equal;
    });
    int all_above = 0, all_equal = 0;
    for (int lane = 0; lane < lanes; ++lane) {
      all_above += above_of[lane];
      all_equal += equal_of[lane];
    }
    const int allowed = most < 0 ? all_equal : (most > all_above ? most - all_above : 0);
    lane_group.region([&](int lane) {
      int place = 0, equals = 0;
      for (int before = 0; before < lane; ++before) {
        place += above_of[before];
        equals += equal_of[before];
      }
      place += equals < allowed ? equals : allowed;
      for (int i = from + lane * run; i < from + (lane + 1) * run && i < end; ++i) {
        const Class own = class_of(i);
        if (own == none || (own == equal && equals++ >= allowed)) continue;
        put(place++, i);
      }
    });
    return all_above + (all_equal < allowed ? all_equal : allowed);
  }
};

/// Rows from where they grew to where they stay.
template <class Scalar, class Space>
struct PackRows {
  GrowingFactors<Scalar, Space> from;
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<std::size_t, Space> middle;
  VectorView<int, Space> col_idxs;
  VectorView<Scalar, Space> values;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    const std::size_t begin = from.begin(k), to = row_ptrs(k);
    middle(k) = to + static_cast<std::size_t>(from.lower_length(k));
    for (std::size_t e = 0; e < static_cast<std::size_t>(from.length(k)); ++e) {
      col_idxs(to + e) = from.col_idxs(begin + e);
      values(to + e) = from.values(begin + e);
    }
  }
};

}  // namespace prekond::impl::block
