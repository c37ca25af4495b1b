// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Algorithm 1 of Bernaschi et al. (2019) for a block of rows that grow one set of columns, over a lane
/// group.
///
/// Rows B = {i0, ..., i0 + b - 1} have the columns P, all smaller than i0, and B's up to their own. With P
/// first, the rows of G on [P, B] are (-C A[B, P] A[P, P]^-1, C), C = L^-1 of the Schur complement's Cholesky
/// factor,
///
///   S = A[B, B] - A[B, P] A[P, P]^-1 A[P, B] = L L^T,
///
/// and the product of their psi is det S. So P is grown for the columns r of A[:, B] one by one, each as a
/// row of its own with the gradient R_r = A[:, r] - A[:, P] A[P, P]^-1 A[P, r], but with one W = L^-1 for
/// A[P, P], one list of columns and one look-up of each entry; the rows of B are coupled at the end, by C.
///
/// By Hadamard's inequality det S <= prod S_rr: what growth lowers is that bound of the block's share of the
/// Kaporin number (eq. 11). The derivative of its logarithm chooses columns: those with the largest sum_r
/// R_rj^2 / S_rr; and its geometric mean, relative to that of A's diagonal, is the psi of the stops. For b =
/// 1 both are the row's.
#include "core/lane_group.hpp"
#include "sparse_product/column_set.hpp"

#include "precond/approximate_inverse/adaptive_fsai/arg_max.hpp"
#include "precond/approximate_inverse/adaptive_fsai/block_layout.hpp"
#include "precond/approximate_inverse/adaptive_fsai/growth.hpp"
#include "precond/approximate_inverse/adaptive_fsai/row_state.hpp"
#include "precond/scaling/power_of_two.hpp"

namespace prekond::impl::adaptive_fsai {

/// The growth of a block's columns (a GrowingPattern, whose candidates are slots). Gradients and solutions
/// are stored with a block's values side by side. Column r is scaled by a power of two, so that a_rr is in
/// [1, 4).
template <class Scalar, class Real, class Set, class Slot, class LaneGroup>
class BlockGrowth {
 public:
  using Layout = BlockLayout<Real, Slot, Set>;
  static constexpr int width = LaneGroup::width;

  KOKKOS_FORCEINLINE_FUNCTION bool begin(const int* start, int n, bool) {
    m_set.clear(m_lane_group);
    for_each(n, [&](int k) { insert(start[k]); });
    return begin_block();
  }

  KOKKOS_FORCEINLINE_FUNCTION int candidate(int col) const { return m_set.find(col).slot; }

  KOKKOS_FORCEINLINE_FUNCTION bool begin_step(bool last) {
    update_gradient();
    m_frozen = last;  // nothing is chosen among columns that the last step adds
    return true;
  }

  /// The strongest column outside the pattern that is above the floor; ties go to the smaller column. -1
  /// where there is none.
  KOKKOS_FUNCTION int best_candidate() const {
    const int slot = strongest([](int) { return true; });
    if (slot < 0 || above_floor(slot, m_set.cols[slot])) return slot;
    return strongest([this](int s) { return m_set.cols[s] >= 0 && above_floor(s, m_set.cols[s]); });
  }

  /// Borders W by the column of the candidate in `slot`, moves the block's solutions to their new minima and
  /// lowers S by what they gain.
  KOKKOS_FUNCTION RowStatus add_member(int slot, int first) {
    const int m = m_members, b = m_size;
    if (m == m_layout.max_members) {
      m_shortage = Shortage::members;
      return RowStatus::overflow;
    }
    const int j = m_set.cols[slot];
    for_each(m, [&](int p) { m_column[p] = 0; });
    m_lane_group.once([&] { m_set.make_member(slot, m); });
    if (!remember_row(j, m)) return RowStatus::overflow;
    m_w.multiply(m_lane_group, m, m_column, m_l);
    const Real scale =
        border(m_lane_group, m_w, m, m_l, square(m), m_a.diagonal[j], Real(m_p.pivot_floor), m_pivot);
    if (scale == 0) {
      m_lane_group.once([&] { m_set.undo_member(slot, m); });
      return RowStatus::pivot;
    }
    for_each(b, [&](int r) {
      Real sum = gradient(slot, r);
      for (int p = first; p < m; ++p) sum += m_y[p * b + r] * m_l[p];
      m_y[m * b + r] = -sum * scale;
      gradient(slot, r) = 0;
    });
    const Real* y = m_y + m * b;
    const Real* w = m_w.w + m_w.row(m);
    m_lane_group.region([&](int lane) {
      each_of_lane<width>(b, lane, [&](int r) {
        for (int q = 0; q <= r; ++q) m_s[row_of_s(r) + q] -= y[r] * y[q];
      });
      if (lane == 0) m_member_slots[m] = slot;
    });
    for_each_pair(m + 1, [&](int p, int r) {
      const Real d = y[r] * w[p];
      m_step[p * b + r] = m == first || p == m ? d : m_step[p * b + r] + d;
    });
    ++m_members;
    return RowStatus::done;
  }

