// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The incomplete sparse approximate inverse, sequentially and densely, in long double.
#include "testing/host_graph.hpp"
#include "testing/reference_adaptive_fsai.hpp"
#include "testing/reference_lu.hpp"
#include "testing/reference_power.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace prekond::testing {

/// M[i, P] with M[i, P] A[P, P] = e_i^T[P].
inline std::vector<double> reference_isai_row(const Dense& a, int i, const std::vector<int>& cols) {
  const std::size_t m = cols.size();
  LongMatrix transposed_block(m, std::vector<long double>(m));
  std::vector<long double> unit(m, 0);
  for (std::size_t p = 0; p < m; ++p) {
    unit[p] = cols[p] == i;
    for (std::size_t q = 0; q < m; ++q) transposed_block[q][p] = a[cols[p]][cols[q]];
  }
  const auto row = general_solve(transposed_block, unit);
  return {row.begin(), row.end()};
}

/// A's lower or upper triangle.
inline Dense triangle_of(Dense a, bool upper, bool unit_diagonal = false) {
  const int n = static_cast<int>(a.size());
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      if (upper ? j < i : j > i) a[i][j] = 0;
      if (i == j && unit_diagonal) a[i][j] = 1;
    }
  return a;
}

/// |(M A)_ij - I_ij| on M's pattern, relative to the sum of the products' magnitudes where that is above 1:
/// the rows `rows`, or all.
inline void expect_inverse_on_pattern(const Dense& a, const HostMatrix<double>& m, double tolerance,
                                      std::vector<int> rows = {}) {
  if (rows.empty())
    for (int i = 0; i < m.num_rows; ++i) rows.push_back(i);
  for (const int i : rows) {
    for (std::size_t k = m.row_ptrs[i]; k < m.row_ptrs[i + 1]; ++k) {
      const int j = m.col_idxs[k];
      long double entry = 0, magnitudes = 0;
      for (std::size_t l = m.row_ptrs[i]; l < m.row_ptrs[i + 1]; ++l) {
        const long double term = static_cast<long double>(m.values[l]) * a[m.col_idxs[l]][j];
        entry += term;
        magnitudes += std::abs(term);
      }
      const double allowed = tolerance * std::max(1.0, static_cast<double>(magnitudes));
      ASSERT_NEAR(static_cast<double>(entry), i == j ? 1 : 0, allowed) << "row " << i << ", column " << j;
    }
  }
}

/// Row by row the reference's, to the tolerance times the row's largest entry, each weighted by the size of
/// its row of A: the rows `rows`, or all.
inline void expect_reference_isai(const Dense& a, const HostMatrix<double>& m, double tolerance,
                                  std::vector<int> rows = {}) {
  std::vector<double> weight(a.size(), 0);
  for (std::size_t i = 0; i < a.size(); ++i)
    for (const double value : a[i]) weight[i] = std::max(weight[i], std::abs(value));
  if (rows.empty())
    for (int i = 0; i < m.num_rows; ++i) rows.push_back(i);
  for (const int i : rows) {
    const std::size_t begin = m.row_ptrs[i];
    const std::vector<int> cols(m.col_idxs.begin() + static_cast<std::ptrdiff_t>(begin),
                                m.col_idxs.begin() + static_cast<std::ptrdiff_t>(m.row_ptrs[i + 1]));
    const std::vector<double> expected = reference_isai_row(a, i, cols);
    double largest = 0;
    for (std::size_t p = 0; p < cols.size(); ++p)
      largest = std::max(largest, std::abs(expected[p]) * weight[cols[p]]);
    for (std::size_t p = 0; p < cols.size(); ++p)
      ASSERT_NEAR((m.values[begin + p] - expected[p]) * weight[cols[p]] / largest, 0, tolerance)
          << "row " << i << ", column " << cols[p];
  }
}

}  // namespace prekond::testing
