// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_matrix.hpp>

namespace prekond {

/// The value of entry (row, col), 0 where it is not stored; `place` is where it stands, or the end of its
/// row. A binary search: the row's columns are sorted.
template <class Matrix>
KOKKOS_INLINE_FUNCTION typename Matrix::scalar_type find_entry(const Matrix& a, std::int64_t row,
                                                               std::int64_t col, std::size_t& place) {
  std::size_t begin = a.row_ptrs(row);
  const std::size_t row_end = a.row_ptrs(row + 1);
  std::size_t end = row_end;
  while (begin < end) {
    const std::size_t middle = begin + (end - begin) / 2;
    if (a.col_idxs(middle) < col)
      begin = middle + 1;
    else
      end = middle;
  }
  const bool found = begin < row_end && a.col_idxs(begin) == col;
  place = found ? begin : row_end;
  return found ? a.values(begin) : typename Matrix::scalar_type(0);
}

}  // namespace prekond
