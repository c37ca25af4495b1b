// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A block of rows of the adaptive FSAI: when their columns are found, the rows are coupled and their psi
/// formed.
#include "precond/approximate_inverse/adaptive_fsai/block_growth.hpp"

namespace prekond::impl::adaptive_fsai {

/// One block. Its pattern grows in the base (see there for S and C).
template <class Scalar, class Real, class Set, class Slot, class LaneGroup>
class Block : public BlockGrowth<Scalar, Real, Set, Slot, LaneGroup> {
  using Growth = BlockGrowth<Scalar, Real, Set, Slot, LaneGroup>;

 public:
  using Growth::member_column;
  using Growth::width;
  using typename Growth::Layout;

  KOKKOS_FUNCTION Block(const LaneGroup& lane_group, const Matrix<Scalar, Real>& a,
                        const Parameters& parameters, const Layout& layout, const Set& set, char* base,
                        int first, int size)
      : Growth(lane_group, a, parameters, layout, set, base, first, size),
        m_psi(at<double>(base, layout.psi)),
        m_c{at<Real>(base, layout.c)} {}

  /// Forms the rows, each up to a factor. Uses up the gradients.
  KOKKOS_FUNCTION void complete() {
    const int b = m_size, m = m_members;
    for_each_pair(m, [&](int p, int r) {
      Real sum = 0;
      for (int q = p; q < m; ++q) sum += m_w.w[m_w.row(q) + p] * m_y[q * b + r];
      m_step[p * b + r] = sum;
    });
    for (int r = 0; r < b; ++r) couple(r);
    for_each(m, [&](int p) {
      for (int r = b - 1; r >= 0; --r) {
        Real sum = 0;
        for (int q = 0; q <= r; ++q) sum += m_s[m_c.row(r) + q] * m_step[p * b + q];
        m_step[p * b + r] = sum;
      }
    });
    for_each_pair(slots_filled() + 1,
                  [&](int s, int r) { gradient(s < slots_filled() ? s : unused_slot(), r) = 0; });
    for_each_pair(m, [&](int p, int r) { gradient(m_member_slots[p], r) = m_step[p * b + r]; });
    find_psi();
    // Nothing is looked up any more: where a member's column stands in the sorted rows.
    for_each(m, [&](int p) {
      int rank = 0;
      for (int q = 0; q < m; ++q) rank += member_column(q) < member_column(p);
      m_member_slots[p] = rank;
    });
  }

  /// After `complete`: of row r, its psi = g A g^T, from the matrix's own values; its entry in the p-th
  /// member's column, and where that stands; its entry in the block's column q <= r.
  KOKKOS_FUNCTION double row_psi(int r) const { return m_psi[r]; }
  KOKKOS_FUNCTION double value(int r, int p) const { return double(m_step[p * m_size + r]); }
  KOKKOS_FUNCTION int rank(int p) const { return m_member_slots[p]; }
  KOKKOS_FUNCTION double own_value(int r, int q) const {
    return double(m_s[m_c.row(r) + q]) * double(m_scale[q]);
  }
  /// Rows from here on lack a column of the block, or all a column left of it, because of this pivot.
  KOKKOS_FUNCTION int first_short_row(RowStatus status) const {
    return status == RowStatus::pivot ? 0 : m_first_short;
  }
  KOKKOS_FUNCTION double diagonal(int r) const { return double(m_a.original[find_diagonal(r)]); }

 private:
  using Growth::m_lane_group, Growth::m_a, Growth::m_p, Growth::m_first, Growth::m_size, Growth::m_stride,
      Growth::m_rows, Growth::m_slots, Growth::m_r, Growth::m_w, Growth::m_y, Growth::m_step, Growth::m_l,
      Growth::m_s, Growth::m_scale, Growth::m_start_psi, Growth::m_member_slots, Growth::m_members,
      Growth::m_pivot;
  using Growth::most_rows, Growth::gradient, Growth::own_row, Growth::find_diagonal, Growth::slots_filled,
      Growth::unused_slot, Growth::for_each, Growth::for_each_pair, Growth::with_stride;

