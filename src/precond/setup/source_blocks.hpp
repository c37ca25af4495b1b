// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The matrix of a setup by blocks.
#include <prekond/core/error.hpp>
#include <prekond/matrix/impl/block_rows.hpp>
#include <prekond/matrix/impl/own_columns.hpp>
#include <prekond/matrix/matrix_source.hpp>
#include "matrix/filter_entries.hpp"

#include <string>

namespace prekond::impl {

/// Const, and owning what a conversion made.
template <class Scalar, class Space>
using SourceBlocks = BcsrMatrix<const Scalar, const int, const std::size_t, typename Space::memory_space>;

/// The block size of a setup: the one asked for, where that is not 0; that of the blocks that were given; the
/// unknowns a node; what takes the least memory. Fences in the last case.
template <class Scalar, class Space>
int block_size_of(const Space& space, const MatrixSource<Scalar, Space>& source, int asked) {
  if (asked > 0) return asked;
  if (source.blocks() != nullptr) return source.blocks()->block_size;
  if (source.unknowns_per_node() > 1 && source.unknowns_per_node() <= largest_block_size)
    return source.unknowns_per_node();
  const CsrView<Scalar, Space>& a = source.csr();
  if (a.num_cols == a.num_rows) return detect_block_size<Space>(space, a, sizeof(Scalar)).block_size;
  const auto own = filter_entries<Scalar, Space>(space, a, IsOwnColumn<Scalar, Space>{a});
  const CsrGraph<Space> square{a.num_rows, a.num_rows, own.row_ptrs, own.col_idxs};
  return detect_block_size<Space>(space, square, sizeof(Scalar)).block_size;
}

/// The blocks that were given, where they are of that size, else those of the rank's own columns. Fences
/// where it converts.
template <class Scalar, class Space>
SourceBlocks<Scalar, Space> blocks_of(const Space& space, const MatrixSource<Scalar, Space>& source,
                                      int block_size) {
  if (source.blocks() != nullptr && source.blocks()->block_size == block_size) return *source.blocks();
  const CsrView<Scalar, Space>& a = source.csr();
  if (a.num_cols == a.num_rows) return to_bcsr<Scalar, Space>(space, a, block_size);
  auto own = filter_entries<Scalar, Space>(space, a, IsOwnColumn<Scalar, Space>{a});
  own.num_cols = a.num_rows;
  return to_bcsr<Scalar, Space>(space, own, block_size);
}

/// A's entries in columns of other ranks, of blocks all places. Fences where there may be some.
template <class Scalar, class Space>
std::int64_t foreign_entries(const Space& space, const MatrixSource<Scalar, Space>& source) {
  if (source.num_cols() <= source.num_rows()) return 0;
  if (source.blocks() == nullptr) return count_foreign_entries<Scalar, Space>(space, source.csr());
  const auto& blocks = *source.blocks();
  const CsrView<Scalar, Space> pattern(blocks.num_block_rows, blocks.num_block_cols, blocks.row_ptrs,
                                       blocks.col_idxs, {});
  const std::int64_t b = blocks.block_size;
  return b * b * count_foreign_entries<Scalar, Space>(space, pattern);
}

}  // namespace prekond::impl
