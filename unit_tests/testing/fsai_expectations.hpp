// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Expectations of a static FSAI, by dense systems that are gathered and factored for each row.
#include "testing/reference_adaptive_fsai.hpp"
#include "testing/reference_cg.hpp"
#include "testing/spd_matrices.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace prekond::testing {

/// Row i of G is the minimiser on its own columns. Errors are in units of the row's largest |g_ij|
/// sqrt(a_jj).
inline void expect_minimiser(const Dense& a, const HostMatrix<double>& g, int i, double tolerance) {
  const std::size_t begin = g.row_ptrs[i], last = g.row_ptrs[i + 1] - 1;
  const ReferenceRow reference = solve_row(a, i, {g.col_idxs.begin() + begin, g.col_idxs.begin() + last});
  const double root = std::sqrt(reference.psi);
  ASSERT_NEAR(g.values[last] * root, 1, tolerance) << "row " << i;
  double largest = std::sqrt(a[i][i]);
  for (std::size_t p = 0; p < reference.g.size(); ++p)
    largest = std::max(largest,
                       std::abs(reference.g[p]) * std::sqrt(a[reference.pattern[p]][reference.pattern[p]]));
  for (std::size_t p = 0; p < reference.g.size(); ++p) {
    const int j = reference.pattern[p];
    ASSERT_NEAR((g.values[begin + p] * root - reference.g[p]) * std::sqrt(a[j][j]) / largest, 0, tolerance)
        << "row " << i << " column " << j;
  }
}

/// The rows `rows`, or all.
inline void expect_minimisers(const HostMatrix<double>& a, const HostMatrix<double>& g, double tolerance,
                              std::vector<int> rows = {}) {
  const Dense dense = to_dense(a);
  if (rows.empty())
    for (int i = 0; i < a.num_rows; ++i) rows.push_back(i);
  for (const int i : rows) ASSERT_NO_FATAL_FAILURE(expect_minimiser(dense, g, i, tolerance));
}

/// |psi / psi_reference - 1| of every row on its own columns.
inline void expect_psi(const HostMatrix<double>& a, const HostMatrix<double>& g, double tolerance) {
  const Dense dense = to_dense(a);
  for (int i = 0; i < a.num_rows; ++i) {
    const std::size_t begin = g.row_ptrs[i], last = g.row_ptrs[i + 1] - 1;
    const ReferenceRow reference =
        solve_row(dense, i, {g.col_idxs.begin() + begin, g.col_idxs.begin() + last});
    ASSERT_NEAR(psi_of(g, i) / reference.psi, 1, tolerance) << "row " << i;
  }
}

inline void expect_finite(const HostMatrix<double>& g) {
  for (double value : g.values) ASSERT_TRUE(std::isfinite(value));
  for (std::int64_t i = 0; i < g.num_rows; ++i) ASSERT_GT(g.values[g.row_ptrs[i + 1] - 1], 0) << "row " << i;
}

/// Iterations of CG on A x = 1 with M^-1 = G^T G.
inline std::int64_t iterations_with(const HostMatrix<double>& a, const HostMatrix<double>& g) {
  const auto precondition = [&](const std::vector<double>& r) {
    return multiply_transposed(g, multiply(g, r));
  };
  return reference_cg(a, std::vector<double>(a.num_rows, 1.0), precondition, 1e-8, 0, 2000).iterations;
}

}  // namespace prekond::testing
