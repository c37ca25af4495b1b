// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Rows of IC, see FactorRow.
#include "precond/factorization/ilu/rows.hpp"

namespace prekond::impl::ilu {

/// Row i of L and D: for each k of L_i in turn, w_ik -= sum_m w_im l_km; D_ii = a_ii - sum_k w_ik l_ik.
template <class Scalar, class Space, class LaneGroup, bool looks_up>
struct IcRowOf : FactorRow<Scalar, Space, LaneGroup, false, looks_up> {
  using Base = FactorRow<Scalar, Space, LaneGroup, false, looks_up>;
  using Memory = typename Base::Memory;
  using Base::finished;
  using Base::lower;

  template <class Values = ReadyValues>
  KOKKOS_FUNCTION void operator()(const LaneGroup& lane_group, std::int64_t i, const Memory& memory = {},
                                  const Values& others = {}) const {
    if constexpr (LaneGroup::keeps_registers)
      if (this->fits(memory, i, lower.length(i))) return in_scratch(lane_group, i, memory, others);
    if constexpr (Base::has_table)
      if (!memory.is_empty()) return by_table(lane_group, i, memory.values(), others);
    in_place(lane_group, i, others);
  }

 private:
  template <class Values>
  KOKKOS_FUNCTION void in_place(const LaneGroup& lane_group, std::int64_t i, const Values& others) const {
    const std::size_t first = lower.begin(i);
    const int length = lower.length(i);
    if constexpr (LaneGroup::keeps_registers && LaneGroup::width == 32) {
      // Each lane looks whether there is a step at all: in rows of thousands of columns there mostly is none.
      for (int begin = 0; begin < length; begin += LaneGroup::width) {
        const int own = begin + lane_group.lane();
        for (unsigned left = lane_group.vote(own < length && may_meet(first, own)); left != 0;
             left &= left - 1)
          take_step(lane_group, first, begin + Kokkos::countr_zero(left), others);
      }
    } else {
      for (int k = 0; k < length; ++k) take_step(lane_group, first, k, others);
    }
    end_row(lane_group, i, others);
  }

  template <class Values>
  KOKKOS_FUNCTION void end_row(const LaneGroup& lane_group, std::int64_t i, const Values& others) const {
    const std::size_t first = lower.begin(i);
    const int length = lower.length(i);
    const Scalar square = lane_group.template sum<Scalar>([&](int lane) {
      Scalar mine = 0;
      for (int k = lane; k < length; k += lane_group.size()) {
        const Scalar w = lower.values(first + k);
        mine += w * (w * others.read(this->pivots(lower.col_idxs(first + k))));
      }
      return mine;
    });
    this->template end<false>(lane_group, i, this->diagonal - square, others);
  }

  /// The same with a table of the row's values; those of other columns are 0.
  template <class Values>
  KOKKOS_FUNCTION void by_table(const LaneGroup& lane_group, std::int64_t i, Scalar* values,
                                const Values& others) const {
    const std::size_t first = lower.begin(i), end = first + lower.length(i);
    for (std::size_t k = first; k < end; ++k) {
      const int row = lower.col_idxs(k), count = finished.length(row), before = static_cast<int>(k - first);
      const std::size_t of_row = finished.begin(row);
      Scalar sum = 0;
      if (Base::searches(count, before))
        sum = found_product(
            0, 1, before, [&](int m) { return lower.col_idxs(first + m); },
            [&](int m) { return lower.values(first + m); }, row, 0, others);
      else
        for (int l = 0; l < count; ++l)
          sum += values[finished.col_idxs(of_row + l)] * others.read(finished.values(of_row + l));
      lower.values(k) -= sum;
      values[row] = lower.values(k);
    }
    for (std::size_t k = first; k < end; ++k) values[lower.col_idxs(k)] = 0;
    end_row(lane_group, i, others);
  }

  /// w_ik -= w_i . l_k, for the k-th entry of the row that begins at `first`.
  template <class Values>
  KOKKOS_FUNCTION void take_step(const LaneGroup& lane_group, std::size_t first, int k,
                                 const Values& others) const {
    const int row = lower.col_idxs(first + k);
    const std::size_t of_row = finished.begin(row);
    const int count = finished.length(row);
    const bool searches = Base::searches(count, k);
    const Scalar sum = lane_group.template sum<Scalar>([&](int lane) {
      if (searches) {
        const auto own = [&](int m) { return lower.col_idxs(first + m); };
        const auto value = [&](int m) { return lower.values(first + m); };
        return found_product(lane, lane_group.size(), k, own, value, row, 0, others);
      }
      Scalar mine = 0;
      for (int l = lane; l < count; l += lane_group.size()) {
        const std::size_t place = lower.find(first, first + k, finished.col_idxs(of_row + l));
        if (place < first + k) mine += lower.values(place) * others.read(finished.values(of_row + l));
      }
      return mine;
    });
    lane_group.once([&] { lower.values(first + k) -= sum; });
  }

  /// Whether the row of the k-th column has one of the columns before; of a long row that is not known.
  KOKKOS_FUNCTION bool may_meet(std::size_t first, int k) const {
    const int row = lower.col_idxs(first + k), count = finished.length(row);
    if (count > 2 * LaneGroup::width) return k > 0;
    for (int l = 0; l < count; ++l)
      if (lower.find(first, first + k, finished.col_idxs(finished.begin(row) + l)) < first + k) return true;
    return false;
  }

