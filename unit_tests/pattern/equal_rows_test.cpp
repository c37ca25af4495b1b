// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/host_matrix.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>
#include <prekond/matrix/generate.hpp>
#include "pattern/equal_rows.hpp"

#include <vector>

namespace prekond::testing {
namespace {

template <class Space>
class EqualRowsTest : public ::testing::Test {};
TYPED_TEST_SUITE(EqualRowsTest, TestSpaces, SpaceNames);

template <class Space>
std::vector<int> representatives_of(const std::vector<std::vector<int>>& rows) {
  std::vector<std::size_t> row_ptrs(1, 0);
  std::vector<int> col_idxs;
  for (const auto& row : rows) {
    col_idxs.insert(col_idxs.end(), row.begin(), row.end());
    row_ptrs.push_back(col_idxs.size());
  }
  return to_vector(
      equal_row_representatives<Space>(Space(), to_device<Space>(row_ptrs), to_device<Space>(col_idxs)));
}

TYPED_TEST(EqualRowsTest, RunsOfEqualRowsBeginAtTheirFirst) {
  const auto representatives = [](const std::vector<std::vector<int>>& rows) {
    return representatives_of<TypeParam>(rows);
  };
  using Representatives = std::vector<int>;
  EXPECT_EQ(representatives({}), Representatives());
  EXPECT_EQ(representatives({{0}}), Representatives({0}));
  EXPECT_EQ(representatives({{0}, {1}}), Representatives({0, 1}));
  EXPECT_EQ(representatives({{0, 1}, {0, 1}, {2}, {2, 3}, {2, 3}, {2, 3}}),
            Representatives({0, 0, 2, 3, 3, 3}));
  // The same columns at the end, at the beginning, and once more after another row.
  EXPECT_EQ(representatives({{0, 2}, {1, 2}, {1, 2, 3}, {1, 2}, {1, 2}}), Representatives({0, 1, 2, 3, 3}));
  EXPECT_EQ(representatives({{}, {}, {0}, {}}), Representatives({0, 0, 2, 3}));
}

TYPED_TEST(EqualRowsTest, UnknownsOfANodeLead) {
  const auto a = generate<double>(TypeParam(), "elasticity3d:5");
  const std::vector<int> representatives =
      to_vector(equal_row_representatives<TypeParam>(TypeParam(), a.row_ptrs, a.col_idxs));
  for (std::size_t i = 0; i < representatives.size(); ++i)
    EXPECT_EQ(representatives[i], int(i / 3 * 3)) << "row " << i;
}

}  // namespace
}  // namespace prekond::testing
