// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/host_graph.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/pattern/impl/threshold.hpp>
#include "pattern/power.hpp"

#include <algorithm>
#include <limits>

namespace prekond::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t large_slab = std::int64_t(64) << 20;

/// (S + I)^k as a dense matrix of flags, then its lower triangle, or all of it.
HostGraph dense_power(const HostGraph& s, int k, bool whole = false) {
  const int n = int(s.size());
  std::vector<std::vector<char>> power(n, std::vector<char>(n, 0));
  for (int i = 0; i < n; ++i) power[i][i] = 1;
  for (int step = 0; step < k; ++step) {
    auto next = power;
    for (int i = 0; i < n; ++i)
      for (int l = 0; l < n; ++l)
        if (power[i][l])
          for (int j : s[l])
            if (j < n) next[i][j] = 1;
    power = next;
  }
  HostGraph lower(n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < (whole ? n : i + 1); ++j)
      if (power[i][j]) lower[i].push_back(j);
  return lower;
}

template <class Space>
class PowerTest : public ::testing::Test {};
TYPED_TEST_SUITE(PowerTest, TestSpaces, SpaceNames);

TYPED_TEST(PowerTest, EqualsTheDensePower) {
  const TypeParam space;
  for (const auto& [name, a] : awkward_patterns<double>()) {
    const auto device = to_device<TypeParam>(a);
    for (int k = 0; k <= 5; ++k) {
      SCOPED_TRACE(name + ", k = " + std::to_string(k));
      const HostGraph expected = dense_power(pattern_of(a), k);
      for (std::int64_t slab_bytes : {std::int64_t(0), std::int64_t(2000), large_slab}) {
        const CsrGraph<TypeParam> power = lower_power(space, device, k, no_limit, slab_bytes);
        space.fence();
        ASSERT_EQ(power.num_rows, a.num_rows);
        ASSERT_EQ(power.num_cols, a.num_rows);
        ASSERT_EQ(to_host(power), expected) << "slab_bytes " << slab_bytes;
      }
    }
    EXPECT_TRUE(to_host(device) == a) << "the matrix itself changed";
  }
}

TYPED_TEST(PowerTest, TheWholePowerEqualsTheDenseOne) {
  const TypeParam space;
  for (const auto& [name, a] : awkward_patterns<double>()) {
    const auto device = to_device<TypeParam>(a);
    for (int k = 0; k <= 4; ++k) {
      SCOPED_TRACE(name + ", k = " + std::to_string(k));
      for (std::int64_t slab_bytes : {std::int64_t(0), large_slab}) {
        const CsrGraph<TypeParam> result = power(space, device, k, no_limit, slab_bytes);
        space.fence();
        ASSERT_EQ(result.num_rows, a.num_rows);
        ASSERT_EQ(result.num_cols, a.num_rows);
        ASSERT_EQ(to_host(result), dense_power(pattern_of(a), k, true)) << "slab_bytes " << slab_bytes;
      }
    }
  }
}

TYPED_TEST(PowerTest, TheWholePowerIsRefusedWhereItIsTooLarge) {
  const TypeParam space;
  const auto device = to_device<TypeParam>(random_entries<double>(199, 199, 0.02, 7));
  for (int k : {-1, 0, 1, 2}) {
    try {
      power(space, device, k, std::int64_t(1000), large_slab);
      FAIL() << k;
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(),
                  HasSubstr(k < 0 ? "must be 0 or larger" : "the pattern's power " + std::to_string(k)));
    }
  }
}

TYPED_TEST(PowerTest, TheWholePowerMayTakeExactlyItsBudget) {
  const TypeParam space;
  const auto device = to_device<TypeParam>(to_host(generate<double, TypeParam>(space, "poisson2d:9")));
  for (int k : {0, 1, 2, 4}) {
    const CsrGraph<TypeParam> whole = power(space, device, k, no_limit, large_slab);
    EXPECT_EQ(power(space, device, k, whole.bytes(), large_slab).nnz(), whole.nnz());
    EXPECT_THAT(message_of<InputError>([&] { power(space, device, k, whole.bytes() - 1, large_slab); }),
                HasSubstr("more than the " + std::to_string(whole.bytes() - 1) + " allowed"))
        << k;
  }
}

TYPED_TEST(PowerTest, LargeRandomPatternWithTheSameBitsTwice) {
  const TypeParam space;
  const auto a = random_entries<double>(1999, 1999, 0.0015, 7);
  const auto device = to_device<TypeParam>(a);
  for (int k : {2, 4}) {
    const CsrGraph<TypeParam> power = lower_power(space, device, k, no_limit, large_slab);
    EXPECT_EQ(to_host(power), dense_power(pattern_of(a), k));
    for (std::int64_t slab_bytes : {std::int64_t(1), std::int64_t(100000), large_slab}) {
      const CsrGraph<TypeParam> again = lower_power(space, device, k, no_limit, slab_bytes);
      EXPECT_EQ(to_vector(again.row_ptrs), to_vector(power.row_ptrs));
      EXPECT_EQ(to_vector(again.col_idxs), to_vector(power.col_idxs));
    }
  }
}

