// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "testing/general_matrices.hpp"
#include "testing/host_graph.hpp"
#include "testing/reference_qr.hpp"

#include <cmath>
#include <vector>

namespace prekond::testing {

/// The local problem of column k: A(I, J) and e_k(I), with k in I always. `b` is A^T by rows: J are rows of
/// it.
struct LocalProblem {
  LongMatrix matrix;
  std::vector<long double> rhs;
  std::vector<int> rows;  ///< I
};
inline LocalProblem local_problem(const HostMatrix<double>& b, int k, const std::vector<int>& cols) {
  std::vector<int> position(b.num_cols, -1);
  LocalProblem problem;
  const auto row_of = [&](int i) {
    if (position[i] < 0) {
      position[i] = static_cast<int>(problem.matrix.size());
      problem.matrix.emplace_back(cols.size(), 0);
      problem.rhs.push_back(i == k);
      problem.rows.push_back(i);
    }
    return position[i];
  };
  row_of(k);
  for (std::size_t c = 0; c < cols.size(); ++c)
    for (std::size_t e = b.row_ptrs[cols[c]]; e < b.row_ptrs[cols[c] + 1]; ++e)
      if (b.col_idxs[e] < b.num_rows) problem.matrix[row_of(b.col_idxs[e])][c] = b.values[e];
  return problem;
}

/// ||A(I, J) m - e_k(I)||
inline long double residual_of(const LocalProblem& problem, const std::vector<double>& m) {
  long double square = 0;
  for (std::size_t i = 0; i < problem.rhs.size(); ++i) {
    long double rest = -problem.rhs[i];
    for (std::size_t c = 0; c < m.size(); ++c) rest += problem.matrix[i][c] * m[c];
    square += rest * rest;
  }
  return std::sqrt(square);
}

}  // namespace prekond::testing
