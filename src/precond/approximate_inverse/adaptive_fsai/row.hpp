// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A row's growth with the gradient kept by column and updated in each step: everything the row needs lies in
/// a workspace of a few kilobytes, in scratch where it fits.
#include <prekond/core/scalar.hpp>
#include "core/lane_group.hpp"

#include "precond/approximate_inverse/adaptive_fsai/arg_max.hpp"
#include "precond/approximate_inverse/adaptive_fsai/growth.hpp"
#include "precond/approximate_inverse/adaptive_fsai/remembered_rows.hpp"

#include <type_traits>

namespace prekond::impl::adaptive_fsai {

/// One row's growth (a GrowingPattern, whose candidates are slots).
template <class Scalar, class Real, class Set, class Slot, class LaneGroup>
class Row : public RememberedRows<Scalar, Real, Set, Slot, LaneGroup> {
  using Rows = RememberedRows<Scalar, Real, Set, Slot, LaneGroup>;

 public:
  using Rows::slots_used;
  using Rows::width;
  using typename Rows::Number;
  using typename Rows::RowLayout;

  KOKKOS_FUNCTION Row(const LaneGroup& lane_group, const Matrix<Scalar, Real>& a,
                      const Parameters& parameters, const RowLayout& layout, const Set& set, char* base,
                      char* pool, int i)
      : Rows(lane_group, a, parameters, layout, set, base, pool, i), m_step(at<Number>(base, layout.step)) {}

  /// psi = g~ A g~^T in double, from the matrix's own values. Uses up the gradient.
  KOKKOS_FUNCTION double exact_psi() {
    zero_gradient();
    for_each(m_members,
             [&](int p) { m_r[parts * m_set.find(m_set.member_cols[p]).slot] = conjugate(m_g[p]); });
    const double sum = m_lane_group.template sum<double>([&](int lane) {
      double total = 2 * real_part(row_product(own_row(), lane));
      for (int p = 0; p < m_members; ++p) total += real_of_product(to_double(m_g[p]), row_product(p, lane));
      return total;
    });
    return sum + double(real_part(m_a.original[this->diagonal_entry()]));
  }

  /// r = the row's own entries; those of a start that it has not are zero.
  KOKKOS_FORCEINLINE_FUNCTION bool begin(const int* start, int n, bool kept) {
    m_set.clear(m_lane_group);
    if constexpr (without_branches) m_set.cols[unused_slot()] = 0;  // no member
    if constexpr (in_step)  // lanes without an entry add to these; nobody reads the sums
      m_lane_group.region([&](int lane) {
        if (lane < unused_slots) set_gradient(unused_slot() + 1 + lane, 0);
      });
    m_frozen = kept;
    if (n > 0) add_start(start, n);
    if (slots_filled() > m_layout.capacity) {
      m_shortage = Shortage::capacity;
      return false;
    }
    begin_at_diagonal();
    if (!remember_row(m_i, own_row())) return false;
    const RememberedRow own = m_rows[own_row()];
    const Slot* slots = m_slots + own.slots;
    const Number* values = m_a.values + own.begin;
    for_each(own.length, [&](int e) {
      if (slot_of(slots[e]) != unused_slot()) set_gradient(slot_of(slots[e]), m_scale * values[e]);
    });
    return true;
  }

  KOKKOS_FORCEINLINE_FUNCTION int candidate(int col) const { return m_set.find(col).slot; }

  KOKKOS_FORCEINLINE_FUNCTION bool begin_step(bool last) {
    if (m_members > 0) {
      if (!read_deferred_rows()) return false;
      update_gradient();
    }
    m_frozen = last;  // nothing is chosen among columns that the last step adds
    return true;
  }

  /// The slot with the largest |r_j| among the columns outside the pattern that are above the floor; ties go
  /// to the smaller column. -1 where there is none.
  KOKKOS_FUNCTION int best_candidate() const {
    int slot = -1;
    if constexpr (width == 1 && !is_complex<Number>) {
      slot = largest_of_one_lane();
    } else {
      slot = largest([](int) { return true; });
    }
    if (slot < 0 || above_floor(gradient(slot), m_set.cols[slot])) return slot;
    return largest([this](int s) { return above_floor(gradient(s), m_set.cols[s]); });
  }

  /// Borders W by the column of the candidate in `slot` and moves g~ to the new minimum.
  KOKKOS_FUNCTION RowStatus add_member(int slot, int first) {
    const int m = m_members;
    if (m == m_layout.max_members) {
      m_shortage = Shortage::members;
      return RowStatus::overflow;
    }
    const int j = m_set.cols[slot];
    const Number r_j = gradient(slot);
    for_each(m, [&](int p) { m_column[p] = 0; });
    m_lane_group.once([&] { m_set.make_member(slot, m); });  // all lanes have read cols[slot]
    if (!remember_row(j, m)) return RowStatus::overflow;
    const Real scale = border(j);
    if (scale == 0) {
      m_lane_group.once([&] { m_set.undo_member(slot, m); });
      return RowStatus::pivot;
    }
    const Number y = step_length(r_j, first, scale);
    const Number* w = m_w.w + m_w.row(m);
    m_lane_group.region([&](int lane) {
      each_of_lane<width>(m + 1, lane, [&](int p) {
        const Number d = y * w[p], step = d * m_scale;
        m_step[p] = m == first || p == m ? step : m_step[p] + step;
        m_g[p] = p == m ? d : m_g[p] + d;
      });
      if (lane == 0) m_y[m - first] = y;
    });
    m_psi -= abs2(y);
    ++m_members;
    return RowStatus::done;
  }

