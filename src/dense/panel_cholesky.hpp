// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/scalar.hpp>
#include <prekond/core/version.hpp>
#include "core/host_thread_group.hpp"

namespace prekond {

/// The indices that a factorisation dropped.
template <class Real>
struct DroppedPivots {
  int count;
  int first;   ///< the smallest index, where there is one
  Real pivot;  ///< its pivot
};

/// Cholesky factorisation of a dense SPD matrix of order m by a lane group, S = L L^T, in panels of 8 columns
/// (left-looking); of a Hermitian one where `Scalar` is complex, S = L L^H with real pivots. (The imaginary
/// parts of its diagonal are not looked at.)
///
/// Storage: the lower triangle by panels, each column-major, of the order padded to a multiple of 8 by a unit
/// diagonal. A panel's leading dimension is 4 more than its number of rows, an odd multiple of 4: columns
/// begin at 16-byte boundaries, and lanes that read down a row meet few bank conflicts. The unused upper
/// triangle of a diagonal block holds its factor.
///
/// A panel costs two barriers: its update by the panels on its left, in which a lane has rows of its own, and
/// its factorisation, in which every lane factors the 8 x 8 diagonal block for itself, in registers, and then
/// solves for its rows. A pivot that is not above `floor` drops its index from the system, as if row and
/// column were not there (its reciprocal is stored as 0).
///
/// The threads of a HostThreadGroup share the rows, and update 8 panels at a time by those on their left,
/// which are then read once for all of them.
///
/// Cost: m^3 / 3 operations, and 8^3 / 3 a lane and panel. Memory: size(m) numbers and as many reciprocals as
/// the padded order. \pre the arrays are aligned to 16 bytes
template <class Scalar>
struct PanelCholesky {
  using Real = real_type_t<Scalar>;
  static constexpr int panel = 8;

  Scalar* entries = nullptr;
  Real* reciprocals = nullptr;  ///< 1 / L_jj; 0: dropped
  DroppedPivots<Real>* dropped = nullptr;
  int order = 0;  ///< m, padded

  KOKKOS_FORCEINLINE_FUNCTION static constexpr int padded(int m) { return (m + panel - 1) / panel * panel; }
  KOKKOS_FORCEINLINE_FUNCTION static std::size_t panel_begin(int order, int p) {
    return static_cast<std::size_t>(panel) * p * (order + 4 - panel / 2 * (p - 1));
  }
  /// Numbers stored for a matrix of order m.
  KOKKOS_FUNCTION static std::size_t size(int m) { return panel_begin(padded(m), padded(m) / panel); }

  /// Entry (i, j), i >= j, of S before `factor`, and of L afterwards where i is beyond j's panel.
  KOKKOS_FORCEINLINE_FUNCTION Scalar& operator()(int i, int j) const {
    const int p = j / panel;
    return column(p, j - p * panel)[i - p * panel];
  }

  /// S = 0, with ones on the diagonal after row m; nothing is dropped yet.
  template <class LaneGroup>
  KOKKOS_FUNCTION void clear(const LaneGroup& lane_group, int m) const {
    if constexpr (shares_loops<LaneGroup>) {
      lane_group.for_each(order / panel, [&](std::int64_t p) {
        const std::size_t end = panel_begin(order, static_cast<int>(p) + 1);
        for (std::size_t k = panel_begin(order, static_cast<int>(p)); k < end; ++k) entries[k] = 0;
      });
    } else {
      const std::size_t n = panel_begin(order, order / panel);
      lane_group.region([&](int lane) {
        for (std::size_t k = lane; k < n; k += lane_group.size()) entries[k] = 0;
      });
    }
    lane_group.region([&](int lane) {
      for (int j = m + lane; j < order; j += lane_group.size()) (*this)(j, j) = 1;
      if (lane == 0) dropped->count = 0;
    });
  }

  template <class LaneGroup>
  KOKKOS_FUNCTION void factor(const LaneGroup& lane_group, Real floor) const {
    const int panels = order / panel;
    constexpr int at_once = shares_loops<LaneGroup> ? panels_at_once : 1;
    for (int first = 0; first < panels; first += at_once) {
      const int end = first + at_once < panels ? first + at_once : panels;
      if constexpr (at_once > 1) update_panels(lane_group, first, end);
      for (int p = first; p < end; ++p) {
        const int from = at_once > 1 ? first : 0;
        if (p > from) update_panel(lane_group, p, from);
        factor_panel(lane_group, p, floor);
      }
    }
  }

  /// x = L^-H e_last, for 0 <= last < order. `y` is working memory of the padded order, as is x.
  template <class LaneGroup>
  KOKKOS_FUNCTION void solve_transposed(const LaneGroup& lane_group, int last, Scalar* y, Scalar* x) const {
    const int end = last / panel * panel + panel;  // the panels after it have zeros
    lane_group.region([&](int lane) {
      for (int j = lane; j < order; j += lane_group.size()) {
        y[j] = j == last ? Scalar(1) : Scalar(0);
        if (j >= end) x[j] = 0;
      }
    });
    for (int p = last / panel; p >= 0; --p) solve_block(lane_group, p, y, x);
  }

