// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_matrix.hpp>

#include <cstdint>
#include <type_traits>

namespace prekond {

/// A sparse matrix of dense b x b blocks by compressed block rows: block row i has the block columns
/// `col_idxs(k)`, `row_ptrs(i) <= k < row_ptrs(i + 1)`, ascending and unique. Entry (p, q) of block k is
/// `values(k b^2 + p b + q)`: blocks by rows, as those of Tpetra's BlockCrsMatrix and Kokkos Kernels'
/// BsrMatrix.
///
/// It is three views and owns what they own. Sizes are in blocks; `num_block_cols >= num_block_rows` as in
/// CsrMatrix.
template <class Scalar, class Ordinal = int, class Offset = std::size_t,
          class MemorySpace = Kokkos::DefaultExecutionSpace::memory_space,
          class Traits = Kokkos::MemoryTraits<0>>
struct BcsrMatrix {
  using scalar_type = std::remove_const_t<Scalar>;
  template <class T>
  using view = Kokkos::View<T*, Kokkos::LayoutLeft, MemorySpace, Traits>;

  BcsrMatrix() = default;

  BcsrMatrix(int size, std::int64_t block_rows, std::int64_t block_cols, view<Offset> ptrs,
             view<Ordinal> idxs, view<Scalar> vals)
      : block_size(size),
        num_block_rows(block_rows),
        num_block_cols(block_cols),
        row_ptrs(ptrs),
        col_idxs(idxs),
        values(vals) {}

  template <class S, class O, class P, class T>
  requires(!std::is_same_v<BcsrMatrix<S, O, P, MemorySpace, T>, BcsrMatrix>)
      BcsrMatrix(const BcsrMatrix<S, O, P, MemorySpace, T>& other)
      : BcsrMatrix(other.block_size, other.num_block_rows, other.num_block_cols, other.row_ptrs,
                   other.col_idxs, other.values) {}

  std::int64_t num_rows() const { return num_block_rows * block_size; }
  std::int64_t num_cols() const { return num_block_cols * block_size; }
  std::int64_t num_blocks() const { return static_cast<std::int64_t>(col_idxs.extent(0)); }

  int block_size = 1;  ///< b
  std::int64_t num_block_rows = 0;
  std::int64_t num_block_cols = 0;
  view<Offset> row_ptrs;   ///< num_block_rows + 1
  view<Ordinal> col_idxs;  ///< num_blocks()
  view<Scalar> values;     ///< num_blocks() b^2
};

/// What functions take: const values, nothing owned.
template <class Scalar, class Space, class Ordinal = int, class Offset = std::size_t>
using BcsrView = BcsrMatrix<const Scalar, const Ordinal, const Offset, typename Space::memory_space,
                            Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// The same matrix by single rows, on the device. All entries of a block are kept, zeros too.
///
/// Cost: one reading of the blocks and one writing of the result, 12 bytes an entry in double precision. Does
/// not fence.
///
/// \throws InputError for a block size below 1, arrays that do not fit the sizes, and more rows or columns
/// than an int counts
template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> expand_blocks(
    const Space& space, const std::type_identity_t<BcsrView<Scalar, Space>>& blocks);

}  // namespace prekond
