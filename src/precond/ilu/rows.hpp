// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Rows of incomplete factorisations on a given pattern, a vector of lanes each. The rows that a row needs
/// have to be done: those of the columns of its part of L.
#include <prekond/core/levels.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/core/views.hpp>

#include "precond/common/breakdown_counter.hpp"
#include "precond/ilu/row_memory.hpp"
#include "precond/ilu/triangles.hpp"

namespace prekond::impl::ilu {

struct FactorTuning {
  static constexpr int team_threads = 128;
  static constexpr int short_lanes = 8, long_lanes = 32;
  static constexpr int short_rows = 12;  ///< entries of a triangle's mean row, up to which vectors are short
};

/// The rows that are needed are done already.
struct NoWait {
  template <class Level, class Column>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const Level&, int, const Column&) const {}
};

/// What all factorisations share: L and D^-1 of the rows before, and how a row ends.
template <class Scalar, class Space, class Level>
struct FactorRow {
  using scalar_type = Scalar;
  using level_type = Level;
  FactorTriangle<Scalar, Space> lower, upper;
  VectorView<Scalar, Space> pivots;          ///< D^-1; of the row in work w_ii
  VectorView<const int, Space> permutation;  ///< by whose numbers rows are reported; empty: their own
  VectorView<BreakdownCounter, Space> outcome;
  Scalar diagonal = 1;                        ///< of the matrix
  bool positive = false;                      ///< pivots have to be
  bool lumps = false;                         ///< what is not in the pattern goes to the diagonal
  VectorView<const Scalar, Space> row_scale;  ///< of `lumps`: R's diagonal, see lumped()

  /// What an entry of the scaled matrix in column `col` gives to the diagonal, so that the sums of the rows
  /// of the matrix itself are kept.
  KOKKOS_FUNCTION Scalar lumped(Scalar entry, std::int64_t i, int col) const {
    return entry * (Kokkos::abs(row_scale(i)) / Kokkos::abs(row_scale(col)));
  }

  KOKKOS_FUNCTION bool is_sound(Scalar pivot) const {
    const Scalar floor = Kokkos::sqrt(Kokkos::Experimental::epsilon_v<Scalar>);
    return is_finite(pivot) && (positive ? pivot : Kokkos::abs(pivot)) > floor;
  }
  KOKKOS_FUNCTION void count_breakdown(std::int64_t i, Scalar pivot) const {
    const float reported = is_finite(pivot) ? static_cast<float>(pivot) : 0.0f;
    const int row = permutation.extent(0) > 0 ? permutation(i) : static_cast<int>(i);
    BreakdownCounter::count(outcome(0), row, true, reported);
  }

  /// L_i = w_i D^-1 and D_ii = `pivot`; `with_upper`: and U_i = D_ii^-1 w_i. Nothing but D_ii = 1 where the
  /// pivot is bad: with its L and U kept, the factors of the rows behind it can grow without bound.
  KOKKOS_FUNCTION void end(const Level& level, std::int64_t i, Scalar pivot, bool with_upper) const {
    const bool sound = is_sound(pivot);
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
      if (!keeps) count_breakdown(i, pivot);
    });
  }
};

/// Row i of L, D and U: for each k of L_i in turn, w_i -= w_ik U_k on the row's pattern.
template <class Scalar, class Space, class Level>
struct IluRow : FactorRow<Scalar, Space, Level> {
  using Base = FactorRow<Scalar, Space, Level>;
  using Memory = RowMemory<Scalar>;
  using Base::lower;
  using Base::upper;
  static constexpr bool uses_memory = true;

  template <class Wait = NoWait>
  KOKKOS_FUNCTION void operator()(const Level& level, std::int64_t i, const Memory& memory = {},
                                  const Wait& wait = {}) const {
    if constexpr (Level::width > 1) {
      if (lower.length(i) + 1 + upper.length(i) <= memory.capacity) return in_memory(level, i, memory, wait);
    }
    in_place(level, i, wait);
  }

