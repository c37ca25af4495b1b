// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Levels of triangles and substitution, one row after another.
#include "testing/host_graph.hpp"

#include <prekond/pattern/level_schedule.hpp>

#include <algorithm>
#include <vector>

namespace prekond::testing {

/// The columns of row i that the triangle has, without the diagonal.
inline std::vector<int> needs_of(const HostGraph& s, int i, Triangle which) {
  std::vector<int> needs;
  for (const int j : s[i])
    if (which == Triangle::lower ? j < i : j > i && j < static_cast<int>(s.size())) needs.push_back(j);
  return needs;
}

/// The level of each row, from 0 on.
inline std::vector<int> reference_levels(const HostGraph& s, Triangle which) {
  const int n = static_cast<int>(s.size());
  std::vector<int> levels(n, 0);
  for (int k = 0; k < n; ++k) {
    const int i = which == Triangle::lower ? k : n - 1 - k;
    for (const int j : needs_of(s, i, which)) levels[i] = std::max(levels[i], levels[j] + 1);
  }
  return levels;
}

/// (I + N)^-1 S x for the strict triangle N of a matrix, with the magnitudes of the terms of a row:
/// |s_i x_i| + sum |n_ij| magnitude_j, which rounding is compared with. S = I where `s` is empty.
struct Substitution {
  std::vector<long double> y, magnitudes;
};

template <class Scalar>
Substitution substitute(const HostMatrix<Scalar>& a, Triangle which, const std::vector<Scalar>& s,
                        const std::vector<Scalar>& x) {
  const std::int64_t n = a.num_rows;
  Substitution result{std::vector<long double>(n), std::vector<long double>(n)};
  for (std::int64_t k = 0; k < n; ++k) {
    const std::int64_t i = which == Triangle::lower ? k : n - 1 - k;
    long double sum = static_cast<long double>(x[i]) * (s.empty() ? 1 : s[i]);
    long double magnitude = std::abs(sum);
    for (std::size_t e = a.row_ptrs[i]; e < a.row_ptrs[i + 1]; ++e) {
      const int j = a.col_idxs[e];
      if (which == Triangle::lower ? j >= i : j <= i || j >= n) continue;
      sum -= static_cast<long double>(a.values[e]) * result.y[j];
      magnitude += std::abs(static_cast<long double>(a.values[e])) * result.magnitudes[j];
    }
    result.y[i] = sum;
    result.magnitudes[i] = magnitude;
  }
  return result;
}

}  // namespace prekond::testing
