// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Algorithm 1 of Bernaschi et al. (2019) for one row, over a level: everything the row needs lies in a
/// workspace of a few kilobytes, in scratch where it fits.
#include <prekond/core/levels.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/dense/inverse_factor.hpp>
#include <prekond/pattern/column_set.hpp>

#include "precond/adaptive_fsai/layout.hpp"
#include "precond/adaptive_fsai/magnitude.hpp"
#include "precond/common/power_of_two.hpp"

#include <cstdint>
#include <type_traits>

namespace prekond::impl::adaptive_fsai {

/// One row's growth. `Set` finds columns, `Slot` is how slots are remembered.
///
/// In complex numbers, psi = g~ A g~^H, r = g~ A (a row: it is made of A's rows as they are), A[P, P] = L L^H
/// with W = L^-1, and a step's direction is a row of W.
template <class Scalar, class Real, class Set, class Slot, class Level>
class Row {
 public:
  using Number = in_precision_t<Scalar, Real>;
  using RowLayout = Layout<Number, Slot, Set>;
  static constexpr int width = Level::width;
  /// Entries are met with lanes in step and their data in registers.
  static constexpr bool in_step = Level::keeps_registers && Set::shared_insertion && width == 32;
  /// One lane looks columns up without branches: what is no member's goes behind the last member's.
  static constexpr bool without_branches = width == 1 && Set::uses_markers && !Set::shared_insertion;
  static constexpr Slot missing = static_cast<Slot>(~Slot(0));
  static constexpr int parts = RowLayout::gradient_parts;
  static constexpr int stride = RowLayout::gradient_stride;
  struct alignas(2 * sizeof(Number)) TwoParts {
    Number first, second;
  };

  KOKKOS_FUNCTION Row(const Level& level, const Matrix<Scalar, Real>& a, const Parameters& parameters,
                      const RowLayout& layout, const Set& set, char* base, char* pool, int i)
      : m_level(level),
        m_a(a),
        m_p(parameters),
        m_layout(layout),
        m_set(set),
        m_i(i),
        m_rows(at<RememberedRow>(base, layout.rows)),
        m_representatives(at<int>(base, layout.representatives)),
        m_slots(reinterpret_cast<Slot*>(pool)),
        m_r(at<Number>(base, layout.gradient)),
        m_column(at<Number>(base, layout.a)),
        m_l(at<Number>(base, layout.l)),
        m_step(at<Number>(base, layout.step)),
        m_g(at<Number>(base, layout.g)),
        m_y(at<Number>(base, layout.y)),
        m_w{at<Number>(base, layout.factor)} {}

  KOKKOS_FUNCTION static impl::ColumnList columns(const RowLayout& layout, char* base) {
    return {at<int>(base, layout.cols), at<int>(base, layout.member_cols), at<int>(base, layout.count),
            layout.capacity};
  }

  /// Finds the pattern and solves on it. It begins with `start[0 .. n)`, ascending, all smaller than i:
  /// G_0's, whose columns are taken in one step; one whose pivot is under the floor is left out.
  KOKKOS_FUNCTION RowStatus grow(const int* start, int n) { return run(start, n, false); }

  /// Solves on a given pattern: `cols[0 .. n)`, ascending, all smaller than i. A column whose pivot is under
  /// the floor is left out. No gradient is needed: r_j = a_ij + l . y for the y so far.
  KOKKOS_FUNCTION RowStatus solve(const int* cols, int n) { return run(cols, n, true); }

