// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/version.hpp>
#include "dense/panel_cholesky.hpp"
#include "dense/place_array.hpp"

namespace prekond {

/// Householder QR of a dense n1 x n2 matrix B with an appended right-hand side c by a lane group, in panels
/// of up to 8 columns (right-looking): the least-squares problem min ||B x - c||_2, for any n1 and n2, of any
/// rank.
///
/// Storage: B and c, column-major, lanes running along the rows. The reflectors H = I - tau v v^T are kept as
/// v = x - beta e, so that a column becomes its own reflector; of a panel of them V, the product is applied
/// as c - V y, where y comes from V^T c by a substitution with the lower triangle of V^T V. A panel's part
/// of R lies in a separate block of 8 x 8, and V has zeros there. A panel may be worked on in a buffer of its
/// own (in scratch, where B is not); then V lives no longer than the panel.
///
/// One vector of lanes factors a panel, with three barriers of its own and one pass over the panel for the
/// products and one for the update a column; the vectors of a lane group share the columns after the panel,
/// each two at a time (one on the host), in two passes a panel: two barriers of the lane group a panel. With
/// a HostThreadGroup one thread factors a panel, and the threads share the other columns: each takes two of
/// them through 8 panels while they are in its caches.
///
/// Rank: column j is dropped, and x_j is zero, where what the columns before leave of it is not above `floor`
/// times its norm, not above 2^-60 (2^-500 in double), or not finite; its row stays for the next column, so
/// that x minimises over the columns that are left.
///
/// `Rows` is the number of rows that a lane takes at once: 1 on a device, `host_rows` on the host.
///
/// Cost: 2 n1 n2^2 - 2 n2^3 / 3 operations. Memory: bytes(shape). Golub, Van Loan, Matrix Computations,
/// sections 5.1 and 5.2.
template <class Real, int Rows = 1>
class PanelQr {
 public:
  static constexpr int panel = 8;
  static constexpr int host_rows = host_vector_bytes / int(sizeof(Real));

  /// The sizes that there is room for.
  struct Shape {
    int n1;
    int n2;
    int panels;  ///< each growth of a growing system begins a new one, and V is kept
    bool keeps;
  };
  /// The shape of a system that is factored at once.
  KOKKOS_FORCEINLINE_FUNCTION static constexpr Shape shape_of(int n1, int n2) {
    return {n1, n2, (n2 + panel - 1) / panel, false};
  }

  /// Bytes of the arrays of a system, a multiple of 16.
  KOKKOS_FUNCTION static std::size_t bytes(const Shape& shape) {
    return bytes_beside_entries(shape) + entry_bytes(shape);
  }
  KOKKOS_FUNCTION static std::size_t bytes_beside_entries(const Shape& shape) {
    return PanelQr(nullptr, nullptr, shape, nullptr).m_bytes;
  }
  /// Bytes of B and c.
  KOKKOS_FUNCTION static std::size_t entry_bytes(const Shape& shape) {
    return ((static_cast<std::size_t>(shape.n2) + 1) * leading(shape.n1) * sizeof(Real) + 15) / 16 * 16;
  }
  /// Bytes of a panel's own buffer.
  KOKKOS_FUNCTION static std::size_t panel_bytes(int n1) { return panel * leading(n1) * sizeof(Real); }

  /// Arrays of `bytes(shape)`, which begin with the entries. \pre `base` is aligned to 16 bytes
  KOKKOS_FUNCTION PanelQr(char* base, const Shape& shape)
      : PanelQr(base + entry_bytes(shape), base, shape, nullptr) {}

  /// The entries elsewhere. \pre all are aligned to 16 bytes; `buffer` is null where panels are factored in
  /// place, as those of a growing system are
  KOKKOS_FUNCTION PanelQr(char* base, char* entries, const Shape& shape, Real* buffer)
      : m_rows(shape.n1),
        m_rhs(shape.n2),
        m_leading(leading(shape.n1)),
        m_keeps(shape.keeps),
        m_buffer(buffer),
        m_entries(reinterpret_cast<Real*>(entries)) {
    const auto panels = static_cast<std::size_t>(shape.panels), n2 = static_cast<std::size_t>(shape.n2);
    std::size_t end = 0;
    m_blocks = impl::place_array<Real>(base, end, panels * panel * panel);
    m_grams = impl::place_array<Real>(base, end, (keeps_grams() ? panels : 1) * panel * panel);
    m_reciprocals = impl::place_array<Real>(base, end, n2);
    m_norms = impl::place_array<Real>(base, end, n2);
    m_panels = impl::place_array<Panel>(base, end, panels);
    m_dropped = impl::place_array<DroppedPivots<Real>>(base, end, 1);
    m_bytes = end;
  }