  /// Row r of the block's own part, with a one on its diagonal, replaces S's; row r of C is that
  /// over the root of its pivot. Where that is under the floor, later rows go without column r.
  KOKKOS_FUNCTION void couple(int r) {
    Real* s = m_s + m_c.row(r);
    m_c.multiply(m_lane_group, r, s, m_l);
    const Real pivot = s[r] - this->square(r);
    m_c.append(m_lane_group, r, m_l, Real(1));
    const bool sound = pivot > Real(m_p.pivot_floor) * m_start_psi[r];
    const Real scale = sound ? 1 / Kokkos::sqrt(pivot) : Real(0);
    Real* c = m_c.w + m_c.row(r);
    for_each(r + 1, [&](int q) {
      s[q] = c[q];
      c[q] *= scale;
    });
    if (!sound && m_first_short == most_rows) {
      m_first_short = r + 1;
      m_pivot = pivot / m_start_psi[r];
    }
  }

  /// psi = g A g^T of all rows in double, from the matrix's own values. \pre the rows are in the gradients'
  /// place
  KOKKOS_FUNCTION void find_psi() {
    if constexpr (width == 1) {
      with_stride([&](auto stride) { find_psi_on_host<decltype(stride)::value>(); });
    } else {
      for (int r = 0; r < m_size; ++r) {
        const double sum = m_lane_group.template sum<double>([&](int lane) {
          double total = 0;
          for (int p = 0; p < m_members; ++p) total += value(r, p) * row_product(p, lane, r);
          for (int q = 0; q <= r; ++q) total += 2 * own_value(r, q) * row_product(own_row(q), lane, r);
          each_of_lane<width>(r + 1, lane, [&](int q) { total += own_value(r, q) * own_product(q, r); });
          return total;
        });
        m_lane_group.once([&] { m_psi[r] = sum; });
      }
    }
  }

  /// One lane's part of sum_e a_e g(slot of e) over a remembered row, for row r.
  KOKKOS_FORCEINLINE_FUNCTION double row_product(int position, int lane, int r) const {
    const RememberedRow row = m_rows[position];
    const Slot* slots = m_slots + row.slots;
    const Scalar* values = m_a.original + row.begin;
    double sum = 0;
    each_of_lane<width>(row.length, lane,
                        [&](int e) { sum += double(values[e]) * double(gradient(int(slots[e]), r)); });
    return sum;
  }

  /// Row q of A[B, B] times row r, up to column r.
  KOKKOS_FORCEINLINE_FUNCTION double own_product(int q, int r) const {
    const RememberedRow& row = m_rows[own_row(q)];
    const std::size_t end = m_a.row_ptrs[m_first + q + 1];
    double sum = 0;
    for (std::size_t e = row.begin + static_cast<std::size_t>(row.length); e < end; ++e) {
      const int col = m_a.col_idxs[e] - m_first;
      if (col > r) break;
      sum += double(m_a.original[e]) * own_value(r, col);
    }
    return sum;
  }

  template <int Stride>
  KOKKOS_FUNCTION void find_psi_on_host() {
    const int n = Stride > 0 ? Stride : m_stride, b = m_size;
    double total[most_rows] = {};
    const auto add = [&](int position, const auto& factor) {
      const RememberedRow row = m_rows[position];
      const Slot* slots = m_slots + row.slots;
      const Scalar* values = m_a.original + row.begin;
      double product[Stride > 0 ? Stride : most_rows] = {};
      for (int e = 0; e < row.length; ++e) {
        const Real* g = m_r + int(slots[e]) * n;
        const double value = double(values[e]);
        for (int r = 0; r < n; ++r) product[r] += value * double(g[r]);
      }
      for (int r = 0; r < b; ++r) total[r] += factor(r) * product[r];
    };
    for (int p = 0; p < m_members; ++p) add(p, [&](int r) { return value(r, p); });
    for (int q = 0; q < b; ++q) add(own_row(q), [&](int r) { return q <= r ? 2 * own_value(r, q) : 0.0; });
    for (int r = 0; r < b; ++r) {
      for (int q = 0; q <= r; ++q) total[r] += own_value(r, q) * own_product(q, r);
      m_psi[r] = total[r];
    }
  }

  double* m_psi;
  InverseFactor<Real> m_c;  ///< of S
  int m_first_short = most_rows;
};

}  // namespace prekond::impl::adaptive_fsai
