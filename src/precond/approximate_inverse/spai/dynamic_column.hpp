// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// One column of the dynamic SPAI over a vector of lanes: grow J, I and the QR, solve.
#include "precond/approximate_inverse/spai/column.hpp"

namespace prekond::impl::dynamic_spai {

using spai::IndexTable;

/// The limits of a column's workspace and growth.
struct Limits {
  int rows;        ///< of I
  int entries;     ///< of J
  int candidates;  ///< found in one step
  int panels;
  int max_fill;
  int max_steps;
  int step_size;
  double epsilon;
};

/// A set of indices with their positions in a list, which is sorted part by part.
struct PlacedIndices {
  unsigned* slots;
  int* positions;
  std::size_t size;
  int* list;
  int* count;

  KOKKOS_FORCEINLINE_FUNCTION IndexTable table(int* in_list) const {
    return IndexTable(slots, size, count, in_list);
  }
};

template <class Real, int Rows>
struct ColumnArrays {
  using System = PanelQr<Real, Rows>;

  PlacedIndices rows;        ///< I
  PlacedIndices candidates;  ///< J in the table too, but not in the list
  int* cols;                 ///< J
  double* scale;
  std::size_t* begins;
  int* lengths;
  Real* x;
  Real* work;
  Real* residual;
  Real* gains;
  Real* best;  ///< of a lane
  int* best_positions;
  int* flags;
  char* system;
  std::size_t bytes;

  KOKKOS_FORCEINLINE_FUNCTION static typename System::Shape shape(const Limits& limits) {
    return {limits.rows, limits.entries, limits.panels, true};
  }

  KOKKOS_FUNCTION static PlacedIndices indices(char* base, std::size_t& end, int n, int more) {
    PlacedIndices result;
    result.size = IndexTable::num_slots(static_cast<std::size_t>(n) + more);
    result.slots = place_array<unsigned>(base, end, result.size);
    result.positions = place_array<int>(base, end, result.size);
    // A part of the list is sorted with room for the next power of two after it.
    result.list = place_array<int>(base, end, 3 * static_cast<std::size_t>(n));
    result.count = place_array<int>(base, end, 1);
    return result;
  }

  KOKKOS_FUNCTION ColumnArrays(char* base, const Limits& limits) {
    const auto n1 = static_cast<std::size_t>(limits.rows), n2 = static_cast<std::size_t>(limits.entries);
    std::size_t end = 0;
    // Lanes that come after the last place has gone may still take one each.
    rows = indices(base, end, limits.rows, 64);
    candidates = indices(base, end, limits.candidates, limits.entries + 64);
    cols = place_array<int>(base, end, n2);
    scale = place_array<double>(base, end, n2);
    begins = place_array<std::size_t>(base, end, n2);
    lengths = place_array<int>(base, end, n2);
    x = place_array<Real>(base, end, n2);
    work = place_array<Real>(base, end, n2);
    residual = place_array<Real>(base, end, n1 + 8);
    gains = place_array<Real>(base, end, static_cast<std::size_t>(limits.candidates));
    best = place_array<Real>(base, end, 32);
    best_positions = place_array<int>(base, end, 32);
    flags = place_array<int>(base, end, 2);
    system = base ? base + end : nullptr;
    bytes = end + System::bytes(shape(limits));
  }
};

/// How a growth ended.
struct Growth {
  bool overflowed;  ///< the workspace was too small: nothing is known
  bool dropped;
  bool nothing;
  bool reached;  ///< epsilon
  float pivot;
  int length;  ///< n2
  int rows;    ///< n1
};

/// `LaneGroup` is a vector of lanes.
template <class Scalar, class Real, class Space, class LaneGroup>
class Column {
 public:
  static constexpr int rows_at_once = is_host_space<Space> ? PanelQr<Real>::host_rows : 1;
  using Arrays = ColumnArrays<Real, rows_at_once>;
  using System = typename Arrays::System;

