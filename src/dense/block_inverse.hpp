// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/scalar.hpp>
#include "core/lane_group.hpp"
#include "dense/place_array.hpp"

#include <cstddef>

namespace prekond::impl {

/// The inverse of a small dense b x b block, b <= 32, by a lane group. Larger blocks are PanelInverse's.
///
/// Gauss-Jordan elimination with pivots from the largest entries of the rows that had none. No rows are
/// exchanged: the k-th pivot's row is noted, and the result is read out by these numbers. Each step reads one
/// copy of the block and writes the other, so that one barrier a step is enough; every lane finds the pivot
/// for itself.
///
/// The rows are first scaled by powers of two, to a largest entry in [1, 2). A pivot is too small where it is
/// not above `floor` times the largest entry of its column after that; the rule depends neither on the scales
/// of the rows nor on those of the columns.
///
/// Storage: columns, leading dimension b. `Size` is b, or 0 where b is known at run time only.
/// Cost: 2 b^3 operations, b + 3 barriers. Memory: bytes(b).
template <class Scalar, int Size>
class BlockInverse {
 public:
  using Real = real_type_t<Scalar>;

  /// Bytes of the workspace, a multiple of 16.
  KOKKOS_FUNCTION static constexpr std::size_t bytes(int b) {
    const auto m = static_cast<std::size_t>(b);
    return (2 * m * m * sizeof(Scalar) + (2 * m + 1) * sizeof(Real) + (m + 1) * sizeof(int) + 15) / 16 * 16;
  }
  /// \pre `base` is aligned to 16 bytes
  KOKKOS_FUNCTION BlockInverse(char* base, int b) : m_size(b) {
    m_from = reinterpret_cast<Scalar*>(base);
    m_to = m_from + order() * order();
    m_row_scales = reinterpret_cast<Real*>(m_to + order() * order());
    m_largest = m_row_scales + order();
    m_bad_pivot = m_largest + order();
    m_rows = reinterpret_cast<int*>(m_bad_pivot + 1);
    m_failed = m_rows + order();
  }

  KOKKOS_FORCEINLINE_FUNCTION int order() const { return Size > 0 ? Size : m_size; }
  /// Room for the block, where the caller has none of its own.
  KOKKOS_FORCEINLINE_FUNCTION Scalar* input() const { return m_to; }
  /// Entry (p, q) of the inverse at p + q b, after `invert`.
  KOKKOS_FORCEINLINE_FUNCTION const Scalar* result() const { return m_to; }
  /// The column whose pivot was too small, after `invert` of a singular block.
  KOKKOS_FORCEINLINE_FUNCTION int failed_column() const { return *m_failed; }
  /// That pivot's magnitude, relative to the largest entry of its column.
  KOKKOS_FORCEINLINE_FUNCTION float bad_pivot() const { return static_cast<float>(*m_bad_pivot); }

  /// \returns whether the block was regular, known to all lanes
  template <class LaneGroup>
  KOKKOS_FUNCTION bool invert(const LaneGroup& lane_group, const Scalar* block, Real floor) {
    const int b = order();
    lane_group.region([&](int lane) {
      if (lane == 0) *m_failed = -1;
      for (int p = lane; p < b; p += lane_group.size()) m_row_scales[p] = row_scale(block, p);
    });
    lane_group.region([&](int lane) {
      for (int e = lane; e < b * b; e += lane_group.size()) m_from[e] = block[e] * m_row_scales[e % b];
      for (int q = lane; q < b; q += lane_group.size()) {
        Real most = 0;
        for (int p = 0; p < b; ++p) most = larger(most, Kokkos::abs(block[q * b + p] * m_row_scales[p]));
        m_largest[q] = most;
      }
    });
    for (int k = 0; k < b; ++k) {
      eliminate(lane_group, k, floor);
      Scalar* const written = m_to;
      m_to = m_from;
      m_from = written;
    }
    const bool regular = *m_failed < 0;
    // A^-1 (k, r_m) is at (r_k, m), r the pivots' rows.
    lane_group.region([&](int lane) {
      if (regular)
        for (int e = lane; e < b * b; e += lane_group.size()) {
          const int k = e % b, m = e / b;
          m_to[m_rows[m] * b + k] = m_from[m * b + m_rows[k]] * m_row_scales[m_rows[m]];
        }
    });
    return regular;
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION static Real larger(Real a, Real b) { return b > a ? b : a; }

  /// 2^-e for the largest entry m 2^e, 1 <= m < 2; 1 for a row without a finite nonzero entry.
  KOKKOS_FUNCTION Real row_scale(const Scalar* block, int p) const {
    Real most = 0;
    for (int q = 0; q < order(); ++q) {
      const Real size = Kokkos::abs(block[q * order() + p]);
      if (is_finite(size)) most = larger(most, size);
    }
    if (most == 0) return Real(1);
    const Real scale = Real(1) / power_below(most);
    return is_finite(scale) && scale > 0 ? scale : Real(1);
  }
  /// The sign and the exponent of x; the other digits are cut.
  KOKKOS_FORCEINLINE_FUNCTION static Real power_below(Real x) {
    if constexpr (sizeof(Real) == 4)
      return Kokkos::bit_cast<float>(Kokkos::bit_cast<unsigned>(x) & 0xff800000u);
    else
      return Kokkos::bit_cast<double>(Kokkos::bit_cast<unsigned long long>(x) & 0xfff0000000000000ull);
  }

  /// The largest entry of column k in a row without a pivot; the first of these rows where all are NaN.
  KOKKOS_FORCEINLINE_FUNCTION int pivot_row(int k, Real& size) const {
    unsigned used = 0;
    for (int m = 0; m < k; ++m) used |= 1u << m_rows[m];
    const Scalar* const column = m_from + k * order();
    int row = -1;
    size = -1;
    for (int p = 0; p < order(); ++p) {
      const Real own = Kokkos::abs(column[p]);
      if ((used >> p & 1u) == 0 && (own > size || row < 0)) {
        row = p;
        size = own;
      }
    }
    return row;
  }

  /// Step k, from one copy of the block to the other.
  template <class LaneGroup>
  KOKKOS_FUNCTION void eliminate(const LaneGroup& lane_group, int k, Real floor) const {
    const int b = order();
    lane_group.region([&](int lane) {
      Real size;
      const int row = pivot_row(k, size);
      const Scalar* const column = m_from + k * b;
      const Scalar pivot = column[row], inverse = Scalar(1) / pivot;
      const bool sound = size > floor * m_largest[k] && is_finite(pivot) && is_finite(inverse);
      if (lane == 0) {
        m_rows[k] = row;
        if (!sound && *m_failed < 0) {
          *m_failed = k;
          *m_bad_pivot = m_largest[k] > 0 ? size / m_largest[k] : Real(0);
        }
      }
      const auto entry = [&](int p, int q) {
        const int e = q * b + p;
        const Scalar of_pivot_row = q == k ? inverse : m_from[q * b + row] * inverse;
        if (p == row)
          m_to[e] = of_pivot_row;
        else
          m_to[e] = (q == k ? Scalar(0) : m_from[e]) - column[p] * of_pivot_row;
      };
      if constexpr (LaneGroup::width == 1) {
        for (int q = 0; q < b; ++q)
          for (int p = 0; p < b; ++p) entry(p, q);
      } else {
        for (int e = lane; e < b * b; e += lane_group.size()) entry(e % b, e / b);
      }
    });
  }

  int m_size;
  Scalar *m_from, *m_to;
  Real *m_row_scales, *m_largest, *m_bad_pivot;
  int *m_rows, *m_failed;
};

}  // namespace prekond::impl