  /// Entry (i, j) of B before `factor`; column n2 of the shape is c.
  KOKKOS_FORCEINLINE_FUNCTION Real& operator()(int i, int j) const { return column(j)[i]; }
  KOKKOS_FORCEINLINE_FUNCTION Real& rhs(int i) const { return column(m_rhs)[i]; }

  /// The columns [begin, end) are zero, and where begin is 0 so is c, and nothing is dropped yet.
  template <class LaneGroup>
  KOKKOS_FUNCTION void clear(const LaneGroup& lane_group, int begin, int end) const {
    const std::size_t n = static_cast<std::size_t>(end - begin) * m_leading;
    Real* const first = column(begin);
    if constexpr (shares_loops<LaneGroup>) {
      lane_group.for_each(end - begin, [&](std::int64_t j) {
        for (std::size_t k = 0; k < m_leading; ++k) first[static_cast<std::size_t>(j) * m_leading + k] = 0;
      });
    }
    lane_group.region([&](int lane) {
      if constexpr (!shares_loops<LaneGroup>)
        for (std::size_t k = lane; k < n; k += lane_group.size()) first[k] = 0;
      if (begin > 0) return;
      for (std::size_t k = lane; k < m_leading; k += lane_group.size()) column(m_rhs)[k] = 0;
      if (lane == 0) m_dropped->count = 0;
    });
  }

  /// Factors all columns and applies Q^T to c. \returns the rank
  template <class LaneGroup>
  KOKKOS_FUNCTION int factor(const LaneGroup& lane_group, Real floor) const {
    measure(lane_group, 0, m_rhs);
    return append_panels(lane_group, 0, 0, m_rhs, 0, floor);
  }

  /// Factors the columns [begin, end), after which there are none yet, as the panels from `first_panel` on,
  /// after those before, and applies them to c. `rank` is that of the columns before. \returns the rank \pre
  /// the shape keeps V
  template <class LaneGroup>
  KOKKOS_FUNCTION int append(const LaneGroup& lane_group, int first_panel, int begin, int end, int rank,
                             Real floor) const {
    measure(lane_group, begin, end);
    for_each_by_vectors(lane_group, end - begin, [&](const auto& vector, int j) {
      for (int k = 0; k < first_panel; ++k) {
        Real* const target[1] = {column(begin + j)};
        apply_panel<1, false>(vector, k, target);
      }
    });
    return append_panels(lane_group, first_panel, begin, end, rank, floor);
  }

  /// c := Q c, for the panels [0, panels) of a shape that keeps V.
  template <class LaneGroup>
  KOKKOS_FUNCTION void apply_q(const LaneGroup& lane_group, int panels, Real* c) const {
    if (lane_group.group() == 0)
      for (int k = panels; k-- > 0;) {
        Real* const target[1] = {c};
        apply_panel<1, true>(lane_group.vector(), k, target);
      }
    lane_group.join();
  }

  /// x with R x = Q^T c for the panels [0, panels), zeros in dropped columns. `work` has room for the rank.
  template <class LaneGroup>
  KOKKOS_FUNCTION void solve(const LaneGroup& lane_group, int panels, int rank, Real* x, Real* work) const {
    if (lane_group.group() == 0) {
      const auto& vector = lane_group.vector();
      vector.region([&](int lane) {
        for (int i = lane; i < rank; i += vector.size()) work[i] = column(m_rhs)[i];
      });
      for (int k = panels; k-- > 0;) solve_panel(vector, k, x, work);
    }
    lane_group.join();
  }
  template <class LaneGroup>
  KOKKOS_FUNCTION void solve(const LaneGroup& lane_group, int rank, Real* x, Real* work) const {
    solve(lane_group, (m_rhs + panel - 1) / panel, rank, x, work);
  }