  /// `b`: the columns of the problem, by rows; `b_transposed`: its rows.
  KOKKOS_FUNCTION Column(const LaneGroup& lane_group, const CsrView<Scalar, Space>& b,
                         const CsrView<Scalar, Space>& b_transposed,
                         VectorView<const double, Space> col_scale, const Arrays& arrays,
                         const Limits& limits)
      : m_lane_group(lane_group),
        m_b(b),
        m_bt(b_transposed),
        m_n(col_scale.extent_int(0)),
        m_col_scale(col_scale),
        m_limits(limits),
        m_arrays(arrays),
        m_system(arrays.system, Arrays::shape(limits)) {}

  /// The column k, from the pattern start[0 .. length).
  KOKKOS_FUNCTION Growth grow(int k, const int* start, int length, Real floor) {
    begin(k, start, length);
    int rank = 0, panels = 0, known = 0, n2 = length;
    bool reached = false;
    for (int step = 0;; ++step) {
      if (!add_rows(known, n2)) return {true, false, false, false, 0, 0, 0};
      gather(known, n2);
      rank = m_system.append(m_lane_group, panels, known, n2, rank, floor);
      panels += (n2 - known + System::panel - 1) / System::panel;
      known = n2;
      const Real square = residual_square(rank);
      const Real norm = Kokkos::sqrt(square);
      reached = norm <= Real(m_limits.epsilon) || norm <= rounding;
      if (reached || step == m_limits.max_steps || n2 >= m_limits.max_fill) break;
      find_residual(rank, panels);
      const int candidates = find_candidates(n2, square);
      if (candidates < 0) return {true, false, false, false, 0, 0, 0};
      n2 = choose(n2, candidates, square);
      if (n2 == known) break;
    }
    m_system.solve(m_lane_group, panels, rank, m_arrays.x, m_arrays.work);
    judge(n2);
    const DroppedPivots<Real>& dropped = m_system.dropped();
    const float pivot = dropped.count > 0 ? static_cast<float>(dropped.pivot) : 0.0f;
    return {false, dropped.count > 0, *m_arrays.flags != found, reached, pivot, n2, m_rows};
  }

  KOKKOS_FORCEINLINE_FUNCTION int col(int c) const { return m_arrays.cols[c]; }
  KOKKOS_FORCEINLINE_FUNCTION double value(int c) const { return double(m_arrays.x[c]) * m_arrays.scale[c]; }

 private:
  static constexpr int found = 1, not_finite = 2;
  /// A residual of rounding errors says nothing about candidates.
  static constexpr Real rounding = sizeof(Real) == 4 ? Real(64 * 0x1p-23f) : Real(64 * 0x1p-52);

  /// J is the start pattern, and row k the first of I, which the right-hand side is.
  KOKKOS_FUNCTION void begin(int k, const int* start, int length) {
    m_arrays.rows.table(nullptr).clear(m_lane_group);
    m_lane_group.region([&](int lane) {
      for (int c = lane; c < length; c += m_lane_group.size()) m_arrays.cols[c] = start[c];
    });
    m_lane_group.once([&] {
      m_arrays.rows.table(m_arrays.rows.list).insert(m_lane_group, k);
      *m_arrays.flags = 0;
    });
    m_rows = 0;
  }

  /// The slot of an index that is in the table.
  KOKKOS_FORCEINLINE_FUNCTION static int position_of(const PlacedIndices& set, int index) {
    const std::size_t slot = set.table(nullptr).find(index);
    return slot < set.size ? set.positions[slot] : -1;
  }

  /// Adds the rows of the columns [from, to) of J, ascending, after those that are there. \returns whether
  /// there was room
  KOKKOS_FUNCTION bool add_rows(int from, int to) {
    m_lane_group.region([&](int lane) {
      for (int c = from + lane; c < to; c += m_lane_group.size()) {
        const int col = m_arrays.cols[c];
        m_arrays.begins[c] = m_b.row_ptrs(col);
        m_arrays.lengths[c] = static_cast<int>(m_b.row_ptrs(col + 1) - m_b.row_ptrs(col));
        m_arrays.scale[c] = m_col_scale(col);
      }
    });
    const IndexTable table = m_arrays.rows.table(m_arrays.rows.list);
    for_entries(from, to,
                [&](int, std::size_t, int index) { table.insert_up_to(m_lane_group, index, m_limits.rows); });
    const int count = *m_arrays.rows.count;
    if (count > m_limits.rows) return false;
    const int old = m_rows == 0 ? 1 : m_rows;  // row k stays the first
    spai::sort_list(m_lane_group, m_arrays.rows.list + old, count - old);
    m_lane_group.region([&](int lane) {
      for (int i = (old == 1 ? 0 : old) + lane; i < count; i += m_lane_group.size())
        m_arrays.rows.positions[m_arrays.rows.table(nullptr).find(m_arrays.rows.list[i])] = i;
    });
    m_rows = count;
    m_system.set_rows(count);
    return true;
  }