  /// The geometric mean of S_rr / a_rr. Sets what a row's gradient counts for in the next choice, 1 / S_rr.
  KOKKOS_FUNCTION Real psi() {
    const Real sum = m_lane_group.template sum<Real>([&](int lane) {
      Real logarithms = 0;
      each_of_lane<width>(m_size, lane, [&](int r) {
        const Real least = Real(m_p.pivot_floor) * m_start_psi[r];
        const Real s = m_s[row_of_s(r) + r];
        const Real s_rr = s > least ? s : least;
        m_weight[r] = 1 / s_rr;
        logarithms += Kokkos::log(s_rr / m_start_psi[r]);
      });
      if (lane == 0)
        for (int k = m_size; k < m_stride; ++k) m_weight[k] = 0;
      return logarithms;
    });
    return Kokkos::exp(sum / Real(m_size));
  }

  KOKKOS_FUNCTION int members() const { return m_members; }
  KOKKOS_FUNCTION int growth_limit() const { return m_p.limit_of(m_first, m_size) - (m_size - 1); }
  KOKKOS_FUNCTION int member_column(int p) const { return m_set.member_cols[p]; }
  KOKKOS_FUNCTION Real pivot() const { return m_pivot; }
  KOKKOS_FUNCTION int slots_used() const { return slots_filled(); }
  KOKKOS_FUNCTION int entries_used() const { return m_next; }
  /// After an overflow: what there was too little of.
  KOKKOS_FUNCTION Shortage shortage() const { return m_shortage; }

  KOKKOS_FUNCTION static impl::ColumnList columns(const Layout& layout, char* base) {
    return {at<int>(base, layout.cols), at<int>(base, layout.member_cols), at<int>(base, layout.count),
            layout.capacity};
  }

 protected:
  static constexpr Slot missing = static_cast<Slot>(~Slot(0));
  static constexpr int most_rows = 32;

  KOKKOS_FORCEINLINE_FUNCTION Real& gradient(int slot, int r) const { return m_r[slot * m_stride + r]; }
  KOKKOS_FUNCTION int own_row(int r) const { return m_layout.max_members + r; }
  /// Where row r of S begins: they are packed as the factors are.
  KOKKOS_FORCEINLINE_FUNCTION static int row_of_s(int r) { return InverseFactor<Real>::row(r); }
  KOKKOS_FUNCTION std::size_t find_diagonal(int r) const {
    const RememberedRow& row = m_rows[own_row(r)];
    std::size_t entry = row.begin + static_cast<std::size_t>(row.length);
    while (m_a.col_idxs[entry] < m_first + r) ++entry;
    return entry;
  }
  KOKKOS_FUNCTION int slots_filled() const {
    return m_set.size() < m_layout.capacity ? m_set.size() : m_layout.capacity;
  }
  KOKKOS_FUNCTION int unused_slot() const { return m_layout.capacity; }

  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void for_each(int n, const F& f) const {
    adaptive_fsai::for_each(m_lane_group, n, f);
  }
  /// f(k, r) for k < n and the block's rows r, with r running fastest over the lanes.
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_pair(int n, const F& f) const {
    const int b = m_size;
    if constexpr (width == 1) {
      for (int k = 0; k < n; ++k)
        for (int r = 0; r < b; ++r) f(k, r);
    } else {
      m_lane_group.region([&](int lane) {
        // Quotients by the reciprocal: a half is far enough from any rounding, and a division would cost as
        // much as a row's entries do.
        int k = static_cast<int>((static_cast<float>(lane) + 0.5f) * m_inverse);
        int r = lane - k * b;
        const int full = static_cast<int>((width + 0.5f) * m_inverse), rest = width - full * b;
        while (k < n) {
          f(k, r);
          k += full;
          r += rest;
          if (r >= b) {
            r -= b;
            ++k;
          }
        }
      });
    }
  }

  template <int Stride>
  struct StrideOf {
    static constexpr int value = Stride;
  };
  /// Usual strides are known to the compiler of the host's inner loops; 0 stands for any.
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void with_stride(const F& f) const {
    if (m_stride == 2) return f(StrideOf<2>());
    if (m_stride == 4) return f(StrideOf<4>());
    if (m_stride == 8) return f(StrideOf<8>());
    f(StrideOf<0>());
  }

  /// l . l
  KOKKOS_FUNCTION Real square(int n) const {
    return m_lane_group.template sum<Real>([&](int lane) {
      Real sum = 0;
      each_of_lane<width>(n, lane, [&](int p) { sum += m_l[p] * m_l[p]; });
      return sum;
    });
  }

