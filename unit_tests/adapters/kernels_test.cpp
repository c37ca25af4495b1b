// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The kernels of the adapters that need no other package, so that they are tested on devices too.
#include <prekond/adapters/impl/merged_rows.hpp>
#include <prekond/adapters/impl/renumbered_copy.hpp>
#include <prekond/adapters/impl/update.hpp>
#include <prekond/matrix/validate.hpp>

#include <gmock/gmock.h>

#include "testing/host_matrix.hpp"
#include "testing/spaces.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <random>

namespace prekond::testing {
namespace {

template <class Space>
class AdapterKernels : public ::testing::Test {};
TYPED_TEST_SUITE(AdapterKernels, TestSpaces, SpaceNames);

/// A rank's matrix: each row has `length` of num_cols columns, in a random order.
HostMatrix<double> shuffled_matrix(std::int64_t num_rows, std::int64_t num_cols, std::int64_t length,
                                   unsigned seed) {
  std::mt19937 random(seed);
  std::vector<int> columns(static_cast<std::size_t>(num_cols));
  for (std::size_t c = 0; c < columns.size(); ++c) columns[c] = static_cast<int>(c);
  HostMatrix<double> a;
  a.num_rows = num_rows;
  a.num_cols = num_cols;
  for (std::int64_t i = 0; i < num_rows; ++i) {
    std::shuffle(columns.begin(), columns.end(), random);
    for (std::int64_t k = 0; k < (i % 5 == 3 ? 0 : length); ++k) {
      a.col_idxs.push_back(columns[k]);
      a.values.push_back(1000.0 * i + columns[k]);
    }
    a.row_ptrs.push_back(a.col_idxs.size());
  }
  return a;
}

/// Column c is row own_of[c] of this rank, or none.
template <class Space>
struct TableOfOwn {
  Vector<int, Space> own_of;
  KOKKOS_FUNCTION std::int64_t operator()(std::int64_t c) const { return own_of(c); }
};

TYPED_TEST(AdapterKernels, OwnColumnsComeFirst) {
  using Space = TypeParam;
  const Space space;
  for (const auto& [rows, cols] :
       {std::pair{1, 1}, std::pair{37, 37}, std::pair{37, 53}, std::pair{300, 1001}, std::pair{0, 5}}) {
    const auto a = shuffled_matrix(rows, cols, std::min(cols, 23), 7);
    // Some own rows have no column at all, as where no entry stands in them.
    std::vector<int> own_of(cols, -1);
    for (int r = 0; r < rows; ++r)
      if (r % 7 != 5 || rows == 1)
        own_of[(r * 11 + 3) % cols] = own_of[(r * 11 + 3) % cols] < 0 ? r : own_of[(r * 11 + 3) % cols];
    const Vector<int, Space> new_index("new_index", cols);
    const std::int64_t foreign =
        impl::number_columns(space, rows, new_index, TableOfOwn<Space>{to_device<Space>(own_of)});
    EXPECT_EQ(foreign, std::count(own_of.begin(), own_of.end(), -1));

    const auto copy =
        impl::renumbered_copy<double, Space>(space, to_device<Space>(a), new_index, rows + foreign);
    EXPECT_NO_THROW((validate<double, Space>(space, copy)));
    const auto result = to_host(copy);
    EXPECT_EQ(result.num_cols, rows + foreign);
    EXPECT_EQ(result.row_ptrs, a.row_ptrs);
    int behind = rows;
    std::vector<int> expected_index(cols);
    for (int c = 0; c < cols; ++c) expected_index[c] = own_of[c] >= 0 ? own_of[c] : behind++;
    std::int64_t foreign_entries = 0;
    for (int i = 0; i < rows; ++i) {
      std::map<int, double> expected;
      for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
        expected[expected_index[a.col_idxs[k]]] = a.values[k];
      std::size_t k = result.row_ptrs[i];
      for (const auto& [column, value] : expected) {
        EXPECT_EQ(result.col_idxs[k], column);
        EXPECT_EQ(result.values[k++], value);
        foreign_entries += column >= rows;
      }
    }
    EXPECT_EQ((impl::count_foreign_entries<double, Space>(space, copy)), foreign_entries);
  }
}

TYPED_TEST(AdapterKernels, SeesWhetherRowsAscend) {
  using Space = TypeParam;
  const auto ascend = [](const HostMatrix<double>& a) {
    return rows_ascend<double, Space>(Space(), to_device<Space>(a));
  };
  const auto with_rows = [](const std::vector<std::vector<int>>& rows) {
    HostMatrix<double> a;
    a.num_rows = static_cast<std::int64_t>(rows.size());
    a.num_cols = 100;
    for (const auto& row : rows) {
      a.col_idxs.insert(a.col_idxs.end(), row.begin(), row.end());
      a.row_ptrs.push_back(a.col_idxs.size());
    }
    a.values.resize(a.col_idxs.size(), 1.0);
    return a;
  };
  EXPECT_TRUE(ascend(with_rows({})));
  EXPECT_TRUE(ascend(with_rows({{}, {}, {}})));
  EXPECT_TRUE(ascend(with_rows({{7}})));
  EXPECT_TRUE(ascend(with_rows({{0, 5, 9}, {}, {1, 2}, {2}, {2, 3}, {}, {50}, {}})));
  EXPECT_FALSE(ascend(with_rows({{5, 0}})));
  EXPECT_FALSE(ascend(with_rows({{0, 5, 5}, {1}})));
  EXPECT_FALSE(ascend(with_rows({{0, 5}, {}, {1, 3, 2}}))) << "a descent more than rows that begin with one";
  EXPECT_FALSE(ascend(with_rows({{1, 0}, {2, 3}}))) << "a descent in a row, none where the next begins";
  EXPECT_TRUE(ascend(shuffled_matrix(1000, 1, 1, 3)));
  EXPECT_FALSE(ascend(shuffled_matrix(1000, 50, 7, 3)));
}

TYPED_TEST(AdapterKernels, UpdateReadsOnlyWhatItNeeds) {
  using Space = TypeParam;
  const Space space;
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double alpha : {1.0, 0.0, -2.5}) {
    for (const double beta : {0.0, 1.0, 0.5}) {
      const MultiVector<double, Space> z("z", 1003, 3), y("y", 1003, 3);
      Kokkos::deep_copy(z, alpha == 0 ? nan : 3.0);
      Kokkos::deep_copy(y, beta == 0 ? nan : 8.0);
      impl::update<double, Space>(space, alpha, z, beta, y);
      const double expected = (alpha == 0 ? 0 : alpha * 3) + (beta == 0 ? 0 : beta * 8);
      const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), y);
      for (int k = 0; k < 3; ++k)
        for (int i = 0; i < 1003; ++i) ASSERT_EQ(host(i, k), expected) << alpha << " " << beta << " " << i;
    }
  }
}

