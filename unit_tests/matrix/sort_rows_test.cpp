// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/matrix/sort_rows.hpp>
#include "matrix/sort_row_kernels.hpp"

#include "testing/host_matrix.hpp"
#include "testing/spaces.hpp"

#include <numeric>
#include <random>

namespace prekond::testing {
namespace {

const std::vector<int> awkward_lengths = {0,   1,   2,   3,   31,  32,  33,  0,   63,   64,    65,   127,
                                          128, 129, 255, 256, 257, 511, 512, 513, 5000, 10000, 8192, 7};

enum class Order { random, ascending, descending, one_swap };

/// Rows of the given lengths with unique columns in some order; the value says which column it belongs to.
template <class Value>
HostMatrix<Value> shuffled_matrix(const std::vector<int>& lengths, Order order) {
  std::mt19937 random(7);
  HostMatrix<Value> a;
  a.num_rows = static_cast<std::int64_t>(lengths.size());
  a.num_cols = 3 * *std::max_element(lengths.begin(), lengths.end()) + 1;
  for (const int length : lengths) {
    std::vector<int> cols(length);
    for (int k = 0; k < length; ++k) cols[k] = 3 * k + static_cast<int>(random() % 3);
    if (order == Order::random)
      for (int k = length - 1; k > 0; --k) std::swap(cols[k], cols[random() % (k + 1)]);
    if (order == Order::descending) std::reverse(cols.begin(), cols.end());
    if (order == Order::one_swap && length > 1) std::swap(cols[length - 2], cols[length - 1]);
    for (const int col : cols) {
      a.col_idxs.push_back(col);
      a.values.push_back(static_cast<Value>(10 * col + 1));
    }
    a.row_ptrs.push_back(a.col_idxs.size());
  }
  return a;
}

/// The reference: each row by std::stable_sort.
template <class Value>
HostMatrix<Value> sorted_reference(const HostMatrix<Value>& a) {
  HostMatrix<Value> result = a;
  for (std::int64_t i = 0; i < a.num_rows; ++i) {
    std::vector<std::size_t> places(a.row_ptrs[i + 1] - a.row_ptrs[i]);
    std::iota(places.begin(), places.end(), a.row_ptrs[i]);
    std::stable_sort(places.begin(), places.end(),
                     [&](std::size_t k, std::size_t m) { return a.col_idxs[k] < a.col_idxs[m]; });
    for (std::size_t k = 0; k < places.size(); ++k) {
      result.col_idxs[a.row_ptrs[i] + k] = a.col_idxs[places[k]];
      result.values[a.row_ptrs[i] + k] = a.values[places[k]];
    }
  }
  return result;
}

template <class Space, class Value>
void expect_sorted(const HostMatrix<Value>& a) {
  const auto matrix = to_device<Space>(a);
  sort_rows(Space(), matrix);
  const auto result = to_host(matrix);
  const auto reference = sorted_reference(a);
  EXPECT_EQ(result.row_ptrs, reference.row_ptrs);
  EXPECT_EQ(result.col_idxs, reference.col_idxs);
  EXPECT_TRUE(result == reference);
}

template <class Space>
class SortRows : public ::testing::Test {};
TYPED_TEST_SUITE(SortRows, TestSpaces, SpaceNames);

TYPED_TEST(SortRows, AwkwardLengthsInEveryOrder) {
  for (const Order order : {Order::random, Order::ascending, Order::descending, Order::one_swap}) {
    expect_sorted<TypeParam>(shuffled_matrix<double>(awkward_lengths, order));
    expect_sorted<TypeParam>(shuffled_matrix<float>(awkward_lengths, order));
  }
}

// A mean length under 12 takes the narrow lanes, and leaves the rows above 64 to the wide ones.
TYPED_TEST(SortRows, MostlyShortRows) {
  std::vector<int> lengths(4003, 5);
  lengths[17] = 65;
  lengths[18] = 64;
  lengths[100] = 256;
  lengths[101] = 257;
  lengths[4000] = 1000;
  expect_sorted<TypeParam>(shuffled_matrix<double>(lengths, Order::random));
}

TYPED_TEST(SortRows, OtherValueTypes) {
  expect_sorted<TypeParam>(shuffled_matrix<int>(awkward_lengths, Order::random));
  expect_sorted<TypeParam>(shuffled_matrix<std::int64_t>(awkward_lengths, Order::random));
}

TYPED_TEST(SortRows, PatternWithoutValues) {
  const auto a = shuffled_matrix<int>(awkward_lengths, Order::random);
  const auto row_ptrs = to_device<TypeParam>(a.row_ptrs);
  const auto cols = to_device<TypeParam>(a.col_idxs);
  sort_columns(TypeParam(), a.num_rows, row_ptrs, cols);
  EXPECT_EQ(to_vector(cols), sorted_reference(a).col_idxs);
}

struct Triple {
  double x[3];
  Triple() = default;
  explicit Triple(int i) : x{1.0 * i, 2.0 * i, 3.0 * i} {}
};

TYPED_TEST(SortRows, StructsAsValues) {
  expect_sorted<TypeParam>(shuffled_matrix<Triple>(awkward_lengths, Order::random));
}

TYPED_TEST(SortRows, EqualColumnsKeepTheirOrderInShortRows) {
  HostMatrix<int> a = shuffled_matrix<int>({4, 33, 200, 256}, Order::random);
  for (std::size_t k = 0; k < a.nnz(); ++k) {
    a.col_idxs[k] /= 12;
    a.values[k] = static_cast<int>(k);
  }
  expect_sorted<TypeParam>(a);
}

TYPED_TEST(SortRows, NothingToSort) {
  HostMatrix<double> a;
  expect_sorted<TypeParam>(a);
  a.num_rows = 3;
  a.row_ptrs = {0, 0, 0, 0};
  expect_sorted<TypeParam>(a);
}

}  // namespace
}  // namespace prekond::testing
