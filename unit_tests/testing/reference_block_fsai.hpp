// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// FSAI in blocks of rows, by dense systems that are gathered and factored anew for each row.
#include "testing/reference_adaptive_fsai.hpp"
#include "testing/reference_cg.hpp"
#include "testing/spd_matrices.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace prekond::testing {

struct ReferenceBlock {
  std::vector<int> pattern;        ///< columns left of the block, in the order they were chosen
  std::vector<ReferenceRow> rows;  ///< on the pattern and the block's columns up to their own
  bool tie = false;                ///< a choice was between columns that agree to 1e-9
};

/// Rows first .. first + size - 1 grow one pattern: a step adds the s columns j < first with the largest
/// sum_r R_rj^2 / psi_r, for the rows' gradients R_r and their psi_r on the pattern alone. The stops compare
/// the geometric mean of psi_r / a_rr.
inline ReferenceBlock grow_block(const Dense& a, int first, int size, const ReferenceAdaptiveFsai& parameters,
                                 const std::vector<int>& start = {}, int most = 1 << 30) {
  ReferenceBlock block;
  block.pattern = start;
  std::vector<ReferenceRow> rows(size);
  const auto solve = [&] {
    long double sum = 0;
    for (int r = 0; r < size; ++r) {
      rows[r] = solve_row(a, first + r, block.pattern);
      sum += std::log(static_cast<long double>(rows[r].psi) / a[first + r][first + r]);
    }
    return static_cast<double>(std::exp(sum / size));
  };
  double psi = solve();
  const double psi_0 = psi;
  for (int k = 0; k < parameters.k_max; ++k) {
    std::vector<double> strength(first), relative(first);
    for (int j = 0; j < first; ++j) {
      for (int r = 0; r < size; ++r) {
        double gradient = a[j][first + r];
        for (std::size_t p = 0; p < block.pattern.size(); ++p)
          gradient += a[j][block.pattern[p]] * rows[r].g[p];
        strength[j] += gradient * gradient / rows[r].psi;
        relative[j] += gradient * gradient / (a[first + r][first + r] * a[j][j]);
      }
    }
    const std::size_t before = block.pattern.size();
    for (int t = 0; t < parameters.s && static_cast<int>(block.pattern.size()) < most; ++t) {
      int best = -1;
      for (int j = 0; j < first; ++j) {
        if (std::find(block.pattern.begin(), block.pattern.end(), j) != block.pattern.end()) continue;
        if (!(relative[j] > parameters.floor * parameters.floor)) continue;
        if (best >= 0 && std::abs(strength[j] - strength[best]) <= 1e-9 * strength[best]) block.tie = true;
        if (best < 0 || strength[j] > strength[best]) best = j;
      }
      if (best < 0) break;
      block.pattern.push_back(best);
    }
    if (block.pattern.size() == before) break;
    const double psi_before = psi;
    psi = solve();
    if (psi <= parameters.epsilon * psi_0) break;
    if (parameters.step_tolerance > 0 && psi_before - psi <= parameters.step_tolerance * psi_before) break;
  }
  std::vector<int> columns = block.pattern;
  for (int r = 0; r < size; ++r) {
    block.rows.push_back(solve_row(a, first + r, columns));
    columns.push_back(first + r);
  }
  return block;
}

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

inline void expect_minimisers(const HostMatrix<double>& a, const HostMatrix<double>& g, double tolerance) {
  const Dense dense = to_dense(a);
  for (int i = 0; i < a.num_rows; ++i) ASSERT_NO_FATAL_FAILURE(expect_minimiser(dense, g, i, tolerance));
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
