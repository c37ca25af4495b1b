// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A row's growth by merges: the gradient of each step is formed anew out of the pattern's rows of A, which
/// are sorted (Bernaschi et al. 2019, Algorithm 2). There is no set of columns; what a step's gradient takes
/// is its own entries.
#include <prekond/core/levels.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/dense/inverse_factor.hpp>

#include "precond/adaptive_fsai/layout.hpp"
#include "precond/adaptive_fsai/magnitude.hpp"
#include "precond/adaptive_fsai/row.hpp"
#include "precond/common/power_of_two.hpp"

#include <cstdint>

namespace prekond::impl::adaptive_fsai {

/// One row's growth, with the interface of Row. Member p is at place p + 1 of what is merged, row i itself at
/// place 0.
template <class Scalar, class Real, class Level>
class MergedRow {
 public:
  using Number = in_precision_t<Scalar, Real>;
  using RowLayout = MergeLayout<Number>;
  static constexpr int width = Level::width;

  KOKKOS_FUNCTION MergedRow(const Level& level, const Matrix<Scalar, Real>& a, const Parameters& parameters,
                            const RowLayout& layout, const NoColumnSet&, char* base, char*, int i)
      : m_level(level),
        m_a(a),
        m_p(parameters),
        m_layout(layout),
        m_i(i),
        m_sources(at<MergeSource>(base, layout.sources)),
        m_column(at<Number>(base, layout.column)),
        m_l(at<Number>(base, layout.l)),
        m_g(at<Number>(base, layout.g)),
        m_y(at<Number>(base, layout.y)),
        m_r(at<Number>(base, layout.gradient)),
        m_w{at<Number>(base, layout.factor)},
        m_cols(at<int>(base, layout.cols)),
        m_member_cols(at<int>(base, layout.member_cols)),
        m_heads(at<unsigned>(base, layout.heads)) {}

  /// Finds the pattern and solves on it. It begins with `start[0 .. n)`, ascending, all smaller than i:
  /// G_0's.
  KOKKOS_FUNCTION RowStatus grow(const int* start, int n) {
    begin_row();
    RowStatus status = add_columns(start, n);
    if (status == RowStatus::overflow) return status;
    const Real psi_0 = m_psi;
    for (int k = 0; k < m_p.max_steps && m_members < m_p.growth_limit; ++k) {
      const Real psi_before = m_psi;
      const int first = m_members;
      if (!form_gradient()) return RowStatus::overflow;
      for (int t = 0; t < m_p.step_size && m_members < m_p.growth_limit; ++t) {
        const int slot = best_candidate();
        if (slot < 0) break;
        const RowStatus added = add_member(m_cols[slot], m_r[slot], first);
        if (added != RowStatus::done) return added;
        m_level.once([&] { m_r[slot] = 0; });
      }
      if (m_members == first) break;
      if (m_psi <= Real(m_p.tolerance) * psi_0) break;
      if (m_p.step_tolerance > 0 && psi_before - m_psi <= Real(m_p.step_tolerance) * psi_before) break;
    }
    return status;
  }

  /// Solves on a given pattern: `cols[0 .. n)`, ascending, all smaller than i. A column whose pivot is under
  /// the floor is left out.
  KOKKOS_FUNCTION RowStatus solve(const int* cols, int n) {
    begin_row();
    return add_columns(cols, n);
  }

  /// psi = g~ A g~^T (g~ A g~^H) in double, from the matrix's own values: those of the rows of P above the
  /// diagonal are taken from below.
  KOKKOS_FUNCTION double exact_psi() const {
    return m_level.template sum<double>([&](int lane) {
      double total = 0;
      for (int k = lane; k <= m_members; k += width) {
        const int col = column_at(k);
        const in_precision_t<Scalar, double> g = to_double(m_g[k]);
        in_precision_t<Scalar, double> product = 0;
        for (int q = 0; q < k; ++q)
          product += to_double(m_g[q]) * to_double(entry(m_a.original, column_at(q), col));
        total += real_of_product(conjugate(g),
                                 2.0 * product + g * double(real_part(entry(m_a.original, col, col))));
      }
      return total;
    });
  }

  KOKKOS_FUNCTION int members() const { return m_members; }
  KOKKOS_FUNCTION int member_column(int p) const { return m_member_cols[p]; }
  KOKKOS_FUNCTION Number value(int p) const { return m_g[p + 1]; }
  KOKKOS_FUNCTION Real pivot() const { return m_pivot; }
  KOKKOS_FUNCTION int slots_used() const { return m_most < m_layout.capacity ? m_most : m_layout.capacity; }
  KOKKOS_FUNCTION int entries_used() const { return 0; }
  KOKKOS_FUNCTION Shortage shortage() const { return m_shortage; }
  /// Where a_ii stands: right behind what is left of it.
  KOKKOS_FUNCTION std::size_t diagonal_entry() const {
    return m_sources[0].begin + static_cast<std::size_t>(m_sources[0].length);
  }

