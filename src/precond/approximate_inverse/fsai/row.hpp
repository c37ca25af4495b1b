// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// One row of the static FSAI, or a block of rows, over a lane group: gather A[P, P], factor it, solve for
/// the unit vector of each row.
#include <prekond/core/scalar.hpp>
#include <prekond/core/views.hpp>
#include "dense/panel_cholesky.hpp"

#include "precond/approximate_inverse/fsai/block_columns.hpp"
#include "precond/approximate_inverse/fsai/columns.hpp"
#include "precond/scaling/power_of_two.hpp"

#include <cstdint>

namespace prekond::impl::fsai {

/// Where the arrays of a row's workspace begin, in bytes, for rows of up to `longest` entries. `Number` is
/// the system's scalar.
template <class Number>
struct Layout {
  std::size_t entries, reciprocals, y, x, scale, begins, lengths, cols, dropped, bytes;

  Layout() = default;
  explicit Layout(int longest) {
    std::size_t end = 0;
    const auto place = [&end](std::size_t n, std::size_t size) {
      const std::size_t begin = end;
      end += (n * size + 15) / 16 * 16;
      return begin;
    };
    using Real = real_type_t<Number>;
    const auto order = static_cast<std::size_t>(PanelCholesky<Number>::padded(longest));
    entries = place(PanelCholesky<Number>::size(longest), sizeof(Number));
    reciprocals = place(order, sizeof(Real));
    y = place(order, sizeof(Number));
    x = place(order, sizeof(Number));
    scale = place(order, sizeof(double));
    begins = place(order, sizeof(std::size_t));
    lengths = place(order, sizeof(int));
    cols = place(order, sizeof(int));
    dropped = place(1, sizeof(DroppedPivots<Real>));
    bytes = end;
  }
};

/// The result of a row's solve.
struct RowResult {
  bool dropped;  ///< columns were left out because of their pivots
  bool last;     ///< the last pivot was bad: there is no row
  float pivot;   ///< the first bad pivot, relative to its diagonal entry
};

/// The rows of a block have the columns of its last one, each up to its own: their systems are leading parts
/// of that row's, with one factor. The system is scaled by powers of two, D A[P, P] D with a diagonal in [1,
/// 4), so that single precision holds any range of values, and the pivots' floor is absolute. In complex
/// numbers the row g minimises g A g^H, so that it is the conjugate of the system's solution.
template <class Scalar, class Real, class Space, class LaneGroup, class Matrix = CsrView<Scalar, Space>>
class Row {
 public:
  using Number = in_precision_t<Scalar, Real>;
  using Wide = in_precision_t<Scalar, double>;

  KOKKOS_FUNCTION Row(const LaneGroup& lane_group, const Matrix& a,
                      VectorView<const real_type_t<Scalar>, Space> diagonal, const Layout<Number>& layout,
                      char* base, int length)
      : m_lane_group(lane_group),
        m_a(a),
        m_diagonal(diagonal),
        m_length(length),
        m_system{at<Number>(base, layout.entries), at<Real>(base, layout.reciprocals),
                 at<DroppedPivots<Real>>(base, layout.dropped), PanelCholesky<Number>::padded(length)},
        m_y(at<Number>(base, layout.y)),
        m_x(at<Number>(base, layout.x)),
        m_scale(at<double>(base, layout.scale)),
        m_cols(lane_group, a, length, at<std::size_t>(base, layout.begins), at<int>(base, layout.lengths),
               at<int>(base, layout.cols)) {}

  /// Factors the system of the columns cols[0 .. length), ascending. \returns whether columns were dropped
  KOKKOS_FUNCTION bool factor(const int* cols, Real floor) {
    read_columns(cols);
    m_system.clear(m_lane_group, m_length);
    gather();
    m_system.factor(m_lane_group, floor);
    return m_system.dropped->count > 0;
  }

  /// Solves for the row that ends with column `last` of the factored ones.
  KOKKOS_FUNCTION RowResult solve(int last) {
    m_last = last;
    m_system.solve_transposed(m_lane_group, last, m_y, m_x);
    return result();
  }

  /// Entry k of the row, its last one being 1. \pre the last pivot was sound
  KOKKOS_FORCEINLINE_FUNCTION Wide value(int k) const {
    return (Wide(conjugate(m_x[k])) * m_scale[k]) / (double(real_part(m_x[m_last])) * m_scale[m_last]);
  }

 private:
  template <class T>
  KOKKOS_FUNCTION static T* at(char* base, std::size_t offset) {
    return reinterpret_cast<T*>(base + offset);
  }

  KOKKOS_FUNCTION void read_columns(const int* cols) {
    m_cols.read(cols, [&](int k, int col) {
      m_scale[k] = inverse_power_of_two(Kokkos::sqrt(double(m_diagonal(col))));
    });
  }

  /// Row k of the lower triangle is row P[k] of A up to its diagonal, where it meets P.
  KOKKOS_FUNCTION void gather() {
    m_cols.gather([](int k) { return k + 1; }, [&](int k, int j, std::size_t entry) { set(k, j, entry); });
  }

  KOKKOS_FORCEINLINE_FUNCTION void set(int k, int j, std::size_t entry) const {
    m_system(k, j) = static_cast<Number>(Wide(m_a.values(entry)) * m_scale[k] * m_scale[j]);
  }

  KOKKOS_FUNCTION RowResult result() const {
    const DroppedPivots<Real>& dropped = *m_system.dropped;
    if (dropped.count == 0 || dropped.first > m_last) return {false, false, 0};
    const double scale = m_scale[dropped.first];
    const double diagonal = double(m_diagonal(m_cols[dropped.first])) * scale * scale;
    return {true, m_system.reciprocals[m_last] == 0, static_cast<float>(double(dropped.pivot) / diagonal)};
  }

  LaneGroup m_lane_group;
  const Matrix& m_a;
  VectorView<const real_type_t<Scalar>, Space> m_diagonal;
  int m_length;
  int m_last = 0;
  PanelCholesky<Number> m_system;
  Number* m_y;
  Number* m_x;
  double* m_scale;
  RowColumns<Scalar, Space, LaneGroup, Matrix> m_cols;
};

}  // namespace prekond::impl::fsai
