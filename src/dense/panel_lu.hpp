// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/version.hpp>
#include "dense/panel_cholesky.hpp"
#include "dense/pivot_search.hpp"

namespace prekond {

/// LU factorisation of a dense general matrix of order m by a lane group, P B = L U with unit lower
/// triangular L, in panels of 8 columns (right-looking), and the solves for rows and columns of B^-1.
///
/// Storage: all of B, column-major, of the order padded to a multiple of 8 by a unit diagonal. The leading
/// dimension is 4 more than the padded order, an odd multiple of 4: columns begin at 16-byte boundaries, and
/// lanes that read along a row meet few bank conflicts. L and U overwrite B; the rows are exchanged in place.
///
/// A column costs three barriers, of its search, its exchange and its elimination within the panel; a panel
/// costs two more, of its exchanges in the other columns with the solve for U, and of the product that
/// updates the rest, in which a lane has a row of 8 columns. The search compares magnitudes and, where they
/// are equal, takes the smaller row: the same pivots for any number of lanes.
///
/// A pivot is too small where it is not above `floor` times the largest entry of its column of B, or not
/// above 2^-100 (2^-960 in double). With Pivoting::rows that says that B is singular to working precision, or
/// out of its range.
///
/// With a HostThreadGroup one thread factors a panel, and the threads share the other columns: each takes 8
/// of them through 8 panels while they are in its caches.
///
/// Cost: 2 m^3 / 3 operations and, for the solves, 2 m^2 to 3 m^2. Memory: bytes(m).
template <class Real>
class PanelLu {
 public:
  static constexpr int panel = 8;

  KOKKOS_FORCEINLINE_FUNCTION static constexpr int padded(int m) { return (m + panel - 1) / panel * panel; }

  /// Bytes of the arrays for a matrix of order m, a multiple of 16.
  KOKKOS_FUNCTION static std::size_t bytes(int m) { return PanelLu(nullptr, m).m_bytes; }

  /// \pre `base` is aligned to 16 bytes
  KOKKOS_FUNCTION PanelLu(char* base, int m) : m_length(m), m_order(padded(m)) {
    const auto order = static_cast<std::size_t>(m_order);
    std::size_t end = 0;
    m_entries = impl::place_array<Real>(base, end, order * (order + 4));
    m_reciprocals = impl::place_array<Real>(base, end, order);
    m_largest = impl::place_array<Real>(base, end, order);
    m_search = impl::PivotSearch<Real>(base, end);
    m_permutation = impl::place_array<int>(base, end, order);
    m_exchanges = impl::place_array<int>(base, end, panel);
    m_dropped = impl::place_array<DroppedPivots<Real>>(base, end, 1);
    m_bytes = end;
  }

  /// Entry (i, j) of B before `factor`.
  KOKKOS_FORCEINLINE_FUNCTION Real& operator()(int i, int j) const { return column(j)[i]; }

  /// B = 0, with ones on the diagonal after row m; nothing is dropped yet.
  template <class LaneGroup>
  KOKKOS_FUNCTION void clear(const LaneGroup& lane_group) const {
    if constexpr (shares_loops<LaneGroup>) {
      lane_group.for_each(m_order, [&](std::int64_t j) {
        for (int i = 0; i < m_order + 4; ++i) column(static_cast<int>(j))[i] = 0;
      });
    } else {
      const std::size_t n = static_cast<std::size_t>(m_order) * (m_order + 4);
      lane_group.region([&](int lane) {
        for (std::size_t k = lane; k < n; k += lane_group.size()) m_entries[k] = 0;
      });
    }
    lane_group.region([&](int lane) {
      for (int j = lane; j < m_order; j += lane_group.size()) {
        m_permutation[j] = j;
        m_reciprocals[j] = 1;
        if (j >= m_length) (*this)(j, j) = 1;
      }
      if (lane == 0) m_dropped->count = 0;
    });
  }

