// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Rows of threshold factorisations, each by a lane group. A row finds the rows that it needs while it is
/// worked on, and waits for each of them.
#include <prekond/core/scalar.hpp>
#include <prekond/core/views.hpp>
#include "core/lane_group.hpp"
#include "core/pivot_policy.hpp"

#include "precond/factorization/ilu/triangles.hpp"
#include "precond/factorization/ilut/largest.hpp"
#include "precond/factorization/ilut/row_table.hpp"
#include "precond/setup/breakdown_counter.hpp"

namespace prekond::impl::ilut {

/// Why a launch ended before all rows were done, see ThresholdRowsDynamically.
enum Signal { ended, stalled, out_of_room, wanted_slots, num_signals };

/// The rows that are done, one after the other in the order in which they were done, with their data.
template <class Scalar, class Space>
struct GrowingRows {
  using Word = unsigned long long;
  static constexpr int length_bits = 24;

  VectorView<Word, Space> done;  ///< by row: 0, or the place of U's row, see word_of
  VectorView<int, Space> lower_length, upper_length;
  VectorView<Scalar, Space> pivots;  ///< D^-1
  VectorView<int, Space> cols;       ///< of a row those of L, and after them those of U, in any order
  VectorView<Scalar, Space> values;
  VectorView<Word, Space> used;           ///< of the two, 1
  VectorView<int, Space> signals;         ///< num_signals
  VectorView<long long, Space> cut_rows;  ///< 1: rows with more than p entries above the tolerance
  VectorView<BreakdownCounter, Space> outcome;

  /// The word that says that a row is done: the place of U's part and its length, if that is below 2^24 - 1.
  /// A row that waits for it needs no other word to load the entries.
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
/// Row i meets every k with u_ki != 0. Either U's row k has the column i from A, whose pattern is symmetric,
/// and row i has k from the beginning. Or it has i from a step m < k of row k, with u_mk != 0 and u_mi != 0:
/// by induction row i meets m, and has U_m's columns from then on, of which k is one.
template <class Scalar, class Space, class LaneGroup, bool symmetric>
struct ThresholdRow {
  using scalar_type = Scalar;
  using lane_group_type = LaneGroup;
  using Table = RowTable<Scalar>;
  using Scratch = RowScratch<Scalar>;
  using Rows = GrowingRows<Scalar, Space>;
  using Word = typename Rows::Word;

  ilu::FactorTriangle<Scalar, Space> lower, upper;  ///< A's, with values const in effect
  Rows rows;
  int most = 0;  ///< p
  Scalar tau = 0;
  Scalar diagonal = 1;  ///< of A

  /// \returns whether the row is done, and the tables are empty again. Else there was no room for it, or it
  /// waited too long, and it has written nothing. `slab`: memory for a row that outgrows the scratch, or for
  /// all rows `by_column`; it may have no room at all. \pre the tables are empty
  template <class Wait>
  KOKKOS_FUNCTION bool operator()(const LaneGroup& lane_group, int i, const Scratch& scratch,
                                  const Table& slab, const Wait& wait) const {
    Table table = scratch.table;
    int count = lower.length(i) + 1 + upper.length(i);
    if (slab.by_column || count > table.most()) {
      if (!has_room(lane_group, slab, count)) return false;
      table = slab;
    }
    table.own = lower.length(i);
    int* const counts = scratch.counts;
    lane_group.region([&](int lane) {
      for (int c = lane; c < Table::num_counts; c += lane_group.size()) counts[c] = 0;
    });
    const Scalar tolerance = tau * load(lane_group, i, table, counts);
    int of_a = 0;  // columns of A that the row has met
    for (int k = next(lane_group, i, table, counts, -1, of_a); k < i;
         k = next(lane_group, i, table, counts, k, of_a)) {
      if (!symmetric && drops(lane_group, k, table, tolerance)) continue;
      const Word word = wait(lane_group, k);
      if (word == 0) return false;
      const int length = rows.length_of(word, k);
      if (!grow(lane_group, i, table, slab, counts, count, length)) return false;
      count += take_step(lane_group, i, k, table, counts, Rows::begin_of(word), length);
    }
    if (!finish(lane_group, i, scratch, table, tolerance)) return false;
    table.take_out(lane_group, i, counts);
    return true;
  }

 private:
  KOKKOS_FUNCTION bool has_room(const LaneGroup& lane_group, const Table& slab, int count) const {
    if (count <= slab.most()) return true;
    lane_group.once([&] {
      Kokkos::atomic_max(&rows.signals(wanted_slots), count);
      raise_flag(rows.signals(ended), 1);
    });
    return false;
  }

  /// The smallest column that is above `after`, the last one met; i: there is none below i.
  KOKKOS_FUNCTION int next(const LaneGroup& lane_group, int i, const Table& table, int* counts, int after,
                           int& of_a) const {
    const int own = of_a < table.own ? lower.col_idxs(lower.begin(i) + of_a) : i;
    const int fill = table.next_of_fill(lane_group, counts, after, i);
    if (own < fill)
      ++of_a;
    else if (fill < i)
      table.has_met_next(lane_group, counts);
    return own < fill ? own : fill;
  }

