// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/impl/multiply_add.hpp>
#include <prekond/matrix/bcsr_matrix.hpp>

namespace prekond::impl::blocks {

/// sums += B x for a b x b block, by one thread; Size is b, or 0 where it is known only at run time. The
/// products of a row are added first, so that from block to block only one addition waits for another.
template <BlockOrder Order, int Size, class Scalar>
KOKKOS_FORCEINLINE_FUNCTION void add_product(int block_size, const Scalar* block, const Scalar* x,
                                             Scalar* sums) {
  const int b = Size > 0 ? Size : block_size;
  const int of_rows = Order == BlockOrder::by_rows ? b : 1, of_cols = Order == BlockOrder::by_rows ? 1 : b;
  Scalar of_row[Size > 0 ? Size : largest_block_size];
  // As a sum with 0: of a block of one number the product and the sum below could be fused, or not.
  for (int p = 0; p < b; ++p) of_row[p] = multiply_add(block[p * of_rows], x[0], Scalar(0));
  for (int q = 1; q < b; ++q)
    for (int p = 0; p < b; ++p) of_row[p] = multiply_add(block[p * of_rows + q * of_cols], x[q], of_row[p]);
  for (int p = 0; p < b; ++p) sums[p] += of_row[p];
}

}  // namespace prekond::impl::blocks