  template <class LaneGroup>
  KOKKOS_FUNCTION void factor(const LaneGroup& lane_group, Real floor, Pivoting pivoting) const {
    find_largest(lane_group);
    if constexpr (shares_loops<LaneGroup>) {
      for (int begin = 0; begin < m_order; begin += columns_at_once)
        factor_columns(lane_group, begin, floor, pivoting);
    } else {
      for (int j0 = 0; j0 < m_order; j0 += panel) {
        factor_panel(lane_group, j0, floor, pivoting);
        if (m_order == panel) return;
        finish_panel(lane_group, j0);
        if (j0 + panel < m_order) update_rest(lane_group, j0);
      }
    }
  }

  /// The last row and the last column of B^-1, each up to a factor: left^T B = c e_last^T, and B right =
  /// e_last; c is the last pivot. `left`, `right` and `work` have the padded order.
  ///
  /// Indices that were dropped have zeros. \pre the last pivot of Pivoting::none was not dropped
  template <class LaneGroup>
  KOKKOS_FUNCTION void solve_last(const LaneGroup& lane_group, Real* left, Real* right, Real* work) const {
    const int last = m_length - 1;
    lane_group.region([&](int lane) {
      for (int k = lane; k < m_order; k += lane_group.size()) right[k] = k == last ? Real(1) : Real(0);
    });
    for (int j0 = m_order - panel; j0 >= 0; j0 -= panel)
      solve_block<Part::lower_transposed>(lane_group, j0, right, work);
    lane_group.region([&](int lane) {
      for (int k = lane; k < m_order; k += lane_group.size()) {
        const int row = m_permutation[k];
        left[row] = work[k];
        right[k] = row == last ? Real(1) : Real(0);
      }
    });
    for (int j0 = 0; j0 < m_order; j0 += panel) solve_block<Part::lower>(lane_group, j0, right, work);
    for (int j0 = m_order - panel; j0 >= 0; j0 -= panel)
      solve_block<Part::upper>(lane_group, j0, work, right);
  }

  /// Row `index` of B^-1, the solution of B^T x = e_index. `x`, `y` and `work` have the padded order.
  ///
  /// Indices that were dropped have zeros; where `index` was, all is zero.
  template <class LaneGroup>
  KOKKOS_FUNCTION void solve_transposed(const LaneGroup& lane_group, int index, Real* x, Real* y,
                                        Real* work) const {
    const int first = index / panel * panel;  // x is zero before it
    lane_group.region([&](int lane) {
      for (int k = lane; k < m_order; k += lane_group.size()) {
        y[k] = k == index ? Real(1) : Real(0);
        if (k < first) work[k] = 0;
      }
    });
    for (int j0 = first; j0 < m_order; j0 += panel)
      solve_block<Part::upper_transposed>(lane_group, j0, y, work);
    for (int j0 = m_order - panel; j0 >= 0; j0 -= panel)
      solve_block<Part::lower_transposed>(lane_group, j0, work, y);
    lane_group.region([&](int lane) {
      for (int k = lane; k < m_order; k += lane_group.size()) x[m_permutation[k]] = y[k];
    });
  }

  /// Pivots that were too small, all of them; of Pivoting::rows the first says enough.
  KOKKOS_FORCEINLINE_FUNCTION const DroppedPivots<Real>& dropped() const { return *m_dropped; }
  KOKKOS_FORCEINLINE_FUNCTION bool is_dropped(int j) const { return m_reciprocals[j] == 0; }
  /// The largest magnitude in column j of B. Known after `factor`.
  KOKKOS_FORCEINLINE_FUNCTION Real largest(int j) const { return m_largest[j]; }

 private:
  enum class Part { lower, lower_transposed, upper, upper_transposed };
  template <Part part>
  static constexpr bool is_transposed = part == Part::lower_transposed || part == Part::upper_transposed;
  /// Whether its unknowns are found from the first on.
  template <Part part>
  static constexpr bool is_forward = part == Part::lower || part == Part::upper_transposed;
  template <Part part>
  static constexpr bool has_pivots = part == Part::upper || part == Part::upper_transposed;

