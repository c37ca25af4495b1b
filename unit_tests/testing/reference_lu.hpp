// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "testing/dense_matrices.hpp"

#include <cmath>
#include <utility>

namespace prekond::testing {

/// Solves the general system A x = b by Gaussian elimination with row pivoting, in long double.
inline std::vector<long double> general_solve(LongMatrix a, std::vector<long double> b) {
  const std::size_t n = b.size();
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < n; ++i)
      if (std::abs(a[i][k]) > std::abs(a[pivot][k])) pivot = i;
    std::swap(a[k], a[pivot]);
    std::swap(b[k], b[pivot]);
    for (std::size_t i = k + 1; i < n; ++i) {
      const long double factor = a[i][k] / a[k][k];
      for (std::size_t j = k; j < n; ++j) a[i][j] -= factor * a[k][j];
      b[i] -= factor * b[k];
    }
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t j = i + 1; j < n; ++j) b[i] -= a[i][j] * b[j];
    b[i] /= a[i][i];
  }
  return b;
}

inline LongMatrix transposed(const LongMatrix& a) {
  LongMatrix result(a.size(), std::vector<long double>(a.size()));
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a.size(); ++j) result[j][i] = a[i][j];
  return result;
}

/// The last row and the last column of A^-1.
struct LastOfInverse {
  std::vector<long double> row, column;
};
inline LastOfInverse last_of_inverse(const LongMatrix& a) {
  std::vector<long double> unit(a.size(), 0);
  unit.back() = 1;
  return {general_solve(transposed(a), unit), general_solve(a, unit)};
}

}  // namespace prekond::testing