 private:
  template <class Wait>
  KOKKOS_FUNCTION void in_place(const Level& level, std::int64_t i, const Wait& wait) const {
    const std::size_t first = lower.begin(i), end = first + lower.length(i);
    wait(level, lower.length(i), [&](int k) { return lower.col_idxs(first + k); });
    level.once([&] { this->pivots(i) = this->diagonal; });
    for (std::size_t k = first; k < end; ++k) {
      const Scalar w = lower.values(k);
      const int row = lower.col_idxs(k);
      if (this->lumps) {
        const Scalar lost =
            level.template sum<Scalar>([&](int lane) { return subtract(level, lane, i, k, row, w); });
        level.once([&] { this->pivots(i) -= lost; });
      } else {
        level.region([&](int lane) { subtract(level, lane, i, k, row, w); });
      }
    }
    this->end(level, i, this->pivots(i), true);
  }

  /// \returns what is not in the pattern
  KOKKOS_FUNCTION Scalar subtract(const Level& level, int lane, std::int64_t i, std::size_t k, int row,
                                  Scalar w) const {
    const std::size_t end = lower.row_ptrs(i + 1), end_upper = upper.row_ptrs(i + 1);
    const std::size_t of_row = upper.begin(row);
    const int length = upper.length(row);
    Scalar lost = 0;
    for (int l = lane; l < length; l += level.size()) {
      const int col = upper.col_idxs(of_row + l);
      const Scalar step = w * upper.values(of_row + l);
      if (col == i) {
        this->pivots(i) -= step;
      } else if (col < i) {
        const std::size_t place = lower.find(k + 1, end, col);
        if (place < end)
          lower.values(place) -= step;
        else if (this->lumps)
          lost += this->lumped(step, i, col);
      } else {
        const std::size_t place = upper.find(upper.begin(i), end_upper, col);
        if (place < end_upper)
          upper.values(place) -= step;
        else if (this->lumps)
          lost += this->lumped(step, i, col);
      }
    }
    return lost;
  }

  /// The same in scratch. All that the pattern says is found before the wait; after it the entries of a whole
  /// batch of rows of U are loaded at a time.
  template <class Wait>
  KOKKOS_FUNCTION void in_memory(const Level& level, std::int64_t i, const Memory& memory,
                                 const Wait& wait) const {
    const int own = lower.length(i), length = own + 1 + upper.length(i);
    load_row(level, i, memory, own, length);
    find_places(level, memory, 0, own, length);
    wait(level, own, [&](int k) { return memory.cols[k]; });
    level.region([&](int lane) {
      load_steps(level, lane, i, memory, 0, own);
      for (int k = lane; k < own; k += level.size()) memory.pivots[k] = this->pivots(memory.cols[k]);
    });
    for (int k = 0; k < own; k += Memory::batch) {
      if (k > 0) {
        find_places(level, memory, k, own, length);
        level.region([&](int lane) { load_steps(level, lane, i, memory, k, own); });
      }
      for (int b = 0; b < Memory::batch && k + b < own; ++b) take_step(level, i, memory, k, b, own, length);
    }
    store_row(level, i, memory, own, length);
  }

  KOKKOS_FUNCTION void load_row(const Level& level, std::int64_t i, const Memory& memory, int own,
                                int length) const {
    const std::size_t first = lower.begin(i), behind = upper.begin(i);
    level.region([&](int lane) {
      for (int k = lane; k < length; k += level.size()) {
        const bool below = k < own;
        const std::size_t place = below ? first + k : behind + (k - own - 1);
        memory.cols[k] =
            k == own ? static_cast<int>(i) : (below ? lower.col_idxs(place) : upper.col_idxs(place));
        memory.values[k] = k == own ? this->diagonal : (below ? lower.values(place) : upper.values(place));
      }
    });
  }

  KOKKOS_FUNCTION void find_places(const Level& level, const Memory& memory, int k, int own,
                                   int length) const {
    level.region([&](int lane) {
      for (int b = 0; b < Memory::batch && k + b < own; ++b) {
        const int row = memory.cols[k + b], count = upper.length(row);
        const std::size_t begin = upper.begin(row);
        memory.places[b * level.size() + lane] =
            lane < count ? memory.place_of(upper.col_idxs(begin + lane), k + b + 1, length) : Memory::nothing;
        if (lane > 0) continue;
        memory.begins[b] = begin;
        memory.lengths[b] = count;
      }
    });
  }

