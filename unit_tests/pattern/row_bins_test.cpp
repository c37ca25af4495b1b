// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/host_matrix.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>
#include "sparse_product/row_bins.hpp"

#include <random>
#include <vector>

namespace prekond::testing {
namespace {

template <class Space>
class RowBinsTest : public ::testing::Test {};
TYPED_TEST_SUITE(RowBinsTest, TestSpaces, SpaceNames);

template <class Space>
void check(const std::vector<int>& lengths, const std::vector<int>& limits,
           const std::vector<unsigned char>& chosen = {}) {
  std::vector<std::size_t> row_ptrs(1, 0);
  for (const int length : lengths) row_ptrs.push_back(row_ptrs.back() + static_cast<std::size_t>(length));
  const auto device_ptrs = to_device<Space>(row_ptrs);
  const auto device_chosen = to_device<Space>(chosen);
  const RowBins<Space> bins = bin_rows<Space>(Space(), device_ptrs, limits, device_chosen);
  const std::vector<int> rows = to_vector(bins.rows);
  const auto wanted = [&](std::size_t i) { return chosen.empty() || chosen[i] != 0; };
  std::size_t listed = 0;
  int above = -1;
  for (const auto& bin : bins.bins) {
    ASSERT_EQ(bin.first, static_cast<std::int64_t>(listed));
    ASSERT_GT(bin.count, 0);
    std::vector<int> expected;
    int longest = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      if (!wanted(i) || lengths[i] <= above || lengths[i] > bin.limit) continue;
      expected.push_back(static_cast<int>(i));
      longest = std::max(longest, lengths[i]);
    }
    ASSERT_EQ(std::vector<int>(rows.begin() + bin.first, rows.begin() + bin.first + bin.count), expected);
    EXPECT_EQ(bin.longest, longest);
    EXPECT_EQ(bins.rows_of(bin).extent(0), static_cast<std::size_t>(bin.count));
    listed += static_cast<std::size_t>(bin.count);
    above = bin.limit;
  }
  std::size_t all = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) all += wanted(i);
  EXPECT_EQ(listed, all);
}

TYPED_TEST(RowBinsTest, EveryRowIsInTheBinOfItsLength) {
  check<TypeParam>({}, {8});
  check<TypeParam>({3}, {8, 16});
  check<TypeParam>({0, 0, 0}, {8});
  check<TypeParam>({8, 9, 7, 16, 17, 0, 1000, 5}, {8, 16, 32});
  check<TypeParam>({1, 2, 3, 4, 5, 6, 7, 8, 9}, {1});
  check<TypeParam>({1 << 20, 1}, {2, 4});
  std::mt19937 random(3);
  std::vector<int> lengths(7001);
  std::vector<unsigned char> chosen(lengths.size());
  for (int& length : lengths) length = static_cast<int>(random() % 300);
  for (auto& choice : chosen) choice = random() % 3 == 0;
  check<TypeParam>(lengths, {8, 16, 24, 32, 48, 64});
  check<TypeParam>(lengths, {8, 16, 24, 32, 48, 64}, chosen);
  check<TypeParam>(lengths, {8}, std::vector<unsigned char>(lengths.size(), 0));
}

}  // namespace
}  // namespace prekond::testing
