// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Rows of ILU, see FactorRow.
#include "precond/factorization/ilu/rows.hpp"

namespace prekond::impl::ilu {

/// Row i of L, D and U: for each k of L_i in turn, w_i -= w_ik U_k on the row's pattern.
template <class Scalar, class Space, class LaneGroup, bool lumps, bool looks_up>
struct IluRowOf : FactorRow<Scalar, Space, LaneGroup, lumps, looks_up> {
  using Base = FactorRow<Scalar, Space, LaneGroup, lumps, looks_up>;
  using Memory = typename Base::Memory;
  using Base::finished;
  using Base::lower;
  using Base::upper;

  template <class Values = ReadyValues>
  KOKKOS_FUNCTION void operator()(const LaneGroup& lane_group, std::int64_t i, const Memory& memory = {},
                                  const Values& others = {}) const {
    if constexpr (LaneGroup::keeps_registers)
      if (this->fits(memory, i, lower.length(i) + 1 + upper.length(i)))
        return in_scratch(lane_group, i, memory, others);
    if constexpr (Base::has_table)
      if (!memory.is_empty()) return by_table(lane_group, i, memory.places(), others);
    in_place(lane_group, i, others);
  }

 private:
  template <class Values>
  KOKKOS_FUNCTION void in_place(const LaneGroup& lane_group, std::int64_t i, const Values& others) const {
    const std::size_t first = lower.begin(i), end = first + lower.length(i);
    Scalar pivot = this->diagonal;
    for (std::size_t k = first; k < end; ++k) {
      const Scalar w = lower.values(k);
      const int row = lower.col_idxs(k), rest = static_cast<int>(end - k) - 1;
      const bool searches = Base::searches(finished.length(row), rest + 1 + upper.length(i));
      pivot -= lane_group.template sum<Scalar>([&](int lane) {
        return searches
                   ? subtract_found(lane, lane_group.size(), i, row, w, Stored{*this, i, k + 1, rest}, others)
                   : subtract(lane_group, lane, i, k, row, w, others);
      });
    }
    this->template end<true>(lane_group, i, pivot, others);
  }

  /// The same with a table of the places of the row's values.
  template <class Values>
  KOKKOS_FUNCTION void by_table(const LaneGroup& lane_group, std::int64_t i, Scalar** places,
                                const Values& others) const {
    const std::size_t first = lower.begin(i), end = first + lower.length(i),
                      end_upper = upper.row_ptrs(i + 1);
    for (std::size_t k = first; k < end; ++k) places[lower.col_idxs(k)] = &lower.values(k);
    for (std::size_t k = upper.begin(i); k < end_upper; ++k) places[upper.col_idxs(k)] = &upper.values(k);
    Scalar pivot = this->diagonal;
    for (std::size_t k = first; k < end; ++k) {
      const Scalar w = lower.values(k);
      const int row = lower.col_idxs(k), length = finished.length(row);
      if (Base::searches(length, static_cast<int>(end - k) + upper.length(i)))
        pivot -=
            subtract_found(0, 1, i, row, w, Stored{*this, i, k + 1, static_cast<int>(end - k) - 1}, others);
      else
        pivot -= subtract_by_table(i, finished.begin(row), length, w, places, others);
    }
    for (std::size_t k = first; k < end; ++k) places[lower.col_idxs(k)] = nullptr;
    for (std::size_t k = upper.begin(i); k < end_upper; ++k) places[upper.col_idxs(k)] = nullptr;
    this->template end<true>(lane_group, i, pivot, others);
  }
  /// w_i -= w times the entries of a finished row that begins at `of_row`. \returns what they take from the
  /// diagonal
  template <class Values>
  KOKKOS_FUNCTION Scalar subtract_by_table(std::int64_t i, std::size_t of_row, int length, Scalar w,
                                           Scalar** places, const Values& others) const {
    const int* const cols = finished.col_idxs.data() + of_row;
    Scalar lost = 0, dropped = 0;
    if (!lumps) places[i] = &lost;
    for (int l = 0; l < length; ++l) {
      Scalar* place = places[cols[l]];
      const Scalar step = w * others.read(finished.values(of_row + l));
      if (lumps && place == nullptr) {
        lost += cols[l] == i ? step : this->lumped(step, i, cols[l]);
        continue;
      }
      place = place == nullptr ? &dropped : place;  // no branch, which could not be predicted
      *place -= step;
    }
    if (lumps) return lost;
    places[i] = nullptr;
    return -lost;
  }

