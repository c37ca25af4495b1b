// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Strong couplings from dense norms; independent sets and aggregates, one vertex after another.
#include "testing/reference_coloring.hpp"

#include "matrix/counter_hash.hpp"

#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace prekond::testing {

/// By the definition, every pair of nodes.
template <class Scalar>
HostGraph sequential_strength(const HostMatrix<Scalar>& a, int d, double theta) {
  const int nodes = static_cast<int>(a.num_rows / d);
  std::vector<std::vector<long double>> norm(nodes, std::vector<long double>(nodes, 0));
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
      if (a.col_idxs[k] < a.num_rows)
        norm[i / d][a.col_idxs[k] / d] += static_cast<long double>(a.values[k]) * a.values[k];
  for (auto& row : norm)
    for (auto& x : row) x = std::sqrt(x);
  HostGraph rows(nodes);
  for (int i = 0; i < nodes; ++i)
    for (int j = 0; j < nodes; ++j)
      if (j != i && std::max(norm[i][j], norm[j][i]) > theta * std::sqrt(norm[i][i] * norm[j][j]))
        rows[i].push_back(j);
  return rows;
}

/// Without edges to vertices that are not there.
inline HostGraph induced(const HostGraph& graph, const std::vector<char>& free) {
  const int n = static_cast<int>(graph.size());
  HostGraph result(n);
  for (int v = 0; v < n; ++v)
    for (const int w : graph[v])
      if (w < n && free[v] && free[w]) result[v].push_back(w);
  return result;
}

/// Rounds by the definition, with all vertices within two edges: an undecided vertex leaves where one of the
/// set is near, and enters where it has the least priority of all undecided ones near. `free`: the vertices
/// that there are.
struct SequentialSet {
  std::vector<char> marks;
  int rounds = 0;
};
inline SequentialSet sequential_independent_set(const HostGraph& graph, const std::vector<char>& free) {
  const int n = static_cast<int>(graph.size());
  const HostGraph near = neighbours(induced(graph, free), 2);
  enum Status { undecided, in, out };
  std::vector<Status> status(n);
  for (int v = 0; v < n; ++v) status[v] = free[v] ? undecided : out;
  SequentialSet result;
  for (; std::count(status.begin(), status.end(), undecided) > 0; ++result.rounds) {
    const auto priority = [&](int v) { return std::pair(impl::counter_hash(result.rounds, v) >> 32, v); };
    std::vector<Status> next = status;
    for (int v = 0; v < n; ++v) {
      if (status[v] != undecided) continue;
      bool first = true;
      for (const int w : near[v]) {
        if (status[w] == in) next[v] = out;
        if (status[w] == undecided && priority(w) < priority(v)) first = false;
      }
      if (next[v] == undecided && first) next[v] = in;
    }
    status = next;
  }
  for (const Status s : status) result.marks.push_back(s == in);
  return result;
}

/// One vertex after another, by their numbers.
inline SequentialSet independent_set_in_order(const HostGraph& graph, const std::vector<char>& free) {
  const int n = static_cast<int>(graph.size());
  SequentialSet result{std::vector<char>(n, 0), n > 0 ? 1 : 0};
  const HostGraph near = neighbours(induced(graph, free), 2);
  for (int v = 0; v < n; ++v)
    result.marks[v] =
        free[v] && std::none_of(near[v].begin(), near[v].end(), [&](int w) { return result.marks[w]; });
  return result;
}

/// The set that a space finds.
template <class Space>
SequentialSet expected_independent_set(const HostGraph& graph, const std::vector<char>& free) {
  return is_host_space<Space> ? independent_set_in_order(graph, free)
                              : sequential_independent_set(graph, free);
}

struct SequentialAggregates {
  std::vector<int> part, roots;
  int rounds = 0;
  std::size_t longest_to_join = 0;  ///< neighbours of a vertex of phase 2
  int ties = 0;                     ///< vertices of phase 2 that had to look at sizes
};

/// The two phases, of what a space finds.
template <class Space>
SequentialAggregates sequential_aggregates(const HostGraph& graph) {
  const int n = static_cast<int>(graph.size());
  const HostGraph edges = neighbours(graph, 1);
  SequentialAggregates result;
  std::vector<int> root_of(n, -1);
  const SequentialSet set = expected_independent_set<Space>(graph, std::vector<char>(n, 1));
  result.rounds = set.rounds;
  for (int v = 0; v < n; ++v) {
    if (!set.marks[v] || edges[v].empty()) continue;
    root_of[v] = v;
    for (const int w : edges[v]) root_of[w] = v;
    result.roots.push_back(v);
  }
  std::map<int, int> size;
  for (const int root : root_of) ++size[root];
  const std::vector<int> before = root_of;
  for (int v = 0; v < n; ++v) {
    if (before[v] >= 0) continue;
    std::map<int, int> connections;
    for (const int w : edges[v])
      if (before[w] >= 0) ++connections[before[w]];
    std::tuple<int, int, int> best{0, 0, -1};
    for (const auto& [root, count] : connections) best = std::min(best, std::tuple(-count, size[root], root));
    root_of[v] = std::get<2>(best);
    for (const auto& [root, count] : connections)
      if (count == -std::get<0>(best) && root != root_of[v] && size[root] > std::get<1>(best)) ++result.ties;
    result.longest_to_join = std::max(result.longest_to_join, edges[v].size());
  }
  std::sort(result.roots.begin(), result.roots.end());
  for (const int root : root_of)
    result.part.push_back(root < 0 ? -1
                                   : int(std::lower_bound(result.roots.begin(), result.roots.end(), root) -
                                         result.roots.begin()));
  return result;
}

