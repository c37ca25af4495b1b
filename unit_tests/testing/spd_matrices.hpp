// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// SPD matrices for the tests of the factored inverses, and what every factor G has to fulfil.
#include "testing/host_graph.hpp"
#include "testing/reference_adaptive_fsai.hpp"

#include <gtest/gtest.h>
#include <prekond/matrix/generate.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace prekond::testing {

/// A random sparse SPD matrix with no two equal entries: no ties.
inline HostMatrix<double> random_spd(int n, double density, unsigned seed, double spread = 1) {
  std::mt19937_64 engine(seed);
  const auto uniform = [&] { return static_cast<double>(engine() >> 11) * 0x1p-53; };
  Dense a(n, std::vector<double>(n, 0.0));
  std::vector<double> scale(n);
  for (int i = 0; i < n; ++i) scale[i] = std::pow(10.0, spread * (uniform() - 0.5));
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < i; ++j)
      if (uniform() < density) a[i][j] = a[j][i] = 2 * uniform() - 1;
  }
  for (int i = 0; i < n; ++i) {
    double sum = 0.05 + 0.1 * uniform();
    for (int j = 0; j < n; ++j) sum += std::abs(a[i][j]);
    a[i][i] = sum;
  }
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) a[i][j] *= scale[i] * scale[j];
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < i; ++j) a[j][i] = a[i][j];
  return sparse(a);
}

/// B B^T / rank + shift I with a random n x rank matrix B: dense, and far from diagonally dominant. Singular
/// where rank < n and the shift is 0.
inline HostMatrix<double> random_gram(int n, int rank, double shift, unsigned seed) {
  std::mt19937_64 engine(seed);
  Dense b(n, std::vector<double>(rank));
  for (auto& row : b)
    for (double& value : row) value = static_cast<double>(engine() >> 11) * 0x1p-52 - 1;
  Dense a(n, std::vector<double>(n));
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j <= i; ++j) {
      double sum = 0;
      for (int k = 0; k < rank; ++k) sum += b[i][k] * b[j][k];
      a[i][j] = a[j][i] = sum / rank + (i == j ? shift : 0);
    }
  }
  return sparse(a);
}

using Case = NamedMatrix<double>;

inline std::vector<Case> small_matrices() {
  const Kokkos::DefaultHostExecutionSpace host;
  std::vector<Case> cases;
  for (const char* spec :
       {"tridiagonal:1", "tridiagonal:2", "tridiagonal:37", "poisson2d:5", "poisson2d:9", "poisson3d:5",
        "anisotropic2d:8", "elasticity3d:3", "elasticity3d:4", "elasticity3d:4,contrast=1", "circuit:9"})
    cases.push_back({spec, to_host(generate<double>(host, spec))});
  for (int n : {1, 2, 3, 17, 33, 67, 129})
    cases.push_back({"random:" + std::to_string(n), random_spd(n, 0.15, 7u + n)});
  cases.push_back({"dense:41", random_spd(41, 1.0, 3)});
  cases.push_back({"scaled:65", random_spd(65, 0.2, 4, 12)});
  HostMatrix<double> diagonal;
  diagonal.num_rows = diagonal.num_cols = 19;
  for (int i = 0; i < 19; ++i) {
    diagonal.col_idxs.push_back(i);
    diagonal.values.push_back(std::pow(3.0, i - 9));
    diagonal.row_ptrs.push_back(i + 1);
  }
  cases.push_back({"diagonal:19", diagonal});
  return cases;
}

/// The same entries in another precision.
template <class To, class From>
HostMatrix<To> convert(const HostMatrix<From>& a) {
  return {a.num_rows, a.num_cols, a.row_ptrs, a.col_idxs, {a.values.begin(), a.values.end()}};
}

/// The diagonal entries, each times a random number in [1, 2): SPD as before.
inline HostMatrix<double> with_larger_diagonal(HostMatrix<double> a, unsigned seed) {
  std::mt19937_64 engine(seed);
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
      if (a.col_idxs[k] == i) a.values[k] *= 1 + static_cast<double>(engine() >> 11) * 0x1p-53;
  return a;
}

/// D A D with D_ii = 2^(step (i - n / 2)): A's rounding errors and nothing else.
inline HostMatrix<double> widened(HostMatrix<double> a, int step) {
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
      a.values[k] = std::ldexp(a.values[k], step * static_cast<int>(i + a.col_idxs[k] - a.num_rows));
  return a;
}

/// A rank's part: 15 more columns, each row with an entry in every fifth one.
inline HostMatrix<double> with_columns_of_other_ranks(const HostMatrix<double>& a) {
  HostMatrix<double> wide;
  wide.num_rows = a.num_rows;
  wide.num_cols = a.num_cols + 15;
  for (std::int64_t i = 0; i < a.num_rows; ++i) {
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
      wide.col_idxs.push_back(a.col_idxs[k]);
      wide.values.push_back(a.values[k]);
    }
    for (std::int64_t j = a.num_cols + i % 5; j < wide.num_cols; j += 5) {
      wide.col_idxs.push_back(static_cast<int>(j));
      wide.values.push_back(-1e3);
    }
    wide.row_ptrs.push_back(wide.nnz());
  }
  return wide;
}

/// (G A G^T)_ii of a row, in long double; `magnitudes` gets the sum of its terms' magnitudes, where given.
inline double unit_diagonal(const Dense& a, const HostMatrix<double>& g, std::int64_t i,
                            double* magnitudes = nullptr) {
  long double sum = 0, of_magnitudes = 0;
  for (std::size_t k = g.row_ptrs[i]; k < g.row_ptrs[i + 1]; ++k) {
    for (std::size_t l = g.row_ptrs[i]; l < g.row_ptrs[i + 1]; ++l) {
      const long double term =
          static_cast<long double>(g.values[k]) * g.values[l] * a[g.col_idxs[k]][g.col_idxs[l]];
      sum += term;
      of_magnitudes += std::abs(term);
    }
  }
  if (magnitudes) *magnitudes = static_cast<double>(of_magnitudes);
  return static_cast<double>(sum);
}

/// psi of the row before it was scaled.
inline double psi_of(const HostMatrix<double>& g, std::int64_t i) {
  return std::pow(g.values[g.row_ptrs[i + 1] - 1], -2);
}

/// Sorted rows that end with the diagonal, and diag(G A G^T) = 1: to the tolerance, or to what the rounding
/// of G's entries does where a nearly singular matrix cancels more.
inline void expect_sound(const HostMatrix<double>& a, const HostMatrix<double>& g, double tolerance) {
  const Dense dense = to_dense(a);
  for (std::int64_t i = 0; i < a.num_rows; ++i) {
    ASSERT_GT(g.row_ptrs[i + 1], g.row_ptrs[i]);
    for (std::size_t k = g.row_ptrs[i] + 1; k < g.row_ptrs[i + 1]; ++k)
      ASSERT_LT(g.col_idxs[k - 1], g.col_idxs[k]);
    ASSERT_EQ(g.col_idxs[g.row_ptrs[i + 1] - 1], i) << "the diagonal is last";
    double magnitudes = 0;
    const double diagonal = unit_diagonal(dense, g, i, &magnitudes);
    ASSERT_NEAR(diagonal, 1, std::max(tolerance, magnitudes * std::numeric_limits<double>::epsilon()))
        << "row " << i;
  }
}

}  // namespace prekond::testing
