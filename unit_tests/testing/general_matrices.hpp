// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Matrices that are not symmetric, for the tests of the preconditioners of general matrices.
#include "testing/spd_matrices.hpp"

#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace prekond::testing {

inline HostMatrix<double> generated(const std::string& spec) {
  return to_host(generate<double>(Kokkos::DefaultHostExecutionSpace(), spec));
}

template <class Scalar>
HostMatrix<Scalar> transposed(const HostMatrix<Scalar>& a) {
  HostMatrix<Scalar> result;
  result.num_rows = a.num_cols;
  result.num_cols = a.num_rows;
  std::vector<std::vector<std::pair<int, Scalar>>> rows(a.num_cols);
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
      rows[a.col_idxs[k]].push_back({static_cast<int>(i), a.values[k]});
  for (const auto& row : rows) {
    for (const auto& [col, value] : row) {
      result.col_idxs.push_back(col);
      result.values.push_back(value);
    }
    result.row_ptrs.push_back(result.nnz());
  }
  return result;
}

/// A random sparse matrix, dominant in its rows; its pattern is not symmetric.
inline HostMatrix<double> random_general(int n, double density, unsigned seed, double spread = 1) {
  std::mt19937_64 engine(seed);
  const auto uniform = [&] { return static_cast<double>(engine() >> 11) * 0x1p-53; };
  Dense a(n, std::vector<double>(n, 0.0));
  for (int i = 0; i < n; ++i) {
    double sum = 0.05 + 0.1 * uniform();
    for (int j = 0; j < n; ++j) {
      if (j == i || uniform() >= density) continue;
      a[i][j] = 2 * uniform() - 1;
      sum += std::abs(a[i][j]);
    }
    a[i][i] = i % 3 == 1 ? -sum : sum;
    const double scale = std::pow(10.0, spread * (uniform() - 0.5));
    for (double& value : a[i]) value *= scale;
  }
  return sparse(a);
}

/// Dense and far from dominant, with zeros on some of its diagonal.
inline HostMatrix<double> random_dense(int n, unsigned seed) {
  std::mt19937_64 engine(seed);
  Dense a(n, std::vector<double>(n));
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      a[i][j] =
          i == j && i % 5 == 3 ? 0 : static_cast<double>(engine() >> 11) * 0x1p-52 - 1 + (i == j ? 2 : 0);
  return sparse(a);
}

inline std::vector<Case> general_matrices() {
  std::vector<Case> cases;
  for (const char* spec : {"tridiagonal:1", "tridiagonal:37", "poisson2d:9", "convection_diffusion3d:4",
                           "convection_diffusion3d:5,peclet=1000", "elasticity3d:4"})
    cases.push_back({spec, generated(spec)});
  for (int n : {1, 2, 3, 17, 33, 67, 129})
    cases.push_back({"random:" + std::to_string(n), random_general(n, 0.12, 7u + n)});
  cases.push_back({"scaled:65", random_general(65, 0.2, 4, 12)});
  return cases;
}

}  // namespace prekond::testing