  KOKKOS_FORCEINLINE_FUNCTION void load_steps(const Level& level, int lane, std::int64_t i,
                                              const Memory& memory, int k, int own) const {
    for (int b = 0; b < Memory::batch && k + b < own; ++b) {
      const int at = b * level.size() + lane;
      const int place = memory.places[at];
      const std::size_t entry = memory.begins[b] + lane;
      if (place >= 0)
        memory.steps[at] = upper.values(entry);
      else if (this->lumps && place == Memory::dropped)
        memory.steps[at] = this->lumped(upper.values(entry), i, upper.col_idxs(entry));
    }
  }

  KOKKOS_FUNCTION void take_step(const Level& level, std::int64_t i, const Memory& memory, int k, int b,
                                 int own, int length) const {
    const Scalar w = memory.values[k + b];
    if (this->lumps) {
      const Scalar lost = level.template sum<Scalar>(
          [&](int lane) { return subtract_step(level, lane, i, memory, k, b, length, w); });
      level.once([&] { memory.values[own] -= lost; });
    } else {
      level.region([&](int lane) { subtract_step(level, lane, i, memory, k, b, length, w); });
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION Scalar subtract_step(const Level& level, int lane, std::int64_t i,
                                                   const Memory& memory, int k, int b, int length,
                                                   Scalar w) const {
    Scalar lost = 0;
    const int at = b * level.size() + lane, place = memory.places[at];
    if (place >= 0)
      memory.values[place] -= w * memory.steps[at];
    else if (this->lumps && place == Memory::dropped)
      lost += w * memory.steps[at];
    // Of a row of U that is longer than the vector.
    for (int l = lane + level.size(); l < memory.lengths[b]; l += level.size()) {
      const int col = upper.col_idxs(memory.begins[b] + l);
      const int further = memory.place_of(col, k + b + 1, length);
      const Scalar step = w * upper.values(memory.begins[b] + l);
      if (further >= 0)
        memory.values[further] -= step;
      else if (this->lumps)
        lost += this->lumped(step, i, col);
    }
    return lost;
  }

  KOKKOS_FUNCTION void store_row(const Level& level, std::int64_t i, const Memory& memory, int own,
                                 int length) const {
    const Scalar pivot = memory.values[own];
    const bool sound = this->is_sound(pivot);
    const Scalar inverse = sound ? Scalar(1) / pivot : Scalar(1);
    const int broken = level.template max<int>([&](int lane) {
      int bad = 0;
      for (int k = lane; k < length; k += level.size()) {
        if (k == own) continue;
        memory.values[k] *= k < own ? memory.pivots[k] : inverse;
        if (!is_finite(memory.values[k])) bad = 1;
      }
      return bad;
    });
    const bool stays = broken == 0 && sound;
    const std::size_t first = lower.begin(i), behind = upper.begin(i);
    level.region([&](int lane) {
      for (int k = lane; k < length; k += level.size()) {
        const Scalar value = stays ? memory.values[k] : Scalar(0);
        if (k < own)
          lower.values(first + k) = value;
        else if (k > own)
          upper.values(behind + (k - own - 1)) = value;
      }
      if (lane > 0) return;
      this->pivots(i) = stays ? inverse : Scalar(1);
      if (!stays) this->count_breakdown(i, pivot);
    });
  }
};

/// Row i of L and D alone: for each k of L_i in turn, w_ik -= sum_m w_im l_km; D_ii = a_ii - sum_k w_ik l_ik.
template <class Scalar, class Space, class Level>
struct IcRow : FactorRow<Scalar, Space, Level> {
  using FactorRow<Scalar, Space, Level>::lower;
  static constexpr bool uses_memory = false;

  template <class Wait = NoWait>
  KOKKOS_FUNCTION void operator()(const Level& level, std::int64_t i, const RowMemory<Scalar>& = {},
                                  const Wait& wait = {}) const {
    const std::size_t first = lower.begin(i);
    const int length = lower.length(i);
    wait(level, length, [&](int k) { return lower.col_idxs(first + k); });
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
    this->end(level, i, this->diagonal - square, false);
  }
};

}  // namespace prekond::impl::ilu
