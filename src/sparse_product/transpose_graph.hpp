// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The transpose of a pattern, for the units that need one.
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/matrix/sort_rows.hpp>

#include "core/row_teams.hpp"

namespace prekond::impl {

/// Counts the entries of each column below num_columns or, where there is a result, writes its rows, in any
/// order.
template <class Space>
struct ScatterColumns {
  using Rows = RowTeams<Space>;
  CsrGraphView<Space> a;
  std::int64_t num_columns;
  VectorView<int, Space> length;
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<int, Space> col_idxs;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{a.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const std::size_t begin = a.row_ptrs(i);
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, static_cast<int>(a.row_ptrs(i + 1) - begin)),
                           [&](int k) {
                             const int col = a.col_idxs(begin + k);
                             if (col >= num_columns) return;
                             const int place = Kokkos::atomic_fetch_add(&length(col), 1);
                             if (row_ptrs.extent(0) > 0)
                               col_idxs(row_ptrs(col) + place) = static_cast<int>(i);
                           });
    });
  }
};

/// The transpose of a pattern's first columns, its rows sorted: the same bits whatever the threads.
/// Memory: the result, and an int a row. Fences once, inside the scan.
template <class Space>
CsrGraph<Space> transpose_graph(const Space& space, const CsrGraphView<Space>& a, std::int64_t num_columns) {
  const std::int64_t n = num_columns;
  const auto length = allocate_zero<Vector<int, Space>>(space, "prekond::transpose_graph::length", n);
  const auto policy = RowTeams<Space>::policy(space, a.num_rows, a.nnz());
  Kokkos::parallel_for("prekond::transpose_graph::count", policy,
                       ScatterColumns<Space>{a, n, length, {}, {}});
  const auto [row_ptrs, nnz] =
      scan_row_lengths(space, "prekond::transpose_graph", n, VectorView<const int, Space>(length));
  const auto col_idxs = allocate<Vector<int, Space>>(space, "prekond::transpose_graph::col_idxs", nnz);
  set_zero(space, length);
  Kokkos::parallel_for("prekond::transpose_graph::scatter", policy,
                       ScatterColumns<Space>{a, n, length, row_ptrs, col_idxs});
  sort_columns<Space>(space, n, row_ptrs, col_idxs);
  return {n, a.num_rows, row_ptrs, col_idxs};
}

/// That of the columns below num_rows.
template <class Space>
CsrGraph<Space> transpose_graph(const Space& space, const CsrGraphView<Space>& a) {
  return transpose_graph<Space>(space, a, a.num_rows);
}

}  // namespace prekond::impl
