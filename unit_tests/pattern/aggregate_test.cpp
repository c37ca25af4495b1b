// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/reference_aggregation.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"

#include "precond/multigrid/aggregation/independent_set.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include "precond/multigrid/aggregation/aggregate.hpp"
#include "precond/multigrid/strength.hpp"

#include <algorithm>

namespace prekond::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<char> all_vertices(const HostGraph& graph) {
  return std::vector<char>(graph.size(), 1);
}

std::vector<int> marked(const std::vector<char>& marks) {
  std::vector<int> list;
  for (std::size_t v = 0; v < marks.size(); ++v)
    if (marks[v]) list.push_back(static_cast<int>(v));
  return list;
}

/// Vertices of the set are not near each other, and every other vertex is near one.
void check_independent_set(const HostGraph& graph, const std::vector<int>& set) {
  const HostGraph near = neighbours(graph, 2);
  std::vector<char> marks(graph.size(), 0);
  for (const int v : set) marks.at(v) = 1;
  for (std::size_t v = 0; v < graph.size(); ++v) {
    const auto others = std::count_if(near[v].begin(), near[v].end(), [&](int w) { return marks[w]; });
    if (marks[v])
      EXPECT_EQ(others, 0) << v << " is not independent";
    else
      EXPECT_GT(others, 0) << v << " could be in the set";
  }
}

/// Every vertex with a neighbour is in one aggregate, a root in its own; aggregates are connected, within two
/// edges of their roots.
template <class Space>
void check_aggregates(const HostGraph& graph, const Aggregates<Space>& found) {
  const auto part = to_vector(found.part), roots = to_vector(found.roots);
  ASSERT_EQ(part.size(), graph.size());
  ASSERT_EQ(static_cast<std::int64_t>(roots.size()), found.count);
  EXPECT_TRUE(std::is_sorted(roots.begin(), roots.end()));
  for (int k = 0; k < found.count; ++k) EXPECT_EQ(part.at(roots[k]), k);
  const HostGraph edges = neighbours(graph, 1);
  for (int v = 0; v < int(graph.size()); ++v) {
    ASSERT_GE(part[v], edges[v].empty() ? -1 : 0) << v;
    ASSERT_LT(part[v], edges[v].empty() ? 0 : found.count) << v;
    if (part[v] < 0) continue;
    const int root = roots[part[v]];
    // A path of at most two edges inside the aggregate.
    const bool near =
        v == root || std::any_of(edges[v].begin(), edges[v].end(), [&](int w) {
          return w == root || (part[w] == part[v] && std::count(edges[w].begin(), edges[w].end(), root) > 0);
        });
    EXPECT_TRUE(near) << v << " is far from its root " << root;
  }
}

template <class Space>
class AggregateTest : public ::testing::Test {};
TYPED_TEST_SUITE(AggregateTest, TestSpaces, SpaceNames);

TYPED_TEST(AggregateTest, TheSetIsMaximalIndependentAndEqualsTheReference) {
  const TypeParam space;
  for (const auto& [name, graph] : graphs_to_aggregate()) {
    SCOPED_TRACE(name);
    const auto n = static_cast<std::int64_t>(graph.size());
    const auto set = to_vector(maximal_independent_set2(space, graph_of<TypeParam>(graph, n)));
    EXPECT_TRUE(std::is_sorted(set.begin(), set.end()));
    check_independent_set(graph, set);
    EXPECT_EQ(set, marked(expected_independent_set<TypeParam>(graph, all_vertices(graph)).marks));
  }
}

