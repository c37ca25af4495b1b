// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/matrix/csr_matrix.hpp>

#include <cstdint>
#include <type_traits>

namespace prekond {

/// The pattern of a sparse product: row i of A B has the columns of B's rows j for all stored a_ij, sorted;
/// entries that cancel, and stored zeros, stay. num_rows(A) x num_cols(B).
///
/// Cost: a reading of B's row for each entry of A where the products, of 4 bytes each, fit into slab_bytes,
/// else two. On a device rows of up to 32 products are found by a thread each, which reads them again where
/// they have more than 12 columns, others by a vector of lanes with a hash table in scratch. Rows of more
/// than 1024 columns are found by all their products at a time, each of which sets a bit: 8 bytes of memory
/// for 32 of B's columns and 8 for an entry of A, as many rows at a time as have room in `slab_bytes`. Where
/// these rows are many and have few of B's columns, all rows are found again with hash tables in workspaces
/// of `slab_bytes` together, see lower_power, and sorted. On the host each thread has a marker array of B's
/// columns. Memory: the result, 16 bytes a row, and the workspaces. Fences a few times. The result has the
/// same bits whatever the threads and `slab_bytes`.
///
/// \pre sorted rows
/// \throws InputError for A with other columns than B has rows, and, before it is allocated, for a result of
/// more than `max_bytes`
template <class Space>
CsrGraph<Space> product_pattern(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& a,
                                const std::type_identity_t<CsrGraphView<Space>>& b, std::int64_t max_bytes,
                                std::int64_t slab_bytes);

/// The budgets of a product.
struct SpgemmOptions {
  std::int64_t max_bytes = std::int64_t(1) << 40;     ///< of the result's pattern
  std::int64_t slab_bytes = std::int64_t(256) << 20;  ///< of the workspaces of product_pattern
};

/// C = A B, a sparse matrix times a sparse matrix: product_pattern, and spgemm_values. On the host both at
/// once where the products, of 4 bytes and a value each, fit into slab_bytes.
/// \throws InputError for sizes that do not fit
///
/// Source: Gustavson, ACM Trans. Math. Softw. 4 (1978), rows of C as sums of rows of B; on devices by hash
/// tables: Nagasaka, Nukada, Matsuoka, ICPP 2017.
template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> spgemm(const Space& space,
                                                                         const CsrView<Scalar, Space>& a,
                                                                         const CsrView<Scalar, Space>& b,
                                                                         const SpgemmOptions& options = {});

/// The blocks of the rows and columns of a product: A in blocks of `rows` x `inner`, B of `inner` x `cols`, C
/// of `rows` x `cols`. Each matrix has whole blocks, at rows and columns that are multiples of the sizes: the
/// rows of a block row have the same columns. Where that holds only for B's and C's columns, rows and inner
/// are 1.
struct ProductBlocks {
  int rows = 1, inner = 1, cols = 1;
};

/// Only the values: c_ij = sum_k a_ik b_kj in the order of row i of A. For a product again with new values.
///
/// Cost: 2 operations for each a_ik and entry of B's row k. A row of C is summed in scratch by a vector of
/// lanes, which find its columns by a hash table there; one of up to 16 entries by a thread, one of more than
/// 2048 by a team in place, with a binary search; on the host by a thread with an array of B's columns. Where
/// a row of A has more entries than 1024 and than 1/8192 of B's, and C's more than 64, a device transposes B,
/// and finds each entry for such rows of A by itself: the entries of the shorter one of A's row and B's
/// column are searched in the longer one. Memory: an int a row, on the host 8 bytes a column of B and thread;
/// for such rows B^T, and up to 8 bytes an entry of C. Fences to count rows by their length. The same bits
/// whatever the threads.
///
/// With `blocks` only the first column of each is looked up, and once for all rows of a block row, whose sums
/// are in scratch together where they have room there (40 kB); on a device for a part of these rows, where
/// few block rows or large ones would leave it idle.
///
/// \pre sorted rows; C's pattern has all columns of the product (a device looks for one that is not there
/// without end), and further ones become 0
/// \throws InputError for sizes that do not fit
template <class Scalar, class Space>
void spgemm_values(const Space& space, const CsrView<Scalar, Space>& a, const CsrView<Scalar, Space>& b,
                   const CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>& c,
                   ProductBlocks blocks = {});

}  // namespace prekond
