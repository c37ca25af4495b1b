// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Strong influences, and the coarse vertices of their graph.
#include "testing/one_thread.hpp"
#include "testing/reference_classical.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include "precond/multigrid/pmis.hpp"
#include "precond/multigrid/strength.hpp"

#include <limits>

namespace prekond::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

template <class Space>
class PmisTest : public ::testing::Test {};
TYPED_TEST_SUITE(PmisTest, TestSpaces, SpaceNames);

// -------------------------------------------------------------------------------- strong influences

template <class Scalar, class Space>
void check_influences(const std::string& name, const HostMatrix<Scalar>& a) {
  // Sums that are 0 but for rounding are not compared with 0.
  const double least = name.starts_with("elasticity") ? 1e-6 : 0.0;
  std::vector<int> unknown_of;
  for (int i = 0; i < a.num_rows; ++i) unknown_of.push_back(i % 3);
  const auto device = to_device<Space>(a);
  for (const double theta : {0.0, 0.25, 0.5, 1.0})
    for (const double max_row_sum : {least, 0.9, 1.0})
      for (const auto& unknowns : {std::vector<int>(), unknown_of}) {
        SCOPED_TRACE("theta " + std::to_string(theta) + ", max_row_sum " + std::to_string(max_row_sum));
        const auto of_rows = to_device<Space>(unknowns);
        const CsrGraph<Space> graph = strong_influences<Scalar, Space>(
            Space(), device, {.theta = theta, .max_row_sum = max_row_sum, .unknown_of = of_rows});
        EXPECT_EQ(graph.num_cols, a.num_rows);
        EXPECT_EQ(to_host(graph), sequential_influences(a, theta, max_row_sum, unknowns));
      }
}

TYPED_TEST(PmisTest, InfluencesEqualTheDefinition) {
  for (const auto& [name, a] : awkward_patterns<double>()) {
    SCOPED_TRACE(name);
    check_influences<double, TypeParam>(name, a);
  }
  for (const auto& [name, a] : awkward_patterns<float>()) {
    SCOPED_TRACE(name + ", float");
    check_influences<float, TypeParam>(name, a);
  }
}

template <class Space>
HostGraph influences(const HostMatrix<double>& a, double theta, double max_row_sum = 1) {
  return to_host(strong_influences<double, Space>(Space(), to_device<Space>(a),
                                                  {.theta = theta, .max_row_sum = max_row_sum}));
}

TYPED_TEST(PmisTest, InfluencesOfSmallRows) {
  // Row 0: -1 is a quarter of -4, +9 is of the diagonal's sign. Row 1 has a negative diagonal. Row 2 has no
  // diagonal, row 3 nothing that counts; column 4 is another rank's.
  const HostMatrix<double> a =
      sparse<double>({{8, -4, -1, 9, -100}, {2, -8, 0.5, -3, 9}, {-1, -4, 0, -2, 0}, {1, 1, 1, 5, -7}});
  EXPECT_THAT(influences<TypeParam>(a, 0.25),
              ElementsAre(ElementsAre(1, 2), ElementsAre(0, 2), ElementsAre(0, 1, 3), IsEmpty()));
  EXPECT_THAT(influences<TypeParam>(a, 0.26),
              ElementsAre(ElementsAre(1), ElementsAre(0), ElementsAre(1, 3), IsEmpty()));
  // Row sums: 0.9 and a little more of the diagonal.
  const HostMatrix<double> b = sparse<double>({{10, -1}, {-0.5, 10}});
  EXPECT_THAT(influences<TypeParam>(b, 0.25, 0.9), ElementsAre(ElementsAre(1), IsEmpty()));
  EXPECT_THAT(influences<TypeParam>(b, 0.25, 1), ElementsAre(ElementsAre(1), ElementsAre(0)));
}

