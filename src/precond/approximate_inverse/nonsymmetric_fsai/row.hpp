// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A row of G_L and a column of G_U, over a lane group: factor A[P, P], solve for the last row and column of
/// its inverse.
#include "precond/approximate_inverse/row_lu/lu_system.hpp"

namespace prekond::impl::nonsymmetric_fsai {

using fsai::RowResult;

template <class Scalar, class Real, class Space, class LaneGroup>
class Row {
 public:
  /// The size of a row's workspace for up to `longest` entries.
  KOKKOS_FUNCTION static std::size_t bytes(int longest) { return Arrays(nullptr, longest).bytes; }

  KOKKOS_FUNCTION Row(const LaneGroup& lane_group, const CsrView<Scalar, Space>& a,
                      VectorView<const double, Space> row_scale, char* base, int length)
      : m_lane_group(lane_group),
        m_length(length),
        m_arrays(base, length),
        m_system(lane_group, a, row_scale, base, length) {}

  /// Solves on the columns cols[0 .. length), ascending.
  KOKKOS_FUNCTION RowResult solve(const int* cols, Real floor, Pivoting pivoting) const {
    const PanelLu<Real>& lu = m_system.lu();
    m_system.factor(cols, floor, pivoting);
    if (pivoting == Pivoting::rows && lu.dropped().count > 0) return dropped();
    lu.solve_last(m_lane_group, m_arrays.left, m_arrays.right, m_system.work());
    find_unbounded(floor);
    if (*m_system.counter() > 0) return {true, true, last_pivot()};
    return lu.dropped().count > 0 ? dropped() : RowResult{false, false, 0};
  }

  /// Entry k of G_L's row and of G_U's column, their last ones being 1. \pre the solve was sound, or has a
  /// last pivot
  KOKKOS_FORCEINLINE_FUNCTION double lower(int k) const {
    const int last = m_length - 1;
    return (double(m_arrays.left[k]) * m_system.scale(k)) /
           (double(m_arrays.left[last]) * m_system.scale(last));
  }
  KOKKOS_FORCEINLINE_FUNCTION double upper(int k) const {
    return double(m_arrays.right[k]) / double(m_arrays.right[m_length - 1]);
  }

 private:
  using System = lu::System<Scalar, Real, Space, LaneGroup>;

  struct Arrays {
    Real* left;
    Real* right;
    std::size_t bytes;

    KOKKOS_FUNCTION Arrays(char* base, int length) {
      const auto order = static_cast<std::size_t>(PanelLu<Real>::padded(length));
      std::size_t end = System::bytes(length);
      left = place_array<Real>(base, end, order);
      right = place_array<Real>(base, end, order);
      bytes = end;
    }
  };

  /// Counts entries so much larger than the last one that no digit of them is left once that is scaled to 1.
  KOKKOS_FUNCTION void find_unbounded(Real floor) const {
    const int last = m_length - 1;
    const PanelLu<Real>& lu = m_system.lu();
    m_lane_group.region([&](int lane) {
      const Real left = Kokkos::abs(m_arrays.left[last]);
      const Real right = Kokkos::abs(m_arrays.right[last]) * lu.largest(last);
      for (int k = lane; k < m_length; k += m_lane_group.size()) {
        const bool bounded = Kokkos::abs(m_arrays.left[k]) * floor < left &&
                             Kokkos::abs(m_arrays.right[k]) * lu.largest(k) * floor < right;
        if (!bounded) Kokkos::atomic_inc(m_system.counter());
      }
    });
  }

  KOKKOS_FUNCTION RowResult dropped() const { return m_system.dropped(m_length - 1); }
  KOKKOS_FUNCTION float last_pivot() const {
    const PanelLu<Real>& lu = m_system.lu();
    if (lu.dropped().count > 0) return dropped().pivot;
    return static_cast<float>(1 / (m_arrays.right[m_length - 1] * lu.largest(m_length - 1)));
  }

  LaneGroup m_lane_group;
  int m_length;
  Arrays m_arrays;
  System m_system;
};

}  // namespace prekond::impl::nonsymmetric_fsai
