// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Rows of threshold factorisations, a vector of lanes each. Which rows a row needs is found while it is
/// worked on, and it waits for each of them.
#include <prekond/core/levels.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/core/views.hpp>

#include "precond/common/breakdown_counter.hpp"
#include "precond/ilu/triangles.hpp"
#include "precond/ilut/largest.hpp"
#include "precond/ilut/row_table.hpp"

namespace prekond::impl::ilut {

/// Why a launch ended before all rows were done, see ThresholdTickets.
enum Signal { ended, stalled, out_of_room, wanted_slots, num_signals };

/// The rows that are done, one behind the other in the order in which they were, and what there is to know of
/// them.
template <class Scalar, class Space>
struct GrowingRows {
  using Word = unsigned long long;
  static constexpr int length_bits = 24;

  VectorView<Word, Space> done;  ///< by row: 0, or where U's row is, see word_of
  VectorView<int, Space> lower_length, upper_length;
  VectorView<Scalar, Space> pivots;  ///< D^-1
  VectorView<int, Space> cols;       ///< of a row those of L, and behind them those of U, in any order
  VectorView<Scalar, Space> values;
  VectorView<Word, Space> used;           ///< of the two, 1
  VectorView<int, Space> signals;         ///< num_signals
  VectorView<long long, Space> cut_rows;  ///< 1: of which more than p entries were above the tolerance
  VectorView<BreakdownCounter, Space> outcome;

  /// One word says that a row is done, where U's part begins, and its length, if that is below 2^24 - 1: what
  /// waits for the row needs no further look at memory to load its entries.
  KOKKOS_FORCEINLINE_FUNCTION static Word word_of(std::size_t begin, int length) {
    constexpr Word longest = (Word(1) << length_bits) - 1;
    const Word word_length = static_cast<Word>(length) < longest ? static_cast<Word>(length) : longest;
    return (static_cast<Word>(begin) + 1) << length_bits | word_length;
  }
  KOKKOS_FORCEINLINE_FUNCTION static std::size_t begin_of(Word word) {
    return static_cast<std::size_t>((word >> length_bits) - 1);
  }
  KOKKOS_FORCEINLINE_FUNCTION int length_of(Word word, int row) const {
    constexpr Word longest = (Word(1) << length_bits) - 1;
    return (word & longest) < longest ? static_cast<int>(word & longest) : upper_length(row);
  }
};

/// Row i of L, D and U. It begins as A's; for each k < i that it has, ascending,
///
///   w_k is dropped where |w_k| <= tau_i, else l_ik = w_k / d_k and w_j -= w_k u_kj for all j of U's row k;
///
/// then w_j with j > i is dropped where |w_j| <= tau_i, and the p largest |l_ik| and |w_j| are kept.
/// tau_i = tau times the 2-norm of A's row i.
///
/// `symmetric`: U = L^T, and A's row begins it all the same. For each k < i that it has, where u_ki is not 0,
///
///   w_j -= u_ki d_k u_kj for all j >= i of U's row k, and its columns below i are had from then on.
///
/// Every k with u_ki != 0 is met so. U's row k has the column i either from A, whose pattern is symmetric:
/// row i has k from the beginning. Or from a step m < k of row k, with u_mk != 0 and u_mi != 0: by induction
/// row i meets m, and has U_m's columns from then on, of which k is one.
template <class Scalar, class Space, class Level, bool symmetric>
struct ThresholdRow {
  using scalar_type = Scalar;
  using level_type = Level;
  using Table = RowTable<Scalar>;
  using Scratch = RowScratch<Scalar>;
  using Rows = GrowingRows<Scalar, Space>;
  using Word = typename Rows::Word;

  ilu::FactorTriangle<Scalar, Space> lower, upper;  ///< A's, with values const in effect
  Rows rows;
  int most = 0;  ///< p
  Scalar tau = 0;
  Scalar diagonal = 1;  ///< of A

  /// \returns whether the row is done. Else there was no room for it, or it waited in vain: it has left
  /// nothing. `slab`: memory for a row that outgrows the scratch; it may have no room at all
  template <class Wait>
  KOKKOS_FUNCTION bool operator()(const Level& level, int i, const Scratch& scratch, const Table& slab,
                                  const Wait& wait) const {
    Table table = scratch.table;
    int count = lower.length(i) + 1 + upper.length(i);
    if (count > table.most()) {
      if (!has_room(level, slab, count)) return false;
      table = slab;
    }
    table.clear(level);
    const Scalar tolerance = tau * load(level, i, table);
    for (int k = table.next(level, -1, i); k < i; k = table.next(level, k, i)) {
      if (!symmetric && drops(level, k, table, tolerance)) continue;
      const Word word = wait(level, k);
      if (word == 0) return false;
      const int length = rows.length_of(word, k);
      if (!grow(level, table, slab, count, length)) return false;
      count += take_step(level, i, k, table, Rows::begin_of(word), length);
    }
    return finish(level, i, scratch, table, tolerance);
  }