TYPED_TEST(PowerTest, AnyPowerEndsAtWhatCanBeReached) {
  const auto device = to_device<TypeParam>(awkward_patterns<double>().back().matrix);
  const CsrGraph<TypeParam> power =
      lower_power(TypeParam(), device, std::numeric_limits<int>::max(), no_limit, large_slab);
  EXPECT_EQ(power.nnz(), 125 * 126 / 2) << "a connected mesh of 125 nodes";
}

TYPED_TEST(PowerTest, OfAThreshold) {
  const TypeParam space;
  const auto a = to_host(generate<double, TypeParam>(space, "elasticity3d:5"));
  const auto device = to_device<TypeParam>(a);
  const CsrGraph<TypeParam> s = threshold<double, TypeParam>(space, device, 0.1);
  EXPECT_EQ(to_host(lower_power(space, s, 3, no_limit, large_slab)), dense_power(to_host(s), 3));
}

TYPED_TEST(PowerTest, RowsThatOutgrewTheirWorkspaceAreSearchedAgain) {
  const TypeParam space;
  const auto rounds = [&](const HostMatrix<double>& a, std::int64_t slab_bytes) {
    const auto device = to_device<TypeParam>(a);
    const ToolEvents events;
    lower_power(space, device, 4, no_limit, slab_bytes);
    const auto& kernels = events.kernels();
    const auto counted = std::count(kernels.begin(), kernels.end(), "prekond::power::count_rows");
    EXPECT_EQ(counted, std::count(kernels.begin(), kernels.end(), "prekond::power::fill_rows"));
    return counted;
  };
  // Workspaces of 16, 64, 256 and 1024 columns; the first one has 16 however small the budget.
  const auto random = random_entries<double>(1999, 1999, 0.0015, 7);
  EXPECT_EQ(rounds(random, 0), 4);
  EXPECT_EQ(rounds(random, 1600), 3) << "100, 400 and 1600 columns";
  // A mesh's row meets at most 33 columns; (k + 1)^2 times the mean row is the first guess.
  const auto mesh = to_host(generate<double, TypeParam>(space, "poisson2d:31"));
  EXPECT_EQ(rounds(mesh, 0), 2);
  EXPECT_EQ(rounds(mesh, large_slab), 1);
}

TYPED_TEST(PowerTest, KernelsAndArraysHaveLabels) {
  const TypeParam space;
  const auto device = to_device<TypeParam>(awkward_patterns<double>().back().matrix);
  const ToolEvents events;
  for (int k : {1, 3}) lower_power(space, device, k, no_limit, 0);
  for (const auto& labels : {events.kernels(), events.allocations()}) {
    EXPECT_FALSE(labels.empty());
    for (const auto& label : labels) {
      bool known = false;
      for (const char* start :
           {"prekond::power::", "prekond::lower_triangle::", "prekond::sort_rows::", "Kokkos::"})
        known = known || label.find(start) == 0;
      EXPECT_TRUE(known) << label;
    }
  }
}

TYPED_TEST(PowerTest, RefusesWhatExceedsTheBudgetBeforeItIsAllocated) {
  const TypeParam space;
  const auto device = to_device<TypeParam>(to_host(generate<double, TypeParam>(space, "poisson2d:9")));
  for (int k : {0, 1, 2, 4}) {
    const CsrGraph<TypeParam> power = lower_power(space, device, k, no_limit, large_slab);
    const std::int64_t bytes = power.bytes();
    EXPECT_EQ(lower_power(space, device, k, bytes, large_slab).nnz(), power.nnz()) << "exactly the budget";
    const ToolEvents events;
    const std::string message =
        message_of<InputError>([&] { lower_power(space, device, k, bytes - 1, large_slab); });
    EXPECT_EQ(message, "the lower triangle of the pattern's power " + std::to_string(k) + " would have " +
                           std::to_string(power.nnz()) + " entries and take " + std::to_string(bytes) +
                           " bytes, more than the " + std::to_string(bytes - 1) +
                           " allowed; lower the power, or raise the threshold or memory_budget");
    for (const auto& label : events.allocations())
      EXPECT_EQ(label.find("col_idxs"), std::string::npos) << label;
  }
}

TYPED_TEST(PowerTest, RefusesANegativePower) {
  const auto device = to_device<TypeParam>(sparse<double>({{1}}));
  EXPECT_THAT(message_of<InputError>([&] { lower_power(TypeParam(), device, -1, no_limit, large_slab); }),
              HasSubstr("is -1; it must be 0 or larger"));
}

}  // namespace
}  // namespace prekond::testing