  /// y := S^-1 y, with zeros after row m. `work` is working memory of the padded order, as is y. \pre nothing
  /// was dropped
  template <class LaneGroup>
  KOKKOS_FUNCTION void solve(const LaneGroup& lane_group, Scalar* y, Scalar* work) const {
    for (int p = 0; p < order / panel; ++p) solve_lower_block(lane_group, p, y, work);
    for (int p = order / panel; p-- > 0;) solve_block(lane_group, p, work, y);
  }

 private:
  static constexpr int per_load = 16 / sizeof(Scalar);
  struct alignas(16) Load {
    Scalar value[per_load];
  };
  KOKKOS_FORCEINLINE_FUNCTION static void load_panel(const Scalar* from, Scalar (&to)[panel]) {
#pragma unroll
    for (int k = 0; k < panel / per_load; ++k) {
      const Load load = reinterpret_cast<const Load*>(from)[k];
#pragma unroll
      for (int u = 0; u < per_load; ++u) to[k * per_load + u] = load.value[u];
    }
  }

  /// Column c of panel p, from the panel's first row on.
  KOKKOS_FORCEINLINE_FUNCTION Scalar* column(int p, int c) const {
    return entries + panel_begin(order, p) + static_cast<std::size_t>(c) * (order - p * panel + 4);
  }

  static constexpr int host_vector = host_vector_bytes / int(sizeof(Scalar));
  /// Rows that a lane takes at a time: on the host those of a vector register, of which 8 hold a panel's
  /// sums.
  template <class LaneGroup>
  static constexpr int rows_at_once = LaneGroup::width == 1 ? host_vector : 1;

  /// Panels that a HostThreadGroup updates at a time.
  static constexpr int panels_at_once = 8;

  /// S[j0:, J] -= L[j0:, K] L[J, K]^H for the panel's columns J = j0 .. j0 + 7, with K those of the panels
  /// from `from` on.
  template <class LaneGroup>
  KOKKOS_FUNCTION void update_panel(const LaneGroup& lane_group, int p, int from) const {
    constexpr int R = rows_at_once<LaneGroup>;
    for_each(lane_group, (order - p * panel) / R, [&](int chunk) { update_rows<R>(p, chunk * R, from, p); });
  }

  /// The same for the panels [first, end), with those before the first, a thread's rows in all of them.
  template <class LaneGroup>
  KOKKOS_FUNCTION void update_panels(const LaneGroup& lane_group, int first, int end) const {
    constexpr int R = rows_at_once<LaneGroup>;
    for_each(lane_group, (order - first * panel) / R, [&](int chunk) {
      for (int p = first; p < end && (p - first) * panel <= chunk * R; ++p)
        update_rows<R>(p, chunk * R - (p - first) * panel, 0, first);
    });
  }

  /// By the panels [from, to).
  template <int R>
  KOKKOS_FORCEINLINE_FUNCTION void update_rows(int p, int i, int from_panel, int to) const {
    Scalar sum[panel][R];
#pragma unroll
    for (int c = 0; c < panel; ++c)
      for (int r = 0; r < R; ++r) sum[c][r] = column(p, c)[i + r];
    for (int q = from_panel; q < to; ++q) {
      const Scalar* from = column(q, 0) + (p - q) * panel;
      const int stride = order - q * panel + 4;
#pragma unroll
      for (int k = 0; k < panel; ++k) {
        Scalar right[panel];
        load_panel(from, right);
        Scalar left[R];
        for (int r = 0; r < R; ++r) left[r] = from[i + r];
#pragma unroll
        for (int c = 0; c < panel; ++c)
          for (int r = 0; r < R; ++r) sum[c][r] -= left[r] * conjugate(right[c]);
        from += stride;
      }
    }
#pragma unroll
    for (int c = 0; c < panel; ++c)
      for (int r = 0; r < R; ++r) column(p, c)[i + r] = sum[c][r];
  }

  /// The factor of a diagonal block, in a lane's registers.
  struct Block {
    Scalar l[panel][panel];
    Real reciprocal[panel];
  };

  KOKKOS_FORCEINLINE_FUNCTION Block factor_block(int p, Real floor) const {
    Block block;
#pragma unroll
    for (int c = 0; c < panel; ++c)
#pragma unroll
      for (int r = c; r < panel; ++r) block.l[r][c] = column(p, c)[r];
#pragma unroll
    for (int c = 0; c < panel; ++c) {
      const Real pivot = real_part(block.l[c][c]);
      // Not a number is not above the floor either.
      const Real reciprocal = pivot > floor ? 1 / Kokkos::sqrt(pivot) : Real(0);
      block.reciprocal[c] = reciprocal;
#pragma unroll
      for (int r = c + 1; r < panel; ++r) block.l[r][c] *= reciprocal;
#pragma unroll
      for (int d = c + 1; d < panel; ++d)
#pragma unroll
        for (int r = d; r < panel; ++r) block.l[r][d] -= block.l[r][c] * conjugate(block.l[d][c]);
    }
    return block;
  }

