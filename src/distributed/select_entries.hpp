// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/matrix/csr_matrix.hpp>
#include <prekond/matrix/sort_rows.hpp>

#include "core/row_teams.hpp"

#include <string>

namespace prekond {

namespace impl {

/// Rows of a matrix, and where its columns go.
template <class Scalar, class Space>
struct Selection {
  CsrView<Scalar, Space> a;
  std::int64_t num_rows;                 ///< of the result
  VectorView<const int, Space> rows;     ///< row r of the result is row rows(r); empty: row r
  VectorView<const int, Space> columns;  ///< the new number of each column; negative: left out

  KOKKOS_FUNCTION std::int64_t row(std::int64_t r) const { return rows.extent(0) > 0 ? rows(r) : r; }
  KOKKOS_FUNCTION std::size_t operator()(std::int64_t r) const {  ///< the row's length
    std::size_t length = 0;
    for (std::size_t k = a.row_ptrs(row(r)); k < a.row_ptrs(row(r) + 1); ++k)
      length += columns(a.col_idxs(k)) >= 0;
    return length;
  }
};

template <class Scalar, class Space>
struct CopySelected {
  Selection<Scalar, Space> from;
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<int, Space> col_idxs;
  VectorView<Scalar, Space> values;
  using Rows = RowTeams<Space>;
  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{from.num_rows}.for_each_row(team, [&](std::int64_t r) {
      const std::size_t begin = from.a.row_ptrs(from.row(r)), end = from.a.row_ptrs(from.row(r) + 1);
      const std::size_t to = row_ptrs(r);
      Kokkos::parallel_scan(Kokkos::ThreadVectorRange(team, static_cast<int>(end - begin)),
                            [&](int k, int& before, bool is_final) {
                              const int col = from.columns(from.a.col_idxs(begin + k));
                              if (col < 0) return;
                              if (is_final) {
                                col_idxs(to + before) = col;
                                values(to + before) = from.a.values(begin + k);
                              }
                              ++before;
                            });
    });
  }
};

}  // namespace impl

/// Part of a matrix: its rows `rows(0), rows(1), ...` (all of them where `rows` is empty and `num_rows` is
/// a.num_rows), of which the entries in columns c with columns(c) >= 0, as column columns(c) of `num_cols`.
/// Sorted; no two columns have the same new number.
///
/// Cost: two readings of these rows, and the sort. Memory: the result. Fences once, inside the scan.
template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> select_entries(
    const Space& space, const std::string& label, const CsrView<Scalar, Space>& a, std::int64_t num_rows,
    VectorView<const int, Space> rows, VectorView<const int, Space> columns, std::int64_t num_cols) {
  const impl::Selection<Scalar, Space> selection{a, num_rows, rows, columns};
  const auto [row_ptrs, nnz] = impl::scan_row_lengths(space, label, num_rows, selection);
  CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> part(
      num_rows, num_cols, row_ptrs, allocate<Vector<int, Space>>(space, label + "::col_idxs", nnz),
      allocate<Vector<Scalar, Space>>(space, label + "::values", nnz));
  if (num_rows > 0)
    Kokkos::parallel_for(label + "::copy",
                         impl::RowTeams<Space>::policy(space, num_rows, static_cast<std::int64_t>(nnz)),
                         impl::CopySelected<Scalar, Space>{selection, row_ptrs, part.col_idxs, part.values});
  sort_rows(space, part);
  return part;
}

}  // namespace prekond
