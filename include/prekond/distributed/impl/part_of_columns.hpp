// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A rank's rows in its own columns, and in those of other ranks.
#include <prekond/distributed/impl/eight_lanes_a_row.hpp>
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/matrix/csr_matrix.hpp>

#include <string>

namespace prekond::impl {

/// A row's entries in the first `num_own` columns, or in the others, counted from 0. Rows are sorted.
template <class Scalar, class Space>
struct PartOfRow {
  CsrView<Scalar, Space> a;
  int num_own;
  bool own;
  VectorView<int, Space> col_idxs;
  VectorView<Scalar, Space> values;
  VectorView<const std::size_t, Space> row_ptrs;

  /// Where the others begin: most rows have none.
  KOKKOS_FUNCTION std::size_t others(std::int64_t i) const {
    std::size_t k = a.row_ptrs(i + 1);
    while (k > a.row_ptrs(i) && a.col_idxs(k - 1) >= num_own) --k;
    return k;
  }
  KOKKOS_FUNCTION std::size_t length(std::int64_t i) const {
    return own ? others(i) - a.row_ptrs(i) : a.row_ptrs(i + 1) - others(i);
  }
  using Rows = EightLanesARow<Space>;
  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{a.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const std::size_t to = row_ptrs(i), from = own ? a.row_ptrs(i) : others(i);
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, row_ptrs(i + 1) - to), [&](std::size_t k) {
        col_idxs(to + k) = own ? a.col_idxs(from + k) : a.col_idxs(from + k) - num_own;
        values(to + k) = a.values(from + k);
      });
    });
  }
};

template <class Scalar, class Space>
struct LengthOfPart {
  PartOfRow<Scalar, Space> part;
  KOKKOS_FUNCTION std::size_t operator()(std::int64_t i) const { return part.length(i); }
};

/// The entries in a rank's own columns, the first `num_own`, or in the others, counted from 0. Cost: one
/// reading. \pre sorted rows
template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> part_of_columns(
    const Space& space, const std::string& label, const CsrView<Scalar, Space>& a, std::int64_t num_own,
    bool own) {
  PartOfRow<Scalar, Space> part{a, static_cast<int>(num_own), own, {}, {}, {}};
  const auto [row_ptrs, nnz] = scan_row_lengths(space, label, a.num_rows, LengthOfPart<Scalar, Space>{part});
  const CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> result(
      a.num_rows, own ? num_own : a.num_cols - num_own, row_ptrs,
      allocate<Vector<int, Space>>(space, label + "::col_idxs", nnz),
      allocate<Vector<Scalar, Space>>(space, label + "::values", nnz));
  part.row_ptrs = result.row_ptrs, part.col_idxs = result.col_idxs, part.values = result.values;
  if (a.num_rows > 0)
    Kokkos::parallel_for(label + "::copy", EightLanesARow<Space>{a.num_rows}.policy(space), part);
  return result;
}

}  // namespace prekond::impl
