// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/scalar.hpp>
#include "core/lane_group.hpp"

#include <cstddef>

namespace prekond::impl::block_ilu {

/// The inverse of a b x b block by a level: Gauss-Jordan elimination with pivots from the largest entries of
/// the rows that had none. No rows are exchanged: the k-th pivot's row is noted, and the result is read out
/// by those. Each step reads one copy of the block and writes the other, so that one barrier does; every lane
/// finds the pivot for itself.
///
/// The rows are scaled by powers of two before, to a largest entry in [1, 2). A pivot is too small where it
/// is not above `floor` times the largest entry of its column then, which depends neither on the rows'
/// scales nor on the columns'. Storage: columns, leading dimension b. Cost: 2 b^3 operations, b + 3 barriers.
template <class Scalar, int Size>
class BlockInverse {
 public:
  KOKKOS_FUNCTION static constexpr std::size_t bytes(int b) {
    const auto m = static_cast<std::size_t>(b);
    return ((2 * m * m + 2 * m + 1) * sizeof(Scalar) + (m + 1) * sizeof(int) + 15) / 16 * 16;
  }
  KOKKOS_FUNCTION BlockInverse(char* base, int b) : m_size(b) {
    m_from = reinterpret_cast<Scalar*>(base);
    m_to = m_from + order() * order();
    m_row_scales = m_to + order() * order();
    m_largest = m_row_scales + order();
    m_bad_pivot = m_largest + order();
    m_rows = reinterpret_cast<int*>(m_bad_pivot + 1);
    m_failed = m_rows + order();
  }

  KOKKOS_FORCEINLINE_FUNCTION int order() const { return Size > 0 ? Size : m_size; }
  /// Entry (p, q) of the inverse at p + q b.
  KOKKOS_FORCEINLINE_FUNCTION const Scalar* result() const { return m_to; }
  /// Of a block that was singular: the column whose pivot was too small, and that relative to the column.
  KOKKOS_FORCEINLINE_FUNCTION int failed_column() const { return *m_failed; }
  KOKKOS_FORCEINLINE_FUNCTION float bad_pivot() const { return static_cast<float>(*m_bad_pivot); }

  /// \returns whether it was regular, known to all lanes
  template <class LaneGroup>
  KOKKOS_FUNCTION bool invert(const LaneGroup& lane_group, const Scalar* block, Scalar floor) {
    const int b = order();
    lane_group.region([&](int lane) {
      if (lane == 0) *m_failed = -1;
      for (int p = lane; p < b; p += lane_group.size()) m_row_scales[p] = row_scale(block, p);
    });
    lane_group.region([&](int lane) {
      for (int e = lane; e < b * b; e += lane_group.size()) m_from[e] = block[e] * m_row_scales[e % b];
      for (int q = lane; q < b; q += lane_group.size()) {
        Scalar most = 0;
        for (int p = 0; p < b; ++p) most = larger(most, Kokkos::abs(block[q * b + p] * m_row_scales[p]));
        m_largest[q] = most;
      }
    });
    for (int k = 0; k < b; ++k) {
      lane_group.region([&](int lane) { eliminate(lane, lane_group.size(), k, floor); });
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
  KOKKOS_FORCEINLINE_FUNCTION static Scalar larger(Scalar a, Scalar b) { return b > a ? b : a; }

  /// 2^-e for the largest entry m 2^e, 1 <= m < 2; 1 of a row without a finite nonzero entry.
  KOKKOS_FUNCTION Scalar row_scale(const Scalar* block, int p) const {
    Scalar most = 0;
    for (int q = 0; q < order(); ++q) {
      const Scalar size = Kokkos::abs(block[q * order() + p]);
      if (is_finite(size)) most = larger(most, size);
    }
    if (most == 0) return Scalar(1);
    // A power of two times one between 1 and 2 has the exponent alone: the rest of its digits is cut.
    const Scalar scale = Scalar(1) / power_below(most);
    return is_finite(scale) && scale > 0 ? scale : Scalar(1);
  }
  KOKKOS_FORCEINLINE_FUNCTION static Scalar power_below(Scalar x) {
    if constexpr (sizeof(Scalar) == 4)
      return Kokkos::bit_cast<float>(Kokkos::bit_cast<unsigned>(x) & 0xff800000u);
    else
      return Kokkos::bit_cast<double>(Kokkos::bit_cast<unsigned long long>(x) & 0xfff0000000000000ull);
  }

  KOKKOS_FUNCTION void eliminate(int lane, int lanes, int k, Scalar floor) const {
    const int b = order();
    unsigned used = 0;
    for (int m = 0; m < k; ++m) used |= 1u << m_rows[m];
    const Scalar* const column = m_from + k * b;
    int row = -1;
    Scalar size = -1;  // what is not a number is never taken
    for (int p = 0; p < b; ++p) {
      const Scalar own = Kokkos::abs(column[p]);
      if ((used >> p & 1u) == 0 && (own > size || row < 0)) {
        row = p;
        size = own;
      }
    }
    const Scalar pivot = column[row], inverse = Scalar(1) / pivot;
    const bool sound = size > floor * m_largest[k] && is_finite(pivot) && is_finite(inverse);
    if (lane == 0) {
      m_rows[k] = row;
      if (!sound && *m_failed < 0) {
        *m_failed = k;
        *m_bad_pivot = m_largest[k] > 0 ? size / m_largest[k] : Scalar(0);
      }
    }
    for (int e = lane; e < b * b; e += lanes) {
      const int p = e % b, q = e / b;
      const Scalar of_pivot_row = q == k ? inverse : m_from[q * b + row] * inverse;
      if (p == row)
        m_to[e] = of_pivot_row;
      else
        m_to[e] = (q == k ? Scalar(0) : m_from[e]) - column[p] * of_pivot_row;
    }
  }

  int m_size;
  Scalar *m_from, *m_to, *m_row_scales, *m_largest, *m_bad_pivot;
  int *m_rows, *m_failed;
};

}  // namespace prekond::impl::block_ilu
