// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The dense system of a general matrix's row, over a lane group: gather A[P, P], scale its rows, factor it.
#include "dense/panel_lu.hpp"
#include "dense/place_array.hpp"

#include "precond/approximate_inverse/fsai/row.hpp"
#include "precond/scaling/power_of_two.hpp"

namespace prekond::impl::lu {

using fsai::RowResult;

/// R A[P, P] with powers of two R that bring each row's largest entry into [1, 2): first those of A's whole
/// rows, so that single precision overflows nowhere, then those of what P has of them.
/// A matrix by blocks takes whole blocks of columns.
template <class Scalar, class Real, class Space, class LaneGroup, class Matrix = CsrView<Scalar, Space>>
class System {
 public:
  /// The size of its workspace for up to `length` columns, a multiple of 16.
  KOKKOS_FUNCTION static std::size_t bytes(int length) { return Arrays(nullptr, length).bytes; }

  KOKKOS_FUNCTION System(const LaneGroup& lane_group, const Matrix& a,
                         VectorView<const double, Space> row_scale, char* base, int length)
      : m_lane_group(lane_group),
        m_row_scale(row_scale),
        m_a(a),
        m_length(length),
        m_arrays(base, length),
        m_lu(base, length),
        m_cols(lane_group, a, length, m_arrays.begins, m_arrays.lengths, m_arrays.cols) {}

  /// Factors the system on the columns cols[0 .. length), ascending. Sets the counter to 0.
  KOKKOS_FUNCTION void factor(const int* cols, Real floor, Pivoting pivoting) const {
    m_cols.read(cols, [&](int k, int col) {
      m_arrays.scale[k] = m_row_scale(col);
      if (k == 0) *m_arrays.counter = 0;
    });
    m_lu.clear(m_lane_group);
    m_cols.gather([&](int) { return m_length; },
                  [&](int k, int j, std::size_t entry) {
                    m_lu(k, j) = static_cast<Real>(double(m_a.values(entry)) * m_arrays.scale[k]);
                  });
    scale_rows();
    m_lu.factor(m_lane_group, floor, pivoting);
  }

  KOKKOS_FORCEINLINE_FUNCTION const PanelLu<Real>& lu() const { return m_lu; }
  KOKKOS_FORCEINLINE_FUNCTION double scale(int k) const { return m_arrays.scale[k]; }  ///< R_kk
  /// Working memory of the padded order.
  KOKKOS_FORCEINLINE_FUNCTION Real* work() const { return m_arrays.work; }
  /// Counts the faults that the lanes find in a solution.
  KOKKOS_FORCEINLINE_FUNCTION int* counter() const { return m_arrays.counter; }

  /// The result of the row of index `own` where pivots were dropped.
  KOKKOS_FUNCTION RowResult dropped(int own) const {
    const DroppedPivots<Real>& dropped = m_lu.dropped();
    const Real largest = m_lu.largest(dropped.first);
    return {true, m_lu.is_dropped(own), largest > 0 ? static_cast<float>(dropped.pivot / largest) : 0.0f};
  }

 private:
  struct Arrays {
    Real* work;
    double* scale;
    std::size_t* begins;
    int* lengths;
    int* cols;
    int* counter;
    std::size_t bytes;

    KOKKOS_FUNCTION Arrays(char* base, int length) {
      const auto order = static_cast<std::size_t>(PanelLu<Real>::padded(length));
      std::size_t end = PanelLu<Real>::bytes(length);
      work = place_array<Real>(base, end, order);
      scale = place_array<double>(base, end, order);
      begins = place_array<std::size_t>(base, end, order);
      lengths = place_array<int>(base, end, order);
      cols = place_array<int>(base, end, order);
      counter = place_array<int>(base, end, 1);
      bytes = end;
    }
  };

  KOKKOS_FUNCTION void scale_rows() const {
    Real* const largest = m_arrays.work;
    m_lane_group.region([&](int lane) {
      for (int k = lane; k < m_length; k += m_lane_group.size()) largest[k] = 0;
      for (int j = 0; j < m_length; ++j)
        for (int k = lane; k < m_length; k += m_lane_group.size()) {
          const Real size = Kokkos::abs(m_lu(k, j));
          largest[k] = size > largest[k] ? size : largest[k];
        }
      for (int k = lane; k < m_length; k += m_lane_group.size()) {
        const bool usable = largest[k] > 0 && Kokkos::isfinite(largest[k]);
        largest[k] = usable ? inverse_power_of_two(largest[k]) : Real(1);
        m_arrays.scale[k] *= double(largest[k]);
      }
      for (int j = 0; j < m_length; ++j)
        for (int k = lane; k < m_length; k += m_lane_group.size()) m_lu(k, j) *= largest[k];
    });
  }

  LaneGroup m_lane_group;
  VectorView<const double, Space> m_row_scale;
  const Matrix& m_a;
  int m_length;
  Arrays m_arrays;
  PanelLu<Real> m_lu;
  fsai::RowColumns<Scalar, Space, LaneGroup, Matrix> m_cols;
};

}  // namespace prekond::impl::lu
