// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A row of the ISAI of a general matrix, over a lane group: by LU.
#include "precond/approximate_inverse/isai/all_finite.hpp"
#include "precond/approximate_inverse/row_lu/lu_system.hpp"

namespace prekond::impl::isai {

using fsai::RowResult;

/// The row of index `own` of A[P, P]^-1: x^T R A[P, P] = e_own^T and m = R x.
template <class Scalar, class Real, class Space, class LaneGroup, class Matrix = CsrView<Scalar, Space>>
class GeneralRow {
 public:
  /// The size of a row's workspace for up to `longest` entries.
  KOKKOS_FUNCTION static std::size_t bytes(int longest) { return Arrays(nullptr, longest).bytes; }

  KOKKOS_FUNCTION GeneralRow(const LaneGroup& lane_group, const Matrix& a,
                             VectorView<const double, Space> row_scale, char* base, int length)
      : m_lane_group(lane_group),
        m_length(length),
        m_arrays(base, length),
        m_system(lane_group, a, row_scale, base, length) {}

  /// Solves on the columns cols[0 .. length), ascending, for the row of column cols[own].
  KOKKOS_FUNCTION RowResult solve(const int* cols, int own, Real floor, Pivoting pivoting) const {
    factor(cols, floor, pivoting);
    return solve_factored(own, pivoting);
  }

  /// The two steps of solve, for several rows with the same columns.
  KOKKOS_FUNCTION void factor(const int* cols, Real floor, Pivoting pivoting) const {
    m_system.factor(cols, floor, pivoting);
  }
  KOKKOS_FUNCTION RowResult solve_factored(int own, Pivoting pivoting) const {
    const PanelLu<Real>& lu = m_system.lu();
    const bool dropped = lu.dropped().count > 0;
    if (dropped && (pivoting == Pivoting::rows || lu.is_dropped(own))) return m_system.dropped(own);
    lu.solve_transposed(m_lane_group, own, m_arrays.x, m_arrays.y, m_system.work());
    const bool finite =
        all_finite<Scalar>(m_lane_group, m_length, m_system.counter(), [&](int k) { return value(k); });
    RowResult result = dropped ? m_system.dropped(own) : RowResult{!finite, false, 0};
    result.last = !finite;
    return result;
  }

  /// Before the next row.
  KOKKOS_FUNCTION void forget_solution() const {
    m_lane_group.once([&] { *m_system.counter() = 0; });
  }

  /// Entry k of the row. \pre the solve did not end with `last`
  KOKKOS_FORCEINLINE_FUNCTION double value(int k) const { return double(m_arrays.x[k]) * m_system.scale(k); }

 private:
  struct Arrays {
    Real* x;
    Real* y;
    std::size_t bytes;

    KOKKOS_FUNCTION Arrays(char* base, int length) {
      const auto order = static_cast<std::size_t>(PanelLu<Real>::padded(length));
      std::size_t end = lu::System<Scalar, Real, Space, LaneGroup, Matrix>::bytes(length);
      x = place_array<Real>(base, end, order);
      y = place_array<Real>(base, end, order);
      bytes = end;
    }
  };

  LaneGroup m_lane_group;
  int m_length;
  Arrays m_arrays;
  lu::System<Scalar, Real, Space, LaneGroup, Matrix> m_system;
};

}  // namespace prekond::impl::isai
