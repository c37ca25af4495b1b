// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "testing/host_matrix.hpp"

#include <cmath>
#include <vector>

namespace prekond::testing {

/// Parameters of the reference, under the paper's names.
struct ReferenceAdaptiveFsai {
  int k_max = 30;
  int s = 1;
  double epsilon = 1e-3;
  double step_tolerance = 0;
  double floor = 1e-12;
};

struct ReferenceRow {
  std::vector<int> pattern;  ///< off-diagonal columns, in the order they were chosen
  std::vector<double> g;     ///< unit-diagonal row, by position in `pattern`
  double psi = 0;
  bool tie = false;  ///< a choice was between gradients that agree to 1e-9
};

using Dense = std::vector<std::vector<double>>;

inline Dense to_dense(const HostMatrix<double>& a) {
  Dense dense(a.num_rows, std::vector<double>(a.num_cols, 0.0));
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) dense[i][a.col_idxs[k]] = a.values[k];
  return dense;
}

/// Solves the SPD system S x = b by a fresh Cholesky factorisation in long double.
inline std::vector<double> dense_solve(std::vector<std::vector<long double>> s, std::vector<long double> b) {
  const std::size_t n = b.size();
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t j = 0; j < k; ++j) s[k][k] -= s[k][j] * s[k][j];
    s[k][k] = std::sqrt(s[k][k]);
    for (std::size_t i = k + 1; i < n; ++i) {
      for (std::size_t j = 0; j < k; ++j) s[i][k] -= s[i][j] * s[k][j];
      s[i][k] /= s[k][k];
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < i; ++j) b[i] -= s[i][j] * b[j];
    b[i] /= s[i][i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t j = i + 1; j < n; ++j) b[i] -= s[j][i] * b[j];
    b[i] /= s[i][i];
  }
  return {b.begin(), b.end()};
}

/// psi = g~ A g~^T for the unit row with the given pattern.
inline double dense_psi(const Dense& a, int i, const std::vector<int>& pattern,
                        const std::vector<double>& g) {
  long double psi = a[i][i];
  for (std::size_t p = 0; p < pattern.size(); ++p) {
    psi += 2.0L * g[p] * a[i][pattern[p]];
    for (std::size_t q = 0; q < pattern.size(); ++q)
      psi += static_cast<long double>(g[p]) * g[q] * a[pattern[p]][pattern[q]];
  }
  return static_cast<double>(psi);
}

/// The minimiser of psi on a pattern: A[P, P] g = -A[P, i] (eq. 8).
inline ReferenceRow solve_row(const Dense& a, int i, std::vector<int> pattern) {
  const std::size_t m = pattern.size();
  std::vector<std::vector<long double>> s(m, std::vector<long double>(m));
  std::vector<long double> b(m);
  for (std::size_t p = 0; p < m; ++p) {
    for (std::size_t q = 0; q < m; ++q) s[p][q] = a[pattern[p]][pattern[q]];
    b[p] = -static_cast<long double>(a[pattern[p]][i]);
  }
  ReferenceRow row;
  row.g = dense_solve(s, b);
  row.psi = dense_psi(a, i, pattern, row.g);
  row.pattern = std::move(pattern);
  return row;
}

/// Algorithm 1 of Bernaschi et al. (2019) for row i, as the paper writes it: the gradient over all columns,
/// the local system gathered and factored anew in every step. It begins with G_0 on `start`.
inline ReferenceRow grow_row(const Dense& a, int i, const ReferenceAdaptiveFsai& parameters,
                             const std::vector<int>& start = {}) {
  ReferenceRow row = solve_row(a, i, start);
  const double psi_0 = row.psi;
  bool tie = false;
  for (int k = 0; k < parameters.k_max; ++k) {
    std::vector<int> pattern = row.pattern;
    std::vector<double> r(i);
    for (int j = 0; j < i; ++j) {
      r[j] = a[j][i];
      for (std::size_t p = 0; p < row.pattern.size(); ++p) r[j] += a[j][row.pattern[p]] * row.g[p];
    }
    for (int t = 0; t < parameters.s; ++t) {
      int best = -1;
      for (int j = 0; j < i; ++j) {
        if (std::find(pattern.begin(), pattern.end(), j) != pattern.end()) continue;
        if (!(std::abs(r[j]) > parameters.floor * std::sqrt(a[i][i] * a[j][j]))) continue;
        if (best >= 0 && std::abs(std::abs(r[j]) - std::abs(r[best])) <= 1e-9 * std::abs(r[best])) tie = true;
        if (best < 0 || std::abs(r[j]) > std::abs(r[best])) best = j;
      }
      if (best < 0) break;
      pattern.push_back(best);
    }
    if (pattern.size() == row.pattern.size()) break;
    const double psi_before = row.psi;
    row = solve_row(a, i, pattern);
    if (row.psi <= parameters.epsilon * psi_0) break;
    if (parameters.step_tolerance > 0 && psi_before - row.psi <= parameters.step_tolerance * psi_before)
      break;
  }
  row.tie = tie;
  return row;
}

}  // namespace prekond::testing
