// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The rows of A that a growing row has looked up: its own and those of its pattern. Each column has a slot
/// in a set of columns, and each entry's slot is remembered, so that it is looked up once.
#include "core/lane_group.hpp"
#include "sparse_product/column_set.hpp"

#include "precond/approximate_inverse/adaptive_fsai/row_state.hpp"

namespace prekond::impl::adaptive_fsai {

/// The part of a row that knows columns: `Set` finds them, `Slot` is how slots are remembered. The gradient
/// is kept by slot; a new column's is zero.
template <class Scalar, class Real, class Set, class Slot, class LaneGroup>
class RememberedRows : public RowState<Scalar, Real, LaneGroup> {
  using State = RowState<Scalar, Real, LaneGroup>;

 public:
  using typename State::Number;
  using RowLayout = Layout<Number, Slot, Set>;
  using State::width;

  KOKKOS_FUNCTION static impl::ColumnList columns(const RowLayout& layout, char* base) {
    return {at<int>(base, layout.cols), at<int>(base, layout.member_cols), at<int>(base, layout.count),
            layout.capacity};
  }

  KOKKOS_FUNCTION int member_column(int p) const { return m_set.member_cols[p]; }
  KOKKOS_FUNCTION int slots_used() const {
    return slots_filled() < m_layout.capacity ? slots_filled() : m_layout.capacity;
  }
  KOKKOS_FUNCTION int entries_used() const { return m_next; }
  /// The place of a_ii, right after the row's remembered prefix.
  KOKKOS_FUNCTION std::size_t diagonal_entry() const {
    return m_rows[own_row()].begin + static_cast<std::size_t>(m_rows[own_row()].length);
  }

 protected:
  /// Entries are looked up with lanes in step and their data in registers.
  static constexpr bool in_step = LaneGroup::keeps_registers && Set::shared_insertion && width == 32;
  /// A single lane looks columns up without branches: a column that is no member's counts into the place
  /// after the last member's.
  static constexpr bool without_branches = width == 1 && Set::uses_markers && !Set::shared_insertion;
  static constexpr Slot missing = static_cast<Slot>(~Slot(0));
  static constexpr int parts = RowLayout::gradient_parts;
  static constexpr int stride = RowLayout::gradient_stride;
  /// Rows with more entries are deferred, on the host: on a GPU that would cost all other rows registers.
  static constexpr int longest_read_at_once = 512;
  static constexpr int slots_deferred = -1;
  struct alignas(2 * sizeof(Number)) TwoParts {
    Number first, second;
  };

  using State::for_each, State::m_lane_group, State::m_a, State::m_i, State::m_column, State::m_members,
      State::m_scale, State::m_shortage;

  KOKKOS_FUNCTION RememberedRows(const LaneGroup& lane_group, const Matrix<Scalar, Real>& a,
                                 const Parameters& parameters, const RowLayout& layout, const Set& set,
                                 char* base, char* pool, int i)
      : State(lane_group, a, parameters, layout, base, i),
        m_layout(layout),
        m_set(set),
        m_rows(at<RememberedRow>(base, layout.rows)),
        m_representatives(at<int>(base, layout.representatives)),
        m_slots(reinterpret_cast<Slot*>(pool)),
        m_r(at<Number>(base, layout.gradient)) {}

  KOKKOS_FUNCTION int own_row() const { return m_layout.max_members; }
  /// Columns in the set; more than the capacity where it overflowed.
  KOKKOS_FUNCTION int slots_filled() const { return in_step ? m_filled : m_set.size(); }
  KOKKOS_FUNCTION int unused_slot() const { return m_layout.capacity; }

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

  /// Gives the columns of a start their slots; those that row i of A has not have no gradient yet.
  KOKKOS_FUNCTION void add_start(const int* cols, int n) {
    if constexpr (in_step) {
      const int lane = m_lane_group.lane();
      for (int first = 0; first < n; first += width) {
        const int k = first + lane;
        ColumnPlace place;
        if (k < n) place = m_set.find(cols[k]);
        m_lane_group.barrier();
        if (k < n) claim_slot(cols[k], k, place);
        m_lane_group.barrier();
      }
      m_filled = n;
    } else {
      for_each(n, [&](int k) { insert(cols[k]); });
    }
  }

