// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/impl/setup_memory.hpp>
#include <prekond/core/impl/small_views.hpp>
#include <prekond/core/views.hpp>

#include "testing/spaces.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace prekond::testing {
namespace {

using impl::SmallViews;

template <class Space>
class SmallViewsTest : public ::testing::Test {};
TYPED_TEST_SUITE(SmallViewsTest, TestSpaces, SpaceNames);

/// Has three bytes, so that only multiples of 64 keep an alignment of 64 bytes.
struct Triple {
  char x[3];
};

template <class Space, class T>
void expect_apart_and_aligned(SmallViews& small) {
  const Space space;
  std::vector<Vector<T, Space>> views;
  const std::vector<std::size_t> sizes = {0, 1, 7, 255, 256, 257, 5000, 0, 20000, 40000, 3};
  for (const std::size_t rows : sizes) views.push_back(small.take<Vector<T, Space>>(space, rows));
  for (std::size_t k = 0; k < views.size(); ++k) {
    EXPECT_EQ(views[k].extent(0), sizes[k]);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(views[k].data()) % 64, 0u) << k;
    for (std::size_t l = 0; l < k; ++l)
      EXPECT_TRUE(views[k].data() >= views[l].data() + sizes[l] ||
                  views[l].data() >= views[k].data() + sizes[k])
          << k << " and " << l;
  }
}

TYPED_TEST(SmallViewsTest, AreApartAndAligned) {
  SmallViews small;
  expect_apart_and_aligned<TypeParam, double>(small);
  expect_apart_and_aligned<TypeParam, int>(small);
  expect_apart_and_aligned<TypeParam, char>(small);
  expect_apart_and_aligned<TypeParam, Triple>(small);
}

TYPED_TEST(SmallViewsTest, OutliveWhatGaveThemOut) {
  const TypeParam space;
  auto small = std::make_unique<SmallViews>();
  const auto first = small->take<Vector<double, TypeParam>>(space, 100);
  const auto second = small->take<Vector<double, TypeParam>>(space, 100);
  EXPECT_EQ(first.use_count(), 3);  // with the whole
  small.reset();
  EXPECT_EQ(first.use_count(), 2);
  Kokkos::deep_copy(space, first, 3.0);
  Kokkos::deep_copy(space, second, 4.0);
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), first);
  EXPECT_EQ(host(0), 3.0);
  EXPECT_EQ(host(99), 3.0);
}

TEST(SmallViewsOfSetups, ASetupWithinASetupHasItsViews) {
  const int outer = 0, inner = 0, other = 0;
  EXPECT_EQ(impl::small_views(5), nullptr);
  impl::begin_small_views(&outer, 5);
  SmallViews* const of_outer = impl::small_views(5);
  ASSERT_NE(of_outer, nullptr);
  EXPECT_EQ(impl::small_views(6), nullptr);
  impl::begin_small_views(&inner, 5);
  EXPECT_EQ(impl::small_views(5), of_outer);
  impl::end_small_views(&inner);
  EXPECT_EQ(impl::small_views(5), of_outer);
  impl::begin_small_views(&other, 6);
  EXPECT_EQ(impl::small_views(6), nullptr);
  impl::end_small_views(&other);
  EXPECT_EQ(impl::small_views(5), of_outer);
  impl::end_small_views(&outer);
  EXPECT_EQ(impl::small_views(5), nullptr);
  impl::begin_small_views(&other, 6);
  EXPECT_NE(impl::small_views(6), nullptr);
  impl::end_small_views(&other);
}

TYPED_TEST(SmallViewsTest, OnlyADevicesSetupHasThem) {
  const TypeParam space;
  const auto are_parts = [&] {
    const auto one = allocate_zero<Vector<double, TypeParam>>(space, "one", 10);
    const auto large = allocate<Vector<double, TypeParam>>(space, "large", SmallViews::most_bytes / 8 + 1);
    EXPECT_EQ(large.use_count(), 1);
    const bool is_part = one.use_count() > 1;
    const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), one);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(host(i), 0.0);
    return is_part;
  };
  EXPECT_FALSE(are_parts());
  {
    const impl::SetupMemory memory(space);
    EXPECT_EQ(are_parts(), impl::number_of_device(space) >= 0);
  }
  EXPECT_FALSE(are_parts());
}

}  // namespace
}  // namespace prekond::testing
