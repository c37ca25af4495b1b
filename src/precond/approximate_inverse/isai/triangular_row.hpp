// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A row of the ISAI of a triangle, over a lane group: by substitution.
#include "precond/approximate_inverse/isai/all_finite.hpp"
#include "precond/approximate_inverse/row_lu/lu_system.hpp"

namespace prekond::impl::isai {

using fsai::RowResult;

/// A triangle of A.
struct Triangle {
  bool upper;
  bool unit_diagonal;
};

/// The row of the diagonal of T[P, P]^-1, for a triangle T: m^T T[P, P] = e^T, from the diagonal outwards.
/// Once m_k is known, it times row P[k] of T is subtracted from the rest: T's sparse rows are read once, and
/// nothing dense is formed. All numbers are doubles: that costs nothing compared with the reading.
template <class Scalar, class Space, class LaneGroup>
class TriangularRow {
 public:
  /// The size of a row's workspace for up to `longest` entries.
  KOKKOS_FUNCTION static std::size_t bytes(int longest) { return Arrays(nullptr, longest).bytes; }

  /// `places` has num_rows ints, in which a single lane looks columns up; they begin as 0 and keep the places
  /// of rows before. Several lanes search instead.
  KOKKOS_FUNCTION TriangularRow(const LaneGroup& lane_group, const CsrView<Scalar, Space>& a,
                                Triangle triangle, char* base, int length, int* places)
      : m_lane_group(lane_group),
        m_a(a),
        m_triangle(triangle),
        m_length(length),
        m_arrays(base, length),
        m_places(places) {}

  /// Solves on the columns cols[0 .. length), ascending, of which the row's own is the last, or the first.
  KOKKOS_FUNCTION RowResult solve(const int* cols) const {
    read(cols);
    for (int step = 0; step + 1 < m_length; ++step) subtract(m_triangle.upper ? step : m_length - 1 - step);
    const bool dropped = m_arrays.counters[0] > 0;
    const bool finite =
        all_finite<Scalar>(m_lane_group, m_length, m_arrays.counters + 1, [&](int k) { return value(k); });
    return {dropped || !finite, m_arrays.pivots[own()] == 0 || !finite, 0};
  }

  /// Entry k of the row, 0 where the diagonal entry of its column is no pivot.
  KOKKOS_FORCEINLINE_FUNCTION double value(int k) const {
    const double pivot = m_arrays.pivots[k];
    return pivot == 0 ? 0 : m_arrays.left[k] / pivot;
  }
  /// The entry that replaces a row without a solution.
  KOKKOS_FORCEINLINE_FUNCTION double diagonal() const {
    const double pivot = m_arrays.pivots[own()];
    return pivot == 0 ? 1 : 1 / pivot;
  }

 private:
  struct Arrays {
    double* left;    ///< of the right side
    double* pivots;  ///< T's diagonal entries; 0: not usable
    std::size_t* begins;
    int* lengths;
    int* cols;
    int* counters;  ///< of bad pivots, of values that are not finite
    std::size_t bytes;

    KOKKOS_FUNCTION Arrays(char* base, int length) {
      const auto n = static_cast<std::size_t>(length);
      std::size_t end = 0;
      left = place_array<double>(base, end, n);
      pivots = place_array<double>(base, end, n);
      begins = place_array<std::size_t>(base, end, n);
      lengths = place_array<int>(base, end, n);
      cols = place_array<int>(base, end, n);
      counters = place_array<int>(base, end, 2);
      bytes = end;
    }
  };

  static constexpr bool by_places = LaneGroup::width == 1;

  KOKKOS_FORCEINLINE_FUNCTION int own() const { return m_triangle.upper ? 0 : m_length - 1; }

  /// Reads, for each column, the diagonal entry of T's row and the place of its other entries.
  KOKKOS_FUNCTION void read(const int* cols) const {
    m_lane_group.once([&] { m_arrays.counters[0] = m_arrays.counters[1] = 0; });
    m_lane_group.region([&](int lane) {
      for (int k = lane; k < m_length; k += m_lane_group.size()) {
        m_arrays.cols[k] = cols[k];
        if constexpr (by_places) m_places[cols[k]] = k;
        m_arrays.left[k] = k == own() ? 1 : 0;
        m_arrays.pivots[k] = read_row(k, cols[k]);
        if (m_arrays.pivots[k] == 0) Kokkos::atomic_inc(m_arrays.counters);
      }
    });
  }