  /// Looks up the columns of row j left of column i, adds the new ones, and remembers every entry's slot at
  /// `position`. Entries in a member's column are A[P, j], conjugated, and go to m_column.
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
        defer_row(begin, full, position);
        return true;
      }
    }
    return read_row(begin, full, representative, position);
  }

  /// A row that is much longer than the pattern is searched only for the members' columns. Its other columns
  /// are looked up where another step follows: else each row that has a dense one's column would read all of
  /// it.
  KOKKOS_FUNCTION void defer_row(std::size_t begin, int full, int position) {
    const int* cols = m_a.col_idxs + begin;
    const int length = first_from(cols, full, m_i);
    for (int p = 0; p < position; ++p) {
      const int e = first_from(cols, length, m_set.member_cols[p]);
      if (e < length && cols[e] == m_set.member_cols[p])
        m_column[p] = m_scale * conjugate(m_a.values[begin + e]);
    }
    m_rows[position] = {begin, length, slots_deferred};
    m_representatives[position] = -1;  // no other row shares its slots
  }

  KOKKOS_FUNCTION bool read_deferred_rows() {
    if constexpr (width == 1) {
      for (int p = 0; p < m_members; ++p) {
        if (m_rows[p].slots != slots_deferred) continue;
        const int j = m_set.member_cols[p];
        const int full = static_cast<int>(m_a.row_ptrs[j + 1] - m_rows[p].begin);
        if (!read_row(m_rows[p].begin, full, m_a.representatives[j], p)) return false;
      }
    }
    return true;
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
    m_lane_group.once([&] {
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
    const unsigned position = m_lane_group.template min<unsigned>([&](int lane) {
      unsigned mine = lane == 0 && m_representatives[own_row()] == representative ? unsigned(own_row()) : ~0u;
      each_of_lane<width>(m_members, lane, [&](int p) {
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
    m_lane_group.region([&](int lane) {
      if constexpr (!without_branches) {
        each_of_lane<width>(row.length, lane, [&](int e) {
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
    const int length = m_lane_group.template sum<int>([&](int lane) {
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
    const int i = m_i, nobody = m_layout.max_members;  // the one after the last member's
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
  /// get the next slots in the order of the lanes.
  KOKKOS_FUNCTION int find_slots_in_step(const int* cols, const Number* values, int full, Slot* slots,
                                         int room) {
    const int lane = m_lane_group.lane();
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
      const unsigned lefts = m_lane_group.vote(left);
      const unsigned news = m_frozen ? 0u : m_lane_group.vote(slot < 0);
      m_lane_group.barrier();
      if (slot < 0)
        slot = m_frozen ? unused_slot()
                        : claim_slot(col, m_filled + Kokkos::popcount(news & ((1u << lane) - 1u)), place);
      m_filled += Kokkos::popcount(news);
      if (left && e < room) slots[e] = place_of(slot);
      length += Kokkos::popcount(lefts);
      m_lane_group.barrier();
      if (lefts != ~0u) break;
    }
    return length;
  }

  KOKKOS_FORCEINLINE_FUNCTION int claim_slot(int col, int slot, const ColumnPlace& ended) const {
    if (slot >= m_layout.capacity) return unused_slot();
    set_gradient(slot, 0);
    m_set.file(col, slot, ended, [](unsigned* word, unsigned expected, unsigned desired) {
      return LaneGroup::atomic_compare_exchange(word, expected, desired);
    });
    return slot;
  }

  KOKKOS_FORCEINLINE_FUNCTION int insert(int col) const {
    const int slot = m_set.insert(col);
    if (slot >= 0) set_gradient(slot, 0);
    return slot;
  }

  const RowLayout& m_layout;
  Set m_set;
  RememberedRow* m_rows;
  int* m_representatives;
  Slot* m_slots;
  Number* m_r;

  int m_next = 0;     ///< entries remembered
  int m_longest = 0;  ///< and the most of a row
  int m_filled = 0;
  bool m_frozen = false;  ///< columns that are new are of no interest
};

}  // namespace prekond::impl::adaptive_fsai
