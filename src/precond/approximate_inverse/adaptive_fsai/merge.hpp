// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A row's growth by merges: the gradient of each step is formed anew out of the pattern's rows of A, which
/// are sorted (Bernaschi et al. 2019, Algorithm 2). There is no set of columns; a step's gradient is a list
/// of its own entries.
#include <prekond/core/scalar.hpp>
#include "core/lane_group.hpp"

#include "precond/approximate_inverse/adaptive_fsai/arg_max.hpp"
#include "precond/approximate_inverse/adaptive_fsai/growth.hpp"
#include "precond/approximate_inverse/adaptive_fsai/row_state.hpp"

namespace prekond::impl::adaptive_fsai {

/// One row's growth, with the interface of Row; candidates are places in the gradient's list. Member p is at
/// place p + 1 of what is merged, row i itself at place 0.
template <class Scalar, class Real, class LaneGroup>
class MergedRow : public RowState<Scalar, Real, LaneGroup> {
  using State = RowState<Scalar, Real, LaneGroup>;

 public:
  using typename State::Number;
  using RowLayout = MergeLayout<Number>;
  using State::width;

  KOKKOS_FUNCTION MergedRow(const LaneGroup& lane_group, const Matrix<Scalar, Real>& a,
                            const Parameters& parameters, const RowLayout& layout, const NoColumnSet&,
                            char* base, char*, int i)
      : State(lane_group, a, parameters, layout, base, i),
        m_layout(layout),
        m_sources(at<MergeSource>(base, layout.sources)),
        m_factors(at<Number>(base, layout.own_g)),
        m_r(at<Number>(base, layout.gradient)),
        m_cols(at<int>(base, layout.cols)),
        m_member_cols(at<int>(base, layout.member_cols)),
        m_heads(at<unsigned>(base, layout.heads)) {}

  /// psi = g~ A g~^T (g~ A g~^H) in double, from the matrix's own values: those of the rows of P above the
  /// diagonal are read from below.
  KOKKOS_FUNCTION double exact_psi() const {
    return m_lane_group.template sum<double>([&](int lane) {
      double total = 0;
      for (int k = lane; k <= m_members; k += width) {
        const int col = column_at(k);
        const in_precision_t<Scalar, double> g = to_double(m_factors[k]);
        in_precision_t<Scalar, double> product = 0;
        for (int q = 0; q < k; ++q)
          product += to_double(m_factors[q]) * to_double(entry(m_a.original, column_at(q), col));
        total += real_of_product(conjugate(g),
                                 2.0 * product + g * double(real_part(entry(m_a.original, col, col))));
      }
      return total;
    });
  }

  KOKKOS_FUNCTION int member_column(int p) const { return m_member_cols[p]; }
  KOKKOS_FUNCTION int slots_used() const { return m_most < m_layout.capacity ? m_most : m_layout.capacity; }
  KOKKOS_FUNCTION int entries_used() const { return 0; }
  /// The place of a_ii, right after the entries left of it.
  KOKKOS_FUNCTION std::size_t diagonal_entry() const {
    return m_sources[0].begin + static_cast<std::size_t>(m_sources[0].length);
  }

  KOKKOS_FORCEINLINE_FUNCTION bool begin(const int*, int, bool) {
    begin_at_diagonal();
    m_lane_group.once([&] {
      add_source(0, m_i);
      m_factors[0] = 1;
    });
    return true;
  }

  /// A column of the start: the only entry of a gradient, row i's own.
  KOKKOS_FORCEINLINE_FUNCTION int candidate(int col) const {
    m_lane_group.once([&] {
      m_cols[0] = col;
      m_r[0] = m_scale * entry(m_a.values, m_i, col);
    });
    return 0;
  }

  /// r = A g~ over the columns that the rows have left of i, ascending; zero in those of the pattern.
  KOKKOS_FORCEINLINE_FUNCTION bool begin_step(bool) {
    if constexpr (LaneGroup::keeps_registers && width == 32) {
      m_used = m_members < width ? merge_in_registers() : merge();
    } else {
      m_used = merge();
    }
    m_most = m_used > m_most ? m_used : m_most;
    if (m_used > m_layout.capacity) {
      m_shortage = Shortage::capacity;
      return false;
    }
    m_lane_group.region([&](int lane) {
      for (int p = lane; p < m_members; p += width) {
        const int slot = first_from(m_cols, m_used, m_member_cols[p]);
        if (slot < m_used && m_cols[slot] == m_member_cols[p]) m_r[slot] = 0;
      }
    });
    return true;
  }

  /// The slot with the largest |r_j| among the columns outside the pattern that are above the floor; ties go
  /// to the smaller column. -1 where there is none.
  KOKKOS_FUNCTION int best_candidate() const {
    const int slot = largest([](int) { return true; });
    if (slot < 0 || above_floor(m_r[slot], m_cols[slot])) return slot;
    return largest([this](int s) { return above_floor(m_r[s], m_cols[s]); });
  }

  /// Borders W by the column of the candidate in `slot` and moves g~ to the new minimum.
  KOKKOS_FUNCTION RowStatus add_member(int slot, int first) {
    const int m = m_members;
    if (m == m_layout.max_members) {
      m_shortage = Shortage::members;
      return RowStatus::overflow;
    }
    const int j = m_cols[slot];
    const Number r_j = m_r[slot];
    m_lane_group.region([&](int lane) {
      for (int p = lane; p < m; p += width)
        m_column[p] = m_scale * conjugate(entry(m_a.values, j, m_member_cols[p]));
    });
    const Real scale = border(j);
    if (scale == 0) return RowStatus::pivot;
    const Number y = step_length(r_j, first, scale);
    const Number* w = m_w.w + m_w.row(m);
    m_lane_group.region([&](int lane) {
      for (int p = lane; p <= m; p += width) m_g[p] = p == m ? y * w[p] : m_g[p] + y * w[p];
      if (lane == 0) {
        m_y[m - first] = y;
        m_member_cols[m] = j;
        add_source(m + 1, j);
        m_r[slot] = 0;
      }
    });
    m_psi -= abs2(y);
    ++m_members;
    return RowStatus::done;
  }

