// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/host_graph.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/pattern/impl/symmetrize.hpp>

#include <set>

namespace prekond::testing {
namespace {

HostGraph sequential(const HostGraph& s) {
  std::vector<std::set<int>> rows(s.size());
  for (int i = 0; i < static_cast<int>(s.size()); ++i)
    for (const int j : s[i]) {
      if (j >= static_cast<int>(s.size())) continue;
      rows[i].insert(j);
      rows[j].insert(i);
    }
  HostGraph result;
  for (const auto& row : rows) result.emplace_back(row.begin(), row.end());
  return result;
}

template <class Space>
class SymmetrizeTest : public ::testing::Test {};
TYPED_TEST_SUITE(SymmetrizeTest, TestSpaces, SpaceNames);

TYPED_TEST(SymmetrizeTest, AsManyEntriesMayBeMissingAsAreSkipped) {
  const CsrGraph<TypeParam> s = symmetrize<TypeParam>(TypeParam(), graph_of<TypeParam>({{1, 2}, {}}, 3));
  EXPECT_EQ(to_host(s), (HostGraph{{1}, {0}}));
}

TYPED_TEST(SymmetrizeTest, EqualsTheSequentialOne) {
  const TypeParam space;
  for (const auto& test : awkward_patterns<double>()) {
    SCOPED_TRACE(test.name);
    const auto device = to_device<TypeParam>(test.matrix);
    const auto result = symmetrize<TypeParam>(space, device);
    const auto again = symmetrize<TypeParam>(space, device);
    const auto twice = symmetrize<TypeParam>(space, result);
    space.fence();
    EXPECT_EQ(result.num_rows, test.matrix.num_rows);
    EXPECT_EQ(result.num_cols, test.matrix.num_rows);
    EXPECT_EQ(to_host(result), sequential(pattern_of(test.matrix)));
    EXPECT_EQ(to_host(again), to_host(result)) << "other bits in the second run";
    EXPECT_EQ(to_host(twice), to_host(result)) << "a symmetric pattern is its own";
  }
}

TYPED_TEST(SymmetrizeTest, ADenseRowBecomesADenseColumnToo) {
  HostMatrix<double> arrow;
  arrow.num_rows = arrow.num_cols = 3001;
  for (int i = 0; i < 3001; ++i) {
    for (int j = i == 1500 ? 0 : i; j <= (i == 1500 ? 3000 : i); ++j) {
      arrow.col_idxs.push_back(j);
      arrow.values.push_back(1);
    }
    arrow.row_ptrs.push_back(arrow.nnz());
  }
  EXPECT_EQ(to_host(symmetrize<TypeParam>(TypeParam(), to_device<TypeParam>(arrow))),
            sequential(pattern_of(arrow)));
}

TYPED_TEST(SymmetrizeTest, EveryKernelAndViewIsLabelled) {
  const auto a = to_device<TypeParam>(random_entries<double>(50, 50, 0.1, 1));
  const ToolEvents events;
  symmetrize<TypeParam>(TypeParam(), a);
  for (const auto& labels : {events.kernels(), events.allocations()})
    for (const auto& label : labels)
      EXPECT_THAT(label,
                  ::testing::AnyOf(::testing::StartsWith("prekond::"), ::testing::StartsWith("Kokkos::")));
}

}  // namespace
}  // namespace prekond::testing