  /// Both, so that the code of a step stands in the kernel once: it has to stay in the instruction cache.
  KOKKOS_FORCEINLINE_FUNCTION RowStatus run(const int* start, int n, bool kept) {
    m_set.clear(m_level);
    if constexpr (without_branches) m_set.cols[unused_slot()] = 0;  // no member
    m_frozen = kept;
    if (n > 0) add_start(start, n);
    if (!begin_row()) return RowStatus::overflow;
    RowStatus status = RowStatus::done;
    Real psi_0 = m_psi;
    const int last_step = kept ? -1 : m_p.max_steps - 1;
    for (int k = n > 0 ? -1 : 0; k <= last_step || k < 0; ++k) {
      const bool of_start = k < 0;
      const Real psi_before = m_psi;
      const int first = m_members;
      if (!of_start) m_frozen = k == last_step;  // nothing is chosen among columns that the last step meets
      const int wanted = of_start ? n : m_p.step_size;
      for (int t = 0; t < wanted && (of_start || m_members < m_p.growth_limit); ++t) {
        const int slot = of_start ? m_set.find(start[t]).slot : best_candidate();
        if (slot < 0) break;
        const RowStatus added = add_member(slot, first);
        if (added == RowStatus::overflow || (added == RowStatus::pivot && !of_start)) return added;
        if (added == RowStatus::pivot) status = added;
      }
      if (of_start) {
        psi_0 = m_psi;
        if (kept || m_members == 0) continue;
      } else {
        if (m_members == first) break;
        if (m_psi <= Real(m_p.tolerance) * psi_0) break;
        if (m_p.step_tolerance > 0 && psi_before - m_psi <= Real(m_p.step_tolerance) * psi_before) break;
        if (k == last_step || m_members >= m_p.growth_limit) break;
      }
      if (!read_deferred_rows()) return RowStatus::overflow;
      update_gradient();
    }
    return status;
  }

  /// psi = g~ A g~^T in double, from the matrix's own values. Uses up the gradient.
  KOKKOS_FUNCTION double exact_psi() {
    zero_gradient();
    for_each(m_members,
             [&](int p) { m_r[parts * m_set.find(m_set.member_cols[p]).slot] = conjugate(m_g[p]); });
    const double sum = m_level.template sum<double>([&](int lane) {
      double total = 2 * real_part(row_product(own_row(), lane));
      for (int p = 0; p < m_members; ++p) total += real_of_product(to_double(m_g[p]), row_product(p, lane));
      return total;
    });
    return sum + double(real_part(m_a.original[diagonal_entry()]));
  }

  KOKKOS_FUNCTION int members() const { return m_members; }
  KOKKOS_FUNCTION int member_column(int p) const { return m_set.member_cols[p]; }
  KOKKOS_FUNCTION Number value(int p) const { return m_g[p]; }
  KOKKOS_FUNCTION Real pivot() const { return m_pivot; }
  KOKKOS_FUNCTION int slots_used() const {
    return slots_filled() < m_layout.capacity ? slots_filled() : m_layout.capacity;
  }
  KOKKOS_FUNCTION int entries_used() const { return m_next; }
  /// After an overflow: what there was too little of.
  KOKKOS_FUNCTION Shortage shortage() const { return m_shortage; }
  /// Where a_ii stands: right behind the row's remembered prefix.
  KOKKOS_FUNCTION std::size_t diagonal_entry() const {
    return index_of(m_rows[own_row()]) + static_cast<std::size_t>(m_rows[own_row()].length);
  }

 private:
  template <class T>
  KOKKOS_FUNCTION static T* at(char* base, std::size_t offset) {
    return reinterpret_cast<T*>(base + offset);
  }
  KOKKOS_FUNCTION int own_row() const { return m_layout.max_members; }
  KOKKOS_FUNCTION std::size_t index_of(const RememberedRow& row) const { return row.begin; }
  /// Columns met so far; more than the capacity where the set overflowed.
  KOKKOS_FUNCTION int slots_filled() const { return in_step ? m_filled : m_set.size(); }
  KOKKOS_FUNCTION int unused_slot() const { return m_layout.capacity; }

  /// Gives the columns of a start their slots; those that row i of A has not have no gradient yet.
  KOKKOS_FUNCTION void add_start(const int* cols, int n) {
    if constexpr (in_step) {
      const int lane = m_level.lane();
      for (int first = 0; first < n; first += width) {
        const int k = first + lane;
        ColumnPlace place;
        if (k < n) place = m_set.find(cols[k]);
        m_level.barrier();
        if (k < n) take(cols[k], k, place);
        m_level.barrier();
      }
      m_filled = n;
    } else {
      for_each(n, [&](int k) { insert(cols[k]); });
    }
  }