  /// The lane's part of w_i . l_row, where l_row is much longer than what is known of w_i: the k columns of
  /// that are looked up in it, from its entry `skipped` on.
  template <class Column, class Value, class Values>
  KOKKOS_FUNCTION Scalar found_product(int lane, int lanes, int k, const Column& col_of,
                                       const Value& value_of, int row, int skipped,
                                       const Values& others) const {
    std::size_t at = finished.begin(row) + skipped;
    const std::size_t end = finished.begin(row + 1);
    Scalar mine = 0;
    for (int m = lane; m < k; m += lanes) {
      at = finished.seek(at, end, col_of(m));
      if (at == end) break;
      if (finished.col_idxs(at) == col_of(m)) mine += value_of(m) * others.read(finished.values(at));
    }
    return mine;
  }

  template <class Values>
  KOKKOS_FUNCTION void in_scratch(const LaneGroup& lane_group, std::int64_t i, const Memory& memory,
                                  const Values& others) const {
    const int own = lower.length(i);
    memory.clear(lane_group);
    lane_group.barrier();
    this->load(lane_group, memory, lower, i, 0, own);
    lane_group.barrier();
    if constexpr (Base::is_lane)
      subtract_by_thread(memory, own, others);
    else
      subtract_by_lanes(lane_group, memory, own, others);
    store_row(lane_group, i, memory, own, others);
  }

  template <class Values>
  KOKKOS_FUNCTION void subtract_by_thread(const Memory& memory, int own, const Values& others) const {
    auto steps = this->lane_steps(memory, own, others);
    const auto nothing = [](std::size_t, Scalar) {};
    for (int k = 0; k < own; ++k) {
      const int row = memory.col(k), count = finished.length(row);
      const std::size_t begin = finished.begin(row);
      if (Base::searches(count, k)) {
        steps.run(nothing);
        memory.value(k) -= found_product(
            0, 1, k, [&](int m) { return memory.col(m); }, [&](int m) { return memory.value(m); }, row, 0,
            others);
        continue;
      }
      int at = 0;
      for (int l = 0; l < count; ++l) {
        const int col = finished.col_idxs(begin + l);
        while (at < k && memory.col(at) < col) ++at;
        if (at == k) break;
        if (memory.col(at) != col) continue;
        if (steps.is_full()) steps.run(nothing);
        steps.add(begin + l, k, at);
      }
    }
    steps.run(nothing);
  }

  template <class Values>
  KOKKOS_FUNCTION void subtract_by_lanes(const LaneGroup& lane_group, const Memory& memory, int own,
                                         const Values& others) const {
    this->find_places(lane_group, memory, 0, own < memory.chunk ? own : memory.chunk);
    this->for_each_row(lane_group, memory, own, others, [&](int k, int in_chunk, Scalar value) {
      const Scalar sum = lane_group.template sum<Scalar>(
          [&](int lane) { return product(memory, lane, k, in_chunk, value, others); });
      if (lane_group.lane() == 0) memory.value(k) -= sum;
      lane_group.barrier();
    });
  }

  /// The lane's part of w_i . l_k
  template <class Values>
  KOKKOS_FORCEINLINE_FUNCTION Scalar product(const Memory& memory, int lane, int k, int in_chunk,
                                             Scalar value, const Values& others) const {
    const int place = memory.places[in_chunk * LaneGroup::width + lane];
    Scalar mine = place < Memory::dropped ? memory.values[place] * value : Scalar(0);
    const int count = memory.lengths[in_chunk];
    if (Base::searches(count, k))
      return mine + found_product(
                        lane, LaneGroup::width, k, [&](int m) { return memory.col(m); },
                        [&](int m) { return memory.value(m); }, memory.cols[k], LaneGroup::width, others);
    for (int l = lane + LaneGroup::width; l < count; l += LaneGroup::width) {
      const std::size_t at = memory.begins[in_chunk] + l;
      const int further = memory.place_of(finished.col_idxs(at));
      if (further != Memory::dropped) mine += memory.values[further] * others.read(finished.values(at));
    }
    return mine;
  }

  template <class Values>
  KOKKOS_FUNCTION void store_row(const LaneGroup& lane_group, std::int64_t i, const Memory& memory, int own,
                                 const Values& others) const {
    int bad = 0;  // kept by the lane, as all that works in scratch
    const Scalar square = lane_group.template sum<Scalar>(
        [&](int lane) { return this->scale_lower(lane, memory, own, others, bad); });
    const int broken = lane_group.template max<int>([&](int) { return bad; });
    const Scalar pivot = this->diagonal - square;
    const bool sound = this->policy().accepts(pivot), keeps = broken == 0 && sound;
    const std::size_t first = lower.begin(i);
    lane_group.region([&](int lane) {
      for (int k = lane; k < own; k += LaneGroup::width) {
        const Scalar value = keeps ? memory.value(k) : Scalar(0);
        lower.values(first + k) = value;
        this->finish(finished.values(first + k), value);
      }
      if (lane == 0) this->end_pivot(i, pivot, keeps, sound ? Scalar(1) / pivot : Scalar(1));
    });
  }
};

template <class Scalar, class Space, class LaneGroup>
struct IcRow : IcRowOf<Scalar, Space, LaneGroup, true> {};

}  // namespace prekond::impl::ilu
