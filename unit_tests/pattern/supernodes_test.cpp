// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/host_graph.hpp"
#include "testing/reference_supernodes.hpp"
#include "testing/spaces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/pattern/impl/supernodes.hpp>

#include <limits>

namespace prekond::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

template <class Space>
class SupernodesTest : public ::testing::Test {};
TYPED_TEST_SUITE(SupernodesTest, TestSpaces, SpaceNames);

template <class Space>
CsrGraph<Space> to_graph(const HostGraph& rows, std::int64_t num_cols) {
  std::vector<std::size_t> row_ptrs = {0};
  std::vector<int> cols;
  for (const auto& row : rows) {
    cols.insert(cols.end(), row.begin(), row.end());
    row_ptrs.push_back(cols.size());
  }
  return {static_cast<std::int64_t>(rows.size()), num_cols, to_device<Space>(row_ptrs),
          to_device<Space>(cols)};
}

template <class Space>
std::vector<int> found(const HostGraph& rows, std::int64_t num_cols, double similarity, int most) {
  const auto supernodes = find_supernodes<Space>(Space(), to_graph<Space>(rows, num_cols), similarity, most);
  EXPECT_EQ(supernodes.num_rows, static_cast<std::int64_t>(rows.size()));
  const std::vector<int> begins = to_vector(supernodes.begins);
  int largest = 0;
  for (std::size_t k = 1; k < begins.size(); ++k) largest = std::max(largest, begins[k] - begins[k - 1]);
  EXPECT_EQ(supernodes.largest, largest);
  EXPECT_EQ(supernodes.count(), static_cast<std::int64_t>(begins.size()) - 1);
  return begins;
}

TYPED_TEST(SupernodesTest, UniformOnesHaveTheirSize) {
  for (const int n : {0, 1, 2, 5, 6, 7, 1000}) {
    for (const int size : {1, 2, 3, 6, 32}) {
      const auto supernodes = uniform_supernodes<TypeParam>(TypeParam(), n, size);
      EXPECT_EQ(to_vector(supernodes.begins), reference_uniform_supernodes(n, size)) << n << ' ' << size;
      EXPECT_EQ(supernodes.largest, std::min(n, size));
      EXPECT_EQ(supernodes.num_rows, n);
    }
  }
}

TYPED_TEST(SupernodesTest, AreTheRunsOfSimilarRows) {
  for (const auto& test : awkward_patterns<double>()) {
    const HostGraph rows = pattern_of(test.matrix);
    for (const double similarity : {0.0, 0.2, 0.5, 0.8, 1.0}) {
      for (const int most : {1, 2, 3, 16, 32}) {
        EXPECT_EQ(found<TypeParam>(rows, test.matrix.num_cols, similarity, most),
                  reference_supernodes(rows, similarity, most))
            << test.name << ", similarity " << similarity << ", most " << most;
      }
    }
  }
}

TYPED_TEST(SupernodesTest, FindsTheNodesOfElasticityAndNoneInAPoissonMatrix) {
  const Kokkos::DefaultHostExecutionSpace host;
  const auto rows_of = [&](const char* spec) { return pattern_of(to_host(generate<double>(host, spec))); };
  for (const char* spec : {"elasticity3d:4", "elasticity3d:7"}) {
    const HostGraph rows = rows_of(spec);
    const int n = static_cast<int>(rows.size());
    EXPECT_EQ(found<TypeParam>(rows, n, 0.8, 16), reference_uniform_supernodes(n, 3)) << spec;
  }
  for (const char* spec : {"poisson3d:4", "poisson3d:9", "tridiagonal:50"}) {
    const HostGraph rows = rows_of(spec);
    const int n = static_cast<int>(rows.size());
    EXPECT_EQ(found<TypeParam>(rows, n, 0.8, 16), reference_uniform_supernodes(n, 1)) << spec;
  }
}

TYPED_TEST(SupernodesTest, LongRunsAreCutFromTheirFirstRowOn) {
  // 100 rows alike, one of its own, 7 alike.
  HostGraph rows(108);
  for (int i = 0; i < 108; ++i)
    for (int j = i < 100 ? 0 : 101; j < (i < 100 ? 100 : 108); ++j) rows[i].push_back(j);
  rows[100] = {100};
  const std::vector<int> begins = found<TypeParam>(rows, 108, 1.0, 32);
  EXPECT_EQ(begins, (std::vector<int>{0, 32, 64, 96, 100, 101, 108}));
}

TYPED_TEST(SupernodesTest, AMergedPatternHasTheUnionOfABlocksColumns) {
  const TypeParam space;
  for (const auto& test : awkward_patterns<double>()) {
    const HostGraph rows = pattern_of(test.matrix);
    const auto graph = to_graph<TypeParam>(rows, test.matrix.num_cols);
    for (const int size : {1, 2, 3, 6, 32, 100}) {
      const auto supernodes = uniform_supernodes<TypeParam>(space, graph.num_rows, size);
      const auto merged = merge_supernodes<TypeParam>(space, graph, supernodes, no_limit);
      EXPECT_EQ(to_host(merged), reference_merge(rows, reference_uniform_supernodes(int(rows.size()), size)))
          << test.name << ", size " << size;
      EXPECT_EQ(merged.num_cols, graph.num_rows);
    }
    const auto supernodes = find_supernodes<TypeParam>(space, graph, 0.3, 5);
    EXPECT_EQ(to_host(merge_supernodes<TypeParam>(space, graph, supernodes, no_limit)),
              reference_merge(rows, reference_supernodes(rows, 0.3, 5)))
        << test.name;
  }
}

TYPED_TEST(SupernodesTest, AMergedPatternThatIsTooLargeIsRefused) {
  const TypeParam space;
  const HostGraph rows = {{0}, {1}, {0, 2}, {3}};
  const auto graph = to_graph<TypeParam>(rows, 4);
  const auto supernodes = uniform_supernodes<TypeParam>(space, 4, 2);
  // Rows of 1, 2, 2 and 3 entries.
  const std::int64_t bytes = 5 * sizeof(std::size_t) + 8 * sizeof(int);
  EXPECT_EQ(merge_supernodes<TypeParam>(space, graph, supernodes, bytes).nnz(), 8);
  EXPECT_THAT(
      message_of<InputError>([&] { merge_supernodes<TypeParam>(space, graph, supernodes, bytes - 1); }),
      HasSubstr("would have 8 entries and take 72 bytes, more than the 71 allowed; lower the block size"));
}

}  // namespace
}  // namespace prekond::testing
