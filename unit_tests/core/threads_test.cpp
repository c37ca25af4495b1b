// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/core/impl/threads.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <functional>
#include <string>
#include <thread>

#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"

#ifdef _OPENMP
#include <omp.h>
#endif

namespace prekond::testing {
namespace {

using ::testing::HasSubstr;

/// Does the work on a thread of its own: one that has checked nothing yet, and whose settings of OpenMP end
/// with it.
void on_a_new_thread(const std::function<void()>& work) {
  std::thread(work).join();
}

template <class Space>
class ThreadsTest : public ::testing::Test {};
TYPED_TEST_SUITE(ThreadsTest, TestSpaces, SpaceNames);

TYPED_TEST(ThreadsTest, ChecksOnceAndAllocatesNothing) {
  on_a_new_thread([] {
    const TypeParam space;
    const bool one = Kokkos::DefaultHostExecutionSpace().concurrency() == 1;
    {
      const ToolEvents events;
      check_threads(space);
      EXPECT_EQ(std::count(events.kernels().begin(), events.kernels().end(), "prekond::check_threads"),
                one ? 0 : 1);
      EXPECT_EQ(
          std::count(events.allocations().begin(), events.allocations().end(), "prekond::check_threads"), 0);
    }
    const ToolEvents events;
    for (int i = 0; i < 3; ++i) check_threads(space);
    EXPECT_TRUE(events.kernels().empty());
    EXPECT_TRUE(events.fences().empty());
    EXPECT_TRUE(events.allocations().empty());
  });
}

TYPED_TEST(ThreadsTest, EachThreadChecksForItself) {
  for (int i = 0; i < 2; ++i) {
    on_a_new_thread([] {
      const ToolEvents events;
      check_threads(TypeParam());
      EXPECT_EQ(events.kernels().size(), Kokkos::DefaultHostExecutionSpace().concurrency() == 1 ? 0u : 1u);
    });
  }
}

#ifdef _OPENMP
TYPED_TEST(ThreadsTest, ANumberThatMayVaryIsRefused) {
  on_a_new_thread([] {
    check_threads(TypeParam());
    omp_set_dynamic(1);
    EXPECT_THAT(message_of<OptionError>([] { check_threads(TypeParam()); }), HasSubstr("OMP_DYNAMIC"));
    omp_set_dynamic(0);
    check_threads(TypeParam());
  });
}

TYPED_TEST(ThreadsTest, FewerThreadsThanCountedOnAreRefusedEveryTime) {
  const int threads = Kokkos::DefaultHostExecutionSpace().concurrency();
  if (threads < 2) GTEST_SKIP() << "one thread: none can be missing";
  const int levels = omp_get_max_active_levels();
  on_a_new_thread([threads, levels] {
    // No level of parallel regions may be active: each runs on the one thread that opens it.
    omp_set_max_active_levels(0);
    for (int i = 0; i < 2; ++i) {
      const std::string message = message_of<OptionError>([] { check_threads(TypeParam()); });
      EXPECT_THAT(message, HasSubstr("only 1 of the " + std::to_string(threads) + " threads"));
      EXPECT_THAT(message, HasSubstr("--kokkos-num-threads=1"));
    }
    setenv("OMP_THREAD_LIMIT", "1", 1);
    EXPECT_THAT(message_of<OptionError>([] { check_threads(TypeParam()); }),
                HasSubstr("unset OMP_THREAD_LIMIT (it is '1')"));
    unsetenv("OMP_THREAD_LIMIT");
    omp_set_max_active_levels(levels);
    check_threads(TypeParam());
  });
}
#endif

}  // namespace
}  // namespace prekond::testing