  /// g~ = e_i: psi = a_ii and r = the row's own entries.
  KOKKOS_FUNCTION bool begin_row() {
    if (slots_filled() > m_layout.capacity) {
      m_shortage = Shortage::capacity;
      return false;
    }
    m_scale = inverse_power_of_two(m_a.diagonal[m_i]);
    m_psi = m_scale * m_a.diagonal[m_i];
    m_floor = Real(m_p.candidate_floor) * m_a.root[m_i] * m_scale;
    if (!remember_row(m_i, own_row())) return false;
    const RememberedRow own = m_rows[own_row()];
    const Slot* slots = m_slots + own.slots;
    const Number* values = m_a.values + own.begin;
    for_each(own.length, [&](int e) {
      if (slot_of(slots[e]) != unused_slot()) set_gradient(slot_of(slots[e]), m_scale * values[e]);
    });
    return true;
  }

  /// f(0), ..., f(n - 1), each by one lane, with the lanes in step (a loop whose end differs between lanes
  /// costs a reconvergence each time).
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void for_each(int n, const F& f) const {
    m_level.region([&](int lane) { each_of_lane(n, lane, f); });
  }
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION static void each_of_lane(int n, int lane, const F& f) {
    for (int first = 0; first < n; first += width)
      if (first + lane < n) f(first + lane);
  }

  KOKKOS_FUNCTION void zero_gradient() {
    for_each(slots_used(), [&](int s) { m_r[parts * s] = 0; });
    m_level.once([&] { m_r[parts * unused_slot()] = 0; });
  }

  /// Remembered entries name the place of their slot in the gradient, in bytes.
  KOKKOS_FORCEINLINE_FUNCTION static Slot place_of(int slot) { return static_cast<Slot>(slot * stride); }
  KOKKOS_FORCEINLINE_FUNCTION static int slot_of(Slot place) {
    return static_cast<int>(place / unsigned(stride));
  }
  KOKKOS_FORCEINLINE_FUNCTION Number& gradient_at(std::size_t place) const {
    return *reinterpret_cast<Number*>(reinterpret_cast<char*>(m_r) + place);
  }

