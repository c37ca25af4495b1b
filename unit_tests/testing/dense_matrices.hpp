// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <random>
#include <vector>

namespace prekond::testing {

using LongMatrix = std::vector<std::vector<long double>>;

/// B B^T + n / 2 I, not scaled: entries between 0 and some n, which either precision holds.
inline LongMatrix random_dense_spd(int n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::vector<double>> b(n, std::vector<double>(n));
  for (auto& row : b)
    for (double& value : row) value = double(random()) / 0x1p31 - 1;
  LongMatrix a(n, std::vector<long double>(n));
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j) {
      double sum = i == j ? 0.5 * n : 0;
      for (int k = 0; k < n; ++k) sum += b[i][k] * b[j][k];
      a[i][j] = a[j][i] = static_cast<float>(sum);
    }
  return a;
}

/// Entries in [-1, 1).
inline LongMatrix random_matrix(int n1, int n2, unsigned seed) {
  std::mt19937 random(seed);
  LongMatrix a(n1, std::vector<long double>(n2));
  for (auto& row : a)
    for (auto& value : row) value = static_cast<float>(double(random()) / 0x1p31 - 1);
  return a;
}

inline std::vector<long double> unit(int n, int k) {
  std::vector<long double> b(n, 0);
  b[k] = 1;
  return b;
}

}  // namespace prekond::testing
