// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "testing/host_matrix.hpp"

#include <cmath>
#include <limits>
#include <vector>

namespace prekond::testing {

/// A column for each row of a dense matrix of costs, so that their sum is smallest: the Hungarian algorithm,
/// a row after the other (Kuhn; Munkres), O(n^3).
inline std::vector<int> reference_assignment(const std::vector<std::vector<long double>>& cost) {
  const int n = static_cast<int>(cost.size());
  // Row and column 0 mean none.
  std::vector<long double> u(n + 1, 0), v(n + 1, 0);
  std::vector<int> row_of(n + 1, 0), way(n + 1, 0);
  for (int i = 1; i <= n; ++i) {
    row_of[0] = i;
    int j0 = 0;
    std::vector<long double> least(n + 1, std::numeric_limits<long double>::infinity());
    std::vector<bool> used(n + 1, false);
    do {
      used[j0] = true;
      const int row = row_of[j0];
      long double delta = std::numeric_limits<long double>::infinity();
      int j1 = 0;
      for (int j = 1; j <= n; ++j) {
        if (used[j]) continue;
        const long double reduced = cost[row - 1][j - 1] - u[row] - v[j];
        if (reduced < least[j]) {
          least[j] = reduced;
          way[j] = j0;
        }
        if (least[j] < delta) {
          delta = least[j];
          j1 = j;
        }
      }
      for (int j = 0; j <= n; ++j) {
        if (used[j]) {
          u[row_of[j]] += delta;
          v[j] -= delta;
        } else {
          least[j] -= delta;
        }
      }
      j0 = j1;
    } while (row_of[j0] != 0);
    for (; j0 != 0; j0 = way[j0]) row_of[j0] = row_of[way[j0]];
  }
  std::vector<int> column_of(n);
  for (int j = 1; j <= n; ++j) column_of[row_of[j] - 1] = j - 1;
  return column_of;
}

struct ReferenceMatching {
  std::int64_t rank = 0;
  double log_product = 0;  ///< the largest of all matchings of this rank
};

/// |a_ij| of what counts, 0 of all others.
template <class Scalar>
double matching_magnitude(const Scalar& value) {
  const double x = static_cast<double>(Kokkos::abs(value));
  return std::isfinite(x) ? x : 0;
}

/// As many rows as possible, and of these matchings the largest product: a missing entry costs more than all
/// others together.
template <class Scalar>
ReferenceMatching reference_matching(const HostMatrix<Scalar>& a) {
  const auto n = static_cast<std::size_t>(a.num_rows);
  const long double missing = 4000.0L * static_cast<long double>(n + 1);
  std::vector<std::vector<long double>> cost(n, std::vector<long double>(n, missing));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
      const double x = matching_magnitude(a.values[k]);
      if (a.col_idxs[k] < a.num_rows && x > 0)
        cost[i][a.col_idxs[k]] = -std::log(static_cast<long double>(x));
    }
  const auto column_of = reference_assignment(cost);
  ReferenceMatching result;
  long double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (cost[i][column_of[i]] == missing) continue;
    ++result.rank;
    sum -= cost[i][column_of[i]];
  }
  result.log_product = static_cast<double>(sum);
  return result;
}

}  // namespace prekond::testing
