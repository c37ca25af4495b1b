// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Solves a tridiagonal system in arrays of the host, with methods chosen by the matrix.
#include <prekond/prekond.hpp>

#include <cstdio>
#include <vector>

int main() {
  const int n = 1000;
  std::vector<int> row_ptrs = {0}, col_idxs;
  std::vector<double> values, b(n, 1.0), x(n);
  for (int i = 0; i < n; ++i) {
    for (const int j : {i - 1, i, i + 1}) {
      if (j < 0 || j >= n) continue;
      col_idxs.push_back(j);
      values.push_back(i == j ? 2 : -1);
    }
    row_ptrs.push_back(static_cast<int>(col_idxs.size()));
  }
  const prekond::SolveResult result = prekond::solve({row_ptrs, col_idxs, values}, b, x);
  std::printf("%s after %d iterations, x(n/2) = %g\n", prekond::to_string(result.reason).c_str(),
              static_cast<int>(result.iterations), x[n / 2]);
  return result.converged ? 0 : 1;
}
