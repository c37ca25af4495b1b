// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/operator.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/matrix/csr_matrix.hpp>

#include <cstdint>
#include <optional>
#include <type_traits>

namespace prekond {

struct SellOptions {
  /// sigma: rows are sorted by length, longest first, within windows of sigma rows. 1: as they are. 0: 1024
  /// where that saves a twentieth of the places, else 1.
  int sigma = 0;
  /// num_places <= max_padding (nnz + num_rows), else make_sell refuses.
  double max_padding = 3;
};

/// Where a SELL matrix has its entries; \see SellMatrix.
template <class Space>
struct SellStructure {
  static constexpr int chunk_rows = 32;  ///< C

  std::int64_t num_chunks() const { return (num_rows + chunk_rows - 1) / chunk_rows; }
  /// The number of values, padding included.
  std::int64_t num_places() const { return static_cast<std::int64_t>(bases.extent(0)) * chunk_rows; }
  std::int64_t bytes() const {
    return static_cast<std::int64_t>((chunk_ptrs.span() + delta_ptrs.span()) * sizeof(std::size_t) +
                                     (bases.span() + rows.span()) * sizeof(int) + deltas.span());
  }

  std::int64_t num_rows = 0;
  std::int64_t num_cols = 0;
  std::int64_t nnz = 0;
  int sigma = 1;
  Vector<std::size_t, Space>
      chunk_ptrs;  ///< chunk c has the chunk columns chunk_ptrs(c) .. chunk_ptrs(c + 1) - 1
  Vector<std::size_t, Space>
      delta_ptrs;            ///< of chunk c: first byte of its deltas, plus the bytes of each: 1, 2 or 4
  Vector<int, Space> bases;  ///< smallest column of a chunk column
  Vector<unsigned char, Space> deltas;  ///< columns above the base, unsigned, chunk column by chunk column
  Vector<int, Space> rows;              ///< the row at a position; empty where that is the position itself
};

/// A sparse matrix as SELL-C-sigma, C = 32, with short columns.
///
/// Rows are sorted by length within windows of sigma, and C of them in a row are a chunk. The k-th entries of
/// a chunk's rows are a chunk column: C values one after the other, so that lanes that have a row each read
/// them together, and their columns as one base and C distances from it, of one byte, two or four, whatever a
/// chunk needs. Shorter rows are padded with zeros: an entry that is 0 adds nothing to a product, whatever x
/// has there.
///
/// Memory: 8 bytes a place in double precision and 1, 2 or 4 for its column; 4 bytes a chunk column, 16 a
/// chunk. Source: Kreutzer, Hager, Wellein, Fehske, Bishop, SIAM J. Sci. Comput. 36 (2014).
template <class Value, class Space>
struct SellMatrix : SellStructure<Space> {
  using value_type = Value;
  std::int64_t bytes() const {
    return SellStructure<Space>::bytes() + static_cast<std::int64_t>(values.span() * sizeof(Value));
  }
  Vector<Value, Space> values;  ///< num_places()
};

/// The argument of kernels: nothing owned.
template <class Value, class Space>
struct SellView {
  SellView() = default;
  SellView(const SellMatrix<Value, Space>& a)
      : num_rows(a.num_rows),
        num_cols(a.num_cols),
        num_places(a.num_places()),
        chunk_ptrs(a.chunk_ptrs),
        delta_ptrs(a.delta_ptrs),
        bases(a.bases),
        deltas(a.deltas),
        rows(a.rows),
        values(a.values) {}

  std::int64_t num_rows = 0;
  std::int64_t num_cols = 0;
  std::int64_t num_places = 0;
  VectorView<const std::size_t, Space> chunk_ptrs;
  VectorView<const std::size_t, Space> delta_ptrs;
  VectorView<const int, Space> bases;
  VectorView<const unsigned char, Space> deltas;
  VectorView<const int, Space> rows;
  VectorView<const Value, Space> values;
};

/// The places that make_sell would have, padding included. Reads the row pointers, and sorts windows where
/// sigma > 1, or where sigma = 0 and rows as they are would have over a twentieth of padding. Fences.
template <class Space>
std::int64_t count_sell_places(const Space& space, const CsrGraphView<Space>& pattern,
                               const SellOptions& options = {});

/// The structure of a pattern. Cost: count_sell_places, two readings of the columns and one writing of the
/// deltas; each window is sorted by a team. Fences. \throws InputError where there would be more places than
/// the options allow (one row far longer than the others of its window does that): it names the bytes;
/// OptionError where sigma is not in 0 .. 4096 or max_padding < 1
template <class Space>
SellStructure<Space> make_sell_structure(const Space& space, const CsrGraphView<Space>& pattern,
                                         const SellOptions& options = {});

/// The matrix, its values in their places: make_sell_structure, then one reading of the values and one
/// writing of all places. \throws as make_sell_structure
template <class Value, class Space>
SellMatrix<Value, Space> make_sell(const Space& space, const CsrView<Value, Space>& a,
                                   const SellOptions& options = {});

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
