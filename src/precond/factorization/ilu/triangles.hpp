// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The triangles that factorisations work on.
#include <prekond/core/views.hpp>
#include <prekond/matrix/csr_graph.hpp>

#include <cstdint>

#include "core/concurrent_words.hpp"
#include "core/packed.hpp"
#include "core/row_teams.hpp"
#include "sparse_product/host_transpose.hpp"

namespace prekond::impl::ilu {

/// The first of the places [first, end) of a row whose column, col_of(place), is not below `col`, by steps
/// that double and then a bisection: cheap where it is near.
template <class Place, class Column>
KOKKOS_FUNCTION Place seek_column(Place first, Place end, int col, const Column& col_of) {
  Place step = 1;
  while (first + step < end && col_of(first + step - 1) < col) {
    first += step;
    step *= 2;
  }
  if (first + step < end) end = first + step;
  while (first < end) {
    const Place middle = first + (end - first) / 2;
    if (col_of(middle) < col)
      first = middle + 1;
    else
      end = middle;
  }
  return first;
}

/// A triangle's pattern and the values that become a factor's.
template <class Scalar, class Space>
struct FactorTriangle {
  PackedVector<const std::size_t> row_ptrs;
  PackedVector<const int> col_idxs;
  PackedVector<Scalar> values;

  KOKKOS_FORCEINLINE_FUNCTION std::size_t begin(std::int64_t i) const { return row_ptrs(i); }
  KOKKOS_FORCEINLINE_FUNCTION int length(std::int64_t i) const {
    return static_cast<int>(row_ptrs(i + 1) - row_ptrs(i));
  }
  /// The place of column `col` among the entries [first, end), or `end`.
  KOKKOS_FUNCTION std::size_t find(std::size_t first, std::size_t end, int col) const {
    const std::size_t none = end;
    while (first < end) {
      const std::size_t middle = first + (end - first) / 2;
      if (col_idxs(middle) < col)
        first = middle + 1;
      else
        end = middle;
    }
    return first < none && col_idxs(first) == col ? first : none;
  }
  /// The first of the entries [first, end) whose column is not below `col`.
  KOKKOS_FUNCTION std::size_t seek(std::size_t first, std::size_t end, int col) const {
    return seek_column(first, end, col, col_idxs);
  }
};

template <class Scalar, class Space>
FactorTriangle<Scalar, Space> triangle_of(const CsrGraph<Space>& pattern,
                                          const Vector<Scalar, Space>& values) {
  return {pattern.row_ptrs, pattern.col_idxs, values};
}

/// Copies L^T to U, for IC, where L has each entry of U.
template <class Scalar, class Space>
struct TransposeLower {
  using Rows = RowTeams<Space>;
  FactorTriangle<Scalar, Space> lower, upper;
  std::int64_t num_rows;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{num_rows}.for_each_row(team, [&](std::int64_t i) {
      const std::size_t first = upper.begin(i);
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, upper.length(i)), [&](int k) {
        const int row = upper.col_idxs(first + k);
        upper.values(first + k) =
            lower.values(lower.find(lower.row_ptrs(row), lower.row_ptrs(row + 1), static_cast<int>(i)));
      });
    });
  }
};

/// Gives U = L^T its values. \pre the pattern of U is that of L^T. Fences on a host.
template <class Scalar, class Space>
void transpose_lower(const Space& space, const char* label, const CsrGraph<Space>& lower,
                     const Vector<Scalar, Space>& lower_values, const CsrGraph<Space>& upper,
                     const Vector<Scalar, Space>& upper_values) {
  const std::int64_t n = lower.num_rows;
  if constexpr (is_host_space<Space>)
    HostTranspose<Scalar, Space>(space, {n, n, lower.row_ptrs, lower.col_idxs, lower_values})
        .write({n, n, upper.row_ptrs, upper.col_idxs, upper_values}, false);
  else
    Kokkos::parallel_for(label, RowTeams<Space>::policy(space, n, upper.nnz()),
                         TransposeLower<Scalar, Space>{triangle_of<Scalar, Space>(lower, lower_values),
                                                       triangle_of<Scalar, Space>(upper, upper_values), n});
}

}  // namespace prekond::impl::ilu