TYPED_TEST(AdapterKernels, TwoMatricesBecomeOne) {
  using Space = TypeParam;
  const Space space;
  const std::vector<std::array<int, 4>> cases = {{1, 1, 3, 2},    {37, 9, 11, 4}, {1001, 50, 301, 40},
                                                 {300, 3, 7, 0},  {300, 0, 7, 5}, {0, 0, 0, 0},
                                                 {257, 200, 1, 1}};
  for (const auto& [rows, own_length, others, others_length] : cases) {
    SCOPED_TRACE(rows);
    const auto own = shuffled_matrix(rows, rows + 2, own_length, 3);
    const auto other = shuffled_matrix(rows, others, others_length, 4);
    HostMatrix<double> expected;
    expected.num_rows = rows;
    expected.num_cols = rows + 2 + others;
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::size_t k = own.row_ptrs[i]; k < own.row_ptrs[i + 1]; ++k) {
        expected.col_idxs.push_back(own.col_idxs[k]);
        expected.values.push_back(own.values[k]);
      }
      for (std::size_t k = other.row_ptrs[i]; k < other.row_ptrs[i + 1]; ++k) {
        expected.col_idxs.push_back(rows + 2 + other.col_idxs[k]);
        expected.values.push_back(other.values[k]);
      }
      expected.row_ptrs.push_back(expected.nnz());
    }
    for (const int size : {1, 4}) {  // values of an entry
      const auto several = [&](HostMatrix<double> a) {
        std::vector<double> values;
        for (const double value : a.values)
          for (int e = 0; e < size; ++e) values.push_back(value + 1000 * e);
        a.values = values;
        return a;
      };
      const auto device_own = to_device<Space>(several(own)), device_other = to_device<Space>(several(other));
      const auto merged = prekond::impl::merged_rows<double, Space>(space, device_own, device_other, size);
      space.fence();
      EXPECT_EQ(to_host(merged), several(expected));
    }
  }
}

}  // namespace
}  // namespace prekond::testing