  /// The entries of row i from place `from` of L on, where they are stored.
  struct Stored {
    const IluRowOf& row;
    std::int64_t i;
    std::size_t from;
    int below;
    KOKKOS_FORCEINLINE_FUNCTION int count() const { return below + 1 + row.upper.length(i); }
    KOKKOS_FORCEINLINE_FUNCTION std::size_t of_upper(int e) const {
      return row.upper.begin(i) + static_cast<std::size_t>(e - below - 1);
    }
    KOKKOS_FORCEINLINE_FUNCTION int col(int e) const {
      if (e == below) return static_cast<int>(i);
      return e < below ? row.lower.col_idxs(from + e) : row.upper.col_idxs(of_upper(e));
    }
    KOKKOS_FORCEINLINE_FUNCTION void subtract(int e, Scalar step) const {
      (e < below ? row.lower.values(from + e) : row.upper.values(of_upper(e))) -= step;
    }
  };
  /// The entries of the row in work from its k-th on, in scratch.
  struct InScratch {
    const Memory& memory;
    int k, length;
    KOKKOS_FORCEINLINE_FUNCTION int count() const { return length - k; }
    KOKKOS_FORCEINLINE_FUNCTION int col(int e) const { return memory.col(k + e); }
    KOKKOS_FORCEINLINE_FUNCTION void subtract(int e, Scalar step) const { memory.value(k + e) -= step; }
  };

  /// w_i -= w U_row by a lane, where U_row is much longer than what is left of row i: `entries` are looked up
  /// in it. \returns what it takes from the diagonal
  template <class Entries, class Values>
  KOKKOS_FUNCTION Scalar subtract_found(int lane, int lanes, std::int64_t i, int row, Scalar w,
                                        const Entries& entries, const Values& others) const {
    std::size_t at = finished.begin(row);
    const std::size_t end = at + finished.length(row);
    Scalar lost = lumps && lane == 0 ? this->lumped_row(w, i, row, others) : Scalar(0);
    for (int e = lane, count = entries.count(); e < count; e += lanes) {
      const int col = entries.col(e);
      at = finished.seek(at, end, col);
      if (at == end) break;
      if (finished.col_idxs(at) != col) continue;
      const Scalar step = w * others.read(finished.values(at));
      if (col != i) entries.subtract(e, step);
      lost += (col == i ? step : Scalar(0)) - (lumps ? this->lumped(step, i, col) : Scalar(0));
    }
    return lost;
  }

  /// w_i -= w U_row by a lane. \returns what it takes from the diagonal
  template <class Values>
  KOKKOS_FUNCTION Scalar subtract(const LaneGroup& lane_group, int lane, std::int64_t i, std::size_t k,
                                  int row, Scalar w, const Values& others) const {
    const std::size_t end = lower.row_ptrs(i + 1), end_upper = upper.row_ptrs(i + 1);
    const std::size_t of_row = finished.begin(row);
    const int length = finished.length(row);
    Scalar lost = 0;
    // Both rows ascend: a search begins where the last one ended.
    std::size_t at_lower = k + 1, at_upper = upper.begin(i);
    for (int l = lane; l < length; l += lane_group.size()) {
      const int col = finished.col_idxs(of_row + l);
      const bool below = col < i;
      if (below)
        at_lower = lower.seek(at_lower, end, col);
      else if (col != i)
        at_upper = upper.seek(at_upper, end_upper, col);
      const std::size_t place = below ? at_lower : at_upper;
      const bool found = col != i && (below ? at_lower < end && lower.col_idxs(at_lower) == col
                                            : at_upper < end_upper && upper.col_idxs(at_upper) == col);
      if (!found && col != i && !lumps) continue;
      const Scalar step = w * others.read(finished.values(of_row + l));
      if (found)
        (below ? lower : upper).values(place) -= step;
      else
        lost += col == i ? step : this->lumped(step, i, col);
    }
    return lost;
  }

  template <class Values>
  KOKKOS_FUNCTION void in_scratch(const LaneGroup& lane_group, std::int64_t i, const Memory& memory,
                                  const Values& others) const {
    const int own = lower.length(i), length = own + 1 + upper.length(i);
    memory.clear(lane_group);
    lane_group.barrier();
    this->load(lane_group, memory, lower, i, 0, own);
    this->load(lane_group, memory, upper, i, own + 1, length - own - 1);
    if (lane_group.lane() == 0) memory.put(own, static_cast<int>(i), this->diagonal);
    lane_group.barrier();
    if constexpr (Base::is_lane)
      subtract_by_thread(i, memory, own, length, others);
    else
      subtract_by_lanes(lane_group, i, memory, own, length, others);
    store_row(lane_group, i, memory, own, length, others);
  }

  template <class Values>
  KOKKOS_FUNCTION void subtract_by_thread(std::int64_t i, const Memory& memory, int own, int length,
                                          const Values& others) const {
    auto steps = this->lane_steps(memory, own, others);
    const auto lump = [&](std::size_t entry, Scalar product) {
      memory.value(own) -= this->lumped(product, i, finished.col_idxs(entry));
    };
    for (int k = 0; k < own; ++k) {
      const int row = memory.col(k), count = finished.length(row);
      const std::size_t begin = finished.begin(row);
      if (Base::searches(count, length - k - 1)) {
        steps.run(lump);
        memory.value(own) -=
            subtract_found(0, 1, i, row, memory.value(k), InScratch{memory, k + 1, length}, others);
        continue;
      }
      int at = k + 1;
      for (int l = 0; l < count; ++l) {
        const int col = finished.col_idxs(begin + l);
        while (at < length && memory.col(at) < col) ++at;
        const bool found = at < length && memory.col(at) == col;
        if (!found && !lumps) continue;
        if (steps.is_full()) steps.run(lump);
        steps.add(begin + l, found ? at : steps.lumped, k);
      }
    }
    steps.run(lump);
  }

