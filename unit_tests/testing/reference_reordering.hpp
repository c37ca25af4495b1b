// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "testing/host_graph.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

namespace prekond::testing {

/// The graph of S + S^T, square and without its diagonal.
inline HostGraph reference_adjacency(const HostGraph& s) {
  const int n = static_cast<int>(s.size());
  std::vector<std::set<int>> rows(s.size());
  for (int i = 0; i < n; ++i)
    for (const int j : s[i]) {
      if (j >= n || j == i) continue;
      rows[i].insert(j);
      rows[j].insert(i);
    }
  HostGraph result;
  for (const auto& row : rows) result.emplace_back(row.begin(), row.end());
  return result;
}

/// The levels of a search from `root`: Cuthill and McKee's, the neighbours of each row by degree and index.
inline HostGraph reference_levels(const HostGraph& graph, int root) {
  std::vector<bool> met(graph.size(), false);
  met[root] = true;
  HostGraph levels = {{root}};
  for (;;) {
    std::vector<int> next;
    for (const int row : levels.back()) {
      std::vector<std::pair<std::size_t, int>> neighbours;
      for (const int j : graph[row])
        if (!met[j]) neighbours.emplace_back(graph[j].size(), j);
      std::sort(neighbours.begin(), neighbours.end());
      for (const auto& [degree, j] : neighbours) {
        met[j] = true;
        next.push_back(j);
      }
    }
    if (next.empty()) return levels;
    levels.push_back(next);
  }
}

/// Reverse Cuthill-McKee, old rows by new: George and Liu's pseudo-peripheral start of each component.
inline std::vector<int> reference_rcm(const HostGraph& s) {
  const HostGraph graph = reference_adjacency(s);
  std::vector<int> order;
  std::vector<bool> done(graph.size(), false);
  for (int start = 0; start < static_cast<int>(graph.size()); ++start) {
    if (done[start]) continue;
    HostGraph levels = reference_levels(graph, start);
    for (;;) {
      const int end = *std::min_element(levels.back().begin(), levels.back().end(), [&](int i, int j) {
        return std::tuple(graph[i].size(), i) < std::tuple(graph[j].size(), j);
      });
      const std::size_t before = levels.size();
      levels = reference_levels(graph, end);
      if (levels.size() <= before) break;
    }
    for (const auto& level : levels)
      for (const int row : level) {
        order.push_back(row);
        done[row] = true;
      }
  }
  std::reverse(order.begin(), order.end());
  return order;
}

inline std::vector<int> reference_inverse(const std::vector<int>& permutation) {
  std::vector<int> inverse(permutation.size(), -1);
  for (std::size_t i = 0; i < permutation.size(); ++i) inverse[permutation[i]] = static_cast<int>(i);
  return inverse;
}

/// P A P^T, entry by entry; columns >= num_rows stay.
template <class Scalar>
HostMatrix<Scalar> reference_permuted(const HostMatrix<Scalar>& a, const std::vector<int>& permutation) {
  const std::vector<int> inverse = reference_inverse(permutation);
  std::vector<std::vector<std::pair<int, Scalar>>> rows(permutation.size());
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
      const int j = a.col_idxs[k];
      rows[inverse[i]].emplace_back(j < a.num_rows ? inverse[j] : j, a.values[k]);
    }
  HostMatrix<Scalar> result;
  result.num_rows = a.num_rows;
  result.num_cols = a.num_cols;
  for (auto& row : rows) {
    std::sort(row.begin(), row.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
    for (const auto& [j, value] : row) {
      result.col_idxs.push_back(j);
      result.values.push_back(value);
    }
    result.row_ptrs.push_back(result.col_idxs.size());
  }
  return result;
}

/// Entries of the Cholesky factor of a symmetric pattern in this order, its diagonal included: rows are
/// eliminated one by one.
inline std::size_t reference_fill(const HostGraph& s, const std::vector<int>& permutation) {
  const HostGraph graph = reference_adjacency(s);
  const std::vector<int> inverse = reference_inverse(permutation);
  std::vector<std::set<int>> later(graph.size());
  for (std::size_t i = 0; i < graph.size(); ++i)
    for (const int j : graph[i])
      if (inverse[j] > inverse[i]) later[inverse[i]].insert(inverse[j]);
  std::size_t entries = graph.size();
  for (auto& row : later) {
    entries += row.size();
    if (row.empty()) continue;
    const int parent = *row.begin();
    later[parent].insert(std::next(row.begin()), row.end());
  }
  return entries;
}

}  // namespace prekond::testing
