// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pattern/block_rows.hpp"
#include <prekond/core/error.hpp>

#include "core/instantiate.hpp"
#include "core/row_teams.hpp"

#include <string>

namespace prekond {
namespace {

/// Places of a row of blocks that its single row number `row` has.
template <class Space>
struct RowPlaces {
  CsrGraphView<Space> blocks;
  int block_rows, block_cols;
  bool lower;

  KOKKOS_FUNCTION std::size_t operator()(std::int64_t row) const {
    const std::int64_t k = row / block_rows;
    const std::size_t all = (blocks.row_ptrs(k + 1) - blocks.row_ptrs(k)) * block_cols;
    return lower ? all - block_cols + static_cast<std::size_t>(row % block_rows) + 1 : all;
  }
};

/// A vector of lanes a row, in the order in which its columns are written.
template <class Space>
struct FillRows {
  using Rows = impl::RowTeams<Space>;
  CsrGraphView<Space> blocks;
  int block_rows, block_cols;
  std::int64_t num_rows;
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<int, Space> col_idxs;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{num_rows}.for_each_row(team, [&](std::int64_t row) {
      std::size_t from = blocks.row_ptrs(row / block_rows);
      const std::size_t to = row_ptrs(row);
      const auto length = static_cast<int>(row_ptrs(row + 1) - to);
      if constexpr (is_host_space<Space>) {  // block by block, without a division for each entry
        for (int e = 0; e < length; ++from) {
          const int end = Kokkos::min(length, e + block_cols);
          for (int col = blocks.col_idxs(from) * block_cols; e < end; ++e) col_idxs(to + e) = col++;
        }
      } else {
        Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, length), [&](int e) {
          const int block = e / block_cols;
          col_idxs(to + static_cast<std::size_t>(e)) =
              blocks.col_idxs(from + static_cast<std::size_t>(block)) * block_cols + (e - block * block_cols);
        });
      }
    });
  }
};

template <class Space>
CsrGraph<Space> expand(const Space& space, const CsrGraphView<Space>& blocks, int block_rows, int block_cols,
                       bool lower, std::int64_t max_bytes) {
  const std::int64_t n = blocks.num_rows * block_rows;
  const auto [row_ptrs, nnz] = impl::scan_row_lengths<Space>(
      space, "prekond::rows_of_blocks", n, RowPlaces<Space>{blocks, block_rows, block_cols, lower});
  const auto bytes = static_cast<std::int64_t>((n + 1) * sizeof(std::size_t) + nnz * sizeof(int));
  if (bytes > max_bytes)
    throw InputError("the pattern by rows of blocks would have " + std::to_string(nnz) +
                     " entries and take " + std::to_string(bytes) + " bytes, more than the " +
                     std::to_string(max_bytes) + " allowed; lower the power");
  const auto col_idxs = allocate<Vector<int, Space>>(space, "prekond::rows_of_blocks::col_idxs", nnz);
  Kokkos::parallel_for("prekond::rows_of_blocks::fill",
                       impl::RowTeams<Space>::policy(space, n, static_cast<std::int64_t>(nnz)),
                       FillRows<Space>{blocks, block_rows, block_cols, n, row_ptrs, col_idxs});
  return {n, blocks.num_cols * block_cols, row_ptrs, col_idxs};
}

}  // namespace

template <class Space>
CsrGraph<Space> rows_of_blocks(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& blocks,
                               int block_size, std::int64_t max_bytes) {
  return expand<Space>(space, blocks, block_size, block_size, false, max_bytes);
}

template <class Space>
CsrGraph<Space> rows_of_blocks(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& blocks,
                               int block_rows, int block_cols, std::int64_t max_bytes) {
  return expand<Space>(space, blocks, block_rows, block_cols, false, max_bytes);
}

template <class Space>
CsrGraph<Space> lower_rows_of_blocks(const Space& space,
                                     const std::type_identity_t<CsrGraphView<Space>>& blocks, int block_size,
                                     std::int64_t max_bytes) {
  return expand<Space>(space, blocks, block_size, block_size, true, max_bytes);
}

#define PREKOND_BLOCK_ROWS(Space)                                                                     \
  template CsrGraph<Space> rows_of_blocks<Space>(const Space&, const CsrGraphView<Space>&, int,       \
                                                 std::int64_t);                                       \
  template CsrGraph<Space> rows_of_blocks<Space>(const Space&, const CsrGraphView<Space>&, int, int,  \
                                                 std::int64_t);                                       \
  template CsrGraph<Space> lower_rows_of_blocks<Space>(const Space&, const CsrGraphView<Space>&, int, \
                                                       std::int64_t);
PREKOND_INSTANTIATE_SPACES(PREKOND_BLOCK_ROWS)

}  // namespace prekond
