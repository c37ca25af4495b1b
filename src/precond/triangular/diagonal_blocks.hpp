// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A block-diagonal matrix as one by blocks.
#include <prekond/matrix/bcsr_matrix.hpp>

namespace prekond::impl::triangular {

/// Row pointers and columns of a diagonal.
template <class Space>
struct DiagonalPattern {
  VectorView<std::size_t, Space> row_ptrs;
  VectorView<int, Space> col_idxs;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    row_ptrs(i) = static_cast<std::size_t>(i);
    if (i < static_cast<std::int64_t>(col_idxs.extent(0))) col_idxs(i) = static_cast<int>(i);
  }
};

/// A block-diagonal matrix of the same rows as `like`, without values.
template <class Blocks, class Space>
Blocks diagonal_blocks(const Space& space, const Blocks& like) {
  const std::int64_t n = like.num_block_rows;
  const auto row_ptrs =
      allocate<Vector<std::size_t, Space>>(space, "prekond::triangular::diagonal_ptrs", n + 1);
  const auto col_idxs = allocate<Vector<int, Space>>(space, "prekond::triangular::diagonal_cols", n);
  Kokkos::parallel_for("prekond::triangular::symbolic::diagonal",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, n + 1),
                       DiagonalPattern<Space>{row_ptrs, col_idxs});
  Blocks result(like.block_size, BlockOrder::by_columns, n, n, row_ptrs, col_idxs, {}, like.padding);
  result.longest_row = 1;
  return result;
}

}  // namespace prekond::impl::triangular