  /// Makes room for `added` more entries, if need be in the slab.
  KOKKOS_FUNCTION bool grow(const LaneGroup& lane_group, int i, Table& table, const Table& slab, int* counts,
                            int count, int added) const {
    const std::int64_t all = static_cast<std::int64_t>(count) + added;
    const int num_rows = static_cast<int>(rows.done.extent(0));
    const int needed = all < num_rows ? static_cast<int>(all) : num_rows;
    if (needed <= table.most()) return true;
    if (!has_room(lane_group, slab, needed)) return false;
    Table larger = slab;
    larger.own = table.own;
    table.copy_to(lane_group, i, larger, counts);
    table.take_out(lane_group, i, counts);
    table = larger;
    return true;
  }

  /// Loads A's row. \returns its 2-norm
  KOKKOS_FUNCTION Scalar load(const LaneGroup& lane_group, int i, const Table& table, int* counts) const {
    const std::size_t first = lower.begin(i), behind = upper.begin(i);
    const int own = lower.length(i), length = own + 1 + upper.length(i);
    const auto value_of = [&](int e) {
      return e == own ? diagonal : (e < own ? lower.values(first + e) : upper.values(behind + (e - own - 1)));
    };
    const Scalar largest = lane_group.template max<Scalar>([&](int lane) {
      Scalar size = 0;
      for (int e = lane; e < length; e += lane_group.size()) {
        const Scalar value = value_of(e);
        const int col =
            e == own ? i : (e < own ? lower.col_idxs(first + e) : upper.col_idxs(behind + (e - own - 1)));
        bool fresh = false;
        table.values[table.insert(lane_group, i, col, counts, fresh)] = value;
        size = Kokkos::abs(value) > size ? Kokkos::abs(value) : size;
      }
      return size;
    });
    // Relative to the largest one, which is not below the diagonal's 1: squares may leave the range.
    const Scalar square = lane_group.template sum<Scalar>([&](int lane) {
      Scalar mine = 0;
      for (int e = lane; e < length; e += lane_group.size()) {
        const Scalar ratio = value_of(e) / largest;
        mine += ratio * ratio;
      }
      return mine;
    });
    return largest * Kokkos::sqrt(square);
  }

  /// The first dropping rule. A dropped entry stays as 0.
  KOKKOS_FUNCTION bool drops(const LaneGroup& lane_group, int k, const Table& table, Scalar tolerance) const {
    const int slot = table.find(k);
    // A value that is not a number stays, so that the end of the row sees it.
    if (!(Kokkos::abs(table.values[slot]) <= tolerance)) return false;
    lane_group.region([](int) {});  // all have read it
    lane_group.once([&] { table.values[slot] = 0; });
    return true;
  }

  /// \returns the number of entries that are new
  KOKKOS_FUNCTION int take_step(const LaneGroup& lane_group, int i, int k, const Table& table, int* counts,
                                std::size_t begin, int length) const {
    if constexpr (symmetric) {
      const Scalar own = lane_group.template sum<Scalar>([&](int lane) {
        Scalar mine = 0;
        for (int e = lane; e < length; e += lane_group.size())
          if (rows.cols(begin + e) == i) mine = rows.values(begin + e);
        return mine;
      });
      if (own == Scalar(0)) return 0;
      return subtract(lane_group, i, table, counts, begin, length, own / rows.pivots(k));
    } else {
      const int slot = table.find(k);
      const Scalar w = table.values[slot], multiplier = w * rows.pivots(k);
      lane_group.region([](int) {});  // all have read w
      lane_group.once([&] { table.values[slot] = multiplier; });
      return subtract(lane_group, i, table, counts, begin, length, w);
    }
  }

  /// w_j -= w u_kj for all j of U's row k, with `symmetric` for j >= i only; the row has the other columns
  /// from now on. \returns the number of entries that are new
  KOKKOS_FUNCTION int subtract(const LaneGroup& lane_group, int i, const Table& table, int* counts,
                               std::size_t begin, int length, Scalar w) const {
    return lane_group.template sum<int>([&](int lane) {
      int added = 0;
      for (int e = lane; e < length; e += lane_group.size()) {
        const int col = rows.cols(begin + e);
        const Scalar step = w * rows.values(begin + e);
        bool fresh = false;
        const int slot = table.insert(lane_group, i, col, counts, fresh);
        if (!symmetric || col >= i) table.values[slot] = (fresh ? Scalar(0) : table.values[slot]) - step;
        added += fresh ? 1 : 0;
      }
      return added;
    });
  }

  KOKKOS_FUNCTION bool is_sound(Scalar pivot) const {
    return PivotPolicy<Scalar>::with_shifts(symmetric).accepts(pivot);
  }

  /// A part of the list: that of L, or that of U.
  struct Part {
    Table table;
    int first, step, count;
    KOKKOS_FORCEINLINE_FUNCTION int slot(int e) const { return table.list[first + step * e]; }
    KOKKOS_FORCEINLINE_FUNCTION Scalar& value(int e) const { return table.values[slot(e)]; }
    KOKKOS_FORCEINLINE_FUNCTION int col(int e) const { return table.cols[slot(e)]; }