  /// Columns that were dropped; the pivot is relative to the norm of its column.
  KOKKOS_FORCEINLINE_FUNCTION const DroppedPivots<Real>& dropped() const { return *m_dropped; }
  KOKKOS_FORCEINLINE_FUNCTION bool is_dropped(int j) const { return m_reciprocals[j] == 0; }
  KOKKOS_FORCEINLINE_FUNCTION int rows() const { return m_rows; }
  /// Sets the number of rows of a growing system. \pre the entries after them are zero
  KOKKOS_FORCEINLINE_FUNCTION void set_rows(int rows) { m_rows = rows; }

 private:
  struct Panel {
    int begin;  ///< column
    int count;
    int row;  ///< of its first pivot
    int pivots;
  };

  /// Below it a norm's reciprocal, or what rounding does to it, is out of range.
  static constexpr Real tiny = sizeof(Real) == 4 ? Real(0x1p-60f) : Real(0x1p-500);
  template <class LaneGroup>
  static constexpr int columns_at_once = LaneGroup::width == 1 ? 1 : 2;

  KOKKOS_FORCEINLINE_FUNCTION static int smaller(int a, int b) { return a < b ? a : b; }
  /// A lane's last rows may be after the end, where there are zeros.
  KOKKOS_FORCEINLINE_FUNCTION static std::size_t leading(int n1) {
    return static_cast<std::size_t>(n1) + (Rows > 1 ? Rows : 0);
  }

  KOKKOS_FORCEINLINE_FUNCTION Real* column(int j) const {
    return m_entries + static_cast<std::size_t>(j) * m_leading;
  }
  /// Column k of V in the panel.
  KOKKOS_FORCEINLINE_FUNCTION Real* panel_column(const Panel& p, int k) const {
    return (m_buffer ? m_buffer : column(p.begin)) + static_cast<std::size_t>(k) * m_leading;
  }
  /// Moves from V's column l to the next. A panel of fewer than 8 columns stays at its last one. (One pointer
  /// that moves takes fewer registers than eight.)
  template <class Pointer>
  KOKKOS_FORCEINLINE_FUNCTION void advance(const Panel& p, int l, Pointer& v) const {
    if (l + 1 < p.count) v += m_leading;
  }
  KOKKOS_FORCEINLINE_FUNCTION Real* block(int k) const {
    return m_blocks + static_cast<std::size_t>(k) * panel * panel;
  }
  KOKKOS_FORCEINLINE_FUNCTION Real* gram(int k) const {
    return keeps_grams() ? m_grams + static_cast<std::size_t>(k) * panel * panel : m_grams;
  }
  /// On the host panels may wait for each other's, see append_columns.
  KOKKOS_FORCEINLINE_FUNCTION bool keeps_grams() const { return Rows > 1 || m_keeps; }

  /// The norms of the columns [begin, end).
  template <class LaneGroup>
  KOKKOS_FUNCTION void measure(const LaneGroup& lane_group, int begin, int end) const {
    for_each_by_vectors(lane_group, (end - begin + panel - 1) / panel, [&](const auto& vector, int p) {
      const int j = begin + p * panel;
      const int count = smaller(panel, end - j);
      Real squares[panel];
      vector.template sums<Real, panel>(squares, [&](int lane, Real* sums) {
        Real mine[panel][Rows] = {};
        for (int i = lane * Rows; i < m_rows; i += vector.size() * Rows)
#pragma unroll
          for (int k = 0; k < panel; ++k) {
            const Real* const y = column(j + (k < count ? k : count - 1)) + i;
            for (int r = 0; r < Rows; ++r) mine[k][r] += y[r] * y[r];
          }
        add_rows<panel>(mine, sums);
      });
      vector.once([&] {
#pragma unroll
        for (int k = 0; k < panel; ++k)
          if (k < count) m_norms[j + k] = Kokkos::sqrt(squares[k]);
      });
    });
  }

  template <int N>
  KOKKOS_FORCEINLINE_FUNCTION static void add_rows(const Real (&mine)[N][Rows], Real* sums) {
#pragma unroll
    for (int k = 0; k < N; ++k) {
      Real sum = mine[k][0];
      for (int r = 1; r < Rows; ++r) sum += mine[k][r];
      sums[k] = sum;
    }
  }