TYPED_TEST(PmisTest, InvalidInputsAreRefused) {
  const auto a = to_device<TypeParam>(sparse<double>({{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}));
  const auto refused = [&](const InfluenceOptions<TypeParam>& options) {
    return message_of<InputError>([&] { strong_influences<double, TypeParam>(TypeParam(), a, options); });
  };
  for (const double value : {-1e-9, 1.1, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THAT(refused({.theta = value}), HasSubstr("theta is"));
    EXPECT_THAT(refused({.max_row_sum = value}), HasSubstr("max_row_sum is"));
  }
  const Vector<int, TypeParam> two("two", 2);
  EXPECT_THAT(refused({.unknown_of = two}), HasSubstr("unknown_of has 2 entries for 3 rows"));
}

// ------------------------------------------------------------------------------------------- splitting

HostGraph directed_graph(int n, double mean_degree, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::set<int>> rows(n);
  for (int k = 0; k < int(n * mean_degree); ++k) rows[random() % n].insert(static_cast<int>(random() % n));
  HostGraph result;
  for (const auto& row : rows) result.emplace_back(row.begin(), row.end());
  return result;
}

/// The graphs of aggregation, which are symmetric, and some that are not.
std::vector<NamedGraph> graphs_to_split() {
  std::vector<NamedGraph> all = graphs_to_aggregate();
  all.push_back({"cycle in one direction", {{1}, {2}, {0}, {4}, {3}}});
  HostGraph path(50), complete(40), to_one(300), from_one(300);
  for (int v = 0; v < 49; ++v) path[v] = {v + 1};
  for (int v = 0; v < 40; ++v)
    for (int w = 0; w < 40; ++w) complete[v].push_back(w);
  for (int v = 1; v < 300; ++v) {
    to_one[v] = {0};
    from_one[0].push_back(v);
  }
  all.push_back({"path in one direction", path});
  all.push_back({"complete, with loops", complete});
  all.push_back({"one influences all", to_one});
  all.push_back({"all influence one", from_one});
  for (const int n : {31, 513, 1031})
    for (const double degree : {0.5, 2.5, 9.0})
      all.push_back({"directed " + std::to_string(n) + ", degree " + std::to_string(degree),
                     directed_graph(n, degree, 7 * n)});
  return all;
}

template <class Space>
void expect_coarse_listed(const CoarseFine<Space>& found) {
  const auto number = to_vector(found.number), coarse = to_vector(found.coarse);
  ASSERT_EQ(static_cast<std::int64_t>(coarse.size()), found.count);
  EXPECT_TRUE(std::is_sorted(coarse.begin(), coarse.end()));
  for (int c = 0; c < found.count; ++c) EXPECT_EQ(number.at(coarse[c]), c);
}

TYPED_TEST(PmisTest, EqualsTheRoundsInSequence) {
  const TypeParam space;
  for (const auto& [name, graph] : graphs_to_split()) {
    SCOPED_TRACE(name);
    const auto found = pmis(space, graph_of<TypeParam>(graph, std::int64_t(graph.size())));
    EXPECT_EQ(to_vector(found.number), sequential_pmis(graph));
    expect_coarse_listed(found);
  }
}

TYPED_TEST(PmisTest, CoarseVerticesAreApartAndInfluenceTheFineOnes) {
  const TypeParam space;
  for (const auto& [name, graph] : graphs_to_split()) {
    SCOPED_TRACE(name);
    const int n = static_cast<int>(graph.size());
    const auto number = to_vector(pmis(space, graph_of<TypeParam>(graph, n)).number);
    std::vector<int> influenced(n, 0);
    bool is_symmetric = true;
    for (int v = 0; v < n; ++v)
      for (const int w : graph[v]) {
        influenced[w] += w != v;
        is_symmetric = is_symmetric && std::count(graph[w].begin(), graph[w].end(), v) > 0;
      }
    for (int v = 0; v < n; ++v) {
      const auto coarse =
          std::count_if(graph[v].begin(), graph[v].end(), [&](int w) { return w != v && number[w] >= 0; });
      EXPECT_TRUE(number[v] != -1 || influenced[v] == 0 || coarse > 0) << v << " has no coarse influence";
      EXPECT_TRUE(number[v] < 0 || !is_symmetric || coarse == 0) << v << " could be fine";
    }
  }
}

TYPED_TEST(PmisTest, SmallGraphs) {
  const TypeParam space;
  const auto numbers = [&](const HostGraph& graph) {
    return to_vector(pmis(space, graph_of<TypeParam>(graph, std::int64_t(graph.size()))).number);
  };
  EXPECT_THAT(numbers({}), IsEmpty());
  EXPECT_THAT(numbers({{}}), ElementsAre(-2));
  EXPECT_THAT(numbers({{0}}), ElementsAre(-2));
  EXPECT_THAT(numbers({{}, {0}, {}}), ElementsAre(0, -1, -2));
  EXPECT_THAT(numbers({{1}, {0, 2}, {1}}), ElementsAre(-1, 0, -1));
  EXPECT_THAT(numbers({{1, 2, 3}, {}, {}, {}}), ElementsAre(-1, 0, 1, 2));
}

TYPED_TEST(PmisTest, ColumnsOfOthersAreIgnored) {
  const TypeParam space;
  const HostGraph graph = directed_graph(200, 4, 3);
  HostGraph more = graph;
  for (int v = 0; v < 200; ++v)
    for (int k = 0; k < v % 4; ++k) more[v].push_back(200 + 3 * k);
  const auto found = pmis(space, graph_of<TypeParam>(more, 210));
  EXPECT_EQ(to_vector(found.number), sequential_pmis(graph));
  EXPECT_EQ(to_vector(pmis_of_coarse(space, graph_of<TypeParam>(more, 210), found).number),
            sequential_pmis_of_coarse(graph, sequential_pmis(graph)));
}

TYPED_TEST(PmisTest, AggressiveCoarseningIsPmisAtDistanceTwo) {
  const TypeParam space;
  for (const auto& [name, graph] : graphs_to_split()) {
    if (graph.empty()) continue;
    SCOPED_TRACE(name);
    const auto device = graph_of<TypeParam>(graph, std::int64_t(graph.size()));
    const auto first = pmis(space, device);
    const auto found = pmis_of_coarse(space, device, first);
    EXPECT_EQ(to_vector(found.number), sequential_pmis_of_coarse(graph, to_vector(first.number)));
    EXPECT_EQ(to_vector(first.number), sequential_pmis(graph)) << "the first ones changed";
    expect_coarse_listed(found);
  }
  const auto a = to_device<TypeParam>(to_host(generate<double, TypeParam>(space, "poisson3d:16")));
  const auto strong = strong_influences<double, TypeParam>(space, a);
  const auto first = pmis(space, strong);
  EXPECT_LE(3 * pmis_of_coarse(space, strong, first).count, first.count);
}

TYPED_TEST(PmisTest, IsTheSameForOneThread) {
  for (const auto& [name, graph] : graphs_to_split()) {
    SCOPED_TRACE(name);
    const auto device = graph_of<TypeParam>(graph, std::int64_t(graph.size()));
    const auto all = pmis(TypeParam(), device);
    const auto one = pmis(of_one_thread<TypeParam>(), device);
    EXPECT_EQ(to_vector(all.number), to_vector(one.number));
    EXPECT_EQ(all.rounds, one.rounds);
    const Kokkos::DefaultHostExecutionSpace host;
    const auto on_host =
        pmis(host, graph_of<Kokkos::DefaultHostExecutionSpace>(graph, std::int64_t(graph.size())));
    EXPECT_EQ(to_vector(all.number), to_vector(on_host.number));
  }
}

TYPED_TEST(PmisTest, KernelsAndArraysHaveLabels) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(awkward_patterns<double>().back().matrix);
  const ToolEvents events;
  const auto strong = strong_influences<double, TypeParam>(space, a, {.max_row_sum = 1});
  pmis_of_coarse(space, strong, pmis(space, strong));
  for (const auto& labels : {events.kernels(), events.allocations()}) {
    EXPECT_FALSE(labels.empty());
    for (const auto& label : labels)
      EXPECT_TRUE(label.find("prekond::") == 0 || label.find("Kokkos::") == 0) << label;
  }
}

}  // namespace
}  // namespace prekond::testing