/// Sets in the graph of some of the vertices: the device's rounds on every space, and the space's own way.
TYPED_TEST(AggregateTest, SetsOfSomeOfTheVertices) {
  const TypeParam space;
  for (const auto& [name, graph] : graphs_to_aggregate())
    for (const int step : {1000000, 3}) {
      SCOPED_TRACE(name + ", every " + std::to_string(step) + "th vertex is in a part");
      const auto n = static_cast<std::int64_t>(graph.size());
      std::vector<int> part(n, -1);
      auto present = all_vertices(graph);
      for (std::int64_t v = step - 1; v < n; v += step) part[v] = 0, present[v] = false;
      HostGraph wide = graph;  // with columns of other ranks
      for (std::int64_t v = 0; v < n; ++v) wide[v].push_back(static_cast<int>(n + v % 7));
      const auto device = graph_of<TypeParam>(wide, n + 7);
      const auto parts = to_device<TypeParam>(part);
      const auto expected = sequential_independent_set(graph, present);
      impl::aggregation::IndependentSet<TypeParam> set(space, device);
      EXPECT_EQ(set.find_by_teams(space, parts), expected.rounds);
      const auto words = to_vector(set.words());
      for (std::int64_t v = 0; v < n; ++v)
        ASSERT_EQ(words[v] == impl::aggregation::in_set, bool(expected.marks[v])) << v;
      const auto own = expected_independent_set<TypeParam>(graph, present);
      EXPECT_EQ(set.find(space, parts), own.rounds);
      const auto again = to_vector(set.words());
      for (std::int64_t v = 0; v < n; ++v)
        ASSERT_EQ(again[v] == impl::aggregation::in_set, bool(own.marks[v])) << v;
    }
}

TYPED_TEST(AggregateTest, EqualsTheTwoPhasesInSequence) {
  const TypeParam space;
  std::size_t longest = 0;
  int ties = 0;
  for (const auto& [name, graph] : graphs_to_aggregate()) {
    SCOPED_TRACE(name);
    const auto n = static_cast<std::int64_t>(graph.size());
    const Aggregates<TypeParam> found = aggregate(space, graph_of<TypeParam>(graph, n));
    const SequentialAggregates expected = sequential_aggregates<TypeParam>(graph);
    EXPECT_EQ(to_vector(found.part), expected.part);
    EXPECT_EQ(to_vector(found.roots), expected.roots);
    EXPECT_EQ(found.rounds, expected.rounds);
    check_aggregates(graph, found);
    longest = std::max(longest, expected.longest_to_join);
    ties += expected.ties;
  }
  // The graphs are such that every phase has something to do, also in long rows.
  EXPECT_GT(longest, 300u);
  EXPECT_GT(ties, 50);
}

TYPED_TEST(AggregateTest, SmallGraphs) {
  const TypeParam space;
  const auto parts = [&](const HostGraph& graph) {
    return to_vector(aggregate(space, graph_of<TypeParam>(graph, std::int64_t(graph.size()))).part);
  };
  const auto set = [&](const HostGraph& graph) {
    return to_vector(maximal_independent_set2(space, graph_of<TypeParam>(graph, std::int64_t(graph.size()))));
  };
  EXPECT_THAT(parts({}), IsEmpty());
  EXPECT_THAT(set({}), IsEmpty());
  EXPECT_THAT(parts({{}}), ElementsAre(-1));
  EXPECT_THAT(parts({{0}}), ElementsAre(-1));
  EXPECT_THAT(set({{}, {1}}), ElementsAre(0, 1));
  EXPECT_THAT(parts({{1}, {0}}), ElementsAre(0, 0));
  EXPECT_THAT(parts({{1}, {0}, {2}, {4}, {3}}), ElementsAre(0, 0, -1, 1, 1));
  EXPECT_THAT(parts({{1, 2}, {0, 2}, {0, 1}}), ElementsAre(0, 0, 0));
}

TYPED_TEST(AggregateTest, DiagonalsAndColumnsOfOthersAreIgnored) {
  const TypeParam space;
  for (const auto& [name, graph] : graphs_to_aggregate()) {
    SCOPED_TRACE(name);
    const auto n = static_cast<std::int64_t>(graph.size());
    HostGraph more = neighbours(graph, 1), less = more;
    for (int v = 0; v < n; ++v) {
      if (v % 3 != 0) more[v].insert(std::lower_bound(more[v].begin(), more[v].end(), v), v);
      for (int k = 0; k < v % 4; ++k) more[v].push_back(int(n) + 3 * k);
    }
    const auto with = aggregate(space, graph_of<TypeParam>(more, n + 10));
    const auto without = aggregate(space, graph_of<TypeParam>(less, n));
    EXPECT_EQ(to_vector(with.part), to_vector(without.part));
    EXPECT_EQ(to_vector(with.roots), to_vector(without.roots));
    EXPECT_EQ(to_vector(maximal_independent_set2(space, graph_of<TypeParam>(more, n + 10))),
              to_vector(maximal_independent_set2(space, graph_of<TypeParam>(less, n))));
  }
}

