// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "testing/host_matrix.hpp"

#include <map>

namespace prekond::testing {

/// C = A B: each row a map from columns to sums, with what cancels and what is stored as zero.
template <class Scalar>
HostMatrix<Scalar> reference_spgemm(const HostMatrix<Scalar>& a, const HostMatrix<Scalar>& b) {
  HostMatrix<Scalar> c;
  c.num_rows = a.num_rows;
  c.num_cols = b.num_cols;
  for (std::int64_t i = 0; i < a.num_rows; ++i) {
    std::map<int, Scalar> row;
    for (std::size_t e = a.row_ptrs[i]; e < a.row_ptrs[i + 1]; ++e)
      for (std::size_t q = b.row_ptrs[a.col_idxs[e]]; q < b.row_ptrs[a.col_idxs[e] + 1]; ++q)
        row[b.col_idxs[q]] += a.values[e] * b.values[q];
    for (const auto& [col, sum] : row) {
      c.col_idxs.push_back(col);
      c.values.push_back(sum);
    }
    c.row_ptrs.push_back(c.nnz());
  }
  return c;
}

}  // namespace prekond::testing
