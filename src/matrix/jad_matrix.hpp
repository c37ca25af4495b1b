// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_matrix.hpp>

#include <cstdint>

namespace prekond {

/// A sparse matrix by jagged diagonals: rows are sorted by length, longest first, and diagonal k has the k-th
/// entry of each row that has one. Nothing is padded. Its modern form, which keeps rows near their
/// neighbours, is SellMatrix.
///
/// Memory: 12 bytes an entry in double precision, 4 a row, 8 an entry of the longest row. Source: Saad,
/// Iterative Methods for Sparse Linear Systems, 2nd ed., section 3.4; Li, Saad, GPU-accelerated
/// preconditioned iterative linear solvers, section 3.2.
template <class Value, class Space>
struct JadMatrix {
  using value_type = Value;
  std::int64_t nnz() const { return static_cast<std::int64_t>(col_idxs.extent(0)); }
  std::int64_t bytes() const {
    return static_cast<std::int64_t>(diagonal_ptrs.span() * sizeof(std::size_t) +
                                     (col_idxs.span() + rows.span()) * sizeof(int) +
                                     values.span() * sizeof(Value));
  }

  std::int64_t num_rows = 0;
  std::int64_t num_cols = 0;
  Vector<std::size_t, Space>
      diagonal_ptrs;            ///< of diagonals, as many as the longest row has entries, and the end
  Vector<int, Space> col_idxs;  ///< diagonal by diagonal
  Vector<Value, Space> values;
  Vector<int, Space> rows;  ///< the row at a position
};

/// The argument of kernels: nothing owned.
template <class Value, class Space>
struct JadView {
  JadView() = default;
  JadView(const JadMatrix<Value, Space>& a)
      : num_rows(a.num_rows),
        num_cols(a.num_cols),
        diagonal_ptrs(a.diagonal_ptrs),
        col_idxs(a.col_idxs),
        values(a.values),
        rows(a.rows) {}

  std::int64_t num_rows = 0;
  std::int64_t num_cols = 0;
  VectorView<const std::size_t, Space> diagonal_ptrs;
  VectorView<const int, Space> col_idxs;
  VectorView<const Value, Space> values;
  VectorView<const int, Space> rows;
};

/// The matrix by jagged diagonals; rows of the same length in their order. Cost: a sort of the rows, one
/// reading and one writing of the entries. Fences.
template <class Value, class Space>
JadMatrix<Value, Space> make_jad(const Space& space, const CsrView<Value, Space>& a);

}  // namespace prekond