  static constexpr int per_load = 16 / sizeof(Real);
  struct alignas(16) Load {
    Real value[per_load];
  };
  KOKKOS_FORCEINLINE_FUNCTION static void load_panel(const Real* from, Real (&to)[panel]) {
#pragma unroll
    for (int k = 0; k < panel / per_load; ++k) {
      const Load load = reinterpret_cast<const Load*>(from)[k];
#pragma unroll
      for (int u = 0; u < per_load; ++u) to[k * per_load + u] = load.value[u];
    }
  }

  static constexpr int host_vector = host_vector_bytes / int(sizeof(Real));
  /// Rows that a lane takes at a time: on the host those of a vector register, of which 8 hold L's panel.
  template <class LaneGroup>
  static constexpr int rows_at_once = LaneGroup::width == 1 ? host_vector : 1;

  /// Below it a pivot's reciprocal, or what rounding does to it, is out of range.
  static constexpr Real tiny = sizeof(Real) == 4 ? Real(0x1p-100f) : Real(0x1p-960);

  KOKKOS_FORCEINLINE_FUNCTION Real* column(int j) const {
    return m_entries + static_cast<std::size_t>(j) * (m_order + 4);
  }

  template <class LaneGroup>
  KOKKOS_FUNCTION void find_largest(const LaneGroup& lane_group) const {
    for_each(lane_group, m_order, [&](int j) {
      Real largest = 0;
      for (int i = 0; i < m_length; ++i) {
        const Real size = Kokkos::abs(column(j)[i]);
        if (size > largest) largest = size;
      }
      m_largest[j] = largest;
    });
  }

  /// The number of the panel's columns that are not padding.
  KOKKOS_FORCEINLINE_FUNCTION int columns_of(int j0) const {
    return m_length - j0 < panel ? m_length - j0 : panel;
  }

  template <class LaneGroup>
  KOKKOS_FUNCTION void factor_panel(const LaneGroup& lane_group, int j0, Real floor,
                                    Pivoting pivoting) const {
    const int columns = columns_of(j0);
    for (int c = 0; c < columns; ++c) {
      if (pivoting == Pivoting::rows) m_search.search(lane_group, column(j0 + c), j0 + c, m_length);
      exchange(lane_group, j0, c, floor, pivoting);
      eliminate(lane_group, j0, c);
    }
  }

  /// Columns whose panels a HostThreadGroup applies to the others at a time.
  static constexpr int columns_at_once = 8 * panel;

  /// Factors the columns from `begin` on, as many as are done at a time, and applies them to all others.
  template <class LaneGroup>
  KOKKOS_FUNCTION void factor_columns(const LaneGroup& lane_group, int begin, Real floor,
                                      Pivoting pivoting) const {
    const int end = begin + columns_at_once < m_order ? begin + columns_at_once : m_order;
    int exchanges[columns_at_once];
    for (int j0 = begin; j0 < end; j0 += panel) {
      factor_panel(lane_group.vector(), j0, floor, pivoting);
      for (int c = 0; c < columns_of(j0); ++c) exchanges[j0 - begin + c] = m_exchanges[c];
      for_each(lane_group, (end - begin) / panel, [&](int k) {
        const int j = begin + k * panel;
        if (j != j0) apply_panels(j0, j0 + panel, exchanges + (j0 - begin), j);
      });
    }
    for_each(lane_group, (m_order - (end - begin)) / panel, [&](int k) {
      const int j = k * panel < begin ? k * panel : k * panel + (end - begin);
      apply_panels(begin, end, exchanges, j);
    });
  }

  /// Applies the panels of the columns [begin, end) to the 8 columns from j on. (All exchanges come first:
  /// the panels' own rows have been exchanged by those after them.)
  KOKKOS_FUNCTION void apply_panels(int begin, int end, const int* exchanges, int j) const {
    constexpr int R = host_vector;
    for (int c = 0; c < panel; ++c)
      for (int j0 = begin; j0 < end; j0 += panel) exchange_column(j0, exchanges + (j0 - begin), j + c);
    if (j < begin) return;
    for (int j0 = begin; j0 < end; j0 += panel) {
      for (int c = 0; c < panel; ++c) solve_column(j0, j + c);
      for (int i = j0 + panel; i < m_order; i += R) update_rows<R>(j0, i, j);
    }
  }