 private:
  static constexpr unsigned none = ~0u;  ///< the head of a row that is used up

  template <class T>
  KOKKOS_FUNCTION static T* at(char* base, std::size_t offset) {
    return reinterpret_cast<T*>(base + offset);
  }
  KOKKOS_FORCEINLINE_FUNCTION int column_at(int place) const {
    return place == 0 ? m_i : m_member_cols[place - 1];
  }

  /// The first entry of row j in a column >= col.
  KOKKOS_FORCEINLINE_FUNCTION std::size_t first_from(int j, int col) const {
    std::size_t begin = m_a.row_ptrs[j], end = m_a.row_ptrs[j + 1];
    while (begin < end) {
      const std::size_t middle = begin + (end - begin) / 2;
      if (m_a.col_idxs[middle] < col)
        begin = middle + 1;
      else
        end = middle;
    }
    return begin;
  }
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION T entry(const T* values, int j, int col) const {
    const std::size_t k = first_from(j, col);
    return k < m_a.row_ptrs[j + 1] && m_a.col_idxs[k] == col ? values[k] : T(0);
  }

  KOKKOS_FORCEINLINE_FUNCTION void add_source(int place, int j) const {
    const std::size_t begin = m_a.row_ptrs[j];
    m_sources[place] = {begin, static_cast<int>(first_from(j, m_i) - begin), 0};
  }

  /// g~ = e_i and psi = a_ii.
  KOKKOS_FUNCTION void begin_row() {
    m_scale = inverse_power_of_two(m_a.diagonal[m_i]);
    m_psi = m_scale * m_a.diagonal[m_i];
    m_floor = Real(m_p.candidate_floor) * m_a.root[m_i] * m_scale;
    m_level.once([&] {
      add_source(0, m_i);
      m_g[0] = 1;
    });
  }

  /// All of a start's columns in one step. One whose pivot is under the floor is left out.
  KOKKOS_FUNCTION RowStatus add_columns(const int* cols, int n) {
    RowStatus status = RowStatus::done;
    for (int k = 0; k < n; ++k) {
      const RowStatus added = add_member(cols[k], m_scale * entry(m_a.values, m_i, cols[k]), 0);
      if (added == RowStatus::overflow) return added;
      if (added == RowStatus::pivot) status = added;
    }
    return status;
  }

  /// r = A g~ over the columns that the rows have left of i, ascending; zero in those of the pattern.
  KOKKOS_FUNCTION bool form_gradient() {
    if constexpr (Level::keeps_registers && width == 32) {
      m_used = m_members < width ? merge_in_registers() : merge();
    } else {
      m_used = merge();
    }
    m_most = m_used > m_most ? m_used : m_most;
    if (m_used > m_layout.capacity) {
      m_shortage = Shortage::capacity;
      return false;
    }
    m_level.region([&](int lane) {
      for (int p = lane; p < m_members; p += width) {
        const int slot = slot_from(m_member_cols[p]);
        if (slot < m_used && m_cols[slot] == m_member_cols[p]) m_r[slot] = 0;
      }
    });
    return true;
  }

  /// The first slot with a column >= col.
  KOKKOS_FORCEINLINE_FUNCTION int slot_from(int col) const {
    int begin = 0, end = m_used;
    while (begin < end) {
      const int middle = (begin + end) / 2;
      if (m_cols[middle] < col)
        begin = middle + 1;
      else
        end = middle;
    }
    return begin;
  }

  /// Lanes own rows. They take the smallest column among the heads, again and again, and sum what stands
  /// there. \returns the number of columns
  KOKKOS_FUNCTION int merge() {
    m_level.region([&](int lane) {
      for (int k = lane; k <= m_members; k += width) {
        m_sources[k].next = 0;
        m_heads[k] = m_sources[k].length > 0 ? unsigned(m_a.col_idxs[m_sources[k].begin]) : none;
      }
    });
    int count = 0;
    while (true) {
      const unsigned col = m_level.template min<unsigned>([&](int lane) {
        unsigned least = none;
        for (int k = lane; k <= m_members; k += width) least = m_heads[k] < least ? m_heads[k] : least;
        return least;
      });
      if (col == none) return count;
      const Number r = m_level.template sum<Number>([&](int lane) { return take_heads(lane, col); });
      m_level.once([&] {
        if (count >= m_layout.capacity) return;
        m_cols[count] = static_cast<int>(col);
        m_r[count] = r;
      });
      ++count;
    }
  }