  /// Factors the columns [begin, end) as the panels from `first_panel` on. \returns the rank with them
  template <class LaneGroup>
  KOKKOS_FUNCTION int append_panels(const LaneGroup& lane_group, int first_panel, int begin, int end,
                                    int rank, Real floor) const {
    if constexpr (shares_loops<LaneGroup>) {
      for (int j = begin, k = first_panel; !m_buffer && j < end; j += panels_at_once * panel) {
        rank = append_columns(lane_group, k, j, end, rank, floor);
        k += panels_at_once;
      }
      if (!m_buffer) return rank;
    }
    for (int j = begin, k = first_panel; j < end; j += panel, ++k)
      rank = append_panel(lane_group, k, j, smaller(panel, end - j), end, rank, floor);
    return rank;
  }

  /// Panels that a HostThreadGroup applies to the others at a time.
  static constexpr int panels_at_once = 8;

  /// Factors as many of the columns [begin, end) as are done at a time, and applies them to those after them.
  template <class LaneGroup>
  KOKKOS_FUNCTION int append_columns(const LaneGroup& lane_group, int first_panel, int begin, int end,
                                     int rank, Real floor) const {
    static_assert(Rows > 1, "the panels' products have to be kept");
    const int own_end = smaller(begin + panels_at_once * panel, end);
    int last_panel = first_panel;
    for (int j = begin; j < own_end; j += panel, ++last_panel)
      rank = append_panel(lane_group, last_panel, j, smaller(panel, own_end - j), own_end, rank, floor);
    const int rest = end - own_end;
    for_each_by_vectors(lane_group, (rest + 1) / 2, [&](const auto& vector, int pair) {
      Real* const first = column(own_end + 2 * pair);
      if (2 * pair + 1 < rest) {
        Real* const targets[2] = {first, first + m_leading};
        apply_panels(vector, first_panel, last_panel, targets);
      } else {
        Real* const targets[1] = {first};
        apply_panels(vector, first_panel, last_panel, targets);
      }
    });
    return rank;
  }

  template <int C, class Vector>
  KOKKOS_FUNCTION void apply_panels(const Vector& vector, int first, int last,
                                    Real* const (&targets)[C]) const {
    for (int k = first; k < last; ++k)
      if (m_panels[k].pivots > 0) apply_panel<C, false>(vector, k, targets);
  }

  /// \returns the rank with the panel's columns
  template <class LaneGroup>
  KOKKOS_FUNCTION int append_panel(const LaneGroup& lane_group, int k, int begin, int count, int end,
                                   int rank, Real floor) const {
    const Panel p{begin, count, rank, 0};
    if (m_buffer) load_panel(lane_group, p);
    if (lane_group.group() == 0) factor_panel(lane_group.vector(), k, p, floor);
    lane_group.join();
    const int pivots = m_panels[k].pivots;
    if (pivots > 0)
      update_rest(lane_group, k, begin + count, end);
    else
      lane_group.join();
    return rank + pivots;
  }

  template <class LaneGroup>
  KOKKOS_FUNCTION void load_panel(const LaneGroup& lane_group, const Panel& p) const {
    lane_group.region([&](int lane) {
      for (int c = 0; c < p.count; ++c) {
        const Real* const from = column(p.begin + c);
        Real* const to = panel_column(p, c);
        for (std::size_t i = p.row + lane; i < m_leading; i += lane_group.size()) to[i] = from[i];
      }
    });
  }

  template <class Vector>
  KOKKOS_FUNCTION void factor_panel(const Vector& vector, int k, Panel p, Real floor) const {
    for (int c = 0; c < p.count; ++c) {
      const int row = p.row + p.pivots;
      Real dots[panel];
      multiply_by(vector, p, c, row, dots);
      Real square = 0;
#pragma unroll
      for (int l = 0; l < panel; ++l) square = l == c ? dots[l] : square;
      const Real norm = Kokkos::sqrt(square), whole = m_norms[p.begin + c];
      // Not a number is not above the floor either.
      const bool sound = norm > floor * whole && norm > tiny && Kokkos::isfinite(norm);
      if (sound) {
        eliminate(vector, k, p, c, row, norm, dots);
        ++p.pivots;
      } else {
        drop(vector, k, p, c, whole > 0 ? norm / whole : Real(0));
      }
    }
    vector.once([&] { m_panels[k] = p; });
  }