  template <class Visit>
  KOKKOS_FUNCTION void for_entries(int from, int to, const Visit& visit) const {
    const spai::ProblemColumns<Scalar, Space, LaneGroup> columns(
        m_lane_group, m_b, to - from, m_arrays.begins + from, m_arrays.lengths + from);
    columns.for_entries(m_n, visit);
  }

  KOKKOS_FUNCTION void gather(int from, int to) const {
    m_system.clear(m_lane_group, from, to);
    for_entries(from, to, [&](int c, std::size_t entry, int index) {
      m_system(position_of(m_arrays.rows, index), from + c) =
          static_cast<Real>(double(m_b.values(entry)) * m_arrays.scale[from + c]);
    });
    if (from == 0) m_lane_group.once([&] { m_system.rhs(0) = 1; });
  }

  KOKKOS_FUNCTION Real residual_square(int rank) const {
    return m_lane_group.template sum<Real>([&](int lane) {
      Real sum = 0;
      for (int i = rank + lane; i < m_rows; i += m_lane_group.size())
        sum += m_system.rhs(i) * m_system.rhs(i);
      return sum;
    });
  }

  /// e_k - A m = Q (0, w), where w is the part of Q^T e_k beyond the rank.
  KOKKOS_FUNCTION void find_residual(int rank, int panels) const {
    m_lane_group.region([&](int lane) {
      for (int i = lane; i < m_rows + 8; i += m_lane_group.size())
        m_arrays.residual[i] = i < rank || i >= m_rows ? Real(0) : m_system.rhs(i);
    });
    m_system.apply_q(m_lane_group, panels, m_arrays.residual);
  }

  /// The columns with entries in rows that have a residual, without those of J, ascending; and their gains.
  /// \returns how many, or -1 where there was no room
  KOKKOS_FUNCTION int find_candidates(int n2, Real square) const {
    const IndexTable members = m_arrays.candidates.table(nullptr);
    members.clear(m_lane_group);
    m_lane_group.region([&](int lane) {
      for (int c = lane; c < n2; c += m_lane_group.size()) members.insert(m_lane_group, m_arrays.cols[c]);
    });
    m_lane_group.once([&] { *m_arrays.candidates.count = 0; });
    const IndexTable table = m_arrays.candidates.table(m_arrays.candidates.list);
    constexpr Real negligible = sizeof(Real) == 4 ? Real(1e-5) : Real(1e-10);
    const Real least = negligible * Kokkos::sqrt(square);
    m_lane_group.region([&](int lane) {
      for (int i = lane; i < m_rows; i += m_lane_group.size()) {
        if (!(Kokkos::abs(m_arrays.residual[i]) > least)) continue;
        const int row = m_arrays.rows.list[i];
        for (std::size_t e = m_bt.row_ptrs(row); e < m_bt.row_ptrs(row + 1); ++e) {
          const int col = m_bt.col_idxs(e);
          if (col >= m_n) break;
          table.insert_up_to(m_lane_group, col, m_limits.candidates);
        }
      }
    });
    const int count = *m_arrays.candidates.count;
    if (count > m_limits.candidates) return -1;
    spai::sort_list(m_lane_group, m_arrays.candidates.list, count);
    m_lane_group.region([&](int lane) {
      for (int c = lane; c < count; c += m_lane_group.size())
        m_arrays.gains[c] = gain(m_arrays.candidates.list[c]);
    });
    return count;
  }