  /// Brings the pivot of column j0 + c to its place, within the panel.
  template <class LaneGroup>
  KOKKOS_FUNCTION void exchange(const LaneGroup& lane_group, int j0, int c, Real floor,
                                Pivoting pivoting) const {
    const int j = j0 + c;
    lane_group.region([&](int lane) {
      if (lane >= panel) return;
      const int row = pivoting == Pivoting::rows ? m_search.best(lane_group, j, m_length) : j;
      for (int d = lane; d < panel; d += lane_group.size()) {
        Real* entries = column(j0 + d);
        impl::exchange(entries[row], entries[j]);
        if (d == c) take_pivot(j, c, row, entries[j], floor);
      }
    });
  }

  KOKKOS_FUNCTION void take_pivot(int j, int c, int row, Real pivot, Real floor) const {
    m_exchanges[c] = row;
    impl::exchange(m_permutation[row], m_permutation[j]);
    // Not a number is not above the floor either.
    const Real size = Kokkos::abs(pivot);
    const bool sound = size > floor * m_largest[j] && size > tiny && Kokkos::isfinite(pivot);
    m_reciprocals[j] = sound ? 1 / pivot : Real(0);
    if (!sound && m_dropped->count++ == 0) {
      m_dropped->first = j;
      m_dropped->pivot = pivot;
    }
  }

  template <class LaneGroup>
  KOKKOS_FUNCTION void eliminate(const LaneGroup& lane_group, int j0, int c) const {
    const int j = j0 + c;
    lane_group.region([&](int lane) {
      Real* const multipliers = column(j);
      const Real reciprocal = m_reciprocals[j];
      for (int i = j + 1 + lane; i < m_length; i += lane_group.size())
        multipliers[i] = reciprocal == 0 ? Real(0) : multipliers[i] * reciprocal;
      for (int d = j + 1; d < j0 + panel; ++d) {
        Real* const entries = column(d);
        const Real pivot_row = entries[j];
        for (int i = j + 1 + lane; i < m_length; i += lane_group.size())
          entries[i] -= multipliers[i] * pivot_row;
      }
    });
  }

  /// The exchanges in the other columns, and U[J, j] = L[J, J]^-1 B[J, j] in those on the right.
  template <class LaneGroup>
  KOKKOS_FUNCTION void finish_panel(const LaneGroup& lane_group, int j0) const {
    for_each(lane_group, m_order, [&](int j) {
      if (j >= j0 && j < j0 + panel) return;
      exchange_column(j0, m_exchanges, j);
      if (j > j0) solve_column(j0, j);
    });
  }

  /// The panel's exchanges in column j.
  KOKKOS_FORCEINLINE_FUNCTION void exchange_column(int j0, const int* exchanges, int j) const {
    Real* entries = column(j);
    const int columns = columns_of(j0);
    for (int c = 0; c < columns; ++c) impl::exchange(entries[j0 + c], entries[exchanges[c]]);
  }

  /// U[J, j] = L[J, J]^-1 B[J, j] for the panel's rows J.
  KOKKOS_FORCEINLINE_FUNCTION void solve_column(int j0, int j) const {
    Real* entries = column(j);
    Real x[panel];
#pragma unroll
    for (int r = 0; r < panel; ++r) {
      x[r] = entries[j0 + r];
#pragma unroll
      for (int k = 0; k < r; ++k) x[r] -= column(j0 + k)[j0 + r] * x[k];
    }
#pragma unroll
    for (int r = 0; r < panel; ++r) entries[j0 + r] = x[r];
  }