  /// r at a slot: the sum of its parts.
  KOKKOS_FORCEINLINE_FUNCTION Number gradient(int slot) const {
    if constexpr (parts == 1) {
      return m_r[slot];
    } else {
      const TwoParts r = reinterpret_cast<const TwoParts*>(m_r)[slot];
      return r.first + r.second;
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION void set_gradient(int slot, const Number& value) const {
    if constexpr (parts == 1)
      m_r[slot] = value;
    else
      reinterpret_cast<TwoParts*>(m_r)[slot] = {value, 0};
  }

  /// Meets the entries of row j left of column i: looks their columns up, adds the new ones, and remembers
  /// every entry's slot at `position`. Entries in a member's column are A[P, j], conjugated, and go to
  /// m_column.
  KOKKOS_FUNCTION bool remember_row(int j, int position) {
    const std::size_t begin = m_a.row_ptrs[j];
    const int representative = m_a.representatives[j];
    if (position != own_row()) {
      const int like = remembered_like(representative);
      if (like >= 0) {
        share_slots(begin, representative, like, position);
        return true;
      }
    }
    const int full = static_cast<int>(m_a.row_ptrs[j + 1] - begin);
    if constexpr (width == 1) {
      if (position != own_row() && full > longest_read_at_once && full / 32 > position) {
        put_off(begin, full, position);
        return true;
      }
    }
    return read_row(begin, full, representative, position);
  }

  /// A row that is much longer than the pattern is searched for the members' columns alone. Its other columns
  /// are met when they become candidates, if that happens: else each row that has a dense one's column would
  /// read all of it.
  KOKKOS_FUNCTION void put_off(std::size_t begin, int full, int position) {
    const int* cols = m_a.col_idxs + begin;
    const int length = first_from(cols, full, m_i);
    for (int p = 0; p < position; ++p) {
      const int e = first_from(cols, length, m_set.member_cols[p]);
      if (e < length && cols[e] == m_set.member_cols[p])
        m_column[p] = m_scale * conjugate(m_a.values[begin + e]);
    }
    m_rows[position] = {begin, length, slots_put_off};
    m_representatives[position] = -1;  // no other row shares its slots
  }

  KOKKOS_FUNCTION bool read_deferred_rows() {
    if constexpr (width == 1) {
      for (int p = 0; p < m_members; ++p) {
        if (m_rows[p].slots != slots_put_off) continue;
        const int j = m_set.member_cols[p];
        const int full = static_cast<int>(m_a.row_ptrs[j + 1] - m_rows[p].begin);
        if (!read_row(m_rows[p].begin, full, m_a.representatives[j], p)) return false;
      }
    }
    return true;
  }

  /// The first of the ascending columns that is not below `col`.
  KOKKOS_FORCEINLINE_FUNCTION static int first_from(const int* cols, int end, int col) {
    int begin = 0;
    while (begin < end) {
      const int middle = begin + (end - begin) / 2;
      if (cols[middle] < col)
        begin = middle + 1;
      else
        end = middle;
    }
    return begin;
  }

  KOKKOS_FUNCTION bool read_row(std::size_t begin, int full, int representative, int position) {
    const int* cols = m_a.col_idxs + begin;
    const Number* values = m_a.values + begin;
    Slot* slots = m_slots + m_next;
    const int room = m_layout.pool - m_next;
    int length = 0;
    if constexpr (in_step) {
      length = find_slots_in_step(cols, values, full, slots, room);
    } else if constexpr (width == 1) {
      length = find_slots_one_by_one(cols, values, full, slots, room);
    } else {
      length = find_slots(cols, values, full, slots, room);
    }
    if (length > room) {
      m_shortage = Shortage::pool;
      return false;
    }
    m_level.once([&] {
      m_rows[position] = {begin, length, m_next};
      m_representatives[position] = representative;
    });
    m_longest = length > m_longest ? length : m_longest;
    m_next += length;
    if (slots_filled() > m_layout.capacity) m_shortage = Shortage::capacity;
    return slots_filled() <= m_layout.capacity;
  }

  /// Where a row with the same columns is remembered; -1: nowhere. (Unknowns of one node have equal columns.)
  KOKKOS_FUNCTION int remembered_like(int representative) const {
    const unsigned position = m_level.template min<unsigned>([&](int lane) {
      unsigned mine = lane == 0 && m_representatives[own_row()] == representative ? unsigned(own_row()) : ~0u;
      each_of_lane(m_members, lane, [&](int p) {
        if (m_representatives[p] == representative) mine = unsigned(p);
      });
      return mine;
    });
    return static_cast<int>(position);
  }

  /// The entries of a row with the columns of the one remembered as `like`: nothing is looked up.
  KOKKOS_FUNCTION void share_slots(std::size_t begin, int representative, int like, int position) {
    const RememberedRow row = m_rows[like];
    const Slot* slots = m_slots + row.slots;
    const Number* values = m_a.values + begin;
    if constexpr (without_branches) {
      const int* cols = m_set.cols;
      const int nobody = m_layout.max_members;
      const Real scale = m_scale;
      Number* column = m_column;
      for (int e = 0; e < row.length; ++e)
        column[Set::position_of(cols[slot_of(slots[e])], nobody)] = scale * conjugate(values[e]);
    }
    m_level.region([&](int lane) {
      if constexpr (!without_branches) {
        each_of_lane(row.length, lane, [&](int e) {
          const int slot = slot_of(slots[e]);
          if (slot == unused_slot()) return;
          const int key = m_set.cols[slot];
          if (key < 0) m_column[~key] = m_scale * conjugate(values[e]);
        });
      }
      if (lane == 0) {
        m_rows[position] = {begin, row.length, row.slots};
        m_representatives[position] = representative;
      }
    });
  }

  /// Looks up all entries, then adds what was missing. \returns the number of entries left of column i
  KOKKOS_FUNCTION int find_slots(const int* cols, const Number* values, int full, Slot* slots, int room) {
    const int length = m_level.template sum<int>([&](int lane) {
      int seen = 0;
      for (int e = lane; e < full; e += width) {
        const int col = cols[e];
        if (col >= m_i) break;
        const ColumnPlace place = m_set.find(col);
        if (place.position >= 0) m_column[place.position] = m_scale * conjugate(values[e]);
        if (e < room) slots[e] = place.slot < 0 ? missing : place_of(place.slot);
        ++seen;
      }
      return seen;
    });
    for_each(length < room ? length : room, [&](int e) {
      if (slots[e] != missing) return;
      const int slot = m_frozen ? unused_slot() : insert(cols[e]);
      slots[e] = place_of(slot < 0 ? unused_slot() : slot);
    });
    return length;
  }

  /// The same by one lane, in one go.
  KOKKOS_FUNCTION int find_slots_one_by_one(const int* cols, const Number* values, int full, Slot* slots,
                                            int room) {
    if constexpr (without_branches) {
      if (full <= room && (m_frozen || *m_set.count + full <= m_layout.capacity))
        return m_frozen ? find_slots_of_members(cols, values, full, slots)
                        : find_slots_without_branches(cols, values, full, slots);
    }
    int e = 0;
    for (; e < full && cols[e] < m_i; ++e) {
      const ColumnPlace place = m_set.find(cols[e]);
      int slot = place.slot;
      if (slot < 0) slot = m_frozen ? unused_slot() : insert(cols[e]);
      if (place.position >= 0) m_column[place.position] = m_scale * conjugate(values[e]);
      if (e < room) slots[e] = place_of(slot < 0 ? unused_slot() : slot);
    }
    return e;
  }

  /// The same where there is room for all. (In locals is what stores into the workspace might change for all
  /// that a compiler knows.)
  KOKKOS_FUNCTION int find_slots_without_branches(const int* cols, const Number* values, int full,
                                                  Slot* slots) {
    const Set set = m_set;
    const int i = m_i, nobody = m_layout.max_members;  // one behind the last member's
    const Real scale = m_scale;
    Number *r = m_r, *column = m_column;
    int used = *set.count;
    int e = 0;
    for (; e < full && cols[e] < i; ++e) {
      const int before = used;
      const ColumnPlace place = set.find_or_file(cols[e], nobody, used);
      r[place.slot] = used > before ? Number(0) : r[place.slot];
      column[place.position] = scale * conjugate(values[e]);
      slots[e] = place_of(place.slot);
    }
    *set.count = used;
    return e;
  }

  /// The same where nothing is added.
  KOKKOS_FUNCTION int find_slots_of_members(const int* cols, const Number* values, int full, Slot* slots) {
    const Set set = m_set;
    const int i = m_i, none = unused_slot(), nobody = m_layout.max_members;
    const Real scale = m_scale;
    Number* column = m_column;
    int e = 0;
    for (; e < full && cols[e] < i; ++e) {
      const ColumnPlace place = set.find_or(cols[e], none, nobody);
      column[place.position] = scale * conjugate(values[e]);
      slots[e] = place_of(place.slot);
    }
    return e;
  }

  /// The same with a lane's entry in its registers: 32 entries at a time are looked up, and the missing ones
  /// take the next places of the list in the order of the lanes.
  KOKKOS_FUNCTION int find_slots_in_step(const int* cols, const Number* values, int full, Slot* slots,
                                         int room) {
    const int lane = m_level.lane();
    int length = 0;
    int next = lane < full ? cols[lane] : m_i;
    for (int first = 0; first < full; first += width) {
      const int e = first + lane;
      const int col = next;
      next = e + width < full ? cols[e + width] : m_i;
      const bool left = col < m_i;
      int slot = unused_slot();
      ColumnPlace place;
      if (left) {
        place = m_set.find(col);
        slot = place.slot;
        if (place.position >= 0) m_column[place.position] = m_scale * conjugate(values[e]);
      }
      const unsigned lefts = m_level.vote(left);
      const unsigned news = m_frozen ? 0u : m_level.vote(slot < 0);
      m_level.barrier();
      if (slot < 0)
        slot = m_frozen ? unused_slot()
                        : take(col, m_filled + Kokkos::popcount(news & ((1u << lane) - 1u)), place);
      m_filled += Kokkos::popcount(news);
      if (left && e < room) slots[e] = place_of(slot);
      length += Kokkos::popcount(lefts);
      m_level.barrier();
      if (lefts != ~0u) break;
    }
    return length;
  }

  KOKKOS_FORCEINLINE_FUNCTION int take(int col, int slot, const ColumnPlace& ended) const {
    if (slot >= m_layout.capacity) return unused_slot();
    set_gradient(slot, 0);
    m_set.file(col, slot, ended, [](unsigned* word, unsigned expected, unsigned desired) {
      return Level::atomic_compare_exchange(word, expected, desired);
    });
    return slot;
  }

  KOKKOS_FORCEINLINE_FUNCTION int insert(int col) const {
    const int slot = m_set.insert(col);
    if (slot >= 0) set_gradient(slot, 0);
    return slot;
  }

  /// The slot with the largest |r_j| among the columns outside the pattern that are above the floor; ties go
  /// to the smaller column. -1 where there is none.
  KOKKOS_FUNCTION int best_candidate() const {
    int slot = -1;
    if constexpr (width == 1 && !is_complex<Number>) {
      slot = arg_max_of_one_lane();
    } else {
      slot = arg_max([](int) { return true; });
    }
    if (slot < 0 || above_floor(gradient(slot), m_set.cols[slot])) return slot;
    return arg_max([this](int s) { return above_floor(gradient(s), m_set.cols[s]); });
  }

  /// Without a filter, by one lane: two sweeps without branches, which compilers turn into vector
  /// instructions.
  KOKKOS_FORCEINLINE_FUNCTION int arg_max_of_one_lane() const {
    using Size = std::conditional_t<sizeof(Real) == 4, int, long long>;  // vectors compare signed numbers
    const int used = slots_used();
    const int* cols = m_set.cols;
    const Number* r = m_r;
    Size best = 0;
    for (int s = 0; s < used; ++s) {
      const Size size = cols[s] < 0 ? 0 : static_cast<Size>(magnitude(r[s]));
      best = size > best ? size : best;
    }
    if (best == 0) return -1;
    unsigned first = ~0u;  // a member's key is above every column
    for (int s = 0; s < used; ++s) {
      const unsigned equal = static_cast<Size>(magnitude(r[s])) == best;
      const unsigned col = unsigned(cols[s]) | (equal - 1u);
      first = col < first ? col : first;
    }
    return m_set.find(int(first)).slot;
  }

  // Single precision packs magnitude and column into one key; double needs two sweeps. (Looking the slot up
  // again costs less than the registers that would carry it along: 50 against 53 ms at k_max 10.)
  template <class Filter>
  KOKKOS_FORCEINLINE_FUNCTION int arg_max(const Filter& filter) const {
    using Bits = unsigned long long;
    const int used = slots_used();
    if constexpr (sizeof(Real) == 4) {
      const Bits best = m_level.template max<Bits>([&](int lane) {
        Bits mine = 0;
        each_of_lane(used, lane, [&](int s) {
          const int col = m_set.cols[s];
          const Bits key = Bits(magnitude(gradient(s))) << 32 | (0xffffffffu - unsigned(col));
          if (col >= 0 && key > mine && filter(s)) mine = key;
        });
        return mine;
      });
      return (best >> 32) == 0 ? -1 : m_set.find(int(0xffffffffu - unsigned(best))).slot;
    } else {
      const Bits best = m_level.template max<Bits>([&](int lane) {
        Bits mine = 0;
        each_of_lane(used, lane, [&](int s) {
          const Bits size = magnitude(gradient(s));
          if (size > mine && m_set.cols[s] >= 0 && filter(s)) mine = size;
        });
        return mine;
      });
      if (best == 0) return -1;
      const unsigned col = m_level.template min<unsigned>([&](int lane) {
        unsigned mine = ~0u;
        each_of_lane(used, lane, [&](int s) {
          const int other = m_set.cols[s];
          if (magnitude(gradient(s)) == best && other >= 0 && unsigned(other) < mine && filter(s))
            mine = unsigned(other);
        });
        return mine;
      });
      return m_set.find(int(col)).slot;
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION bool above_floor(const Number& r, int col) const {
    return Kokkos::abs(r) > m_floor * m_a.root[col];
  }

  /// Borders W by the column of the candidate in `slot` and moves g~ to the new minimum. `first` is the
  /// number of members before this step: what they changed is in r already.
  KOKKOS_FUNCTION RowStatus add_member(int slot, int first) {
    const int m = m_members;
    if (m == m_layout.max_members) {
      m_shortage = Shortage::members;
      return RowStatus::overflow;
    }
    const int j = m_set.cols[slot];
    Number r_j = gradient(slot);
    for_each(m, [&](int p) { m_column[p] = 0; });
    m_level.once([&] { m_set.make_member(slot, m); });  // all lanes have read cols[slot]
    if (!remember_row(j, m)) return RowStatus::overflow;
    const Real a_jj = m_scale * m_a.diagonal[j];
    const Real square = m_w.multiply(m_level, m, m_column, m_l);
    const Real lambda_2 = a_jj - square;
    if (!(lambda_2 > Real(m_p.pivot_floor) * a_jj)) {
      m_pivot = lambda_2 / a_jj;
      m_level.once([&] { m_set.undo_member(slot, m); });
      return RowStatus::pivot;
    }
    const Real scale = Real(1) / Kokkos::sqrt(lambda_2);
    m_w.append(m_level, m, m_l, scale);
    for (int p = first; p < m; ++p) r_j += m_y[p - first] * m_l[p];
    const Number y = -r_j * scale;
    const Number* w = m_w.w + m_w.row(m);
    m_level.region([&](int lane) {
      each_of_lane(m + 1, lane, [&](int p) {
        const Number d = y * w[p], step = d * m_scale;
        m_step[p] = m == first || p == m ? step : m_step[p] + step;
        m_g[p] = p == m ? d : m_g[p] + d;
      });
      if (lane == 0) {
        m_y[m - first] = y;
      }
    });
    m_psi -= abs2(y);
    ++m_members;
    return RowStatus::done;
  }

  /// r += A[:, P] d for the step's direction d, one matrix row after another, lanes over its remembered
  /// entries; on a warp two rows at a time, each by half of the lanes: into parts of r of their own, or one
  /// half after the other. No two lanes meet in a place, and every place's sum has one order.
  KOKKOS_FUNCTION void update_gradient() {
    if constexpr (Level::keeps_registers && width == 32) {
      if (m_longest <= entries_of_lane * half_width) {
        update_gradient_by_halves();
      } else {
        update_gradient_by_rows();
      }
    } else {
      update_gradient_by_rows();
    }
  }

  KOKKOS_FUNCTION void update_gradient_by_rows() {
    for (int p = 0; p < m_members; ++p) {
      const RememberedRow row = m_rows[p];
      const Slot* slots = m_slots + row.slots;
      const Number* values = m_a.values + row.begin;
      const Number d = m_step[p];
      m_level.region([&](int lane) {
        for (int e = lane; e < row.length; e += width) gradient_at(slots[e]) += d * values[e];
      });
    }
  }

  /// The loads of the next two rows are under way while two are added.
  KOKKOS_FUNCTION void update_gradient_by_halves() {
    const int lane = m_level.lane();
    const int half = lane / half_width, first = lane % half_width;
    LaneEntries now = fetch_entries(half, half, first);
#pragma unroll 2
    for (int p = 0; p < m_members; p += 2) {
      const LaneEntries next = fetch_entries(p + 2 + half, half, first);
      if constexpr (parts == 2) {
        add_entries(now);
      } else {
        if (half == 0) add_entries(now);
        m_level.barrier();
        if (half == 1) add_entries(now);
      }
      m_level.barrier();
      now = next;
    }
  }

  /// What a lane adds of a row: entries e, e + 16, e + 32.
  static constexpr int half_width = 16;
  static constexpr int entries_of_lane = 3;
  struct LaneEntries {
    unsigned place[entries_of_lane];
    Number value[entries_of_lane];
    Number d;
  };

  /// Entries of remembered row p. What is behind its end counts into a slot of the lane that is never read.
  KOKKOS_FORCEINLINE_FUNCTION LaneEntries fetch_entries(int p, int half, int first) const {
    const int known = p < m_members ? p : m_members - 1;
    const RememberedRow row = m_rows[known];
    const int length = p < m_members ? row.length : 0;
    const Slot* slots = m_slots + row.slots + first;
    const Number* values = m_a.values + (row.begin + static_cast<std::size_t>(first));
    const unsigned part = parts == 2 ? unsigned(half) * unsigned(sizeof(Number)) : 0u;
    LaneEntries entries;
    entries.d = m_step[known];
#pragma unroll
    for (int t = 0; t < entries_of_lane; ++t) {
      entries.place[t] = unsigned(unused_slot() + 1 + first) * unsigned(stride) + part;
      entries.value[t] = 0;
      if (first + t * half_width < length) {
        entries.place[t] = unsigned(slots[t * half_width]) + part;
        entries.value[t] = values[t * half_width];
      }
    }
    return entries;
  }
  KOKKOS_FORCEINLINE_FUNCTION void add_entries(const LaneEntries& entries) const {
    Number sum[entries_of_lane];
#pragma unroll
    for (int t = 0; t < entries_of_lane; ++t)
      sum[t] = gradient_at(entries.place[t]) + entries.d * entries.value[t];
#pragma unroll
    for (int t = 0; t < entries_of_lane; ++t) gradient_at(entries.place[t]) = sum[t];
  }

  /// One lane's part of sum_e a_e g(slot of e) over a remembered row.
  KOKKOS_FORCEINLINE_FUNCTION in_precision_t<Scalar, double> row_product(int position, int lane) const {
    const RememberedRow row = m_rows[position];
    const Slot* slots = m_slots + row.slots;
    const Scalar* values = m_a.original + index_of(row);
    using Sum = in_precision_t<Scalar, double>;
    const auto product = [&](int e) { return to_double(values[e]) * to_double(gradient_at(slots[e])); };
    if constexpr (width == 1) {  // several sums: they do not wait for one another
      if (row.slots == slots_put_off) return product_put_off(row);
      Sum sums[4] = {};
      int e = 0;
      for (; e < row.length - 3; e += 4)
        for (int k = 0; k < 4; ++k) sums[k] += product(e + k);
      for (; e < row.length; ++e) sums[0] += product(e);
      return (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
    Sum sum = 0;
    each_of_lane(row.length, lane, [&](int e) { sum += product(e); });
    return sum;
  }

  /// The same over a row that was not met.
  KOKKOS_FUNCTION in_precision_t<Scalar, double> product_put_off(const RememberedRow& row) const {
    const int* cols = m_a.col_idxs + row.begin;
    in_precision_t<Scalar, double> sum = 0;
    for (int p = 0; p < m_members; ++p) {
      const int e = first_from(cols, row.length, m_set.member_cols[p]);
      if (e < row.length && cols[e] == m_set.member_cols[p])
        sum += to_double(m_a.original[row.begin + e]) * to_double(conjugate(m_g[p]));
    }
    return sum;
  }

  /// Rows with more entries are put off, on the host: on a GPU that would cost all other rows registers.
  static constexpr int longest_read_at_once = 512;
  static constexpr int slots_put_off = -1;

  Level m_level;
  const Matrix<Scalar, Real>& m_a;
  const Parameters& m_p;
  const RowLayout& m_layout;
  Set m_set;
  int m_i;
  RememberedRow* m_rows;
  int* m_representatives;
  Slot* m_slots;
  Number* m_r;
  Number* m_column;
  Number* m_l;
  Number* m_step;
  Number* m_g;
  Number* m_y;
  InverseFactor<Number> m_w;

  int m_members = 0;
  int m_next = 0;
  int m_longest = 0;
  Shortage m_shortage = Shortage::members;
  int m_filled = 0;
  Real m_scale = 1;
  Real m_floor = 0;
  Real m_psi = 0;
  Real m_pivot = 0;
  bool m_frozen = false;  ///< columns that are new are of no interest
};

}  // namespace prekond::impl::adaptive_fsai
