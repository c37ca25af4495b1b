// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/views.hpp>
#include <prekond/matrix/csr_matrix.hpp>

#include <cstdint>

namespace prekond {

/// Rows of other ranks: row i has the columns `col_idxs(k)`, `row_ptrs(i) <= k < row_ptrs(i + 1)`, by their
/// global numbers, ascending and unique. An entry has `entry_size` values, one after the other: b^2 where
/// rows and columns are those of blocks.
template <class Scalar, class Space>
struct RemoteRows {
  std::int64_t num_rows = 0;
  Vector<std::size_t, Space> row_ptrs;   ///< num_rows + 1
  Vector<std::int64_t, Space> col_idxs;  ///< nnz
  Vector<Scalar, Space> values;          ///< nnz entry_size
  int entry_size = 1;
};

/// Rows of a matrix, whose column c has the global number numbers(c), and an entry `entry_size` values.
template <class Scalar, class Space>
struct NumberedRows {
  CsrView<Scalar, Space> rows;
  VectorView<const std::int64_t, Space> numbers;
  int entry_size = 1;
};

/// Entries that other ranks have for rows of this one: row r of `rows` belongs to the rank's row own(r). A
/// row of the rank's has as many of them as there are ranks that gave it entries.
template <class Scalar, class Space>
struct GivenRows {
  Vector<int, Space> own;
  RemoteRows<Scalar, Space> rows;
};

/// Rows of matrices between ranks, for a fixed choice of rows of other ranks, as a VectorImport is for
/// entries of vectors. Its members are collective: three messages a neighbour, with the lengths of the rows,
/// their columns and their values. With `before`, what a former call returned for rows of the same pattern on
/// all ranks, there is one, with the values; its own values may be gone.
template <class Scalar, class Space>
class RowExchange {
 public:
  virtual ~RowExchange() = default;

  /// The chosen rows, in the order of the choice, of the matrix of which this rank has the rows `a` and,
  /// after each, that of `other`, which may have no rows at all.
  virtual RemoteRows<Scalar, Space> fetch(const Space& space, const NumberedRows<Scalar, Space>& a,
                                          const NumberedRows<Scalar, Space>& other = {},
                                          const RemoteRows<Scalar, Space>* before = nullptr) const = 0;

  /// The reverse: row r of `a` goes to the rank that has the r-th chosen row. \returns what the other ranks
  /// have for rows of this one, in the order of the ranks
  virtual GivenRows<Scalar, Space> give(const Space& space, const NumberedRows<Scalar, Space>& a,
                                        const GivenRows<Scalar, Space>* before = nullptr) const = 0;
};

}  // namespace prekond