 private:
  KOKKOS_FUNCTION bool has_room(const Level& level, const Table& slab, int count) const {
    if (count <= slab.most()) return true;
    level.once([&] {
      Kokkos::atomic_max(&rows.signals(wanted_slots), count);
      raise_flag(rows.signals(ended), 1);
    });
    return false;
  }

  /// Room for `added` entries more, if need be in the slab.
  KOKKOS_FUNCTION bool grow(const Level& level, Table& table, const Table& slab, int count, int added) const {
    const std::int64_t all = static_cast<std::int64_t>(count) + added;
    const int num_rows = static_cast<int>(rows.done.extent(0));
    const int needed = all < num_rows ? static_cast<int>(all) : num_rows;
    if (needed <= table.most()) return true;
    if (!has_room(level, slab, needed)) return false;
    const Table from = table;
    slab.clear(level);
    level.region([&](int lane) {
      for (int s = lane; s < from.capacity; s += level.size()) {
        if (from.cols[s] < 0) continue;
        bool fresh = false;
        const int to = slab.insert(level, from.cols[s], fresh);
        slab.values[to] = from.values[s];
      }
    });
    table = slab;
    return true;
  }

  /// A's row. \returns its 2-norm
  KOKKOS_FUNCTION Scalar load(const Level& level, int i, const Table& table) const {
    const std::size_t first = lower.begin(i), behind = upper.begin(i);
    const int own = lower.length(i), length = own + 1 + upper.length(i);
    const auto value_of = [&](int e) {
      return e == own ? diagonal : (e < own ? lower.values(first + e) : upper.values(behind + (e - own - 1)));
    };
    const Scalar largest = level.template max<Scalar>([&](int lane) {
      Scalar size = 0;
      for (int e = lane; e < length; e += level.size()) {
        const Scalar value = value_of(e);
        const int col =
            e == own ? i : (e < own ? lower.col_idxs(first + e) : upper.col_idxs(behind + (e - own - 1)));
        bool fresh = false;
        table.values[table.insert(level, col, fresh)] = value;
        size = Kokkos::abs(value) > size ? Kokkos::abs(value) : size;
      }
      return size;
    });
    // Relative to the largest one, which is not below the diagonal's 1: squares may leave the range.
    const Scalar square = level.template sum<Scalar>([&](int lane) {
      Scalar mine = 0;
      for (int e = lane; e < length; e += level.size()) {
        const Scalar ratio = value_of(e) / largest;
        mine += ratio * ratio;
      }
      return mine;
    });
    return largest * Kokkos::sqrt(square);
  }

  /// The first dropping rule. What is dropped stays as 0.
  KOKKOS_FUNCTION bool drops(const Level& level, int k, const Table& table, Scalar tolerance) const {
    const int slot = table.find(k);
    // Not where it is not a number: that has to be seen in the end.
    if (!(Kokkos::abs(table.values[slot]) <= tolerance)) return false;
    level.region([](int) {});  // all have read it
    level.once([&] { table.values[slot] = 0; });
    return true;
  }

  /// \returns the number of entries that are new
  KOKKOS_FUNCTION int take_step(const Level& level, int i, int k, const Table& table, std::size_t begin,
                                int length) const {
    if constexpr (symmetric) {
      const Scalar own = level.template sum<Scalar>([&](int lane) {
        Scalar mine = 0;
        for (int e = lane; e < length; e += level.size())
          if (rows.cols(begin + e) == i) mine = rows.values(begin + e);
        return mine;
      });
      if (own == Scalar(0)) return 0;
      return subtract(level, i, table, begin, length, own / rows.pivots(k));
    } else {
      const int slot = table.find(k);
      const Scalar w = table.values[slot], multiplier = w * rows.pivots(k);
      level.region([](int) {});  // all have read w
      level.once([&] { table.values[slot] = multiplier; });
      return subtract(level, 0, table, begin, length, w);
    }
  }

  /// w_j -= w u_kj for all j of U's row k that are not below `from`; those are had from now on.
  KOKKOS_FUNCTION int subtract(const Level& level, int from, const Table& table, std::size_t begin,
                               int length, Scalar w) const {
    return level.template sum<int>([&](int lane) {
      int added = 0;
      for (int e = lane; e < length; e += level.size()) {
        const int col = rows.cols(begin + e);
        const Scalar step = w * rows.values(begin + e);
        bool fresh = false;
        const int slot = table.insert(level, col, fresh);
        if (col >= from) table.values[slot] = (fresh ? Scalar(0) : table.values[slot]) - step;
        added += fresh ? 1 : 0;
      }
      return added;
    });
  }

