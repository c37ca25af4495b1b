// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/distributed/impl/ordered_lists.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace prekond {
namespace {

std::vector<int> stably_sorted(const std::vector<int>& keys) {
  std::vector<int> places(keys.size());
  std::iota(places.begin(), places.end(), 0);
  std::stable_sort(places.begin(), places.end(), [&](int s, int t) { return keys[s] < keys[t]; });
  return places;
}

/// `parts` ascending lists of numbers below `most`, one after the other.
std::vector<int> lists(int parts, int size, int most) {
  std::mt19937 random(17);
  std::vector<int> keys;
  for (int part = 0; part < parts; ++part) {
    std::vector<int> list(static_cast<std::size_t>(size + part % 3));
    for (int& key : list) key = static_cast<int>(random() % static_cast<unsigned>(most));
    std::sort(list.begin(), list.end());
    keys.insert(keys.end(), list.begin(), list.end());
  }
  return keys;
}

TEST(OrderedListsTest, PlacesAreThoseOfAStableSort) {
  for (const int parts : {0, 1, 2, 3, 4, 7, 26})
    for (const int size : {0, 1, 5, 100})
      for (const int most : {3, 1000}) {
        const auto keys = lists(parts, size, most);
        EXPECT_EQ(impl::ascending_places(keys), stably_sorted(keys)) << parts << " lists of " << size;
      }
}

TEST(OrderedListsTest, PlacesOfKeysInNoOrder) {
  std::vector<int> keys = lists(1, 333, 50);
  std::shuffle(keys.begin(), keys.end(), std::mt19937(3));
  EXPECT_EQ(impl::ascending_places(keys), stably_sorted(keys));
  std::sort(keys.begin(), keys.end(), std::greater<>());
  EXPECT_EQ(impl::ascending_places(keys), stably_sorted(keys));
}

TEST(OrderedListsTest, ANumberThatStandsTwiceIsFound) {
  using Numbers = std::vector<std::int64_t>;
  for (const Numbers& numbers : {Numbers{}, {4}, {1, 2, 9}, {9, 2, 1}, {1, 9, 2, 8}})
    EXPECT_EQ(impl::number_twice(numbers), std::nullopt);
  EXPECT_EQ(impl::number_twice(Numbers{1, 2, 2, 9}), 2);
  EXPECT_EQ(impl::number_twice(Numbers{7, 1, 3, 7}), 7);
}

}  // namespace
}  // namespace prekond