  /// L[i, J] = S[i, J] L[J, J]^-H for the rows below the diagonal block, and the block's own factor.
  template <class LaneGroup>
  KOKKOS_FUNCTION void factor_panel(const LaneGroup& lane_group, int p, Real floor) const {
    constexpr int R = rows_at_once<LaneGroup>;
    const int rows = order - p * panel;
    if constexpr (shares_loops<LaneGroup>) {
      const Block block = factor_block(p, floor);
      lane_group.for_each((rows - panel) / R, [&](std::int64_t chunk) {
        solve_rows<R>(p, panel + static_cast<int>(chunk) * R, block);
      });
      keep_block(p, block);
    } else {
      lane_group.region([&](int lane) {
        if (lane > 0 && panel + lane * R >= rows) return;
        const Block block = factor_block(p, floor);
        for (int i = panel + lane * R; i < rows; i += lane_group.size() * R) solve_rows<R>(p, i, block);
        if (lane == 0) keep_block(p, block);
      });
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void keep_block(int p, const Block& block) const {
#pragma unroll
    for (int r = 0; r < panel; ++r) {
      reciprocals[p * panel + r] = block.reciprocal[r];
      if (block.reciprocal[r] == 0 && dropped->count++ == 0) {
        dropped->first = p * panel + r;
        dropped->pivot = real_part(block.l[r][r]);
      }
#pragma unroll
      for (int c = 0; c < r; ++c) column(p, r)[c] = block.l[r][c];
    }
  }

  template <int R>
  KOKKOS_FORCEINLINE_FUNCTION void solve_rows(int p, int i, const Block& block) const {
    Scalar x[panel][R];
#pragma unroll
    for (int c = 0; c < panel; ++c) {
      for (int r = 0; r < R; ++r) x[c][r] = column(p, c)[i + r];
#pragma unroll
      for (int k = 0; k < c; ++k)
        for (int r = 0; r < R; ++r) x[c][r] -= x[k][r] * conjugate(block.l[c][k]);
      for (int r = 0; r < R; ++r) x[c][r] *= block.reciprocal[c];
      for (int r = 0; r < R; ++r) column(p, c)[i + r] = x[c][r];
    }
  }

  /// x_J = L[J, J]^-1 y_J, by every lane for itself; then y_i -= L[i, J] x_J for the rows below.
  template <class LaneGroup>
  KOKKOS_FUNCTION void solve_lower_block(const LaneGroup& lane_group, int p, Scalar* y, Scalar* x) const {
    const int j0 = p * panel, rows = order - j0;
    lane_group.region([&](int lane) {
      if (lane > 0 && panel + lane >= rows) return;
      Scalar solution[panel];
#pragma unroll
      for (int c = 0; c < panel; ++c) {
        Scalar sum = y[j0 + c];
#pragma unroll
        for (int k = 0; k < c; ++k) sum -= column(p, c)[k] * solution[k];
        solution[c] = sum * reciprocals[j0 + c];
      }
      for (int i = panel + lane; i < rows; i += lane_group.size()) {
        Scalar sum = y[j0 + i];
#pragma unroll
        for (int c = 0; c < panel; ++c) sum -= column(p, c)[i] * solution[c];
        y[j0 + i] = sum;
      }
      if (lane > 0) return;
#pragma unroll
      for (int c = 0; c < panel; ++c) x[j0 + c] = solution[c];
    });
  }

  /// x_J = L[J, J]^-H y_J, by every lane for itself; then y_j -= L[J, j]^H x_J for the columns on the left.
  template <class LaneGroup>
  KOKKOS_FUNCTION void solve_block(const LaneGroup& lane_group, int p, Scalar* y, Scalar* x) const {
    const int j0 = p * panel;
    lane_group.region([&](int lane) {
      if (lane > 0 && lane >= j0) return;
      Scalar solution[panel];
#pragma unroll
      for (int c = panel - 1; c >= 0; --c) {
        Scalar sum = y[j0 + c];
#pragma unroll
        for (int r = c + 1; r < panel; ++r) sum -= conjugate(column(p, r)[c]) * solution[r];
        solution[c] = sum * reciprocals[j0 + c];
      }
      for (int j = lane; j < j0; j += lane_group.size()) {
        const int q = j / panel;
        Scalar row[panel];
        load_panel(column(q, j - q * panel) + (j0 - q * panel), row);
        Scalar sum = y[j];
#pragma unroll
        for (int r = 0; r < panel; ++r) sum -= conjugate(row[r]) * solution[r];
        y[j] = sum;
      }
      if (lane > 0) return;
#pragma unroll
      for (int c = 0; c < panel; ++c) x[j0 + c] = solution[c];
    });
  }
};

}  // namespace prekond
