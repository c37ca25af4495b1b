// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/host_matrix.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>
#include <prekond/matrix/generate.hpp>
#include "pattern/fingerprint.hpp"

#include <cstdint>
#include <set>
#include <vector>

namespace prekond::testing {
namespace {

template <class Space>
class FingerprintTest : public ::testing::Test {};
TYPED_TEST_SUITE(FingerprintTest, TestSpaces, SpaceNames);

template <class Space>
std::uint64_t fingerprint_of(const std::vector<std::vector<int>>& rows, int cols = 4) {
  std::vector<std::size_t> row_ptrs(1, 0);
  std::vector<int> col_idxs;
  for (const auto& row : rows) {
    col_idxs.insert(col_idxs.end(), row.begin(), row.end());
    row_ptrs.push_back(col_idxs.size());
  }
  return fingerprint<Space>(Space(), CsrGraph<Space>{static_cast<std::int64_t>(rows.size()), cols,
                                                     to_device<Space>(row_ptrs), to_device<Space>(col_idxs)});
}

TYPED_TEST(FingerprintTest, DiffersWhereAPatternDoes) {
  const auto of = [](const std::vector<std::vector<int>>& rows, int cols = 4) {
    return fingerprint_of<TypeParam>(rows, cols);
  };
  std::set<std::uint64_t> all;
  all.insert(of({}));
  all.insert(of({}, 5));
  all.insert(of({{}}));
  all.insert(of({{0}}));  // only of zeros, but for its being there
  all.insert(of({{}, {}}));
  all.insert(of({{}, {0}}));
  all.insert(of({{0, 1}, {1}}));
  all.insert(of({{0, 1}, {1}}, 5));
  all.insert(of({{0}, {1, 1}}));      // the same list of columns
  all.insert(of({{1}, {0, 1}}));      // the rows exchanged
  all.insert(of({{0, 1}, {1}, {}}));  // an empty row more
  all.insert(of({{}, {0, 1}, {1}}));  // and before the others
  all.insert(of({{1, 0}, {0}}));      // the columns of two rows exchanged
  EXPECT_EQ(all.size(), 13u);
  EXPECT_EQ(of({{0, 1}, {1}}), of({{0, 1}, {1}}));
}

TYPED_TEST(FingerprintTest, EqualPatterns) {
  const auto graph = [](const std::vector<std::vector<int>>& rows, int cols = 4) {
    std::vector<std::size_t> row_ptrs = {0};
    std::vector<int> col_idxs;
    for (const auto& row : rows) {
      col_idxs.insert(col_idxs.end(), row.begin(), row.end());
      row_ptrs.push_back(col_idxs.size());
    }
    return CsrGraph<TypeParam>{static_cast<std::int64_t>(rows.size()), cols, to_device<TypeParam>(row_ptrs),
                               to_device<TypeParam>(col_idxs)};
  };
  const std::vector<CsrGraph<TypeParam>> all = {graph({}),
                                                graph({}, 5),
                                                graph({{}}),
                                                graph({{0}}),
                                                graph({{}, {}}),
                                                graph({{}, {0}}),
                                                graph({{0}, {}}),
                                                graph({{0, 1}, {1}}),
                                                graph({{0}, {1, 1}}),
                                                graph({{1}, {0, 1}}),
                                                graph({{0, 1}, {2}}),
                                                graph({{0, 1}, {1}}, 5)};
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = 0; j < all.size(); ++j)
      EXPECT_EQ(equal_patterns<TypeParam>(TypeParam(), all[i], all[j]), i == j) << i << ", " << j;
  EXPECT_TRUE(equal_patterns<TypeParam>(TypeParam(), graph({{0, 1}, {1}}), graph({{0, 1}, {1}})));
}

TYPED_TEST(FingerprintTest, IsThatOfThePatternAndNotOfTheValues) {
  const auto a = generate<double>(TypeParam(), "elasticity3d:7");
  const std::uint64_t before = fingerprint<TypeParam>(TypeParam(), a);
  Kokkos::deep_copy(a.values, 0.0);
  EXPECT_EQ(fingerprint<TypeParam>(TypeParam(), a), before);
  // Each of a few entries: moved by one column, it is another pattern.
  std::set<std::uint64_t> all = {before};
  for (const std::size_t k : {std::size_t(0), std::size_t(40), std::size_t(79), a.col_idxs.extent(0) - 1}) {
    const auto place = Kokkos::subview(a.col_idxs, k);
    int col = 0;
    Kokkos::deep_copy(col, place);
    Kokkos::deep_copy(place, col + 1);
    all.insert(fingerprint<TypeParam>(TypeParam(), a));
  }
  EXPECT_EQ(all.size(), 5u);
}

TYPED_TEST(FingerprintTest, SymmetricPatterns) {
  const auto is = [](const std::vector<std::vector<int>>& rows) {
    std::vector<std::size_t> row_ptrs = {0};
    std::vector<int> col_idxs;
    for (const auto& row : rows) {
      col_idxs.insert(col_idxs.end(), row.begin(), row.end());
      row_ptrs.push_back(col_idxs.size());
    }
    const auto n = static_cast<std::int64_t>(rows.size());
    return is_symmetric<TypeParam>(TypeParam(), CsrGraph<TypeParam>{n, n, to_device<TypeParam>(row_ptrs),
                                                                    to_device<TypeParam>(col_idxs)});
  };
  EXPECT_TRUE(is({}));
  EXPECT_TRUE(is({{}, {1}, {}}));
  EXPECT_TRUE(is({{0, 2}, {2}, {0, 1, 2}}));
  EXPECT_FALSE(is({{0, 2}, {2}, {0, 2}}));
  EXPECT_FALSE(is({{0, 2}, {}, {0, 1, 2}}));
  EXPECT_FALSE(is({{1}, {2}, {0}}));  // as many above as below, of other pairs
  EXPECT_FALSE(is({{1}, {2}, {1}}));
}

}  // namespace
}  // namespace prekond::testing