    KOKKOS_FUNCTION int num_nonzeros(const LaneGroup& lane_group) const {
      return lane_group.template sum<int>([&](int lane) {
        int mine = 0;
        for (int e = lane; e < count; e += lane_group.size()) mine += value(e) != Scalar(0) ? 1 : 0;
        return mine;
      });
    }
  };

  /// The second dropping rule; a dropped entry stays as 0. \returns whether all entries are finite
  KOKKOS_FUNCTION bool drop(const LaneGroup& lane_group, const Part& below, const Part& above,
                            Scalar tolerance, Scalar inverse) const {
    return lane_group.template max<int>([&](int lane) {
      int bad = 0;
      for (int e = lane; e < below.count; e += lane_group.size())
        if (!is_finite(below.value(e))) bad = 1;
      for (int e = lane; e < above.count; e += lane_group.size()) {
        const Scalar value = above.value(e);
        if (!is_finite(value * inverse)) bad = 1;
        if (!(Kokkos::abs(value) > tolerance)) above.value(e) = 0;
      }
      return bad;
    }) == 0;
  }

  /// The rule by which entries of a part with `nonzeros` nonzeros are kept.
  KOKKOS_FUNCTION Cut<Scalar> cut(const LaneGroup& lane_group, const Part& part, int nonzeros) const {
    if (nonzeros <= most || most == 0) return {};
    return cut_of_largest<Scalar>(
        lane_group, part.count, most, [&](int e) { return part.value(e); },
        [&](int e) { return part.col(e); });
  }

  /// Writes the entries that are kept, times `factor`, from `begin` on.
  KOKKOS_FUNCTION void put(int lane, const LaneGroup& lane_group, const Part& part, const Cut<Scalar>& kept,
                           int* places, std::size_t begin, Scalar factor) const {
    for (int e = lane; e < part.count; e += lane_group.size()) {
      const Scalar value = part.value(e);
      const int col = part.col(e);
      if (value == Scalar(0) || !kept.keeps(value, col)) continue;
      const std::size_t place =
          begin + static_cast<std::size_t>(Table::template next_place<LaneGroup>(places));
      rows.cols(place) = col;
      rows.values(place) = value * factor;
    }
  }

  KOKKOS_FUNCTION bool finish(const LaneGroup& lane_group, int i, const Scratch& scratch, const Table& table,
                              Scalar tolerance) const {
    const Scalar pivot = table.values[table.find(i)];
    const Scalar inverse = is_sound(pivot) ? Scalar(1) / pivot : Scalar(1);
    const Part below{table, 0, 1, symmetric ? 0 : scratch.counts[Table::below]};
    const Part above{table, table.capacity - 1, -1, scratch.counts[Table::above]};
    const bool keeps = drop(lane_group, below, above, tolerance, inverse) && is_sound(pivot);
    const int nonzeros_below = keeps ? below.num_nonzeros(lane_group) : 0;
    const int nonzeros_above = keeps ? above.num_nonzeros(lane_group) : 0;
    const Cut<Scalar> cut_below = cut(lane_group, below, nonzeros_below);
    const Cut<Scalar> cut_above = cut(lane_group, above, nonzeros_above);
    const int kept_below = nonzeros_below < most ? nonzeros_below : most;
    const int kept_above = nonzeros_above < most ? nonzeros_above : most;
    const Word all = static_cast<Word>(kept_below) + static_cast<Word>(kept_above);
    lane_group.once([&] { *scratch.begin = Kokkos::atomic_fetch_add(&rows.used(0), all); });
    const std::size_t begin = *scratch.begin, middle = begin + static_cast<std::size_t>(kept_below);
    if (begin + all > rows.cols.extent(0)) {
      lane_group.once([&] {
        raise_flag(rows.signals(out_of_room), 1);
        raise_flag(rows.signals(ended), 1);
      });
      return false;
    }
    lane_group.region([&](int lane) {
      if (kept_below > 0)
        put(lane, lane_group, below, cut_below, scratch.counts + Table::written_below, begin, Scalar(1));
      if (kept_above > 0)
        put(lane, lane_group, above, cut_above, scratch.counts + Table::written_above, middle, inverse);
    });
    lane_group.once([&] {
      rows.lower_length(i) = kept_below;
      rows.upper_length(i) = kept_above;
      rows.pivots(i) = keeps ? inverse : Scalar(1);
      if (nonzeros_below > most || nonzeros_above > most) Kokkos::atomic_inc(&rows.cut_rows(0));
      if (!keeps)
        BreakdownCounter::count(rows.outcome(0), i, true,
                                is_finite(pivot) ? static_cast<float>(pivot) : 0.0f);
      Kokkos::memory_fence();
      concurrent_store(rows.done(i), Rows::word_of(middle, kept_above));
    });
    return true;
  }
};

}  // namespace prekond::impl::ilut
