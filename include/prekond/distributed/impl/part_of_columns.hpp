// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A rank's rows in its own columns, and in those of other ranks.
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
  using Policy = Kokkos::TeamPolicy<Space>;
  static constexpr int rows_per_team = is_host_space<Space> ? 256 : 32, lanes = is_host_space<Space> ? 1 : 8;
  Policy policy(const Space& space) const {
    const auto teams = static_cast<int>((a.num_rows + rows_per_team - 1) / rows_per_team);
    return Policy(space, teams, is_host_space<Space> ? 1 : rows_per_team, lanes);
  }
  KOKKOS_FUNCTION void operator()(const typename Policy::member_type& team) const {
    const std::int64_t begin = std::int64_t(team.league_rank()) * rows_per_team, end = begin + rows_per_team;
    Kokkos::parallel_for(
        Kokkos::TeamThreadRange(team, begin, end < a.num_rows ? end : a.num_rows), [&](std::int64_t i) {
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
  if (a.num_rows > 0) Kokkos::parallel_for(label + "::copy", part.policy(space), part);
  return result;
}

}  // namespace prekond::impl