  /// A lane's part of the column's sum; its rows move on.
  KOKKOS_FORCEINLINE_FUNCTION Number take_heads(int lane, unsigned col) const {
    Number part = 0;
    for (int k = lane; k <= m_members; k += width) {
      if (m_heads[k] != col) continue;
      MergeSource& source = m_sources[k];
      const std::size_t place = source.begin + static_cast<std::size_t>(source.next);
      part += (m_g[k] * m_scale) * m_a.values[place];
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

  /// The same with at most one row a lane and its head in registers, the entry behind it under way.
  KOKKOS_FUNCTION int merge_in_registers() {
    const int lane = m_level.lane();
    MergeSource source{0, 0, 0};
    Number d = 0;
    if (lane <= m_members) {
      source = m_sources[lane];
      d = m_g[lane] * m_scale;
    }
    Head head = load(source, 0), after = load(source, 1);
    int e = 1, count = 0;
    while (true) {
      const unsigned col = m_level.template min<unsigned>([&](int) { return head.col; });
      if (col == none) break;
      const bool hit = head.col == col;
      const Number r = m_level.template sum<Number>([&](int) { return hit ? d * head.value : Number(0); });
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
    m_level.barrier();
    return count;
  }

  /// The slot with the largest |r_j| among the columns outside the pattern that are above the floor; ties go
  /// to the smaller column. -1 where there is none.
  KOKKOS_FUNCTION int best_candidate() const {
    const int slot = arg_max([](int) { return true; });
    if (slot < 0 || above_floor(slot)) return slot;
    return arg_max([this](int s) { return above_floor(s); });
  }
  KOKKOS_FORCEINLINE_FUNCTION bool above_floor(int slot) const {
    return Kokkos::abs(m_r[slot]) > m_floor * m_a.root[m_cols[slot]];
  }

  // Single precision packs magnitude and slot into one key; double needs two sweeps. Slots are in the
  // columns' order.
  template <class Filter>
  KOKKOS_FORCEINLINE_FUNCTION int arg_max(const Filter& filter) const {
    using Bits = unsigned long long;
    if constexpr (sizeof(Real) == 4) {
      const Bits best = m_level.template max<Bits>([&](int lane) {
        Bits mine = 0;
        for (int s = lane; s < m_used; s += width) {
          const Bits key = Bits(magnitude(m_r[s])) << 32 | (0xffffffffu - unsigned(s));
          if (key > mine && filter(s)) mine = key;
        }
        return mine;
      });
      return (best >> 32) == 0 ? -1 : int(0xffffffffu - unsigned(best));
    } else {
      const Bits best = m_level.template max<Bits>([&](int lane) {
        Bits mine = 0;
        for (int s = lane; s < m_used; s += width)
          if (magnitude(m_r[s]) > mine && filter(s)) mine = magnitude(m_r[s]);
        return mine;
      });
      if (best == 0) return -1;
      return int(m_level.template min<unsigned>([&](int lane) {
        for (int s = lane; s < m_used; s += width)
          if (magnitude(m_r[s]) == best && filter(s)) return unsigned(s);
        return none;
      }));
    }
  }

  /// Borders W by the column of j and moves g~ to the new minimum. `first` is the number of members before
  /// this step: what they changed is in r_j already.
  KOKKOS_FUNCTION RowStatus add_member(int j, Number r_j, int first) {
    const int m = m_members;
    if (m == m_layout.max_members) {
      m_shortage = Shortage::members;
      return RowStatus::overflow;
    }
    m_level.region([&](int lane) {
      for (int p = lane; p < m; p += width)
        m_column[p] = m_scale * conjugate(entry(m_a.values, j, m_member_cols[p]));
    });
    const Real a_jj = m_scale * m_a.diagonal[j];
    const Real square = m_w.multiply(m_level, m, m_column, m_l);
    const Real lambda_2 = a_jj - square;
    if (!(lambda_2 > Real(m_p.pivot_floor) * a_jj)) {
      m_pivot = lambda_2 / a_jj;
      return RowStatus::pivot;
    }
    const Real scale = Real(1) / Kokkos::sqrt(lambda_2);
    m_w.append(m_level, m, m_l, scale);
    for (int p = first; p < m; ++p) r_j += m_y[p - first] * m_l[p];
    const Number y = -r_j * scale;
    const Number* w = m_w.w + m_w.row(m);
    m_level.region([&](int lane) {
      for (int p = lane; p <= m; p += width) m_g[p + 1] = p == m ? y * w[p] : m_g[p + 1] + y * w[p];
      if (lane == 0) {
        m_y[m - first] = y;
        m_member_cols[m] = j;
        add_source(m + 1, j);
      }
    });
    m_psi -= abs2(y);
    ++m_members;
    return RowStatus::done;
  }

  Level m_level;
  const Matrix<Scalar, Real>& m_a;
  const Parameters& m_p;
  const RowLayout& m_layout;
  int m_i;
  MergeSource* m_sources;
  Number* m_column;
  Number* m_l;
  Number* m_g;
  Number* m_y;
  Number* m_r;
  InverseFactor<Number> m_w;
  int* m_cols;
  int* m_member_cols;
  unsigned* m_heads;

  int m_members = 0;
  int m_used = 0;  ///< entries of the gradient
  int m_most = 0;  ///< and the most of them in any step
  Shortage m_shortage = Shortage::members;
  Real m_scale = 1;
  Real m_floor = 0;
  Real m_psi = 0;
  Real m_pivot = 0;
};

}  // namespace prekond::impl::adaptive_fsai
