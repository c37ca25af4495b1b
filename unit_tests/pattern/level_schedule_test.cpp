// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pattern/levels/schedule.hpp"
#include "testing/general_matrices.hpp"
#include "testing/lane_threads.hpp"
#include "testing/one_thread.hpp"
#include "testing/reference_triangular.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/pattern/level_schedule.hpp>
#include <prekond/pattern/order_statistics.hpp>

#include <numeric>

namespace prekond::testing {
namespace {

constexpr Triangle triangles[] = {Triangle::lower, Triangle::upper};

template <class Space>
class LevelScheduleTest : public ::testing::Test {};
TYPED_TEST_SUITE(LevelScheduleTest, TestSpaces, SpaceNames);

template <class Space>
void expect_schedule(const LevelSchedule<Space>& result, const std::vector<int>& levels) {
  std::vector<int> rows(levels.size());
  std::iota(rows.begin(), rows.end(), 0);
  std::stable_sort(rows.begin(), rows.end(), [&](int i, int j) { return levels[i] < levels[j]; });
  EXPECT_EQ(to_vector(result.rows), rows);
  const int count = levels.empty() ? 0 : 1 + *std::max_element(levels.begin(), levels.end());
  EXPECT_EQ(result.num_levels(), count);
  EXPECT_EQ(result.num_rows(), static_cast<std::int64_t>(levels.size()));
  std::vector<int> ptrs(count + 1, 0);
  for (const int level : levels) ++ptrs[level + 1];
  std::partial_sum(ptrs.begin(), ptrs.end(), ptrs.begin());
  EXPECT_EQ(result.host_level_ptrs, ptrs);
  EXPECT_EQ(to_vector(result.level_ptrs), ptrs);
}

/// By the public function, and by what devices do.
template <class Space>
void check(const std::string& name, const HostGraph& graph, std::int64_t num_cols) {
  const auto device = graph_of<Space>(graph, num_cols);
  for (const Triangle which : triangles) {
    SCOPED_TRACE(name + (which == Triangle::lower ? ", lower" : ", upper"));
    const std::vector<int> levels = reference_levels(graph, which);
    expect_schedule(level_schedule<Space>(Space(), device, which), levels);
    expect_schedule(impl::levels::schedule_by_waiting<Space>(Space(), device, which), levels);
    expect_schedule(impl::levels::schedule_by_waiting<Space>(of_one_thread<Space>(), device, which), levels);
    std::vector<int> reversed = levels;
    for (int& level : reversed) level = *std::max_element(levels.begin(), levels.end()) - level;
    expect_schedule(reversed_levels<Space>(Space(), level_schedule<Space>(Space(), device, which)), reversed);
    if (which == Triangle::upper) continue;
    const int most = levels.empty() ? 0 : 1 + *std::max_element(levels.begin(), levels.end());
    EXPECT_EQ(count_levels<Space>(Space(), device), most);
  }
}

TYPED_TEST(LevelScheduleTest, EqualsTheSequentialOne) {
  for (const auto& test : awkward_patterns<double>())
    check<TypeParam>(test.name, pattern_of(test.matrix), test.matrix.num_cols);
  for (const int n : {2, 3, 31, 32, 33, 257, 511, 512, 513, 1030})
    check<TypeParam>("random:" + std::to_string(n), pattern_of(random_entries<double>(n, n, 0.1, n)), n);
}

TYPED_TEST(LevelScheduleTest, WideAndNarrowLevels) {
  // Levels grow beyond the rows of a block, and become small again, more than once.
  const auto cube = generated("poisson3d:37");
  check<TypeParam>("poisson3d:37", pattern_of(cube), cube.num_cols);
  HostGraph fans(9000);
  for (int i = 1; i < 9000; ++i)
    if (i % 3000 == 1500)
      for (int j = i - 1499; j < i; ++j) fans[i].push_back(j);  // needs all of the fan before
    else
      fans[i].push_back(i - i % 3000 == i ? i - 1 : i % 3000 < 1500 ? i - i % 3000 : i - 1);
  check<TypeParam>("fans", fans, 9000);
}

TYPED_TEST(LevelScheduleTest, RowsThatThousandsNeed) {
  // The first ones all others wait for.
  HostGraph stars(7000);
  for (int i = 3; i < 7000; ++i) stars[i] = i % 2 ? std::vector<int>{0, 1, 2} : std::vector<int>{i % 3};
  for (int i = 0; i < 3; ++i)
    for (int j = i + 1; j < 7000; j += 2) stars[i].push_back(j);
  check<TypeParam>("stars", stars, 7000);
}

TYPED_TEST(LevelScheduleTest, AChainHasALevelARow) {
  HostGraph chain(7001);
  for (int i = 0; i < 7001; ++i) {
    if (i > 0) chain[i].push_back(i - 1);
    if (i < 7000) chain[i].push_back(i + 1);
  }
  check<TypeParam>("chain", chain, 7001);
}

/// By two vectors of lanes, each a thread of the host's, that wait for each other: the code for GPUs where
/// there is none.
void check_lanes(const HostGraph& graph) {
  using Space = Kokkos::DefaultHostExecutionSpace;
  const auto n = static_cast<std::int64_t>(graph.size());
  const auto device = graph_of<Space>(graph, n);
  for (const Triangle which : triangles) {
    const Vector<int, Space> levels("levels", n), next("next", 1);
    Kokkos::deep_copy(levels, -1);
    const impl::levels::WaitForLevels<Space> wait{device, which, levels, next};
    LaneThreads<32> even, odd;
    const auto find = [&](int first) {
      return [&, first](const auto& level) {
        for (std::int64_t begin = 32 * first; begin < n; begin += 64) wait.find_together(level, begin);
      };
    };
    std::thread other([&] { odd.run(find(1)); });
    even.run(find(0));
    other.join();
    EXPECT_EQ(to_vector(levels), reference_levels(graph, which));
  }
}

TEST(LevelScheduleLanes, VectorsWaitForEachOther) {
  for (const int n : {1, 31, 32, 33, 97}) check_lanes(pattern_of(random_entries<double>(n, n + 3, 0.2, n)));
  check_lanes(pattern_of(generated("poisson2d:11")));
  HostGraph chain(70);
  for (int i = 1; i < 70; ++i) chain[i].push_back(i - 1);
  check_lanes(chain);
}

TYPED_TEST(LevelScheduleTest, EveryKernelAndViewIsLabelled) {
  const auto a = to_device<TypeParam>(random_entries<double>(90, 90, 0.1, 1));
  const ToolEvents events;
  level_schedule<TypeParam>(TypeParam(), a, Triangle::lower);
  impl::levels::schedule_by_waiting<TypeParam>(TypeParam(), a, Triangle::upper);
  for (const auto& labels : {events.kernels(), events.allocations()})
    for (const auto& label : labels)
      EXPECT_THAT(label,
                  ::testing::AnyOf(::testing::StartsWith("prekond::"), ::testing::StartsWith("Kokkos::")));
}

}  // namespace
}  // namespace prekond::testing
