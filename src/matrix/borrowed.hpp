// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_matrix.hpp>

#include <cstddef>

namespace prekond::impl {

/// A matrix of a view's arrays, which its user only reads. \pre they outlive it
template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> borrowed(const CsrView<Scalar, Space>& a) {
  return {a.num_rows, a.num_cols,
          Vector<std::size_t, Space>(const_cast<std::size_t*>(a.row_ptrs.data()), a.row_ptrs.extent(0)),
          Vector<int, Space>(const_cast<int*>(a.col_idxs.data()), a.col_idxs.extent(0)),
          Vector<Scalar, Space>(const_cast<Scalar*>(a.values.data()), a.values.extent(0))};
}

}  // namespace prekond::impl
