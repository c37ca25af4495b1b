// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/operator.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/matrix/csr_matrix.hpp>
#include <prekond/matrix/sell_matrix.hpp>

#include <cstdint>
#include <optional>
#include <type_traits>

namespace prekond {

/// The pattern of a matrix whose rows and columns come in whole blocks, of `rows` x `cols` entries: rows
/// r k .. r k + r - 1 have the same columns, those of the blocks of row k of `blocks`, each c of them.
template <class Space>
struct BlockPattern {
  CsrGraph<Space> blocks;  ///< rows and columns are blocks
  int rows = 1, cols = 1;  ///< of a block

  /// Does it say less than the pattern by single rows?
  bool is_smaller() const { return rows > 1 || cols > 1; }
  std::int64_t num_rows() const { return blocks.num_rows * rows; }
  std::int64_t num_cols() const { return blocks.num_cols * cols; }
  std::int64_t nnz() const { return blocks.nnz() * rows * cols; }
};

/// A sparse matrix of dense r x c blocks as SELL-C-sigma of its block rows, C = 32: the k-th blocks of a
/// chunk's block rows stand together, entry by entry (row by row of the block), C values one after the other.
/// A lane that has a block row reads a column for r c values, and an entry of x for r of them. See
/// SellMatrix.
///
/// Memory: the values and the padding of shorter block rows, 1, 2 or 4 bytes a block for its column.
template <class Value, class Space>
struct BlockSellMatrix {
  BlockPattern<Space> pattern;
  SellStructure<Space> structure;  ///< of the blocks
  Vector<Value, Space> values;     ///< structure.num_places() r c; those of padding are not initialised

  std::int64_t bytes() const {
    return pattern.blocks.bytes() + structure.bytes() +
           static_cast<std::int64_t>(values.span() * sizeof(Value));
  }
};

/// A by blocks; nothing where padding would take more than a quarter of the places (and 1024 more), or where
/// the thread that has the longest block row would be late on a device (200 ns a block and 17 an entry of it
/// are assumed, against 20 us more than the time in which memory delivers the whole matrix), or where a
/// chunk's blocks of one column do not fit into scratch (28 kB). Cost: a reading and a writing of the values.
/// Fences. \pre a has that pattern
template <class Value, class Space>
std::optional<BlockSellMatrix<Value, Space>> make_block_sell(
    const Space& space, const std::type_identity_t<CsrView<Value, Space>>& a,
    const BlockPattern<Space>& pattern);

/// A in the places of a structure that make_block_sell found for that pattern. Does not fence.
template <class Value, class Space>
BlockSellMatrix<Value, Space> fill_block_sell(const Space& space,
                                              const std::type_identity_t<CsrView<Value, Space>>& a,
                                              const BlockPattern<Space>& pattern,
                                              const SellStructure<Space>& structure);

/// y = product diag(row_scale) A x + direct x + previous y + source b, see RecurrenceStep; an empty row_scale
/// is the identity. x and y have k columns.
///
/// A thread has a block row, and adds its entries in their order, in the precision of x. Cost: 2 nnz
/// operations a column, the matrix read for each (from caches, where it fits). No allocation, no fence.
/// \throws InputError where the sizes do not fit \pre y shares no memory with x and b
template <class Value, class Scalar, class Space>
void block_sell_recurrence(const Space& space, const RecurrenceStep<Scalar>& step,
                           VectorView<const real_type_t<Scalar>, Space> row_scale,
                           const BlockSellMatrix<Value, Space>& a, MultiVectorView<const Scalar, Space> x,
                           MultiVectorView<const Scalar, Space> b, MultiVectorView<Scalar, Space> y);

}  // namespace prekond