  /// B[I, K] -= L[I, J] U[J, K] for the rows and columns after the panel.
  template <class LaneGroup>
  KOKKOS_FUNCTION void update_rest(const LaneGroup& lane_group, int j0) const {
    constexpr int R = rows_at_once<LaneGroup>;
    const int first = j0 + panel;
    const int chunks = (m_order - first) / R;
    const int tasks = chunks * ((m_order - first) / panel);
    lane_group.region([&](int lane) {
      for (int t = lane; t < tasks; t += lane_group.size())
        update_rows<R>(j0, first + t % chunks * R, first + t / chunks * panel);
    });
  }

  template <int R>
  KOKKOS_FORCEINLINE_FUNCTION void update_rows(int j0, int i, int j) const {
    Real left[panel][R];
#pragma unroll
    for (int k = 0; k < panel; ++k)
      for (int r = 0; r < R; ++r) left[k][r] = column(j0 + k)[i + r];
#pragma unroll
    for (int c = 0; c < panel; ++c) {
      Real* entries = column(j + c);
      Real right[panel];
      load_panel(entries + j0, right);
      Real sum[R];
      for (int r = 0; r < R; ++r) sum[r] = entries[i + r];
#pragma unroll
      for (int k = 0; k < panel; ++k)
        for (int r = 0; r < R; ++r) sum[r] -= left[k][r] * right[k];
      for (int r = 0; r < R; ++r) entries[i + r] = sum[r];
    }
  }

  /// Entry (i, k) of the triangular matrix that `part` says.
  template <Part part>
  KOKKOS_FORCEINLINE_FUNCTION Real coefficient(int i, int k) const {
    return is_transposed<part> ? column(i)[k] : column(k)[i];
  }

  /// x_J = T[J, J]^-1 y_J, by every lane for itself; then y_I -= T[I, J] x_J for the rows still to be solved.
  template <Part part, class LaneGroup>
  KOKKOS_FUNCTION void solve_block(const LaneGroup& lane_group, int j0, Real* y, Real* x) const {
    const int begin = is_forward<part> ? j0 + panel : 0;
    const int end = is_forward<part> ? m_order : j0;
    lane_group.region([&](int lane) {
      if (lane > 0 && begin + lane >= end) return;
      Real solution[panel];
#pragma unroll
      for (int s = 0; s < panel; ++s) {
        const int r = is_forward<part> ? s : panel - 1 - s;
        Real sum = y[j0 + r];
#pragma unroll
        for (int t = 0; t < s; ++t) {
          const int k = is_forward<part> ? t : panel - 1 - t;
          sum -= coefficient<part>(j0 + r, j0 + k) * solution[k];
        }
        solution[r] = has_pivots<part> ? scaled(sum, j0 + r) : sum;
      }
      for (int i = begin + lane; i < end; i += lane_group.size()) {
        Real row[panel];
        if constexpr (is_transposed<part>) {
          load_panel(column(i) + j0, row);
        } else {
#pragma unroll
          for (int k = 0; k < panel; ++k) row[k] = column(j0 + k)[i];
        }
        Real sum = y[i];
#pragma unroll
        for (int k = 0; k < panel; ++k) sum -= row[k] * solution[k];
        y[i] = sum;
      }
      if (lane > 0) return;
#pragma unroll
      for (int r = 0; r < panel; ++r) x[j0 + r] = solution[r];
    });
  }

  KOKKOS_FORCEINLINE_FUNCTION Real scaled(Real sum, int j) const {
    const Real reciprocal = m_reciprocals[j];
    return reciprocal == 0 ? Real(0) : sum * reciprocal;
  }

  int m_length;
  int m_order;  ///< padded
  std::size_t m_bytes;
  Real* m_entries;
  Real* m_reciprocals;  ///< 1 / U_jj; 0: too small
  Real* m_largest;
  impl::PivotSearch<Real> m_search;
  int* m_permutation;  ///< row k of P B is row m_permutation[k] of B
  int* m_exchanges;    ///< of the panel
  DroppedPivots<Real>* m_dropped;
};

}  // namespace prekond