 private:
  using Rows::for_each, Rows::begin_at_diagonal, Rows::above_floor, Rows::border, Rows::step_length;
  using Rows::in_step, Rows::without_branches, Rows::parts, Rows::stride, Rows::slots_deferred;
  using Rows::m_lane_group, Rows::m_a, Rows::m_p, Rows::m_layout, Rows::m_set, Rows::m_i, Rows::m_rows,
      Rows::m_slots, Rows::m_r, Rows::m_column, Rows::m_l, Rows::m_g, Rows::m_y, Rows::m_w, Rows::m_members,
      Rows::m_longest, Rows::m_shortage, Rows::m_scale, Rows::m_psi, Rows::m_frozen;
  using Rows::own_row, Rows::slots_filled, Rows::unused_slot, Rows::slot_of, Rows::gradient_at,
      Rows::gradient, Rows::set_gradient, Rows::add_start, Rows::remember_row, Rows::read_deferred_rows;

  KOKKOS_FUNCTION void zero_gradient() {
    for_each(slots_used(), [&](int s) { m_r[parts * s] = 0; });
    m_lane_group.once([&] { m_r[parts * unused_slot()] = 0; });
  }

  /// Without a filter, by one lane: two sweeps without branches, which compilers turn into vector
  /// instructions.
  KOKKOS_FORCEINLINE_FUNCTION int largest_of_one_lane() const {
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

  template <class Filter>
  KOKKOS_FORCEINLINE_FUNCTION int largest(const Filter& filter) const {
    const int col = arg_max<Real>(
        m_lane_group, slots_used(), [this](int s) { return magnitude(gradient(s)); },
        [this](int s) { return m_set.cols[s]; }, [&](int s) { return m_set.cols[s] >= 0 && filter(s); });
    return col < 0 ? -1 : m_set.find(col).slot;
  }

  /// r += A[:, P] d for the step's direction d, one matrix row after another, lanes over its remembered
  /// entries; on a warp two rows at a time, each by half of the lanes: into parts of r of their own, or one
  /// half after the other. No two lanes write to one place, and every place's sum has one
  /// order.
  KOKKOS_FUNCTION void update_gradient() {
    if constexpr (LaneGroup::keeps_registers && width == 32) {
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
      m_lane_group.region([&](int lane) {
        for (int e = lane; e < row.length; e += width) gradient_at(slots[e]) += d * values[e];
      });
    }
  }

  /// The loads of the next two rows are under way while two are added.
  KOKKOS_FUNCTION void update_gradient_by_halves() {
    const int lane = m_lane_group.lane();
    const int half = lane / half_width, first = lane % half_width;
    LaneEntries now = fetch_entries(half, half, first);
#pragma unroll 2
    for (int p = 0; p < m_members; p += 2) {
      const LaneEntries next = fetch_entries(p + 2 + half, half, first);
      if constexpr (parts == 2) {
        add_entries(now);
      } else {
        if (half == 0) add_entries(now);
        m_lane_group.barrier();
        if (half == 1) add_entries(now);
      }
      m_lane_group.barrier();
      now = next;
    }
  }

  /// A lane's share of a row: the entries e, e + 16, e + 32.
  static constexpr int half_width = 16;
  static constexpr int entries_of_lane = 3;
  struct LaneEntries {
    unsigned place[entries_of_lane];
    Number value[entries_of_lane];
    Number d;
  };

  /// Entries of remembered row p. Entries beyond its end count into a slot of the lane that is never read.
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
    const Scalar* values = m_a.original + row.begin;
    using Sum = in_precision_t<Scalar, double>;
    const auto product = [&](int e) { return to_double(values[e]) * to_double(gradient_at(slots[e])); };
    if constexpr (width == 1) {  // several sums: they do not wait for one another
      if (row.slots == slots_deferred) return product_of_deferred(row);
      Sum sums[4] = {};
      int e = 0;
      for (; e < row.length - 3; e += 4)
        for (int k = 0; k < 4; ++k) sums[k] += product(e + k);
      for (; e < row.length; ++e) sums[0] += product(e);
      return (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
    Sum sum = 0;
    each_of_lane<width>(row.length, lane, [&](int e) { sum += product(e); });
    return sum;
  }

  /// The same over a row that was not looked up.
  KOKKOS_FUNCTION in_precision_t<Scalar, double> product_of_deferred(const RememberedRow& row) const {
    const int* cols = m_a.col_idxs + row.begin;
    in_precision_t<Scalar, double> sum = 0;
    for (int p = 0; p < m_members; ++p) {
      const int e = first_from(cols, row.length, m_set.member_cols[p]);
      if (e < row.length && cols[e] == m_set.member_cols[p])
        sum += to_double(m_a.original[row.begin + e]) * to_double(conjugate(m_g[p]));
    }
    return sum;
  }

  Number* m_step;  ///< the step's direction
};

}  // namespace prekond::impl::adaptive_fsai