 private:
  static constexpr unsigned none = ~0u;  ///< the head of a row that is used up

  using State::above_floor, State::begin_at_diagonal, State::border, State::step_length;
  using State::m_lane_group, State::m_a, State::m_p, State::m_i, State::m_column, State::m_l, State::m_g,
      State::m_y, State::m_w, State::m_members, State::m_shortage, State::m_scale, State::m_psi;

  KOKKOS_FORCEINLINE_FUNCTION int column_at(int place) const {
    return place == 0 ? m_i : m_member_cols[place - 1];
  }

  /// a_ij of row i, in A's own or the setup's precision.
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION T entry(const T* values, int i, int j) const {
    const std::size_t begin = m_a.row_ptrs[i];
    const int length = static_cast<int>(m_a.row_ptrs[i + 1] - begin);
    const int e = first_from(m_a.col_idxs + begin, length, j);
    if (e == length || m_a.col_idxs[begin + static_cast<std::size_t>(e)] != j) return T(0);
    return values[begin + static_cast<std::size_t>(e)];
  }

  KOKKOS_FORCEINLINE_FUNCTION void add_source(int place, int j) const {
    const std::size_t begin = m_a.row_ptrs[j];
    const int full = static_cast<int>(m_a.row_ptrs[j + 1] - begin);
    m_sources[place] = {begin, first_from(m_a.col_idxs + begin, full, m_i), 0};
  }

  /// Lanes own rows. Again and again they find the smallest column among the heads, and sum what stands
  /// there. \returns the number of columns
  KOKKOS_FUNCTION int merge() {
    m_lane_group.region([&](int lane) {
      for (int k = lane; k <= m_members; k += width) {
        m_sources[k].next = 0;
        m_heads[k] = m_sources[k].length > 0 ? unsigned(m_a.col_idxs[m_sources[k].begin]) : none;
      }
    });
    int count = 0;
    while (true) {
      const unsigned col = m_lane_group.template min<unsigned>([&](int lane) {
        unsigned least = none;
        for (int k = lane; k <= m_members; k += width) least = m_heads[k] < least ? m_heads[k] : least;
        return least;
      });
      if (col == none) return count;
      const Number r = m_lane_group.template sum<Number>([&](int lane) { return sum_heads(lane, col); });
      m_lane_group.once([&] {
        if (count >= m_layout.capacity) return;
        m_cols[count] = static_cast<int>(col);
        m_r[count] = r;
      });
      ++count;
    }
  }

  /// A lane's part of the column's sum; its rows move on.
  KOKKOS_FORCEINLINE_FUNCTION Number sum_heads(int lane, unsigned col) const {
    Number part = 0;
    for (int k = lane; k <= m_members; k += width) {
      if (m_heads[k] != col) continue;
      MergeSource& source = m_sources[k];
      const std::size_t place = source.begin + static_cast<std::size_t>(source.next);
      part += (m_factors[k] * m_scale) * m_a.values[place];
      m_heads[k] = ++source.next < source.length ? unsigned(m_a.col_idxs[place + 1]) : none;
    }
    return part;
  }

  struct Head {
    unsigned col = none;
    Number value = 0;
  };
  KOKKOS_FORCEINLINE_FUNCTION Head load(const MergeSource& source, int e) const {
    if (e >= source.length) return {};
    const std::size_t place = source.begin + static_cast<std::size_t>(e);
    return {unsigned(m_a.col_idxs[place]), m_a.values[place]};
  }

  /// The same with at most one row a lane, its head in registers and the next entry being loaded.
  KOKKOS_FUNCTION int merge_in_registers() {
    const int lane = m_lane_group.lane();
    MergeSource source{0, 0, 0};
    Number d = 0;
    if (lane <= m_members) {
      source = m_sources[lane];
      d = m_factors[lane] * m_scale;
    }
    Head head = load(source, 0), after = load(source, 1);
    int e = 1, count = 0;
    while (true) {
      const unsigned col = m_lane_group.template min<unsigned>([&](int) { return head.col; });
      if (col == none) break;
      const bool hit = head.col == col;
      const Number r =
          m_lane_group.template sum<Number>([&](int) { return hit ? d * head.value : Number(0); });
      if (hit) {
        head = after;
        after = load(source, ++e);
      }
      if (lane == 0 && count < m_layout.capacity) {
        m_cols[count] = static_cast<int>(col);
        m_r[count] = r;
      }
      ++count;
    }
    m_lane_group.barrier();
    return count;
  }

  template <class Filter>
  KOKKOS_FORCEINLINE_FUNCTION int largest(const Filter& filter) const {
    return arg_max<Real>(
        m_lane_group, m_used, [this](int s) { return magnitude(m_r[s]); }, [](int s) { return s; }, filter);
  }

  const RowLayout& m_layout;
  MergeSource* m_sources;
  Number* m_factors;  ///< g~: 1 for row i itself, then the members' entries
  Number* m_r;
  int* m_cols;
  int* m_member_cols;
  unsigned* m_heads;

  int m_used = 0;  ///< entries of the gradient
  int m_most = 0;  ///< and the most of them in any step
};

}  // namespace prekond::impl::adaptive_fsai
