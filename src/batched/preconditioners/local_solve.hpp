// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/scalar.hpp>

#include "batched/lane_group.hpp"

#include <cstdint>

namespace prekond::impl::batched {

/// The place of `col` among ascending columns; -1 where it is not one of them.
KOKKOS_FORCEINLINE_FUNCTION int place_among(const int* cols, int count, int col) {
  int begin = 0, end = count;
  while (begin < end) {
    const int middle = (begin + end) / 2;
    if (cols[middle] < col)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin < count && cols[begin] == col ? begin : -1;
}

/// A small dense system for the lanes of a vector: k x k by columns, then the right-hand side, then the
/// pivots.
template <class Scalar>
struct LocalSystem {
  using Real = real_type_t<Scalar>;
  Scalar* data;
  int k;

  KOKKOS_FUNCTION static constexpr std::int64_t length(std::int64_t k) { return k * (k + 2); }
  KOKKOS_FORCEINLINE_FUNCTION Scalar* column(int j) const { return data + std::int64_t(j) * k; }
  KOKKOS_FORCEINLINE_FUNCTION Scalar* solution() const { return column(k); }
  KOKKOS_FORCEINLINE_FUNCTION Scalar* pivots() const { return column(k + 1); }

  /// Gaussian elimination with row exchanges; a lane has whole columns, so that a step has one barrier, and
  /// two with the substitution. Returns false where a pivot is zero or a number is not finite.
  template <class Vector>
  KOKKOS_FUNCTION bool solve(const Vector& vector) const {
    for (int c = 0; c < k; ++c) {
      // No lane writes to column c any more.
      const Scalar* own = column(c);
      int row = c;
      Real largest = Kokkos::abs(own[c]);
      for (int i = c + 1; i < k; ++i) {
        const Real size = Kokkos::abs(own[i]);
        const bool larger = size > largest || size != size;
        largest = larger ? size : largest;
        row = larger ? i : row;
      }
      const Scalar pivot = own[row], inverse = Scalar(1) / pivot;
      if (pivot == Scalar(0) || !is_finite(pivot) || !is_finite(inverse)) return false;
      vector.region([&](int lane) {
        if (lane == 0) pivots()[c] = inverse;
        for (int j = c + 1 + lane; j <= k; j += vector.size()) {
          Scalar* other = column(j);
          const Scalar moved = other[row];
          other[row] = other[c];
          other[c] = moved;
          const Scalar factor = moved * inverse;
          for (int i = c + 1; i < k; ++i) other[i] -= own[i == row ? c : i] * factor;
        }
      });
    }
    for (int c = k - 1; c >= 0; --c) {
      const Scalar value = solution()[c] * pivots()[c];
      if (!is_finite(value)) return false;
      vector.region([&](int lane) {
        const Scalar* own = column(c);
        for (int i = lane; i < c; i += vector.size()) solution()[i] -= own[i] * value;
      });
    }
    vector.region([&](int lane) {
      for (int i = lane; i < k; i += vector.size()) solution()[i] *= pivots()[i];
    });
    return true;
  }
};

/// The system m A(J, J) = e_i(J) for a row m, J ascending: column q is row J(q) of A, on J.
template <class Vector, class System, class Scalar>
KOKKOS_FUNCTION void load_local(const Vector& vector, const System& a, const int* cols, int i,
                                const LocalSystem<Scalar>& local) {
  vector.region([&](int lane) {
    for (int q = lane; q < local.k; q += vector.size()) {
      Scalar* column = local.column(q);
      for (int p = 0; p < local.k; ++p) column[p] = Scalar(0);
      local.solution()[q] = Scalar(cols[q] == i ? 1 : 0);
      int p = 0;
      a.for_each_entry(cols[q], [&](std::size_t, int col, const auto& value) {
        while (p < local.k && cols[p] < col) ++p;
        if (p < local.k && cols[p] == col) column[p] = static_cast<Scalar>(value);
      });
    }
  });
}

/// a_ii, 0 where it is not stored
template <class Scalar, class System>
KOKKOS_FORCEINLINE_FUNCTION Scalar diagonal_entry(const System& a, int i) {
  Scalar diagonal = 0;
  a.for_each_entry(i, [&](std::size_t, int col, const auto& value) {
    if (col == i) diagonal = static_cast<Scalar>(value);
  });
  return diagonal;
}

/// The pattern by rows of a matrix that all systems share; the values are separate.
struct RowPattern {
  int num_rows;
  const std::size_t* row_ptrs;
  const int* col_idxs;
  std::int64_t num_entries;

  template <class Graph>
  static RowPattern of(const Graph& graph) {
    return {static_cast<int>(graph.num_rows), graph.row_ptrs.data(), graph.col_idxs.data(),
            static_cast<std::int64_t>(graph.col_idxs.extent(0))};
  }

  KOKKOS_FORCEINLINE_FUNCTION int length(int i) const {
    return static_cast<int>(row_ptrs[i + 1] - row_ptrs[i]);
  }
  /// to = M from
  template <class LaneGroup, class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION void multiply(const LaneGroup& lane_group, const Scalar* values,
                                            const Scalar* from, Scalar* to) const {
    for_elements(lane_group, num_rows, [&](int i) {
      Scalar sum = 0;
      for (std::size_t k = row_ptrs[i]; k < row_ptrs[i + 1]; ++k) sum += values[k] * from[col_idxs[k]];
      to[i] = sum;
    });
  }
};

/// The sum of what row(vector, i) returns, over rows of which none depends on another.
template <class LaneGroup, class Row>
KOKKOS_FORCEINLINE_FUNCTION int count_independent_rows(const LaneGroup& lane_group, int num_rows,
                                                       const Row& row) {
  const auto& vector = lane_group.vector();
  int mine = 0;
  for (int i = lane_group.group(); i < num_rows; i += lane_group.num_groups()) mine += row(vector, i);
  lane_group.join();
  const int share = lane_group.size() / lane_group.num_groups();
  return lane_group.template sum<int>([&](int lane) { return lane % share == 0 ? mine : 0; });
}

/// Rows that are the solutions of small dense systems, each by a vector of lanes.
template <class Scalar>
struct LocalRows {
  RowPattern pattern;
  int longest;

  std::int64_t work_length(int groups) const { return groups * LocalSystem<Scalar>::length(longest); }

  /// The sum of what row(vector, i, local) returns, `local` being the system m A(J, J) = e_i(J) of row i.
  template <class LaneGroup, class System, class Row>
  KOKKOS_FORCEINLINE_FUNCTION int count(const LaneGroup& lane_group, const System& a, Scalar* work,
                                        const Row& row) const {
    Scalar* own = work + lane_group.group() * LocalSystem<Scalar>::length(longest);
    return count_independent_rows(lane_group, pattern.num_rows, [&](const auto& vector, int i) {
      const LocalSystem<Scalar> local{own, pattern.length(i)};
      load_local(vector, a, pattern.col_idxs + pattern.row_ptrs[i], i, local);
      return row(vector, i, local);
    });
  }
};

}  // namespace prekond::impl::batched