  /// The products of column c of the panel with all of them, from a row on.
  template <class Vector>
  KOKKOS_FUNCTION void multiply_by(const Vector& vector, const Panel& p, int c, int row,
                                   Real (&dots)[panel]) const {
    vector.template sums<Real, panel>(dots, [&](int lane, Real* sums) {
      const Real* const x = panel_column(p, c);
      Real mine[panel][Rows] = {};
      for (int i = row + lane * Rows; i < m_rows; i += vector.size() * Rows) {
        const Real* y = panel_column(p, 0) + i;
#pragma unroll
        for (int l = 0; l < panel; ++l, advance(p, l - 1, y))
          for (int r = 0; r < Rows; ++r) mine[l][r] += x[i + r] * y[r];
      }
      add_rows<panel>(mine, sums);
    });
  }

  /// Column c becomes its reflector, which is applied to those after it in the panel.
  template <class Vector>
  KOKKOS_FUNCTION void eliminate(const Vector& vector, int k, const Panel& p, int c, int row, Real norm,
                                 const Real (&dots)[panel]) const {
    Real* const x = panel_column(p, c);
    const Real alpha = x[row], beta = alpha < 0 ? norm : -norm, head = alpha - beta;
    const Real tau = 1 / (norm * (norm + Kokkos::abs(alpha)));
    Real tops[panel], products[panel];  // v^T y
#pragma unroll
    for (int l = 0; l < panel; ++l) {
      tops[l] = panel_column(p, l < p.count ? l : p.count - 1)[row];
      products[l] = dots[l] - beta * tops[l];
    }
    vector.region([&](int lane) {
#pragma unroll
      for (int l = 0; l < panel; ++l) {
        if (l <= c || l >= p.count) continue;
        Real* const y = panel_column(p, l);
        const Real factor = tau * products[l];
        for (int i = row + 1 + lane * Rows; i < m_rows; i += vector.size() * Rows)
          for (int r = 0; r < Rows; ++r) y[i + r] -= factor * x[i + r];
      }
    });
    vector.once([&] {
      Real* const in_block = block(k) + (row - p.row) * panel;
      Real* const in_gram = gram(k) + c * panel;
#pragma unroll
      for (int l = 0; l < panel; ++l) {
        if (l >= p.count) continue;
        if (l > c) {
          in_block[l] = tops[l] - tau * products[l] * head;
          panel_column(p, l)[row] = 0;
        } else {
          in_gram[l] = l == c ? tau : products[l];
        }
      }
      in_block[c] = beta;
      x[row] = head;
      m_reciprocals[p.begin + c] = 1 / beta;
    });
  }

  /// Column c of the panel is zero, and so are its reflector and its unknown.
  template <class Vector>
  KOKKOS_FUNCTION void drop(const Vector& vector, int k, const Panel& p, int c, Real pivot) const {
    vector.region([&](int lane) {
      Real* const in_panel = panel_column(p, c);
      Real* const entries = column(p.begin + c);
      for (std::size_t i = lane; i < m_leading; i += vector.size()) in_panel[i] = entries[i] = 0;
      if (lane > 0) return;
      for (int l = 0; l < panel; ++l) {
        block(k)[l * panel + c] = 0;
        gram(k)[c * panel + l] = 0;
      }
      m_reciprocals[p.begin + c] = 0;
      if (m_dropped->count++ > 0) return;
      m_dropped->first = p.begin + c;
      m_dropped->pivot = pivot;
    });
  }

  /// Q^T of the panel for the columns [from, to) and c.
  template <class LaneGroup>
  KOKKOS_FUNCTION void update_rest(const LaneGroup& lane_group, int k, int from, int to) const {
    constexpr int C = columns_at_once<std::remove_cvref_t<decltype(lane_group.vector())>>;
    const int total = to - from + 1;
    const auto target_of = [&](int t) { return column(t < to - from ? from + t : m_rhs); };
    for_each_by_vectors(lane_group, (total + C - 1) / C, [&](const auto& vector, int group) {
      const int t = C * group;
      if constexpr (C == 2) {
        if (t + 1 < total) {
          Real* const targets[2] = {target_of(t), target_of(t + 1)};
          apply_panel<2, false>(vector, k, targets);
          return;
        }
      }
      Real* const target[1] = {target_of(t)};
      apply_panel<1, false>(vector, k, target);
    });
  }

