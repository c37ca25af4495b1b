// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Block rows as rows whose entries have b^2 values, and their products.
#include <prekond/matrix/bcsr_matrix.hpp>

namespace prekond {

/// y = alpha A x + beta y, as spmv, for blocks of up to 32. On a device a thread has a row of the matrix, on
/// a host a block row; blocks of one number are rows for spmv. \throws InputError where the sizes do not fit
template <class Scalar, class Space>
void spmv_blocks(const Space& space, Scalar alpha, const std::type_identity_t<BcsrView<Scalar, Space>>& a,
                 MultiVectorView<const Scalar, Space> x, Scalar beta, MultiVectorView<Scalar, Space> y);

namespace impl {

/// The pattern of the blocks.
template <class Space, class Blocks>
CsrGraphView<Space> graph_of(const Blocks& blocks) {
  CsrGraphView<Space> graph;
  graph.num_rows = blocks.num_block_rows;
  graph.num_cols = blocks.num_block_cols;
  graph.row_ptrs = blocks.row_ptrs;
  graph.col_idxs = blocks.col_idxs;
  return graph;
}

template <class Scalar, class Space>
CsrView<Scalar, Space> rows_of(const BcsrView<Scalar, Space>& blocks) {
  return {blocks.num_block_rows, blocks.num_block_cols, blocks.row_ptrs, blocks.col_idxs, blocks.values};
}
/// The reverse.
template <class Scalar, class Space>
BcsrView<Scalar, Space> as_blocks(const CsrView<Scalar, Space>& rows, int block_size, BlockOrder order) {
  return {block_size, order, rows.num_rows, rows.num_cols, rows.row_ptrs, rows.col_idxs, rows.values};
}

}  // namespace impl
}  // namespace prekond