  KOKKOS_FUNCTION BlockGrowth(const LaneGroup& lane_group, const Matrix<Scalar, Real>& a,
                              const Parameters& parameters, const Layout& layout, const Set& set, char* base,
                              int first, int size)
      : m_lane_group(lane_group),
        m_a(a),
        m_p(parameters),
        m_layout(layout),
        m_set(set),
        m_first(first),
        m_size(size),
        m_stride(Layout::stride(size)),
        m_inverse(1.0f / static_cast<float>(size)),
        m_rows(at<RememberedRow>(base, layout.rows)),
        m_r(at<Real>(base, layout.gradient)),
        m_w{at<Real>(base, layout.factor)},
        m_y(at<Real>(base, layout.y)),
        m_step(at<Real>(base, layout.step)),
        m_column(at<Real>(base, layout.column)),
        m_l(at<Real>(base, layout.l)),
        m_s(at<Real>(base, layout.s)),
        m_scale(at<Real>(base, layout.scale)),
        m_weight(at<Real>(base, layout.weight)),
        m_start_psi(at<Real>(base, layout.start_psi)),
        m_member_slots(at<int>(base, layout.member_slots)),
        m_slots(at<Slot>(base, layout.slots)) {}

 private:
  /// Nothing but the block itself: S = A[B, B], and gradients of A's own entries.
  KOKKOS_FUNCTION bool begin_block() {
    for_each(m_size, [&](int r) { m_scale[r] = inverse_power_of_two(m_a.root[m_first + r]); });
    for (int r = 0; r < m_size; ++r) {
      if (!remember_row(m_first + r, own_row(r))) return false;
      const RememberedRow row = m_rows[own_row(r)];
      const Slot* slots = m_slots + row.slots;
      const Real t = m_scale[r];
      for_each(row.length, [&](int e) {
        gradient(int(slots[e]), r) = t * m_a.values[row.begin + static_cast<std::size_t>(e)];
      });
    }
    for_each(m_size, [&](int r) {
      const RememberedRow row = m_rows[own_row(r)];
      Real* s = m_s + row_of_s(r);
      for (int q = 0; q <= r; ++q) s[q] = 0;
      const std::size_t end = find_diagonal(r) + 1;
      for (std::size_t e = row.begin + static_cast<std::size_t>(row.length); e < end; ++e) {
        const int q = m_a.col_idxs[e] - m_first;
        s[q] = m_scale[r] * m_a.values[e] * m_scale[q];
      }
      m_start_psi[r] = s[r];
    });
    return true;
  }

  /// Looks up the columns of row j left of the block, adds the new ones, and remembers every entry's slot at
  /// `position`. Entries in a member's column are A[P, j] and go to m_column.
  KOKKOS_FUNCTION bool remember_row(int j, int position) {
    const std::size_t begin = m_a.row_ptrs[j];
    const int full = static_cast<int>(m_a.row_ptrs[j + 1] - begin);
    const int* cols = m_a.col_idxs + begin;
    const Real* values = m_a.values + begin;
    Slot* slots = m_slots + m_next;
    const int room = m_layout.pool - m_next;
    int length = 0;
    if constexpr (width == 1) {
      length = find_slots_one_by_one(cols, values, full, slots, room);
    } else {
      length = find_slots(cols, values, full, slots, room);
    }
    if (length > room) {
      m_shortage = Shortage::pool;
      return false;
    }
    m_lane_group.once([&] { m_rows[position] = {begin, length, m_next}; });
    m_next += length;
    if (m_set.overflowed()) m_shortage = Shortage::capacity;
    return !m_set.overflowed();
  }

  /// Looks up all entries, then adds what was missing. \returns the number of entries left of the block
  KOKKOS_FUNCTION int find_slots(const int* cols, const Real* values, int full, Slot* slots, int room) {
    const int length = m_lane_group.template sum<int>([&](int lane) {
      int seen = 0;
      for (int e = lane; e < full; e += width) {
        const int col = cols[e];
        if (col >= m_first) break;
        const ColumnPlace place = m_set.find(col);
        if (place.position >= 0) m_column[place.position] = values[e];
        if (e < room) slots[e] = place.slot < 0 ? missing : static_cast<Slot>(place.slot);
        ++seen;
      }
      return seen;
    });
    for_each(length < room ? length : room, [&](int e) {
      if (slots[e] == missing) slots[e] = static_cast<Slot>(m_frozen ? unused_slot() : insert(cols[e]));
    });
    return length;
  }

