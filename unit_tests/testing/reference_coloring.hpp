// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Colourings, one row after another.
#include "testing/host_graph.hpp"

#include <prekond/pattern/coloring.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <tuple>
#include <vector>

namespace prekond::testing {

/// The neighbours of each row within a distance, in S + S^T, without the row.
inline HostGraph neighbours(const HostGraph& s, int distance) {
  const int n = static_cast<int>(s.size());
  std::vector<std::set<int>> near(n);
  for (int i = 0; i < n; ++i)
    for (const int j : s[i])
      if (j < n && j != i) {
        near[i].insert(j);
        near[j].insert(i);
      }
  std::vector<std::set<int>> all = near;
  if (distance == 2)
    for (int i = 0; i < n; ++i)
      for (const int j : near[i]) all[i].insert(near[j].begin(), near[j].end());
  HostGraph result;
  for (int i = 0; i < n; ++i) {
    all[i].erase(i);
    result.emplace_back(all[i].begin(), all[i].end());
  }
  return result;
}

/// Parities of the distance from the smallest row of each component; empty where there is an odd cycle.
inline std::vector<int> two_colors(const HostGraph& graph) {
  std::vector<int> colors(graph.size(), -1);
  for (std::size_t root = 0; root < graph.size(); ++root) {
    if (colors[root] >= 0) continue;
    colors[root] = 0;
    std::vector<int> reached = {static_cast<int>(root)};
    for (std::size_t k = 0; k < reached.size(); ++k)
      for (const int j : graph[reached[k]]) {
        if (colors[j] < 0) {
          colors[j] = 1 - colors[reached[k]];
          reached.push_back(j);
        } else if (colors[j] == colors[reached[k]]) {
          return {};
        }
      }
  }
  return colors;
}

inline unsigned reference_hash(unsigned i) {
  i ^= i >> 16;
  i *= 0x85ebca6bu;
  i ^= i >> 13;
  i *= 0xc2b2ae35u;
  return i ^ (i >> 16);
}

struct ReferenceColoring {
  std::vector<int> colors;
  int rounds = 0;
};

/// Rows that have no colour, in an order, each with the smallest colour that is free; only those whose
/// longest ascending path is shorter than max_rounds. Returns the longest path.
inline int color_in_order(const HostGraph& graph, const HostGraph& symmetric, ColoringOrder order,
                          int max_rounds, std::vector<int>& colors) {
  const int n = static_cast<int>(graph.size());
  const auto key = [&](int i) {
    const std::uint64_t hash = reference_hash(static_cast<unsigned>(i));
    if (order == ColoringOrder::natural) return std::uint64_t(0);
    return order == ColoringOrder::hash ? hash : std::uint64_t(symmetric[i].size()) << 32 | hash;
  };
  std::vector<int> rows;
  for (int i = 0; i < n; ++i)
    if (colors[i] < 0) rows.push_back(i);
  std::sort(rows.begin(), rows.end(),
            [&](int i, int j) { return key(i) != key(j) ? key(i) > key(j) : i < j; });
  std::vector<int> round(n, 0);
  int rounds = 0;
  for (const int i : rows) {
    int mine = 1;
    std::set<int> taken;
    for (const int j : graph[i]) {
      mine = std::max(mine, round[j] + (round[j] > 0 ? 1 : 0));
      taken.insert(colors[j]);
    }
    round[i] = mine;
    if (mine > max_rounds) continue;
    rounds = std::max(rounds, mine);
    int color = 0;
    while (taken.count(color)) ++color;
    colors[i] = color;
  }
  return rounds;
}

inline ReferenceColoring reference_coloring(const HostGraph& s, const ColoringOptions& options) {
  const HostGraph graph = neighbours(s, options.distance);
  ReferenceColoring result;
  if (options.two_colors && options.distance == 1) result.colors = two_colors(graph);
  if (!result.colors.empty() || s.empty()) return result;
  result.colors.assign(s.size(), -1);
  // The degree is that of the graph as it is stored, its diagonal entries included.
  HostGraph symmetric = neighbours(s, 1);
  for (std::size_t i = 0; i < s.size(); ++i)
    if (std::count(s[i].begin(), s[i].end(), static_cast<int>(i)))
      symmetric[i].push_back(static_cast<int>(i));
  result.rounds = color_in_order(graph, symmetric, options.order, options.max_rounds, result.colors);
  result.rounds += color_in_order(graph, symmetric, ColoringOrder::hash, 1 << 30, result.colors);
  return result;
}

}  // namespace prekond::testing
