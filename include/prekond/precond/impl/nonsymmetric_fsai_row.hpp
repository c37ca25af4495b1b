// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A row of G_L and a column of G_U, over a level: gather A[P, P], factor it, solve for the last row and
/// column of its inverse.
#include <prekond/dense/panel_lu.hpp>
#include <prekond/precond/impl/fsai_row.hpp>

namespace prekond::impl::nonsymmetric_fsai {

using fsai::RowResult;

/// The row's system is R A[P, P] with powers of two R that bring each row's largest entry into [1, 2): first
/// those of A's whole rows, so that single precision overflows nowhere, then those of what P has of them.
template <class Scalar, class Real, class Space, class Level>
class Row {
 public:
  /// Of a row's workspace for up to `longest` entries.
  KOKKOS_FUNCTION static std::size_t bytes(int longest) { return Arrays(nullptr, longest).bytes; }

  KOKKOS_FUNCTION Row(const Level& level, const CsrView<Scalar, Space>& a,
                      VectorView<const double, Space> row_scale, char* base, int length)
      : m_level(level),
        m_a(a),
        m_row_scale(row_scale),
        m_length(length),
        m_arrays(base, length),
        m_system(base, length),
        m_cols(level, a, length, m_arrays.begins, m_arrays.lengths, m_arrays.cols) {}

  /// Solves on the columns cols[0 .. length), ascending.
  KOKKOS_FUNCTION RowResult solve(const int* cols, Real floor, Pivoting pivoting) const {
    m_cols.read(cols, [&](int k, int col) {
      m_arrays.scale[k] = m_row_scale(col);
      if (k == 0) *m_arrays.unbounded = 0;
    });
    m_system.clear(m_level);
    m_cols.gather([&](int) { return m_length; },
                  [&](int k, int j, std::size_t entry) {
                    m_system(k, j) = static_cast<Real>(double(m_a.values(entry)) * m_arrays.scale[k]);
                  });
    scale_rows();
    m_system.factor(m_level, floor, pivoting);
    if (pivoting == Pivoting::rows && m_system.dropped().count > 0) return dropped();
    m_system.solve_last(m_level, m_arrays.left, m_arrays.right, m_arrays.work);
    find_unbounded(floor);
    if (*m_arrays.unbounded > 0) return {true, true, last_pivot()};
    return m_system.dropped().count > 0 ? dropped() : RowResult{false, false, 0};
  }

  /// Entry k of G_L's row and of G_U's column, their last ones being 1. \pre the solve was sound, or has a
  /// last pivot
  KOKKOS_FORCEINLINE_FUNCTION double lower(int k) const {
    const int last = m_length - 1;
    return (double(m_arrays.left[k]) * m_arrays.scale[k]) /
           (double(m_arrays.left[last]) * m_arrays.scale[last]);
  }
  KOKKOS_FORCEINLINE_FUNCTION double upper(int k) const {
    return double(m_arrays.right[k]) / double(m_arrays.right[m_length - 1]);
  }

 private:
  struct Arrays {
    Real* left;
    Real* right;
    Real* work;
    double* scale;
    std::size_t* begins;
    int* lengths;
    int* cols;
    int* unbounded;
    std::size_t bytes;

    KOKKOS_FUNCTION Arrays(char* base, int length) {
      const auto order = static_cast<std::size_t>(PanelLu<Real>::padded(length));
      std::size_t end = PanelLu<Real>::bytes(length);
      left = place<Real>(base, end, order);
      right = place<Real>(base, end, order);
      work = place<Real>(base, end, order);
      scale = place<double>(base, end, order);
      begins = place<std::size_t>(base, end, order);
      lengths = place<int>(base, end, order);
      cols = place<int>(base, end, order);
      unbounded = place<int>(base, end, 1);
      bytes = end;
    }

    template <class T>
    KOKKOS_FORCEINLINE_FUNCTION static T* place(char* base, std::size_t& end, std::size_t n) {
      const std::size_t begin = end;
      end += (n * sizeof(T) + 15) / 16 * 16;
      return base ? reinterpret_cast<T*>(base + begin) : nullptr;
    }
  };

  KOKKOS_FUNCTION void scale_rows() const {
    Real* const largest = m_arrays.work;
    m_level.region([&](int lane) {
      for (int k = lane; k < m_length; k += m_level.size()) largest[k] = 0;
      for (int j = 0; j < m_length; ++j)
        for (int k = lane; k < m_length; k += m_level.size()) {
          const Real size = Kokkos::abs(m_system(k, j));
          largest[k] = size > largest[k] ? size : largest[k];
        }
      for (int k = lane; k < m_length; k += m_level.size()) {
        const bool usable = largest[k] > 0 && Kokkos::isfinite(largest[k]);
        largest[k] = usable ? inverse_power_of_two(largest[k]) : Real(1);
        m_arrays.scale[k] *= double(largest[k]);
      }
      for (int j = 0; j < m_length; ++j)
        for (int k = lane; k < m_length; k += m_level.size()) m_system(k, j) *= largest[k];
    });
  }

  /// Entries so large beside the last one that scaling that to 1 leaves no digit of them.
  KOKKOS_FUNCTION void find_unbounded(Real floor) const {
    const int last = m_length - 1;
    m_level.region([&](int lane) {
      const Real left = Kokkos::abs(m_arrays.left[last]);
      const Real right = Kokkos::abs(m_arrays.right[last]) * m_system.largest(last);
      for (int k = lane; k < m_length; k += m_level.size()) {
        const bool bounded = Kokkos::abs(m_arrays.left[k]) * floor < left &&
                             Kokkos::abs(m_arrays.right[k]) * m_system.largest(k) * floor < right;
        if (!bounded) Kokkos::atomic_inc(m_arrays.unbounded);
      }
    });
  }

  KOKKOS_FUNCTION RowResult dropped() const {
    const DroppedPivots<Real>& dropped = m_system.dropped();
    const Real largest = m_system.largest(dropped.first);
    return {true, m_system.is_dropped(m_length - 1),
            largest > 0 ? static_cast<float>(dropped.pivot / largest) : 0.0f};
  }
  KOKKOS_FUNCTION float last_pivot() const {
    const DroppedPivots<Real>& first = m_system.dropped();
    if (first.count > 0) return dropped().pivot;
    return static_cast<float>(1 / (m_arrays.right[m_length - 1] * m_system.largest(m_length - 1)));
  }

  Level m_level;
  const CsrView<Scalar, Space>& m_a;
  VectorView<const double, Space> m_row_scale;
  int m_length;
  Arrays m_arrays;
  PanelLu<Real> m_system;
  fsai::RowColumns<Scalar, Space, Level> m_cols;
};

}  // namespace prekond::impl::nonsymmetric_fsai