  KOKKOS_FUNCTION bool is_sound(Scalar pivot) const {
    const Scalar floor = Kokkos::sqrt(Kokkos::Experimental::epsilon_v<Scalar>);
    return is_finite(pivot) && (symmetric ? pivot : Kokkos::abs(pivot)) > floor;
  }

  /// Lists the slots of what was not dropped: L's from the list's front on, U's from its back. \returns
  /// whether an entry is not finite
  KOKKOS_FUNCTION bool collect(const Level& level, int i, const Table& table, Scalar tolerance,
                               Scalar inverse, int* counts) const {
    level.once([&] {
      for (int c = 0; c < 4; ++c) counts[c] = 0;
    });
    return level.template max<int>([&](int lane) {
      int bad = 0;
      for (int s = lane; s < table.capacity; s += level.size()) {
        const int col = table.cols[s];
        if (col < (symmetric ? i + 1 : 0) || col == i) continue;
        const Scalar value = table.values[s];
        if (!is_finite(col < i ? value : value * inverse)) bad = 1;
        if (col < i ? value == Scalar(0) : !(Kokkos::abs(value) > tolerance)) continue;
        const int place = next_place(counts + (col < i ? 0 : 1));
        table.list[col < i ? place : table.capacity - 1 - place] = s;
      }
      return bad;
    }) != 0;
  }
  KOKKOS_FORCEINLINE_FUNCTION static int next_place(int* count) {
    if constexpr (Level::width == 1)
      return (*count)++;
    else
      return Kokkos::atomic_fetch_add(count, 1);
  }

  /// Which of the `count` slots from `first` on in the list, by steps of `step`, are kept.
  KOKKOS_FUNCTION Cut<Scalar> cut(const Level& level, const Table& table, int first, int step,
                                  int count) const {
    if (count <= most || most == 0) return {};
    return cut_of_largest<Scalar>(
        level, count, most, [&](int e) { return table.values[table.list[first + step * e]]; },
        [&](int e) { return table.cols[table.list[first + step * e]]; });
  }

  KOKKOS_FUNCTION bool finish(const Level& level, int i, const Scratch& scratch, const Table& table,
                              Scalar tolerance) const {
    const Scalar pivot = table.values[table.find(i)];
    bool keeps = is_sound(pivot);
    const Scalar inverse = keeps ? Scalar(1) / pivot : Scalar(1);
    if (collect(level, i, table, tolerance, inverse, scratch.counts)) keeps = false;
    const int below = scratch.counts[0], above = scratch.counts[1];
    const int kept_below = !keeps ? 0 : (below < most ? below : most);
    const int kept_above = !keeps ? 0 : (above < most ? above : most);
    const Cut<Scalar> cut_below = keeps ? cut(level, table, 0, 1, below) : Cut<Scalar>();
    const Cut<Scalar> cut_above = keeps ? cut(level, table, table.capacity - 1, -1, above) : Cut<Scalar>();
    const Word all = static_cast<Word>(kept_below) + static_cast<Word>(kept_above);
    level.once([&] { *scratch.begin = Kokkos::atomic_fetch_add(&rows.used(0), all); });
    const std::size_t begin = *scratch.begin;
    if (begin + all > rows.cols.extent(0)) {
      level.once([&] {
        raise_flag(rows.signals(out_of_room), 1);
        raise_flag(rows.signals(ended), 1);
      });
      return false;
    }
    level.region([&](int lane) {
      const auto put = [&](int slot, const Cut<Scalar>& kept, int* places, std::size_t to, Scalar factor) {
        if (!kept.keeps(table.values[slot], table.cols[slot])) return;
        const std::size_t place = to + static_cast<std::size_t>(next_place(places));
        rows.cols(place) = table.cols[slot];
        rows.values(place) = table.values[slot] * factor;
      };
      for (int e = lane; e < below && kept_below > 0; e += level.size())
        put(table.list[e], cut_below, scratch.counts + 2, begin, Scalar(1));
      for (int e = lane; e < above && kept_above > 0; e += level.size())
        put(table.list[table.capacity - 1 - e], cut_above, scratch.counts + 3, begin + kept_below, inverse);
    });
    level.once([&] {
      rows.lower_length(i) = kept_below;
      rows.upper_length(i) = kept_above;
      rows.pivots(i) = keeps ? inverse : Scalar(1);
      if (keeps && (below > most || above > most)) Kokkos::atomic_inc(&rows.cut_rows(0));
      if (!keeps)
        BreakdownCounter::count(rows.outcome(0), i, true,
                                is_finite(pivot) ? static_cast<float>(pivot) : 0.0f);
      Kokkos::memory_fence();
      store_relaxed(rows.done(i), Rows::word_of(begin + kept_below, kept_above));
    });
    return true;
  }
};

}  // namespace prekond::impl::ilut
