// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/matrix/csr_matrix.hpp>

#include <cstdint>
#include <type_traits>
#include <vector>

namespace prekond {

/// How the entries of a block stand in memory: entry (p, q) of a b x b block at p + q b, as PETSc and
/// cuSPARSE's column direction have it, or at p b + q, as Tpetra's BlockCrsMatrix and Kokkos Kernels'
/// BsrMatrix.
enum class BlockOrder { by_columns, by_rows };

/// The largest block that products and factorisations take.
inline constexpr int largest_block_size = 32;

/// A sparse matrix of dense b x b blocks by compressed block rows (BCSR, BSR): block row i has the block
/// columns `col_idxs(k)`, `row_ptrs(i) <= k < row_ptrs(i + 1)`, ascending and unique. Block k has the values
/// from `values(k b^2)` on, in the given order.
///
/// It is three views and owns what they own, so that matrices of Tpetra, Kokkos Kernels or PETSc are taken
/// without a copy. Sizes are in blocks; `num_block_cols >= num_block_rows` as in CsrMatrix. A square matrix
/// whose rows are not a multiple of b has `padding` rows and columns less than its blocks: what the last ones
/// have in their place is zero.
template <class Scalar, class Ordinal = int, class Offset = std::size_t,
          class MemorySpace = Kokkos::DefaultExecutionSpace::memory_space,
          class Traits = Kokkos::MemoryTraits<0>>
struct BcsrMatrix {
  using scalar_type = std::remove_const_t<Scalar>;
  template <class T>
  using view = Kokkos::View<T*, Kokkos::LayoutLeft, MemorySpace, Traits>;

  BcsrMatrix() = default;

  BcsrMatrix(int size, BlockOrder block_order, std::int64_t block_rows, std::int64_t block_cols,
             view<Offset> ptrs, view<Ordinal> idxs, view<Scalar> vals, int padded = 0)
      : block_size(size),
        order(block_order),
        padding(padded),
        num_block_rows(block_rows),
        num_block_cols(block_cols),
        row_ptrs(ptrs),
        col_idxs(idxs),
        values(vals) {}

  template <class S, class O, class P, class T>
  requires(!std::is_same_v<BcsrMatrix<S, O, P, MemorySpace, T>, BcsrMatrix>)
      BcsrMatrix(const BcsrMatrix<S, O, P, MemorySpace, T>& other)
      : BcsrMatrix(other.block_size, other.order, other.num_block_rows, other.num_block_cols, other.row_ptrs,
                   other.col_idxs, other.values, other.padding) {
    longest_row = other.longest_row;
  }

  std::int64_t num_rows() const { return num_block_rows * block_size - padding; }
  std::int64_t num_cols() const { return num_block_cols * block_size - padding; }
  std::int64_t num_blocks() const { return static_cast<std::int64_t>(col_idxs.extent(0)); }
  /// The bytes of the values and the pattern.
  std::int64_t bytes() const {
    return static_cast<std::int64_t>(values.extent(0) * sizeof(Scalar) +
                                     col_idxs.extent(0) * sizeof(Ordinal) +
                                     row_ptrs.extent(0) * sizeof(Offset));
  }

  int block_size = 1;  ///< b
  BlockOrder order = BlockOrder::by_columns;
  int padding = 0;  ///< < b
  std::int64_t num_block_rows = 0;
  std::int64_t num_block_cols = 0;
  std::int64_t longest_row = 0;  ///< blocks of the longest row, or 0: not known. Products need not look then
  view<Offset> row_ptrs;         ///< num_block_rows + 1
  view<Ordinal> col_idxs;        ///< num_blocks()
  view<Scalar> values;           ///< num_blocks() b^2
};

/// The argument of functions: const values, nothing owned.
template <class Scalar, class Space, class Ordinal = int, class Offset = std::size_t>
using BcsrView = BcsrMatrix<const Scalar, const Ordinal, const Offset, typename Space::memory_space,
                            Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// The same matrix by single rows, on the device. All entries of a block are kept, zeros too, but for the
/// padding's.
///
/// Cost: one reading of the blocks and one writing of the result, 12 bytes an entry in double precision.
/// Fences.
///
/// \throws InputError for a block size below 1, arrays that do not fit the sizes, a padding that is not
/// within a block of a square matrix, and more rows or columns than an int counts
template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> expand_blocks(
    const Space& space, const std::type_identity_t<BcsrView<Scalar, Space>>& blocks);

/// The size of a matrix by blocks of one size.
struct BlockFill {
  int block_size = 1;
  std::int64_t num_blocks = 0;
  double fill = 1;  ///< places of all blocks an entry of the matrix

  /// The bytes of the matrix by blocks, with values of `value_bytes`.
  std::int64_t bytes(std::int64_t num_rows, std::int64_t value_bytes) const {
    const std::int64_t block_rows = (num_rows + block_size - 1) / block_size;
    return num_blocks * (value_bytes * block_size * block_size + 4) + 8 * block_rows;
  }
};

/// How many b x b blocks have an entry, for each of the sizes. A vector of lanes merges the rows of a block
/// row, a lane each. Cost: a reading of the columns for each size. Fences. \throws InputError for sizes that
/// are not from 1 to 32
template <class Space>
std::vector<BlockFill> count_blocks(const Space& space,
                                    const std::type_identity_t<CsrGraphView<Space>>& pattern,
                                    const std::vector<int>& block_sizes);

/// The size from 1 to 8 with which the matrix takes the fewest bytes, values of `value_bytes` each; of equal
/// ones the smallest. A matrix that is not square has sizes that divide its rows and columns. Cost: at most
/// count_blocks of all of them; the count of a size ends where it is certain to take more bytes. Fences.
template <class Space>
BlockFill detect_block_size(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& pattern,
                            std::int64_t value_bytes = 8);

/// A by b x b blocks: those with an entry of A, in which what A has not is zero. A square matrix is padded
/// where b does not divide its rows.
///
/// Cost: two readings of A's columns and one of its values, and a writing of the result, of which `fill`
/// places an entry. Fences. \throws InputError for sizes not from 1 to 32, and where they do not divide the
/// rows or columns of a matrix that is not square
template <class Scalar, class Space>
BcsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> to_bcsr(
    const Space& space, const std::type_identity_t<CsrView<Scalar, Space>>& a, int block_size,
    BlockOrder order = BlockOrder::by_columns);

}  // namespace prekond
