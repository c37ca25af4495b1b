// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Common parts of the tests of the static SPAI.
#include "testing/general_matrices.hpp"
#include "testing/reference_spai.hpp"

#include <gtest/gtest.h>
#include <prekond/precond/spai.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace prekond::testing {

/// Entries in [-1, 1] and 3 on the diagonal; the pattern is not symmetric.
inline HostMatrix<double> random_around_three(int n, double density, unsigned seed) {
  HostMatrix<double> a = random_entries<double>(n, n, density, seed);
  Dense dense = to_dense(a);
  for (int i = 0; i < n; ++i) dense[i][i] = i % 3 == 1 ? -3 : 3;
  return sparse(dense);
}

inline std::vector<Case> spai_matrices() {
  std::vector<Case> cases;
  for (const char* spec : {"tridiagonal:1", "tridiagonal:37", "poisson2d:9", "convection_diffusion3d:4",
                           "convection_diffusion3d:5,peclet=1000", "elasticity3d:3", "circuit:9"})
    cases.push_back({spec, generated(spec)});
  for (int n : {1, 2, 3, 17, 33, 67})
    cases.push_back({"random:" + std::to_string(n), random_around_three(n, 0.08, 7u + n)});
  return cases;
}

/// The columns of M (its rows, on the left side) are the least ones on their own patterns.
inline void expect_least(const HostMatrix<double>& a, const HostMatrix<double>& m, Side side,
                         double tolerance, std::vector<int> columns = {}) {
  const HostMatrix<double> b = side == Side::right ? transposed(a) : a;
  const HostMatrix<double> lists = side == Side::right ? transposed(m) : m;
  if (columns.empty())
    for (int k = 0; k < lists.num_rows; ++k) columns.push_back(k);
  for (const int k : columns) {
    const std::vector<int> cols(lists.col_idxs.begin() + lists.row_ptrs[k],
                                lists.col_idxs.begin() + lists.row_ptrs[k + 1]);
    const std::vector<double> values(lists.values.begin() + lists.row_ptrs[k],
                                     lists.values.begin() + lists.row_ptrs[k + 1]);
    const LocalProblem problem = local_problem(b, k, cols);
    const LeastSolution expected = least_squares(problem.matrix, problem.rhs);
    ASSERT_NEAR(static_cast<double>(residual_of(problem, values) - expected.residual), 0, tolerance)
        << "column " << k << " of " << problem.matrix.size() << " x " << cols.size();
  }
}

/// Every entry is finite, and no column (row, on the left side) is zero.
inline void expect_finite(const HostMatrix<double>& m, Side side) {
  for (const double value : m.values) ASSERT_TRUE(std::isfinite(value));
  const HostMatrix<double> columns = side == Side::right ? transposed(m) : m;
  for (std::int64_t k = 0; k < columns.num_rows; ++k) {
    double largest = 0;
    for (std::size_t p = columns.row_ptrs[k]; p < columns.row_ptrs[k + 1]; ++p)
      largest = std::max(largest, std::abs(columns.values[p]));
    ASSERT_GT(largest, 0) << "column " << k;
  }
}

inline SpaiOptions with(Side side, int power = 1, Precision precision = Precision::double_precision) {
  SpaiOptions options;
  options.side = side;
  options.power = power;
  options.setup_scalar = precision;
  return options;
}

}  // namespace prekond::testing
