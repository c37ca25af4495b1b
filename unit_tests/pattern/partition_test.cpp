// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pattern/partition/host_partition.hpp"
#include "pattern/partition/merge_runs.hpp"
#include "testing/general_matrices.hpp"
#include "testing/host_graph.hpp"
#include "testing/spaces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/pattern/impl/symmetrize.hpp>
#include <prekond/pattern/partition.hpp>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <thread>

namespace prekond::testing {
namespace {

using ::testing::HasSubstr;

struct Parts {
  std::vector<int> ptrs, rows, part;
  int largest;
  bool is_consecutive;
  bool operator==(const Parts&) const = default;
};

template <class Space>
Parts on_host(const Partition<Space>& p) {
  return {to_vector(p.ptrs), to_vector(p.rows), to_vector(p.part), p.largest, p.is_consecutive};
}

/// Expects the properties of every partition.
template <class Space>
void expect_sound(const Partition<Space>& partition, std::int64_t num_rows) {
  const Parts p = on_host(partition);
  ASSERT_EQ(partition.num_rows, num_rows);
  ASSERT_EQ(std::int64_t(p.rows.size()), num_rows);
  ASSERT_EQ(std::int64_t(p.part.size()), num_rows);
  ASSERT_EQ(partition.count() + 1, std::int64_t(std::max<std::size_t>(p.ptrs.size(), 1)));
  if (num_rows == 0) {
    EXPECT_EQ(partition.count(), 0);
    return;
  }
  EXPECT_EQ(p.ptrs.front(), 0);
  EXPECT_EQ(p.ptrs.back(), num_rows);
  int largest = 0;
  bool consecutive = true;
  std::vector<bool> seen(num_rows, false);
  for (std::size_t d = 0; d + 1 < p.ptrs.size(); ++d) {
    ASSERT_LT(p.ptrs[d], p.ptrs[d + 1]) << "an empty part";
    largest = std::max(largest, p.ptrs[d + 1] - p.ptrs[d]);
    for (int k = p.ptrs[d]; k < p.ptrs[d + 1]; ++k) {
      ASSERT_FALSE(seen[p.rows[k]]);
      seen[p.rows[k]] = true;
      ASSERT_EQ(p.part[p.rows[k]], int(d));
      ASSERT_TRUE(k == p.ptrs[d] || p.rows[k - 1] < p.rows[k]);
      consecutive = consecutive && p.rows[k] == k;
    }
  }
  EXPECT_EQ(p.largest, largest);
  EXPECT_EQ(p.is_consecutive, consecutive);
}

std::int64_t reference_cut(const HostGraph& graph, const std::vector<int>& part) {
  std::int64_t cut = 0;
  for (std::size_t i = 0; i < graph.size(); ++i)
    for (const int j : graph[i])
      if (std::size_t(j) > i) cut += part[i] != part[j];
  return cut;
}

template <class Space>
CsrGraph<Space> graph_of_matrix(const HostMatrix<double>& a) {
  return symmetrize<Space>(Space(), CsrGraphView<Space>(to_device<Space>(a)));
}

template <class Space>
CsrGraph<Space> generated_graph(const std::string& spec) {
  return symmetrize<Space>(Space(), CsrGraphView<Space>(generate<double>(Space(), spec)));
}

std::vector<PartitionMethod> methods() {
  std::vector<PartitionMethod> all = {PartitionMethod::automatic, PartitionMethod::bisection,
                                      PartitionMethod::multilevel, PartitionMethod::rows};
  if (has_metis()) all.push_back(PartitionMethod::metis);
  return all;
}

template <class Space>
class PartitionTest : public ::testing::Test {};
TYPED_TEST_SUITE(PartitionTest, TestSpaces, SpaceNames);

TYPED_TEST(PartitionTest, EveryRowIsInOnePart) {
  const TypeParam space;
  for (const auto& [name, a] : awkward_patterns<double>()) {
    const auto graph = graph_of_matrix<TypeParam>(a);
    for (const PartitionMethod method : methods())
      for (const std::int64_t parts : {1, 2, 3, 7, 16, 1000}) {
        SCOPED_TRACE(name + ", " + std::to_string(parts) + " parts, method " + std::to_string(int(method)));
        const auto partition = partition_graph<TypeParam>(space, graph, parts, method);
        expect_sound(partition, a.num_rows);
        EXPECT_LE(partition.count(), std::min<std::int64_t>(parts, a.num_rows));
        if (method != PartitionMethod::automatic && method != PartitionMethod::metis) {
          EXPECT_EQ(partition.count(), std::min<std::int64_t>(parts, a.num_rows));
        }
        const auto edges = count_edges<TypeParam>(space, graph, partition);
        EXPECT_EQ(edges.cut, reference_cut(to_host(graph), to_vector(partition.part)));
        std::vector<int> alone(a.num_rows);
        std::iota(alone.begin(), alone.end(), 0);
        EXPECT_EQ(edges.all, reference_cut(to_host(graph), alone));
        EXPECT_EQ(on_host(partition), on_host(partition_graph<TypeParam>(space, graph, parts, method)));
      }
  }
}

TYPED_TEST(PartitionTest, PartsOfRowsDifferByOne) {
  const TypeParam space;
  const auto partition = partition_graph<TypeParam>(space, generated_graph<TypeParam>("tridiagonal:23"), 5,
                                                    PartitionMethod::rows);
  EXPECT_EQ(to_vector(partition.ptrs), (std::vector<int>{0, 4, 9, 13, 18, 23}));
  EXPECT_TRUE(partition.is_consecutive);
  EXPECT_EQ(partition.largest, 5);
}

TYPED_TEST(PartitionTest, GridsAreCutAlongShortLines) {
  const TypeParam space;
  // 16 squares of 16 x 16 vertices cut 2 * 3 * 64 edges.
  const auto graph = generated_graph<TypeParam>("poisson2d:64");
  for (const PartitionMethod method : methods()) {
    if (method == PartitionMethod::rows) continue;
    const auto partition = partition_graph<TypeParam>(space, graph, 16, method);
    // Searches find diagonal borders: the bisection cuts more than METIS, and fewer where it is refined.
    const bool is_multilevel = method == PartitionMethod::multilevel ||
                               (method == PartitionMethod::automatic && !is_host_space<TypeParam>);
    const double allowed = method == PartitionMethod::bisection ? 1.8 : is_multilevel ? 1.5 : 1.3;
    EXPECT_LT((count_edges<TypeParam>(space, graph, partition).cut), 384 * allowed) << int(method);
    EXPECT_LE(partition.largest, 256 * 1.1) << int(method);
  }
}

TYPED_TEST(PartitionTest, ManyParts) {
  const TypeParam space;
  const auto graph = generated_graph<TypeParam>("poisson3d:20");
  for (const PartitionMethod method : methods())
    for (const std::int64_t parts : {257, 500, 2000}) {
      SCOPED_TRACE(std::to_string(parts) + " parts, method " + std::to_string(int(method)));
      const auto partition = partition_graph<TypeParam>(space, graph, parts, method);
      expect_sound(partition, 8000);
      EXPECT_GE(partition.count(), parts * 95 / 100);
      EXPECT_LE(partition.count(), parts);
      EXPECT_LE(partition.largest, 1.35 * 8000.0 / double(parts) + 1);
    }
}

TYPED_TEST(PartitionTest, APathIsCutOnceAPart) {
  const TypeParam space;
  const auto graph = generated_graph<TypeParam>("tridiagonal:1000");
  const auto partition = partition_graph<TypeParam>(space, graph, 8, PartitionMethod::bisection);
  EXPECT_EQ((count_edges<TypeParam>(space, graph, partition).cut), 7);
  EXPECT_EQ(partition.largest, 125);
}

TYPED_TEST(PartitionTest, SmoothingMovesWhatHasMoreNeighboursBeyond) {
  const TypeParam space;
  // Two cliques joined by one edge, numbered alternately: a search that begins anywhere finds one of them
  // first. Halves of 40 vertices cut only the edge where both cliques have 40; with one vertex more in one
  // of them it is with the others by a move, without which its edges are cut.
  for (const int larger : {0, 1}) {
    HostGraph rows(80);
    const auto clique = [&](int i) { return i == 79 && larger == 1 ? 0 : i % 2; };
    for (int i = 0; i < 80; ++i)
      for (int j = 0; j < 80; ++j)
        if (i != j && (clique(i) == clique(j) || i + j == 1)) rows[i].push_back(j);
    const auto graph = graph_of<TypeParam>(rows, 80);
    const auto partition = partition_graph<TypeParam>(space, graph, 2, PartitionMethod::bisection);
    EXPECT_EQ((count_edges<TypeParam>(space, graph, partition).cut), 1);
    EXPECT_EQ(partition.largest, 40 + larger);
  }
}

/// More than one kind of trouble at once: cliques of 10 vertices, their numbers mixed,
/// then paths, a star, and vertices without edges.
HostGraph mixed_graph() {
  HostGraph rows(3000);
  const auto join = [&](int i, int j) {
    rows[i].push_back(j);
    rows[j].push_back(i);
  };
  const auto shuffled = [](int i) { return int(std::int64_t(i) * 1237 % 1000); };
  for (int i = 0; i < 1000; ++i)
    for (int j = i + 1; j < 1000 && j / 10 == i / 10; ++j) join(shuffled(i), shuffled(j));
  for (int i = 1000; i < 1700; ++i)
    if (i % 70 != 0) join(i, i + 1);
  for (int i = 1702; i < 2500; ++i) join(1701, i);
  for (auto& row : rows) std::sort(row.begin(), row.end());
  return rows;
}

/// A grid whose vertex 7 is a neighbour of all.
HostGraph grid_with_dense_row(int width) {
  HostGraph rows(width * width);
  const auto join = [&](int i, int j) {
    rows[i].push_back(j);
    rows[j].push_back(i);
  };
  for (int i = 0; i < width * width; ++i) {
    if ((i + 1) % width != 0 && i != 7 && i != 6) join(i, i + 1);
    if (i + width < width * width && i != 7) join(i, i + width);
    if (i != 7) join(i, 7);
  }
  for (auto& row : rows) std::sort(row.begin(), row.end());
  return rows;
}

TYPED_TEST(PartitionTest, PartsOfMultilevelAreWithinSixPercent) {
  const TypeParam space;
  const auto check = [&](const std::string& name, const CsrGraph<TypeParam>& graph) {
    const std::int64_t n = graph.num_rows;
    for (const std::int64_t parts : {std::int64_t(2), std::int64_t(7), n / 64, n / 10, n / 2, n - 1}) {
      SCOPED_TRACE(name + ", " + std::to_string(parts) + " parts");
      const auto partition = partition_graph<TypeParam>(space, graph, parts, PartitionMethod::multilevel);
      expect_sound(partition, n);
      EXPECT_EQ(partition.count(), parts);
      EXPECT_EQ(partition.host_seconds, 0);
      const double mean = double(n) / double(parts);
      EXPECT_LE(partition.largest, 1.06 * mean + 1);
      const auto ptrs = to_vector(partition.ptrs);
      for (std::size_t p = 0; p + 1 < ptrs.size(); ++p) ASSERT_GE(ptrs[p + 1] - ptrs[p], 0.94 * mean - 1);
    }
  };
  for (const char* spec : {"poisson3d:17", "elasticity3d:8", "irregular3d:12", "circuit:40"})
    check(spec, generated_graph<TypeParam>(spec));
  check("mixed", graph_of<TypeParam>(mixed_graph(), 3000));
  check("dense row", graph_of<TypeParam>(grid_with_dense_row(40), 1600));
  check("no edges", graph_of<TypeParam>(HostGraph(500), 500));
  check("nonsymmetric", graph_of_matrix<TypeParam>(random_general(700, 0.01, 3)));
}

/// The share of METIS's edges between parts would need METIS; the sequential bisection is there always.
TYPED_TEST(PartitionTest, MultilevelCutsFewerEdgesThanTheSequentialBisection) {
  const TypeParam space;
  for (const char* spec : {"poisson3d:24", "poisson2d:90", "elasticity3d:12", "irregular3d:18"})
    for (const std::int64_t size : {64, 512}) {
      const auto graph = generated_graph<TypeParam>(spec);
      const auto cut = [&](PartitionMethod method) {
        return count_edges<TypeParam>(space, graph,
                                      partition_graph<TypeParam>(space, graph, graph.num_rows / size, method))
            .cut;
      };
      EXPECT_LE(double(cut(PartitionMethod::multilevel)), 1.02 * double(cut(PartitionMethod::bisection)))
          << spec << ", parts of " << size;
    }
}

TYPED_TEST(PartitionTest, MultilevelKeepsComponentsTogether) {
  const TypeParam space;
  // 64 cliques of 16 vertices, whose numbers are mixed: parts of 32 are two of them each.
  HostGraph rows(1024);
  const auto vertex = [](int i) { return int(std::int64_t(i) * 357 % 1024); };
  for (int i = 0; i < 1024; ++i)
    for (int j = i / 16 * 16; j < i / 16 * 16 + 16; ++j)
      if (j != i) rows[vertex(i)].push_back(vertex(j));
  for (auto& row : rows) std::sort(row.begin(), row.end());
  const auto graph = graph_of<TypeParam>(rows, 1024);
  const auto partition = partition_graph<TypeParam>(space, graph, 32, PartitionMethod::multilevel);
  EXPECT_EQ((count_edges<TypeParam>(space, graph, partition).cut), 0);
  // A path is cut once a part, of a length that takes several coarser graphs.
  const auto path = generated_graph<TypeParam>("tridiagonal:5000");
  const auto pieces = partition_graph<TypeParam>(space, path, 50, PartitionMethod::multilevel);
  EXPECT_EQ((count_edges<TypeParam>(space, path, pieces).cut), 49);
}

TYPED_TEST(PartitionTest, MultilevelHasTheSameBitsOnAnyNumberOfThreads) {
#ifdef KOKKOS_ENABLE_OPENMP
  if constexpr (std::is_same_v<TypeParam, Kokkos::OpenMP>) {
    for (const char* spec : {"poisson3d:19", "irregular3d:12", "circuit:50"}) {
      const auto graph = generated_graph<TypeParam>(spec);
      const auto parts_on = [&](int threads) {
        const TypeParam space(threads);
        return on_host(
            partition_graph<TypeParam>(space, graph, graph.num_rows / 40, PartitionMethod::multilevel));
      };
      const Parts alone = parts_on(1);
      for (const int threads : {1, 2, 3, 8}) EXPECT_EQ(parts_on(threads), alone) << spec << ", " << threads;
    }
    return;
  }
#endif
  GTEST_SKIP() << "the number of threads is that of a device";
}

TYPED_TEST(PartitionTest, MetisGivesTheSameWhateverTheRandomNumbersOfTheProgram) {
  if (!has_metis()) GTEST_SKIP() << "built without METIS";
  const auto graph = to_host(generated_graph<TypeParam>("poisson2d:64"));
  std::vector<std::size_t> row_ptrs = {0};
  std::vector<int> col_idxs;
  for (const auto& row : graph) {
    col_idxs.insert(col_idxs.end(), row.begin(), row.end());
    row_ptrs.push_back(col_idxs.size());
  }
  const impl::HostGraph host{static_cast<std::int64_t>(graph.size()), row_ptrs.data(), col_idxs.data()};
  for (const std::int64_t parts : {5, 40, 500}) {
    const auto alone = impl::partition_by_metis(host, parts);
    EXPECT_EQ(impl::partition_by_metis(host, parts), alone);
    for (const unsigned seed : {1u, 12345u}) {
      std::srand(seed);
      (void)std::rand();
      EXPECT_EQ(impl::partition_by_metis(host, parts), alone) << seed;
    }
    // Several threads at a time.
    std::vector<int> different(4, 0);
    std::vector<std::thread> threads;
    for (int& own : different)
      threads.emplace_back([&] {
        for (int k = 0; k < 5; ++k) own += impl::partition_by_metis(host, parts) != alone;
      });
    for (auto& thread : threads) thread.join();
    EXPECT_THAT(different, ::testing::Each(0)) << parts;
  }
}

TYPED_TEST(PartitionTest, SupervariablesAreNodes) {
  const TypeParam space;
  const auto a = generate<double>(space, "elasticity3d:4");
  const CsrGraphView<TypeParam> pattern(a);
  for (const int most : {1, 2, 3, 5, 6, 7, 32, 1000}) {
    const auto found = partition_supervariables<TypeParam>(space, pattern, most);
    expect_sound(found, a.num_rows);
    EXPECT_TRUE(found.is_consecutive);
    EXPECT_LE(found.largest, most);
    const auto ptrs = to_vector(found.ptrs);
    for (const int begin : ptrs) EXPECT_TRUE(most < 3 || begin % 3 == 0) << most;
    // Whole nodes by what the user says.
    const auto told = partition_supervariables<TypeParam>(space, pattern, most, 3);
    expect_sound(told, a.num_rows);
    EXPECT_LE(told.largest, most);
    EXPECT_TRUE(most < 3 || told.largest == std::min(most / 3 * 3, int(a.num_rows))) << most;
  }
  EXPECT_EQ(to_vector(partition_supervariables<TypeParam>(space, pattern, 3).ptrs)[1], 3);
}

TYPED_TEST(PartitionTest, SupervariablesOfAwkwardPatterns) {
  const TypeParam space;
  for (const auto& [name, a] : awkward_patterns<double>()) {
    SCOPED_TRACE(name);
    const auto device = to_device<TypeParam>(a);
    for (const int most : {1, 4, 32}) {
      const auto found = partition_supervariables<TypeParam>(space, CsrGraphView<TypeParam>(device), most);
      expect_sound(found, a.num_rows);
      EXPECT_LE(found.largest, most);
    }
  }
  // Pieces of 2, 3, 1, 4 rows put together to at most 5.
  std::vector<std::vector<double>> dense(10, std::vector<double>(10, 0));
  const auto block = [&](int begin, int end) {
    for (int i = begin; i < end; ++i)
      for (int j = begin; j < end; ++j) dense[i][j] = 1;
  };
  block(0, 2), block(2, 5), block(5, 6), block(6, 10);
  const auto found = partition_supervariables<TypeParam>(
      space, CsrGraphView<TypeParam>(to_device<TypeParam>(sparse(dense))), 5);
  EXPECT_EQ(to_vector(found.ptrs), (std::vector<int>{0, 5, 10}));
}

TYPED_TEST(PartitionTest, RunsAreMergedOneAfterTheOther) {
  const TypeParam space;
  for (const int runs : {0, 1, 2, 7, 64, 1000})
    for (const int most : {4, 5, 9, 100000}) {
      std::vector<int> begins{0}, expected{0};
      for (int k = 0; k < runs; ++k) {
        const int begin = begins.back(), end = begin + 1 + (k * 7 + k / 5) % 4;
        if (end - expected.back() > most) expected.push_back(begin);
        begins.push_back(end);
      }
      if (runs > 0) expected.push_back(begins.back());
      const auto device = to_device<TypeParam>(begins);
      for (const bool in_order : {true, false})
        if (!in_order || is_host_space<TypeParam>) {
          EXPECT_EQ(to_vector(impl::partition::merge_runs<TypeParam>(space, device, most, in_order)),
                    expected)
              << runs << " runs, " << most;
        }
    }
}

TYPED_TEST(PartitionTest, TheUsersNumbers) {
  const TypeParam space;
  const auto given = [&](const std::vector<int>& part) {
    return partition_by_numbers<TypeParam>(space, to_device<TypeParam>(part));
  };
  const auto partition = given({7, 2, 7, std::numeric_limits<int>::max(), 2, 2});
  expect_sound(partition, 6);
  EXPECT_EQ(to_vector(partition.ptrs), (std::vector<int>{0, 3, 5, 6}));
  EXPECT_EQ(to_vector(partition.rows), (std::vector<int>{1, 4, 5, 0, 2, 3}));
  EXPECT_EQ(to_vector(partition.part), (std::vector<int>{1, 0, 1, 2, 0, 0}));
  EXPECT_TRUE(given({0, 0, 4, 5}).is_consecutive);
  expect_sound(given({}), 0);
  EXPECT_EQ(message_of<InputError>([&] {
              given({0, 3, -2});
            }),
            "partition: row 3 is in part -2; parts are numbered from 0");
}

TYPED_TEST(PartitionTest, SupervariablesAreNotAGraphsPartition) {
  const TypeParam space;
  EXPECT_THAT(message_of<std::logic_error>([&] {
                partition_graph<TypeParam>(space, generated_graph<TypeParam>("tridiagonal:4"), 2,
                                           PartitionMethod::supervariables);
              }),
              HasSubstr("partition_supervariables"));
  if (has_metis()) return;
  EXPECT_THAT(message_of<InputError>([&] {
                partition_graph<TypeParam>(space, generated_graph<TypeParam>("tridiagonal:4"), 2,
                                           PartitionMethod::metis);
              }),
              HasSubstr("built without METIS"));
}

}  // namespace
}  // namespace prekond::testing
