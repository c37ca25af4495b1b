// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "testing/host_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace prekond::testing {

/// The eigenvalues of a dense symmetric matrix, ascending, by Jacobi's rotations (Golub, Van Loan,
/// section 8.5).
inline std::vector<double> symmetric_eigenvalues(std::vector<std::vector<long double>> a) {
  const std::size_t n = a.size();
  for (int sweep = 0; sweep < 30; ++sweep) {
    long double off = 0, all = 0;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        all += a[i][j] * a[i][j];
        if (i != j) off += a[i][j] * a[i][j];
      }
    if (off <= 1e-38L * all) break;
    for (std::size_t p = 0; p < n; ++p) {
      for (std::size_t q = p + 1; q < n; ++q) {
        if (a[p][q] == 0) continue;
        const long double theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
        const long double t = (theta < 0 ? -1 : 1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
        const long double c = 1 / std::sqrt(t * t + 1), s = t * c;
        for (std::size_t k = 0; k < n; ++k) {
          const long double kp = a[k][p], kq = a[k][q];
          a[k][p] = c * kp - s * kq;
          a[k][q] = s * kp + c * kq;
        }
        for (std::size_t k = 0; k < n; ++k) {
          const long double pk = a[p][k], qk = a[q][k];
          a[p][k] = c * pk - s * qk;
          a[q][k] = s * pk + c * qk;
        }
      }
    }
  }
  std::vector<double> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<double>(a[i][i]);
  std::sort(values.begin(), values.end());
  return values;
}

/// The eigenvalues of D^-1/2 A D^-1/2 with D = diag(A), or of A itself.
inline std::vector<double> symmetric_eigenvalues(const HostMatrix<double>& a, bool scaled = false) {
  std::vector<std::vector<long double>> dense(a.num_rows, std::vector<long double>(a.num_rows, 0));
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
      if (a.col_idxs[k] < a.num_rows) dense[i][a.col_idxs[k]] = a.values[k];
  if (scaled) {
    std::vector<long double> root(a.num_rows);
    for (std::int64_t i = 0; i < a.num_rows; ++i) root[i] = std::sqrt(dense[i][i]);
    for (std::int64_t i = 0; i < a.num_rows; ++i)
      for (std::int64_t j = 0; j < a.num_rows; ++j) dense[i][j] /= root[i] * root[j];
  }
  return symmetric_eigenvalues(dense);
}

}  // namespace prekond::testing