  /// The same by one lane, in one go.
  KOKKOS_FUNCTION int find_slots_one_by_one(const int* cols, const Real* values, int full, Slot* slots,
                                            int room) {
    int e = 0;
    for (; e < full && cols[e] < m_first; ++e) {
      const ColumnPlace place = m_set.find(cols[e]);
      int slot = place.slot;
      if (slot < 0) slot = m_frozen ? unused_slot() : insert(cols[e]);
      if (place.position >= 0) m_column[place.position] = values[e];
      if (e < room) slots[e] = static_cast<Slot>(slot);
    }
    return e;
  }

  KOKKOS_FORCEINLINE_FUNCTION int insert(int col) const {
    const int slot = m_set.insert(col);
    for (int r = 0; slot >= 0 && r < m_stride; ++r) gradient(slot, r) = 0;
    return slot;
  }

  /// sum_r R_rj^2 / S_rr for the column in a slot. `Stride` as in with_stride.
  template <int Stride>
  KOKKOS_FORCEINLINE_FUNCTION Real strength(int slot) const {
    const int n = Stride > 0 ? Stride : m_size;
    const Real* r = m_r + slot * (Stride > 0 ? Stride : m_stride);
    Real sum = 0;
    for (int k = 0; k < n; ++k) sum += r[k] * r[k] * m_weight[k];
    return sum;
  }

  /// sum_r R_rj^2 / a_rr > floor^2 a_jj
  KOKKOS_FORCEINLINE_FUNCTION bool above_floor(int slot, int col) const {
    Real sum = 0;
    for (int r = 0; r < m_size; ++r) {
      const Real value = gradient(slot, r);
      sum += value * value / m_start_psi[r];
    }
    return Kokkos::sqrt(sum) > Real(m_p.candidate_floor) * m_a.root[col];
  }

  template <class Filter>
  KOKKOS_FORCEINLINE_FUNCTION int strongest(const Filter& filter) const {
    int col = -1;
    const auto choose = [&](auto stride) {
      col = arg_max<Real>(
          m_lane_group, slots_filled(),
          [this](int s) { return magnitude(strength<decltype(stride)::value>(s)); },
          [this](int s) { return m_set.cols[s]; }, filter);
    };
    if constexpr (width == 1)
      with_stride(choose);
    else
      choose(StrideOf<0>());
    return col < 0 ? -1 : m_set.find(col).slot;
  }

  /// R += A[:, P] times the step's directions: one matrix row after another, lanes over its remembered
  /// entries and the block's rows. No two lanes write to one place, and every sum has
  /// one order.
  KOKKOS_FUNCTION void update_gradient() {
    if constexpr (width == 1) {
      with_stride([&](auto stride) { update_on_host<decltype(stride)::value>(); });
    } else {
      for (int p = 0; p < m_members; ++p) {
        const RememberedRow row = m_rows[p];
        const Slot* slots = m_slots + row.slots;
        const Real* step = m_step + p * m_size;
        for_each_pair(row.length, [&](int e, int r) {
          gradient(int(slots[e]), r) += step[r] * m_a.values[row.begin + static_cast<std::size_t>(e)];
        });
      }
    }
    for_each_pair(m_members, [&](int p, int r) { gradient(m_member_slots[p], r) = 0; });
  }

  template <int Stride>
  KOKKOS_FUNCTION void update_on_host() {
    const int n = Stride > 0 ? Stride : m_stride;
    Real step[Stride > 0 ? Stride : most_rows] = {};
    for (int p = 0; p < m_members; ++p) {
      const RememberedRow row = m_rows[p];
      const Slot* slots = m_slots + row.slots;
      for (int r = 0; r < m_size; ++r) step[r] = m_step[p * m_size + r];
      for (int e = 0; e < row.length; ++e) {
        Real* to = m_r + int(slots[e]) * n;
        const Real value = m_a.values[row.begin + static_cast<std::size_t>(e)];
        for (int r = 0; r < n; ++r) to[r] += step[r] * value;
      }
    }
  }

 protected:
  LaneGroup m_lane_group;
  const Matrix<Scalar, Real>& m_a;
  const Parameters& m_p;
  const Layout& m_layout;
  Set m_set;
  int m_first;
  int m_size;
  int m_stride;     ///< from one slot's gradients to the next one's; on the host those between are zero
  float m_inverse;  ///< 1 / m_size
  RememberedRow* m_rows;
  Real* m_r;
  InverseFactor<Real> m_w;  ///< of A[P, P]
  Real* m_y;
  Real* m_step;
  Real* m_column;
  Real* m_l;
  Real* m_s;  ///< S, packed as the factors are
  Real* m_scale;
  Real* m_weight;
  Real* m_start_psi;
  int* m_member_slots;
  Slot* m_slots;

  int m_members = 0;
  int m_next = 0;
  Shortage m_shortage = Shortage::members;
  Real m_pivot = 0;
  bool m_frozen = false;  ///< columns that are new are of no interest
};

}  // namespace prekond::impl::adaptive_fsai