  /// (r^T A e_j)^2 / ||A e_j||^2
  KOKKOS_FUNCTION Real gain(int j) const {
    const double scale = m_col_scale(j);
    Real dot = 0, square = 0;
    for (std::size_t e = m_b.row_ptrs(j); e < m_b.row_ptrs(j + 1); ++e) {
      const int row = m_b.col_idxs(e);
      if (row >= m_n) break;
      const Real value = static_cast<Real>(double(m_b.values(e)) * scale);
      square += value * value;
      const int position = position_of(m_arrays.rows, row);
      if (position >= 0) dot += value * m_arrays.residual[position];
    }
    const Real result = dot * dot / square;
    return Kokkos::isfinite(result) ? result : Real(0);
  }

  /// Appends the best candidates to J, ascending. \returns the entries of J
  KOKKOS_FUNCTION int choose(int n2, int count, Real square) const {
    const Real sum = m_lane_group.template sum<Real>([&](int lane) {
      Real mine = 0;
      for (int c = lane; c < count; c += m_lane_group.size()) mine += m_arrays.gains[c];
      return mine;
    });
    // Rounding may put equal gains above their mean; what reduces nothing is no candidate.
    constexpr Real eps = sizeof(Real) == 4 ? Real(1e-6) : Real(1e-14);
    const Real mean = sum / static_cast<Real>(count > 0 ? count : 1) * (1 - eps);
    int most = m_limits.max_fill - n2;
    if (most > m_limits.step_size) most = m_limits.step_size;
    int taken = 0;
    for (; taken < most; ++taken) {
      m_lane_group.region([&](int lane) {
        Real best = 0;
        int position = -1;
        for (int c = lane; c < count; c += m_lane_group.size())
          if (m_arrays.gains[c] > best) {
            best = m_arrays.gains[c];
            position = c;
          }
        m_arrays.best[lane] = best;
        m_arrays.best_positions[lane] = position;
      });
      const int position = best_of_lanes();
      if (position < 0 || !(m_arrays.gains[position] >= mean) || !(m_arrays.gains[position] > eps * square))
        break;
      m_lane_group.region([&](int lane) {
        if (lane == 0) m_arrays.cols[n2 + taken] = m_arrays.candidates.list[position];
      });
      m_lane_group.once([&] { m_arrays.gains[position] = -1; });
    }
    m_lane_group.once([&] { sort_few(m_arrays.cols + n2, taken); });
    return n2 + taken;
  }

  KOKKOS_FUNCTION int best_of_lanes() const {
    Real best = 0;
    int position = -1;
    for (int lane = 0; lane < m_lane_group.size(); ++lane) {
      const Real gain = m_arrays.best[lane];
      const int at = m_arrays.best_positions[lane];
      if (at < 0 || gain < best || (gain == best && at > position)) continue;
      best = gain;
      position = at;
    }
    return position;
  }

  KOKKOS_FUNCTION static void sort_few(int* list, int n) {
    for (int i = 1; i < n; ++i) {
      const int value = list[i];
      int k = i;
      for (; k > 0 && list[k - 1] > value; --k) list[k] = list[k - 1];
      list[k] = value;
    }
  }

  KOKKOS_FUNCTION void judge(int n2) const {
    m_lane_group.region([&](int lane) {
      bool nonzero = false, finite = true;
      for (int c = lane; c < n2; c += m_lane_group.size()) {
        const double x = value(c);
        nonzero = nonzero || x != 0;
        finite = finite && Kokkos::isfinite(static_cast<Scalar>(x));
      }
      if (nonzero) Kokkos::atomic_or(m_arrays.flags, found);
      if (!finite) Kokkos::atomic_or(m_arrays.flags, not_finite);
    });
  }

  LaneGroup m_lane_group;
  const CsrView<Scalar, Space>& m_b;
  const CsrView<Scalar, Space>& m_bt;
  int m_n;
  VectorView<const double, Space> m_col_scale;
  Limits m_limits;
  Arrays m_arrays;
  System m_system;
  int m_rows = 0;
};

}  // namespace prekond::impl::dynamic_spai
