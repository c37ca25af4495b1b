// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_matrix.hpp>

#include <cstdint>

namespace prekond::impl {

template <class Scalar, class Space>
struct AddRowPtrs {
  CsrView<Scalar, Space> own;
  CsrView<Scalar, Space> others;
  VectorView<std::size_t, Space> row_ptrs;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    row_ptrs(i) = own.row_ptrs(i) + others.row_ptrs(i);
  }
};

/// A team's block of rows, a vector of lanes a row: first the entries of `own`, then those of `others`. An
/// entry has `size` values.
template <class Scalar, class Space>
struct MergeRows {
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;
  static constexpr int rows_per_team = is_host_space<Space> ? 256 : 32;
  static constexpr int team_threads = 256;

  CsrView<Scalar, Space> own;
  CsrView<Scalar, Space> others;
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<int, Space> col_idxs;
  VectorView<Scalar, Space> values;
  int size;

  Policy policy(const Space& space) const {
    const int teams = static_cast<int>((own.num_rows + rows_per_team - 1) / rows_per_team);
    if (is_host_space<Space>) return Policy(space, teams, 1, 1);
    int lanes = 8;
    while (lanes < 32 && lanes * own.num_rows < static_cast<std::int64_t>(values.extent(0))) lanes *= 2;
    return Policy(space, teams, team_threads / lanes, lanes);
  }

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const std::int64_t begin = std::int64_t(team.league_rank()) * rows_per_team;
    const std::int64_t end = begin + rows_per_team < own.num_rows ? begin + rows_per_team : own.num_rows;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, begin, end), [&](std::int64_t i) {
      const std::size_t length = own.row_ptrs(i + 1) - own.row_ptrs(i);
      copy(team, own, i, row_ptrs(i), 0);
      copy(team, others, i, row_ptrs(i) + length, static_cast<int>(own.num_cols));
    });
  }

  /// Row i of `a`, its columns counted from `first_col`, to the places from `to` on.
  KOKKOS_FUNCTION void copy(const Member& team, const CsrView<Scalar, Space>& a, std::int64_t i,
                            std::size_t to, int first_col) const {
    const std::size_t from = a.row_ptrs(i);
    const int n = static_cast<int>(a.row_ptrs(i + 1) - from);
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, n),
                         [&](int k) { col_idxs(to + k) = first_col + a.col_idxs(from + k); });
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, std::int64_t(n) * size),
                         [&](std::int64_t k) { values(to * size + k) = a.values(from * size + k); });
  }
};

/// One matrix of two with the same rows, [own others]: column c of `others` becomes own.num_cols + c. An
/// entry has `size` values: b^2, where rows and columns are those of blocks. Cost:
/// one reading of both, two kernels. Does not fence. \pre both have the same number of rows
template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> merged_rows(
    const Space& space, const CsrView<Scalar, Space>& own, const CsrView<Scalar, Space>& others,
    int size = 1) {
  const auto row_ptrs =
      allocate<Vector<std::size_t, Space>>(space, "prekond::merged_rows::row_ptrs", own.num_rows + 1);
  const auto col_idxs =
      allocate<Vector<int, Space>>(space, "prekond::merged_rows::col_idxs", own.nnz() + others.nnz());
  const auto values = allocate<Vector<Scalar, Space>>(space, "prekond::merged_rows::values",
                                                      (own.nnz() + others.nnz()) * size);
  Kokkos::parallel_for(
      "prekond::merged_rows::row_ptrs",
      Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, own.num_rows + 1),
      AddRowPtrs<Scalar, Space>{own, others, row_ptrs});
  const MergeRows<Scalar, Space> kernel{own, others, row_ptrs, col_idxs, values, size};
  Kokkos::parallel_for("prekond::merged_rows::copy", kernel.policy(space), kernel);
  return {own.num_rows, own.num_cols + others.num_cols, row_ptrs, col_idxs, values};
}

}  // namespace prekond::impl
