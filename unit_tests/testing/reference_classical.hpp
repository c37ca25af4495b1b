// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Classical coarsening, one row after another: strong influences, PMIS, extended+i interpolation.
#include "testing/reference_aggregation.hpp"
#include "testing/reference_amg.hpp"

#include "matrix/counter_hash.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace prekond::testing {

/// By the definition. `unknown_of`: empty for one unknown.
template <class Scalar>
HostGraph sequential_influences(const HostMatrix<Scalar>& a, double theta, double max_row_sum,
                                const std::vector<int>& unknown_of = {}) {
  HostGraph rows(a.num_rows);
  for (int i = 0; i < a.num_rows; ++i) {
    std::vector<std::pair<int, double>> others;
    double diagonal = 0, sum = 0;
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
      const int j = a.col_idxs[k];
      if (j == i) diagonal = double(a.values[k]);
      if (j == i || j >= a.num_rows || (!unknown_of.empty() && unknown_of[i] != unknown_of[j])) continue;
      others.emplace_back(j, double(a.values[k]));
      sum += double(a.values[k]);
    }
    if (max_row_sum < 1 && std::abs(diagonal + sum) > max_row_sum * std::abs(diagonal)) continue;
    const double sign = diagonal < 0 ? 1 : -1;
    double largest = 0;
    for (const auto& [j, value] : others) largest = std::max(largest, sign * value);
    for (const auto& [j, value] : others)
      if (sign * value > 0 && sign * value >= theta * largest) rows[i].push_back(j);
  }
  return rows;
}

/// Numbers of coarse vertices, -1 of fine ones, -2 of vertices without an edge.
inline std::vector<int> sequential_pmis(const HostGraph& strong) {
  const int n = static_cast<int>(strong.size());
  std::vector<std::set<int>> influences_of(n), influenced_by(n);  // of row i, and by vertex i
  for (int i = 0; i < n; ++i)
    for (const int j : strong[i])
      if (j < n && j != i) {
        influences_of[i].insert(j);
        influenced_by[j].insert(i);
      }
  const auto measure = [&](int v) {
    return std::tuple(influenced_by[v].size(), impl::counter_hash(0, v) >> 32, v);
  };
  std::set<int> undecided, coarse;
  std::vector<int> number(n, -1);
  for (int v = 0; v < n; ++v) {
    if (!influenced_by[v].empty())
      undecided.insert(v);
    else if (influences_of[v].empty())
      number[v] = -2;
  }
  while (!undecided.empty()) {
    std::set<int> entering;
    for (const int v : undecided) {
      const auto is_later = [&](int w) { return undecided.count(w) == 0 || measure(w) < measure(v); };
      if (std::all_of(influences_of[v].begin(), influences_of[v].end(), is_later) &&
          std::all_of(influenced_by[v].begin(), influenced_by[v].end(), is_later))
        entering.insert(v);
    }
    for (const int v : entering) {
      coarse.insert(v);
      undecided.erase(v);
    }
    for (const int v : entering)
      for (const int w : influenced_by[v]) undecided.erase(w);
  }
  int count = 0;
  for (const int v : coarse) number[v] = count++;
  return number;
}

/// PMIS of the coarse vertices in their graph of distance two.
inline std::vector<int> sequential_pmis_of_coarse(const HostGraph& strong, const std::vector<int>& first) {
  const int n = static_cast<int>(strong.size());
  HostGraph near(std::max(-1, *std::max_element(first.begin(), first.end())) + 1);
  for (int i = 0; i < n; ++i) {
    if (first[i] < 0) continue;
    std::set<int> reached;
    for (const int k : strong[i]) {
      if (k >= n) continue;
      reached.insert(k);
      for (const int j : strong[k])
        if (j < n) reached.insert(j);
    }
    for (const int j : reached)
      if (j != i && first[j] >= 0) near[first[i]].push_back(first[j]);
  }
  const std::vector<int> again = sequential_pmis(near);
  std::vector<int> number = first;
  int count = 0;
  for (int& of_vertex : number)
    if (of_vertex >= 0) of_vertex = again[of_vertex] == -1 ? -1 : count++;
  return number;
}

/// All of extended+i interpolation, no entry cut off: rows `number` numbers or calls fine, from the
/// definition with every sum over all rows.
inline DenseMatrix sequential_interpolation(const HostMatrix<double>& a, const HostGraph& strong,
                                            const std::vector<int>& number,
                                            const std::vector<int>& unknown_of = {}) {
  const int n = static_cast<int>(a.num_rows);
  const DenseMatrix entries = dense(a);
  std::vector<std::vector<char>> influences(n, std::vector<char>(n, 0));  // j influences i
  for (int i = 0; i < n; ++i)
    for (const int j : strong[i]) influences[i][j] = 1;
  const auto q = [&](int k) {
    long double sum = 0;
    for (int j = 0; j < n; ++j)
      if (influences[k][j] && number[j] >= 0) sum += entries[k][j];
    return sum;
  };
  const int count = std::max(-1, *std::max_element(number.begin(), number.end())) + 1;
  DenseMatrix p(n, std::vector<double>(count, 0.0));
  for (int i = 0; i < n; ++i) {
    if (number[i] >= 0) p[i][number[i]] = 1;
    if (number[i] != -1) continue;
    long double d = 0;
    std::vector<long double> numerators(p[i].size(), 0);
    for (int j = 0; j < n; ++j) {
      if (!influences[i][j] && (unknown_of.empty() || unknown_of[i] == unknown_of[j])) d += entries[i][j];
      if (influences[i][j] && number[j] >= 0) numerators[number[j]] += entries[i][j];
      if (!influences[i][j] || number[j] != -1) continue;
      const long double back = influences[j][i] ? entries[j][i] : 0, divisor = q(j) + back;
      d += divisor == 0 ? entries[i][j] : entries[i][j] * back / divisor;
      for (int l = 0; divisor != 0 && l < n; ++l)
        if (influences[j][l] && number[l] >= 0)
          numerators[number[l]] += entries[i][j] * entries[j][l] / divisor;
    }
    long double sum = 0;
    for (const auto x : numerators) sum += x;
    if (!(d * sum < 0)) d = -sum;
    for (std::size_t c = 0; c < p[i].size(); ++c) p[i][c] = d == 0 ? 0 : double(-numerators[c] / d);
  }
  return p;
}

}  // namespace prekond::testing
