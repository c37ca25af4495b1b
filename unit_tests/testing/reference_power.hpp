// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The patterns of static inverses: powers of a pattern, their triangles, what a threshold leaves.
#include "testing/host_graph.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace prekond::testing {

/// The k-th power of a pattern with its diagonal, by products of Boolean rows.
inline HostGraph reference_power(const HostGraph& s, int k) {
  const int n = static_cast<int>(s.size());
  std::vector<std::vector<bool>> power(n, std::vector<bool>(n));
  for (int i = 0; i < n; ++i) power[i][i] = true;
  for (int step = 0; step < k; ++step) {
    auto next = power;
    for (int i = 0; i < n; ++i)
      for (int l = 0; l < n; ++l) {
        if (!power[i][l]) continue;
        for (const int j : s[l])
          if (j < n) next[i][j] = true;
      }
    if (next == power) break;
    power = next;
  }
  HostGraph rows(n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      if (power[i][j]) rows[i].push_back(j);
  return rows;
}

/// The columns of a pattern that a triangle has.
inline HostGraph triangle_of(const HostGraph& s, bool upper) {
  HostGraph rows(s.size());
  for (int i = 0; i < static_cast<int>(s.size()); ++i)
    for (const int j : s[i])
      if (upper ? j >= i : j <= i) rows[i].push_back(j);
  return rows;
}

/// The places of a pattern and of its transpose.
inline HostGraph symmetrised(const HostGraph& s) {
  HostGraph rows = s;
  for (int i = 0; i < static_cast<int>(s.size()); ++i)
    for (const int j : s[i])
      if (j < static_cast<int>(s.size())) rows[j].push_back(i);
  return rows;
}

/// The diagonal and the entries with |a_ij| > tau sqrt|a_ii a_jj|.
inline HostGraph prefiltered(const HostMatrix<double>& a, double tau) {
  HostGraph rows(a.num_rows);
  for (int i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
      const int j = a.col_idxs[k];
      if (i == j || std::abs(a.values[k]) > tau * std::sqrt(std::abs(a(i, i) * a(j, j))))
        rows[i].push_back(j);
    }
  return rows;
}

/// Row i of a lower triangle has min(i + 1, length(i)) columns, spread over those up to i.
template <class Length>
HostGraph lower_rows_of_lengths(int n, const Length& length) {
  HostGraph rows(n);
  for (int i = 0; i < n; ++i) {
    const int others = std::min(i + 1, length(i)) - 1;
    for (int p = 0; p < others; ++p) rows[i].push_back(static_cast<int>(std::int64_t(p) * i / others));
    rows[i].push_back(i);
  }
  return rows;
}

/// Rows of up to `length` columns, spread over the matrix, with the diagonal at changing places.
inline HostGraph rows_of_length(int n, int length) {
  HostGraph rows(n);
  for (int i = 0; i < n; ++i) {
    std::vector<bool> has(n);
    has[i] = true;
    int count = 1;
    for (int j = i % 7; count < length && j < n; j += 1 + (n > length + 20)) {
      count += !has[j];
      has[j] = true;
    }
    for (int j = 0; count < length && j < n; ++j) {
      count += !has[j];
      has[j] = true;
    }
    for (int j = 0; j < n; ++j)
      if (has[j]) rows[i].push_back(j);
  }
  return rows;
}

}  // namespace prekond::testing