  template <class Values>
  KOKKOS_FUNCTION void subtract_by_lanes(const LaneGroup& lane_group, std::int64_t i, const Memory& memory,
                                         int own, int length, const Values& others) const {
    this->find_places(lane_group, memory, 0, own < memory.chunk ? own : memory.chunk);
    this->for_each_row(lane_group, memory, own, others, [&](int k, int in_chunk, Scalar value) {
      take_step(lane_group, i, memory, k, in_chunk, own, length, value, others);
    });
  }

  template <class Values>
  KOKKOS_FORCEINLINE_FUNCTION void take_step(const LaneGroup& lane_group, std::int64_t i,
                                             const Memory& memory, int k, int in_chunk, int own, int length,
                                             Scalar value, const Values& others) const {
    const Scalar w = memory.values[k];
    const bool searches = Base::searches(memory.lengths[in_chunk], length - k - 1);
    const Scalar lost = searches ? subtract_found(lane_group.lane(), LaneGroup::width, i, memory.cols[k], w,
                                                  InScratch{memory, k + 1, length}, others)
                                 : subtract_step(lane_group, i, memory, in_chunk, w, value, others);
    if (lumps || searches) {
      lane_group.barrier();
      const Scalar all = lane_group.template sum<Scalar>([&](int) { return lost; });
      if (lane_group.lane() == 0) memory.values[own] -= all;
    }
    lane_group.barrier();
  }

  template <class Values>
  KOKKOS_FORCEINLINE_FUNCTION Scalar subtract_step(const LaneGroup& lane_group, std::int64_t i,
                                                   const Memory& memory, int in_chunk, Scalar w, Scalar value,
                                                   const Values& others) const {
    const int lane = lane_group.lane();
    const int place = memory.places[in_chunk * LaneGroup::width + lane];
    const std::size_t begin = memory.begins[in_chunk];
    Scalar lost = 0;
    if (place < Memory::dropped)
      memory.values[place] -= w * value;
    else if (lumps && place == Memory::dropped)
      lost += this->lumped(w * value, i, finished.col_idxs(begin + lane));
    // The rest of a row that is longer than the group.
    const int count = memory.lengths[in_chunk];
    for (int l = lane + LaneGroup::width; l < count; l += LaneGroup::width) {
      const int col = finished.col_idxs(begin + l);
      const int further = memory.place_of(col);
      if (further == Memory::dropped && !lumps) continue;
      const Scalar step = w * others.read(finished.values(begin + l));
      if (further != Memory::dropped)
        memory.values[further] -= step;
      else
        lost += this->lumped(step, i, col);
    }
    return lost;
  }

  template <class Values>
  KOKKOS_FUNCTION void store_row(const LaneGroup& lane_group, std::int64_t i, const Memory& memory, int own,
                                 int length, const Values& others) const {
    const auto policy = this->policy();
    const Scalar pivot = memory.value(own);
    const bool sound = policy.accepts(pivot);
    const Scalar inverse = sound ? Scalar(1) / pivot : Scalar(1);
    const int broken = lane_group.template max<int>([&](int lane) {
      int bad = 0;
      for (int k = lane; k < length; k += LaneGroup::width) {
        if (k > own) memory.value(k) *= inverse;
        if (k < own ? !policy.keeps_finite(memory.value(k)) : k > own && !is_finite(memory.value(k))) bad = 1;
      }
      return bad;
    });
    const bool keeps = broken == 0 && sound;
    this->sum_row(lane_group, i, [&](int k) { return keeps ? memory.value(own + 1 + k) : Scalar(0); });
    const std::size_t first_lower = lower.begin(i), first_upper = finished.begin(i);
    lane_group.region([&](int lane) {
      for (int k = own + 1 + lane; k < length; k += LaneGroup::width)
        this->finish(finished.values(first_upper + (k - own - 1)), keeps ? memory.value(k) : Scalar(0));
      if (lane == 0) this->end_pivot(i, pivot, keeps, inverse);
      // No other row waits for L, which comes last.
      int checked = broken;
      this->scale_lower(lane, memory, own, others, checked);
      for (int k = lane; k < own; k += LaneGroup::width)
        lower.values(first_lower + k) = keeps ? memory.value(k) : Scalar(0);
    });
  }
};

template <class Scalar, class Space, class LaneGroup>
struct IluRow : IluRowOf<Scalar, Space, LaneGroup, false, true> {};
/// Adds what is not in the pattern, w_ik u_kj, to the diagonal, see FactorRow::lumped.
template <class Scalar, class Space, class LaneGroup>
struct LumpingIluRow : IluRowOf<Scalar, Space, LaneGroup, true, true> {};

}  // namespace prekond::impl::ilu