struct NamedGraph {
  std::string name;
  HostGraph rows;
};

/// Rows of edges given once each, sorted.
inline HostGraph graph_of_edges(int n, const std::vector<std::pair<int, int>>& edges) {
  std::vector<std::set<int>> rows(n);
  for (const auto& [v, w] : edges) {
    rows[v].insert(w);
    rows[w].insert(v);
  }
  HostGraph result;
  for (const auto& row : rows) result.emplace_back(row.begin(), row.end());
  return result;
}

/// Stars of 4 to 6 leaves, and hubs that have an edge or two to leaves of each star. The centres come first,
/// by their numbers or, for rounds, by the priorities of the first one: these enter the set at once, and the
/// hubs have to join one of all aggregates.
inline HostGraph stars_with_hubs(int stars, int hubs, bool for_rounds) {
  std::vector<std::pair<int, int>> edges;
  int n = stars + hubs;
  for (int s = 0; s < stars; ++s) {
    const int first = n, leaves = 4 + s % 3;
    n += leaves;
    for (int k = 0; k < leaves; ++k) edges.emplace_back(s, first + k);
    for (int h = 0; h < hubs; ++h)
      for (int k = 0; k <= int((s + h) % 5 == 0); ++k)
        edges.emplace_back(first + (h + k) % leaves, stars + h);
  }
  if (!for_rounds) return graph_of_edges(n, edges);
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [](int v, int w) {
    return std::pair(impl::counter_hash(0, v) >> 32, v) < std::pair(impl::counter_hash(0, w) >> 32, w);
  });
  for (auto& [v, w] : edges) {
    v = order[v];
    w = order[w];
  }
  return graph_of_edges(n, edges);
}

inline HostGraph random_graph(int n, double mean_degree, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::pair<int, int>> edges;
  for (int k = 0; k < int(n * mean_degree / 2); ++k)
    edges.emplace_back(static_cast<int>(random() % n), static_cast<int>(random() % n));
  return graph_of_edges(n, edges);  // loops among them: they are ignored
}

inline std::vector<NamedGraph> graphs_to_aggregate() {
  std::vector<NamedGraph> all = {{"empty", {}},
                                 {"one vertex", {{}}},
                                 {"one vertex and a loop", {{0}}},
                                 {"two vertices", {{1}, {0}}},
                                 {"isolated vertices", HostGraph(37)}};
  std::vector<std::pair<int, int>> star, path, clique, parts;
  for (int v = 1; v < 301; ++v) star.emplace_back(0, v);
  for (int v = 1; v < 1003; ++v) path.emplace_back(v - 1, v);
  for (int v = 0; v < 45; ++v)
    for (int w = 0; w < v; ++w) clique.emplace_back(v, w);
  // Cycles of 3 to 13 vertices, in steps that leave some numbers without an edge.
  for (int length = 3, first = 0; length < 14; first += length + 2, ++length)
    for (int k = 0; k < length; ++k) parts.emplace_back(first + k, first + (k + 1) % length);
  all.push_back({"star", graph_of_edges(301, star)});
  all.push_back({"path", graph_of_edges(1003, path)});
  all.push_back({"clique", graph_of_edges(45, clique)});
  all.push_back({"disconnected", graph_of_edges(120, parts)});
  for (const int n : {97, 513, 1031})
    for (const double degree : {0.7, 2.5, 9.0})
      all.push_back({"random " + std::to_string(n) + ", degree " + std::to_string(degree),
                     random_graph(n, degree, 17 * n)});
  for (const bool for_rounds : {true, false}) {
    const std::string kind = for_rounds ? ", for rounds" : "";
    all.push_back({"stars with hubs" + kind, stars_with_hubs(310, 3, for_rounds)});
    all.push_back({"few stars with hubs" + kind, stars_with_hubs(31, 7, for_rounds)});
  }
  const Kokkos::DefaultHostExecutionSpace space;
  for (const char* name : {"poisson2d:23", "poisson3d:9", "elasticity3d:4", "circuit:21"})
    all.push_back(
        {name, pattern_of(to_host(generate<double, Kokkos::DefaultHostExecutionSpace>(space, name)))});
  return all;
}

}  // namespace prekond::testing