TYPED_TEST(AggregateTest, RefusesGraphsWithoutProgress) {
  // A cycle in one direction: no vertex is the first of its neighbours' neighbourhoods.
  const auto cycle = graph_of<TypeParam>({{1}, {2}, {0}, {4}, {3}}, 5);
  const auto parts = to_device<TypeParam>(std::vector<int>(5, -1));
  impl::aggregation::IndependentSet<TypeParam> set(TypeParam(), cycle);
  EXPECT_THAT(message_of<InputError>([&] { set.find_by_teams(TypeParam(), parts); }),
              HasSubstr("not symmetric"));
  if constexpr (is_host_space<TypeParam>) {
    EXPECT_THAT(to_vector(maximal_independent_set2(TypeParam(), cycle)), ElementsAre(0, 3));
  } else {
    EXPECT_THAT(message_of<InputError>([&] { maximal_independent_set2(TypeParam(), cycle); }),
                HasSubstr("not symmetric"));
    EXPECT_THAT(message_of<InputError>([&] { aggregate(TypeParam(), cycle); }), HasSubstr("not symmetric"));
  }
}

/// Spaces of 1, 2 and 3 threads, where a space can have a number of threads.
template <class Space>
std::vector<Space> of_several_threads() {
  std::vector<Space> spaces;
#ifdef KOKKOS_ENABLE_OPENMP
  if constexpr (std::is_same_v<Space, Kokkos::OpenMP>)
    for (const int threads : {1, 2, 3}) spaces.push_back(Space(threads));
#endif
  if (spaces.empty()) spaces.assign(3, Space());
  return spaces;
}

TYPED_TEST(AggregateTest, IsTheSameForEveryNumberOfThreads) {
  const auto spaces = of_several_threads<TypeParam>();
  for (const auto& [name, graph] : graphs_to_aggregate()) {
    SCOPED_TRACE(name);
    const auto n = static_cast<std::int64_t>(graph.size());
    const auto device = graph_of<TypeParam>(graph, n);
    const SequentialAggregates expected = sequential_aggregates<TypeParam>(graph);
    for (const auto& space : spaces) {
      const auto found = aggregate(space, device);
      EXPECT_EQ(to_vector(found.part), expected.part);
      EXPECT_EQ(to_vector(found.roots), expected.roots);
      EXPECT_EQ(found.rounds, expected.rounds);
    }
  }
}

TYPED_TEST(AggregateTest, MeshesAreCoarsenedAsTheirStencilsSay) {
  // Neighbourhoods of the set are disjoint, and within two edges of every vertex there is one of the set: of
  // the 7-point stencil it has one vertex of 7 to 25, of the 5-point one of 5 to 13, of elasticity3d's nodes,
  // of 15 points, one of 15 to 65. Boundaries lower all.
  const TypeParam space;
  struct Mesh {
    std::string name;
    double least, most;
  };
  for (const auto& [name, least, most] :
       {Mesh{"poisson3d:20", 7, 25}, Mesh{"poisson2d:60", 5, 13}, Mesh{"elasticity3d:14", 15, 65}}) {
    SCOPED_TRACE(name);
    const auto a = generate<double, TypeParam>(space, name);
    const bool blocks = name.find("elasticity") == 0;
    const auto graph = strong_connections<double, TypeParam>(space, a, blocks ? 3 : 1, 0);
    const auto set = maximal_independent_set2(space, graph);
    const Aggregates<TypeParam> found = aggregate(space, graph);
    const double of_set = double(graph.num_rows) / double(set.extent(0));
    const double mean = double(graph.num_rows) / double(found.count);
    EXPECT_GE(of_set, least);
    EXPECT_LE(of_set, most);
    EXPECT_GE(mean, least);
    EXPECT_LE(mean, of_set);
  }
}

TYPED_TEST(AggregateTest, KernelsAndArraysHaveLabels) {
  const TypeParam space;
  const HostGraph graph = stars_with_hubs(31, 7, true);
  const auto device = graph_of<TypeParam>(graph, std::int64_t(graph.size()));
  const ToolEvents events;
  aggregate(space, device);
  maximal_independent_set2(space, device);
  for (const auto& labels : {events.kernels(), events.allocations()}) {
    EXPECT_FALSE(labels.empty());
    for (const auto& label : labels)
      EXPECT_TRUE(label.find("prekond::") == 0 || label.find("Kokkos::") == 0) << label;
  }
}

}  // namespace
}  // namespace prekond::testing