  KOKKOS_FORCEINLINE_FUNCTION double read_row(int k, int row) const {
    const std::size_t begin = m_a.row_ptrs(row), end = m_a.row_ptrs(row + 1);
    const std::size_t place = diagonal_place(begin, end, row);
    const bool found = place < end && m_a.col_idxs(place) == row;
    const std::size_t first = m_triangle.upper ? place + found : begin;
    m_arrays.begins[k] = first;
    m_arrays.lengths[k] = static_cast<int>((m_triangle.upper ? end : place) - first);
    if (m_triangle.unit_diagonal) return 1;
    const double pivot = found ? double(m_a.values(place)) : 0;
    return Kokkos::isfinite(pivot) && Kokkos::isfinite(1 / pivot) ? pivot : 0;
  }

  /// The first entry of a row with a column >= `row`: in a triangle one of its ends.
  KOKKOS_FORCEINLINE_FUNCTION std::size_t diagonal_place(std::size_t begin, std::size_t end, int row) const {
    if (begin == end || m_a.col_idxs(begin) >= row) return begin;
    if (m_a.col_idxs(end - 1) <= row) return m_a.col_idxs(end - 1) < row ? end : end - 1;
    while (begin < end) {
      const std::size_t middle = begin + (end - begin) / 2;
      if (m_a.col_idxs(middle) < row)
        begin = middle + 1;
      else
        end = middle;
    }
    return begin;
  }

  /// left_P -= m_k T[P[k], P], without T's diagonal entry.
  KOKKOS_FUNCTION void subtract(int k) const {
    m_lane_group.region([&](int lane) {
      const double m = value(k);
      if (m == 0) return;
      const std::size_t begin = m_arrays.begins[k];
      const int length = m_arrays.lengths[k];
      const int end = m_triangle.upper ? m_length : k, last = m_arrays.cols[end - 1];
      int from = m_triangle.upper ? k + 1 : 0;
      if (length / 32 >= end - from) return search_columns(from + lane, end, begin, length, m);
      for (int e = lane; e < length && from < end; e += m_lane_group.size()) {
        const int col = m_a.col_idxs(begin + static_cast<std::size_t>(e));
        if (col > last) return;
        const int place = by_places ? m_places[col] : find_from(from, end, col);
        if (!by_places) from = place;
        if (place < m_length && m_arrays.cols[place] == col)
          m_arrays.left[place] -= m * double(m_a.values(begin + static_cast<std::size_t>(e)));
      }
    });
  }

  /// The same where T's row is much longer than the part of P it changes: each column there is looked up in
  /// it.
  KOKKOS_FORCEINLINE_FUNCTION void search_columns(int first, int end, std::size_t row_begin, int length,
                                                  double m) const {
    const std::size_t row_end = row_begin + static_cast<std::size_t>(length);
    for (int place = first; place < end; place += m_lane_group.size()) {
      const int col = m_arrays.cols[place];
      std::size_t begin = row_begin, behind = row_end;
      while (begin < behind) {
        const std::size_t middle = begin + (behind - begin) / 2;
        if (m_a.col_idxs(middle) < col)
          begin = middle + 1;
        else
          behind = middle;
      }
      if (begin < row_end && m_a.col_idxs(begin) == col)
        m_arrays.left[place] -= m * double(m_a.values(begin));
    }
  }

  /// The first place from `begin` on with a column >= col. \pre there is one
  KOKKOS_FORCEINLINE_FUNCTION int find_from(int begin, int end, int col) const {
    --end;
    while (begin < end) {
      const int middle = (begin + end) / 2;
      if (m_arrays.cols[middle] < col)
        begin = middle + 1;
      else
        end = middle;
    }
    return begin;
  }

  LaneGroup m_lane_group;
  const CsrView<Scalar, Space>& m_a;
  Triangle m_triangle;
  int m_length;
  Arrays m_arrays;
  int* m_places;
};

}  // namespace prekond::impl::isai