  /// t := Q^T t, or Q t, for the panel's Q and some columns t.
  template <int C, bool Inverse, class Vector>
  KOKKOS_FUNCTION void apply_panel(const Vector& vector, int k, Real* const (&targets)[C]) const {
    const Panel p = m_panels[k];
    Real y[panel * C];
    vector.template sums<Real, panel * C>(y, [&](int lane, Real* sums) {
      Real mine[panel * C][Rows] = {};
      for (int i = p.row + lane * Rows; i < m_rows; i += vector.size() * Rows) {
        const Real* v = panel_column(p, 0) + i;
#pragma unroll
        for (int l = 0; l < panel; ++l, advance(p, l - 1, v)) {
#pragma unroll
          for (int c = 0; c < C; ++c)
            for (int r = 0; r < Rows; ++r) mine[l * C + c][r] += v[r] * targets[c][i + r];
        }
      }
      add_rows<panel * C>(mine, sums);
    });
    substitute<C, Inverse>(gram(k), p.count, y);
    vector.region([&](int lane) {
      for (int i = p.row + lane * Rows; i < m_rows; i += vector.size() * Rows) {
        Real t[C][Rows];
        for (int c = 0; c < C; ++c)
          for (int r = 0; r < Rows; ++r) t[c][r] = targets[c][i + r];
        const Real* v = panel_column(p, 0) + i;
#pragma unroll
        for (int l = 0; l < panel; ++l, advance(p, l - 1, v)) {
#pragma unroll
          for (int c = 0; c < C; ++c)
            for (int r = 0; r < Rows; ++r) t[c][r] -= v[r] * y[l * C + c];
        }
        for (int c = 0; c < C; ++c)
          for (int r = 0; r < Rows; ++r) targets[c][i + r] = t[c][r];
      }
    });
  }

  /// y_l = tau_l (y_l - sum of v_l^T v_m y_m over the reflectors m that were applied before).
  template <int C, bool Inverse>
  KOKKOS_FORCEINLINE_FUNCTION static void substitute(const Real* gram, int count, Real (&y)[panel * C]) {
#pragma unroll
    for (int s = 0; s < panel; ++s) {
      const int l = Inverse ? panel - 1 - s : s;
#pragma unroll
      for (int u = 0; u < s; ++u) {
        const int m = Inverse ? panel - 1 - u : u;
        if (l >= count || m >= count) continue;
        const Real product = Inverse ? gram[m * panel + l] : gram[l * panel + m];
#pragma unroll
        for (int c = 0; c < C; ++c) y[l * C + c] -= product * y[m * C + c];
      }
      const Real tau = l < count ? gram[l * panel + l] : Real(0);
#pragma unroll
      for (int c = 0; c < C; ++c) y[l * C + c] = l < count ? tau * y[l * C + c] : Real(0);
    }
  }

  /// The panel's unknowns, by every lane for itself; then the rows above without them.
  template <class Vector>
  KOKKOS_FUNCTION void solve_panel(const Vector& vector, int k, Real* x, Real* work) const {
    const Panel p = m_panels[k];
    const Real* const r_block = block(k);
    vector.region([&](int lane) {
      if (lane > 0 && lane >= p.row) return;
      Real solution[panel];
      int row = p.pivots;
#pragma unroll
      for (int s = 0; s < panel; ++s) {
        const int c = panel - 1 - s;
        solution[c] = 0;
        if (c >= p.count || m_reciprocals[p.begin + c] == 0) continue;
        --row;
        Real sum = work[p.row + row];
#pragma unroll
        for (int l = c + 1; l < panel; ++l)
          if (l < p.count) sum -= r_block[row * panel + l] * solution[l];
        solution[c] = sum * m_reciprocals[p.begin + c];
      }
      for (int i = lane; i < p.row; i += vector.size()) {
        Real sum = work[i];
#pragma unroll
        for (int c = 0; c < panel; ++c)
          if (c < p.count) sum -= column(p.begin + c)[i] * solution[c];
        work[i] = sum;
      }
      if (lane > 0) return;
#pragma unroll
      for (int c = 0; c < panel; ++c)
        if (c < p.count) x[p.begin + c] = solution[c];
    });
  }

  int m_rows;
  int m_rhs;
  std::size_t m_leading;
  bool m_keeps;
  Real* m_buffer;
  Real* m_entries;
  std::size_t m_bytes;  ///< without the entries
  Real* m_blocks;       ///< of R, 8 x 8 a panel, by rows
  Real* m_grams;        ///< V^T V below the diagonal, and tau on it
  Real* m_reciprocals;  ///< 1 / R_jj; 0: dropped
  Real* m_norms;
  Panel* m_panels;
  DroppedPivots<Real>* m_dropped;
};

}  // namespace prekond
