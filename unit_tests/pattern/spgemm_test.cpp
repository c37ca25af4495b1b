// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/factors.hpp"
#include "testing/host_graph.hpp"
#include "testing/lane_threads.hpp"
#include "testing/one_thread.hpp"
#include "testing/reference_spgemm.hpp"
#include "testing/spaces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/matrix/generate.hpp>
#include <prekond/sparse_product/spgemm.hpp>

#include "sparse_product/long_product_rows.hpp"
#include "sparse_product/long_product_values.hpp"
#include "sparse_product/product_row.hpp"
#include "sparse_product/spgemm_row.hpp"

#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace prekond::testing {
namespace {

template <class Space>
class SpgemmTest : public ::testing::Test {};
TYPED_TEST_SUITE(SpgemmTest, TestSpaces, SpaceNames);

template <class Space, class Scalar>
HostMatrix<Scalar> product_of(const HostMatrix<Scalar>& a, const HostMatrix<Scalar>& b,
                              const SpgemmOptions& options = {}) {
  const auto left = to_device<Space>(a), right = to_device<Space>(b);
  return to_host(spgemm<Scalar, Space>(Space(), left, right, options));
}

TYPED_TEST(SpgemmTest, IsTheTextbooks) {
  for (const auto& [name, a, b] : awkward_factors<double>()) {
    SCOPED_TRACE(name);
    expect_near(product_of<TypeParam>(a, b), reference_spgemm(a, b), 1e-12);
  }
  for (const auto& [name, a, b] : awkward_factors<float>()) {
    SCOPED_TRACE(name + ", float");
    expect_near(product_of<TypeParam>(a, b), reference_spgemm(a, b), 1e-4);
  }
}

/// One entry a row, but `longest` in every row number 7 of `period`.
HostMatrix<double> diagonal_with_long_rows(int n, int period, int longest) {
  HostMatrix<double> a;
  a.num_rows = a.num_cols = n;
  for (int i = 0; i < n; ++i) {
    const int length = i % period == 7 ? longest : 1;
    for (int k = 0; k < length; ++k) {
      a.col_idxs.push_back(length == 1 ? i : k);
      a.values.push_back(1 + 0.25 * (k % 7) - 0.125 * (i % 3));
    }
    a.row_ptrs.push_back(a.col_idxs.size());
  }
  return a;
}

/// Rows of up to `longest` columns, of a product with a matrix that has three entries a row.
TYPED_TEST(SpgemmTest, LongRowsFromShortOnes) {
  const auto b = to_host(generate<double>(Kokkos::DefaultHostExecutionSpace(), "tridiagonal:2500"));
  for (const int longest : {40, 100, 200, 400, 700, 1200, 2000, 2500}) {
    SCOPED_TRACE(longest);
    const HostMatrix<double> a = diagonal_with_long_rows(2500, 500, longest);
    expect_near(product_of<TypeParam>(a, b), reference_spgemm(a, b), 1e-12);
  }
}

/// Values whose sums depend on the order, and whose products with 1 are exact.
void set_values_of_an_order(HostMatrix<double>& left, HostMatrix<double>& right) {
  constexpr double large = 9007199254740992;  // 2^53
  for (std::size_t k = 0; k < left.values.size(); ++k) {
    const std::size_t number = (k * 7 + k / 5) % 4;
    left.values[k] = number == 0 ? large : number == 1 ? -large : double(number);
  }
  std::fill(right.values.begin(), right.values.end(), 1.0);
}

/// Long rows that are few of B's columns: bits for all of them would be more than the products by far.
TYPED_TEST(SpgemmTest, ManyLongRowsOfFewColumns) {
  HostMatrix<double> a, b;
  a.num_rows = a.num_cols = b.num_rows = 900;
  b.num_cols = 3000000;
  for (int i = 0; i < 900; ++i) {
    a.col_idxs.push_back(i);
    a.values.push_back(2);
    a.row_ptrs.push_back(a.nnz());
    for (int k = 0; k < 1100; ++k) {
      b.col_idxs.push_back(i + 2500 * k);
      b.values.push_back(1 + k % 5);
    }
    b.row_ptrs.push_back(b.nnz());
  }
  HostMatrix<double> expected = b;
  for (double& value : expected.values) value *= 2;
  EXPECT_TRUE(product_of<TypeParam>(a, b) == expected);
}

/// Every other row of a matrix, and its last one.
template <class Space>
Vector<int, Space> some_rows(std::int64_t num_rows) {
  std::vector<int> rows;
  for (int i = 0; i < num_rows; ++i)
    if (i % 2 == 1 || i + 1 == num_rows) rows.push_back(i);
  return to_device<Space>(rows);
}

/// Factors of products with long rows: many short ones together, few long ones together, and both.
std::vector<std::pair<HostMatrix<double>, HostMatrix<double>>> factors_of_long_rows() {
  const HostMatrix<double> diagonal = diagonal_with_long_rows(3100, 500, 3000);
  const auto tridiagonal = to_host(generate<double>(Kokkos::DefaultHostExecutionSpace(), "tridiagonal:3100"));
  return {{diagonal, tridiagonal},
          {tridiagonal, diagonal},
          {diagonal, diagonal},
          {random_entries<double>(40, 300, 0.5, 1), random_entries<double>(300, 2100, 0.3, 2)}};
}

TYPED_TEST(SpgemmTest, LongRowsAreTheTextbooks) {
  for (const auto& [a, b] : factors_of_long_rows())
    expect_near(product_of<TypeParam>(a, b), reference_spgemm(a, b), 1e-11);
}

/// Rows are found by bits, as many at a time as there is room for.
TYPED_TEST(SpgemmTest, ColumnsOfLongRows) {
  const TypeParam space;
  auto factors = factors_of_long_rows();
  for (const auto& [name, a, b] : awkward_factors<double>())
    if (b.num_cols > 0) factors.push_back({a, b});
  for (const auto& [a, b] : factors) {
    const HostMatrix<double> expected = reference_spgemm(a, b);
    const auto left = to_device<TypeParam>(a), right = to_device<TypeParam>(b);
    const auto rows = some_rows<TypeParam>(a.num_rows);
    const auto row_ptrs = to_device<TypeParam>(expected.row_ptrs);
    for (const std::int64_t room : {std::int64_t(1), std::int64_t(5 * b.num_cols), std::int64_t(1) << 28}) {
      SCOPED_TRACE(std::to_string(b.num_cols) + " columns, " + std::to_string(room) + " bytes");
      const Vector<int, TypeParam> length("length", a.num_rows), cols("cols", expected.nnz());
      Kokkos::deep_copy(length, -3);
      Kokkos::deep_copy(cols, -3);
      for (const auto& to : {Vector<int, TypeParam>(), cols})
        impl::spgemm::find_long_rows<TypeParam>(space, CsrView<double, TypeParam>(left),
                                                CsrView<double, TypeParam>(right), rows, room, length,
                                                row_ptrs, to);
      std::vector<int> lengths(static_cast<std::size_t>(a.num_rows), -3);
      std::vector<int> columns(expected.nnz(), -3);
      for (const int i : to_vector(rows)) {
        const auto begin = expected.row_ptrs[static_cast<std::size_t>(i)];
        const auto end = expected.row_ptrs[static_cast<std::size_t>(i) + 1];
        lengths[static_cast<std::size_t>(i)] = static_cast<int>(end - begin);
        for (std::size_t k = begin; k < end; ++k) columns[k] = expected.col_idxs[k];
      }
      EXPECT_EQ(to_vector(length), lengths);
      EXPECT_EQ(to_vector(cols), columns);
    }
  }
}

/// In the order of A's rows, and no other rows.
TYPED_TEST(SpgemmTest, SumsOfLongRows) {
  auto factors = factors_of_long_rows();
  for (const auto& [name, a, b] : awkward_factors<double>()) factors.push_back({a, b});
  for (const auto& [first, second] : factors) {
    HostMatrix<double> a = first, b = second;
    set_values_of_an_order(a, b);
    HostMatrix<double> expected = reference_spgemm(a, b);
    const auto left = to_device<TypeParam>(a), right = to_device<TypeParam>(b);
    const auto c = to_device<TypeParam>(expected);
    Kokkos::deep_copy(c.values, -7.0);
    const auto rows = some_rows<TypeParam>(a.num_rows);
    impl::spgemm::sum_long_rows<double, TypeParam>(TypeParam(), {left, right, c}, rows);
    std::vector<double> values(expected.nnz(), -7.0);
    for (const int i : to_vector(rows))
      for (std::size_t k = expected.row_ptrs[static_cast<std::size_t>(i)];
           k < expected.row_ptrs[static_cast<std::size_t>(i) + 1]; ++k)
        values[k] = expected.values[k];
    EXPECT_EQ(to_vector(c.values), values);
  }
}

TYPED_TEST(SpgemmTest, AnyBudgetGivesTheSame) {
  for (const auto& [name, a, b] : awkward_factors<double>()) {
    SCOPED_TRACE(name);
    SpgemmOptions small;
    small.slab_bytes = 1;
    EXPECT_TRUE(product_of<TypeParam>(a, b, small) == product_of<TypeParam>(a, b));
  }
}

TYPED_TEST(SpgemmTest, ThePatternAlone) {
  for (const auto& [name, a, b] : awkward_factors<double>())
    for (const std::int64_t slab_bytes : {std::int64_t(1), std::int64_t(1) << 28}) {
      SCOPED_TRACE(name + ", " + std::to_string(slab_bytes) + " bytes");
      const auto left = to_device<TypeParam>(a), right = to_device<TypeParam>(b);
      const auto found = product_pattern<TypeParam>(TypeParam(), CsrView<double, TypeParam>(left),
                                                    CsrView<double, TypeParam>(right), 1 << 30, slab_bytes);
      const HostMatrix<double> expected = reference_spgemm(a, b);
      EXPECT_EQ(to_vector(found.row_ptrs), expected.row_ptrs);
      EXPECT_EQ(to_vector(found.col_idxs), expected.col_idxs);
    }
}

TYPED_TEST(SpgemmTest, TheSameBitsForAnyNumberOfThreads) {
  if constexpr (is_host_space<TypeParam>) {
    const auto a = to_device<TypeParam>(random_entries<double>(2000, 1500, 0.01, 1));
    const auto b = to_device<TypeParam>(random_entries<double>(1500, 800, 0.02, 2));
    const auto one = to_host(spgemm<double, TypeParam>(of_one_thread<TypeParam>(), a, b));
    EXPECT_TRUE(to_host(spgemm<double, TypeParam>(TypeParam(), a, b)) == one);
  }
}

TYPED_TEST(SpgemmTest, NewValuesOnAPatternThatIsThere) {
  for (const auto& [name, a, b] : awkward_factors<double>()) {
    SCOPED_TRACE(name);
    const auto right = to_device<TypeParam>(b);
    const auto c = spgemm<double, TypeParam>(TypeParam(), to_device<TypeParam>(a), right);
    HostMatrix<double> other = a;
    for (double& value : other.values) value = 1 - 2 * value;
    const auto left = to_device<TypeParam>(other);
    spgemm_values<double, TypeParam>(TypeParam(), left, right, c);
    expect_near(to_host(c), reference_spgemm(other, b), 1e-12);
  }
}

TYPED_TEST(SpgemmTest, ColumnsThatTheProductHasNotBecomeZero) {
  const auto a = random_entries<double>(50, 30, 0.1, 1), b = random_entries<double>(30, 40, 0.1, 2);
  HostMatrix<double> full = random_entries<double>(50, 40, 1, 3);
  const auto c = to_device<TypeParam>(full);
  spgemm_values<double, TypeParam>(TypeParam(), to_device<TypeParam>(a), to_device<TypeParam>(b), c);
  const HostMatrix<double> expected = reference_spgemm(a, b), found = to_host(c);
  for (int i = 0; i < 50; ++i)
    for (int j = 0; j < 40; ++j) ASSERT_NEAR(found(i, j), expected(i, j), 1e-14) << i << ", " << j;
}

/// Each entry as a block of `block` columns, with values of their own.
template <class Scalar>
HostMatrix<Scalar> in_blocks(const HostMatrix<Scalar>& a, int block) {
  HostMatrix<Scalar> result;
  result.num_rows = a.num_rows;
  result.num_cols = a.num_cols * block;
  for (std::int64_t i = 0; i < a.num_rows; ++i) {
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
      for (int c = 0; c < block; ++c) {
        result.col_idxs.push_back(a.col_idxs[k] * block + c);
        result.values.push_back(a.values[k] + Scalar(c) / 8);
      }
    result.row_ptrs.push_back(result.col_idxs.size());
  }
  return result;
}

TYPED_TEST(SpgemmTest, RowsOfWholeBlocks) {
  for (const int block : {2, 3, 6, 7, 33})
    for (const auto& [name, a, b] : awkward_factors<double>()) {
      if (b.num_cols > 1000) continue;
      SCOPED_TRACE(name + ", blocks of " + std::to_string(block));
      const HostMatrix<double> wide = in_blocks(b, block), expected = reference_spgemm(a, wide);
      HostMatrix<double> pattern = expected;
      std::fill(pattern.values.begin(), pattern.values.end(), -7.0);
      const auto c = to_device<TypeParam>(pattern);
      spgemm_values<double, TypeParam>(TypeParam(), to_device<TypeParam>(a), to_device<TypeParam>(wide), c,
                                       {1, 1, block});
      expect_near(to_host(c), expected, 1e-12);
    }
}

/// Each entry as a whole block, with values of their own.
template <class Scalar>
HostMatrix<Scalar> in_whole_blocks(const HostMatrix<Scalar>& a, int rows, int cols) {
  HostMatrix<Scalar> result;
  result.num_rows = a.num_rows * rows;
  result.num_cols = a.num_cols * cols;
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (int r = 0; r < rows; ++r) {
      for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
        for (int c = 0; c < cols; ++c) {
          result.col_idxs.push_back(a.col_idxs[k] * cols + c);
          result.values.push_back(a.values[k] / Scalar(1 + r) + Scalar(c) / 8);
        }
      result.row_ptrs.push_back(result.col_idxs.size());
    }
  return result;
}

TYPED_TEST(SpgemmTest, WholeBlocks) {
  for (const ProductBlocks blocks : {ProductBlocks{2, 2, 3}, ProductBlocks{3, 3, 6}, ProductBlocks{6, 3, 6},
                                     ProductBlocks{6, 6, 6}, ProductBlocks{1, 3, 1}, ProductBlocks{5, 1, 2}})
    for (const auto& [name, a, b] : awkward_factors<double>()) {
      if (b.num_cols > 1000 || a.num_rows > 1500) continue;
      SCOPED_TRACE(name + ", blocks of " + std::to_string(blocks.rows) + ", " + std::to_string(blocks.inner) +
                   ", " + std::to_string(blocks.cols));
      const HostMatrix<double> left = in_whole_blocks(a, blocks.rows, blocks.inner),
                               right = in_whole_blocks(b, blocks.inner, blocks.cols),
                               expected = reference_spgemm(left, right);
      HostMatrix<double> pattern = expected;
      std::fill(pattern.values.begin(), pattern.values.end(), -7.0);
      const auto c = to_device<TypeParam>(pattern);
      spgemm_values<double, TypeParam>(TypeParam(), to_device<TypeParam>(left), to_device<TypeParam>(right),
                                       c, blocks);
      expect_near(to_host(c), expected, 1e-11);
    }
}

TYPED_TEST(SpgemmTest, SumsAreInTheOrderOfARow) {
  for (const ProductBlocks blocks : {ProductBlocks{1, 1, 1}, ProductBlocks{1, 1, 3}, ProductBlocks{2, 2, 3},
                                     ProductBlocks{3, 3, 6}, ProductBlocks{6, 6, 6}, ProductBlocks{2, 1, 1}})
    for (const auto& [name, a, b] : awkward_factors<double>()) {
      if (b.num_cols > 1000 || a.num_rows > 1500) continue;
      SCOPED_TRACE(name + ", blocks of " + std::to_string(blocks.rows) + ", " + std::to_string(blocks.inner) +
                   ", " + std::to_string(blocks.cols));
      HostMatrix<double> left = in_whole_blocks(a, blocks.rows, blocks.inner),
                         right = in_whole_blocks(b, blocks.inner, blocks.cols);
      set_values_of_an_order(left, right);
      const HostMatrix<double> expected = reference_spgemm(left, right);
      const auto c = to_device<TypeParam>(expected);
      Kokkos::deep_copy(c.values, -7.0);
      spgemm_values<double, TypeParam>(TypeParam(), to_device<TypeParam>(left), to_device<TypeParam>(right),
                                       c, blocks);
      EXPECT_EQ(to_host(c).values, expected.values);
    }
}

/// Block rows of up to `longest` blocks, of a product with a matrix of short rows.
TYPED_TEST(SpgemmTest, LongBlockRowsFromShortOnes) {
  for (const ProductBlocks blocks :
       {ProductBlocks{3, 3, 3}, ProductBlocks{3, 3, 6}, ProductBlocks{6, 6, 6}, ProductBlocks{2, 1, 1}})
    for (const int longest : {20, 70, 150, 300}) {
      SCOPED_TRACE(std::to_string(longest) + " blocks of " + std::to_string(blocks.rows) + " x " +
                   std::to_string(blocks.cols));
      const HostMatrix<double> left = in_whole_blocks(diagonal_with_long_rows(300, 60, longest), blocks.rows,
                                                      blocks.inner),
                               right = in_whole_blocks(diagonal_with_long_rows(300, 60, 1), blocks.inner,
                                                       blocks.cols),
                               expected = reference_spgemm(left, right);
      const auto c = to_device<TypeParam>(expected);
      Kokkos::deep_copy(c.values, -7.0);
      spgemm_values<double, TypeParam>(TypeParam(), to_device<TypeParam>(left), to_device<TypeParam>(right),
                                       c, blocks);
      expect_near(to_host(c), expected, 1e-11);
    }
}

/// As many block rows as a vector has all rows of.
TYPED_TEST(SpgemmTest, ManyBlockRows) {
  constexpr int n = 8200;
  HostMatrix<double> a;
  a.num_rows = a.num_cols = n;
  for (int i = 0; i < n; ++i) {
    for (const int col : {i / 2, i / 2 + n / 2}) {
      a.col_idxs.push_back(col);
      a.values.push_back(1.0 / (1 + (i + col) % 7));
    }
    a.row_ptrs.push_back(a.col_idxs.size());
  }
  for (const ProductBlocks blocks : {ProductBlocks{3, 3, 6}, ProductBlocks{6, 3, 6}, ProductBlocks{6, 6, 6},
                                     ProductBlocks{2, 1, 1}, ProductBlocks{4, 2, 1}}) {
    const HostMatrix<double> left = in_whole_blocks(a, blocks.rows, blocks.inner),
                             right = in_whole_blocks(a, blocks.inner, blocks.cols),
                             expected = reference_spgemm(left, right);
    EXPECT_EQ((impl::spgemm::rows_of_vector<double, TypeParam>(left.num_rows, expected.nnz(), blocks)),
              blocks.rows);
    const auto c = to_device<TypeParam>(expected);
    Kokkos::deep_copy(c.values, -7.0);
    spgemm_values<double, TypeParam>(TypeParam(), to_device<TypeParam>(left), to_device<TypeParam>(right), c,
                                     blocks);
    expect_near(to_host(c), expected, 1e-11);
  }
}

TEST(SpgemmBlockRows, AreDividedWhereTheyAreFewOrLarge) {
  using Space = Kokkos::DefaultHostExecutionSpace;
  const auto rows = [](std::int64_t block_rows, std::int64_t blocks_a_row, const ProductBlocks& blocks) {
    const std::int64_t num_rows = block_rows * blocks.rows;
    return impl::spgemm::rows_of_vector<double, Space>(num_rows, num_rows * blocks_a_row * blocks.cols,
                                                       blocks);
  };
  EXPECT_EQ(rows(8192, 4, {6, 6, 6}), 6);
  EXPECT_EQ(rows(8191, 4, {6, 6, 6}), 3);
  EXPECT_EQ(rows(4095, 4, {6, 6, 6}), 1);
  EXPECT_EQ(rows(4095, 4, {3, 3, 6}), 1);
  EXPECT_EQ(rows(1, 4, {5, 1, 2}), 1);
  EXPECT_EQ(rows(0, 0, {6, 3, 6}), 1);
  // 18 kB a block row of six rows, 9 of three.
  EXPECT_EQ(rows(100000, 40, {6, 3, 6}), 3);
  EXPECT_EQ(rows(100000, 100, {6, 3, 6}), 1);
}

TYPED_TEST(SpgemmTest, WhatDoesNotFitIsRefused) {
  const auto a = to_device<TypeParam>(random_entries<double>(5, 7, 1, 1));
  const auto b = to_device<TypeParam>(random_entries<double>(7, 3, 1, 2));
  const auto message = [&](const auto& call) {
    try {
      call();
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(message([&] { spgemm<double, TypeParam>(TypeParam(), b, b); }), HasSubstr("7 x 3 times 7 x 3"));
  EXPECT_THAT(message([&] { spgemm_values<double, TypeParam>(TypeParam(), a, b, a); }),
              HasSubstr("5 x 7 times 7 x 3 into 5 x 7"));
  EXPECT_THAT(message([&] {
                const auto c = to_device<TypeParam>(random_entries<double>(5, 3, 1, 1));
                spgemm_values<double, TypeParam>(TypeParam(), a, b, c, {1, 1, 2});
              }),
              HasSubstr("7 x 3 entries are not blocks of 1 x 1 and 1 x 2"));
  SpgemmOptions tight;
  tight.max_bytes = 6 * 8 + 15 * 4 - 1;
  EXPECT_THAT(message([&] { spgemm<double, TypeParam>(TypeParam(), a, b, tight); }),
              HasSubstr("15 entries and take 108 bytes, more than the 107 allowed"));
  ++tight.max_bytes;
  EXPECT_EQ(to_host(spgemm<double, TypeParam>(TypeParam(), a, b, tight)).nnz(), 15u);
}

// ------------------------------------------------------------------------------------- lanes that are
// threads

class SpgemmLanesTest : public LanesTest {};

template <int Inner, int Cols>
void expect_block_rows(const HostMatrix<double>& a, const HostMatrix<double>& b, const ProductBlocks& blocks,
                       bool has_an_order = false) {
  using Space = Kokkos::DefaultHostExecutionSpace;
  using Row = impl::spgemm::SumBlockRow<double, Space, Inner, Cols>;
  HostMatrix<double> wide = in_whole_blocks(a, blocks.rows, blocks.inner),
                     deep = in_whole_blocks(b, blocks.inner, blocks.cols);
  if (has_an_order) set_values_of_an_order(wide, deep);
  const HostMatrix<double> expected = reference_spgemm(wide, deep);
  std::size_t longest = 1;
  for (std::int64_t i = 0; i < expected.num_rows; ++i)
    longest = std::max(longest, (expected.row_ptrs[i + 1] - expected.row_ptrs[i]) / blocks.cols);
  HostMatrix<double> c = expected;
  std::fill(c.values.begin(), c.values.end(), -7.0);
  const auto left = to_device<Space>(wide), right = to_device<Space>(deep);
  const auto result = to_device<Space>(c);
  const impl::spgemm::Product<double, Space> product{left, right, result, blocks};
  const int capacity = static_cast<int>(longest);
  std::vector<double> scratch(Row::bytes(capacity, blocks) / sizeof(double) + 1, 1e300);
  LaneThreads<8> lanes;
  lanes.run([&](const auto& level) {
    for (int i = 0; i < a.num_rows; ++i) Row(product, scratch.data(), capacity)(level, i);
  });
  EXPECT_EQ(scratch.back(), 1e300) << "written behind its end";
  if (has_an_order)
    EXPECT_EQ(to_host(result).values, expected.values);
  else
    expect_near(to_host(result), expected, 1e-12);
}

TEST_F(SpgemmLanesTest, ABlockRowInScratchIsTheTextbooks) {
  for (const auto& [name, a, b] : awkward_factors<double>()) {
    if (a.num_rows > 100) continue;
    SCOPED_TRACE(name);
    expect_block_rows<1, 1>(a, b, {1, 1, 1});
    expect_block_rows<1, 1>(a, b, {1, 1, 1}, true);
    expect_block_rows<1, 1>(a, b, {2, 1, 1}, true);
    if (b.num_cols > 100) continue;
    expect_block_rows<0, 0>(a, b, {2, 2, 3}, true);
    expect_block_rows<3, 6>(a, b, {3, 3, 6}, true);
    expect_block_rows<6, 6>(a, b, {2, 6, 6}, true);
    expect_block_rows<0, 0>(a, b, {1, 1, 2});
    expect_block_rows<0, 0>(a, b, {2, 2, 3});
    expect_block_rows<0, 0>(a, b, {5, 1, 2});
    expect_block_rows<3, 3>(a, b, {3, 3, 3});
    expect_block_rows<3, 6>(a, b, {6, 3, 6});
    expect_block_rows<3, 6>(a, b, {1, 3, 6});
    expect_block_rows<6, 6>(a, b, {6, 6, 6});
  }
}

/// All entries, each by the entries of the shorter row and in order.
TEST_F(SpgemmLanesTest, AnEntryByLanesIsTheTextbooks) {
  using Space = Kokkos::DefaultHostExecutionSpace;
  for (const auto& [name, first, second] : awkward_factors<double>()) {
    if (first.num_rows > 100 || second.num_cols > 100) continue;
    SCOPED_TRACE(name);
    HostMatrix<double> a = first, b = second;
    set_values_of_an_order(a, b);
    const HostMatrix<double> expected = reference_spgemm(a, b);
    const auto left = to_device<Space>(a), right = to_device<Space>(b), c = to_device<Space>(expected);
    Kokkos::deep_copy(c.values, -7.0);
    const auto columns = transpose<double, Space>(Space(), right);
    std::vector<int> rows(static_cast<std::size_t>(a.num_rows));
    std::iota(rows.begin(), rows.end(), 0);
    const auto list = to_device<Space>(rows);
    const impl::spgemm::Entries<double, Space> entries{
        {left, right, c}, columns, {CsrGraphView<Space>(c), list, c.row_ptrs}};
    std::vector<double> scratch(17, 1e300);
    LaneThreads<8> lanes;
    lanes.run([&](const auto& level) {
      for (std::int64_t number = 0; number < static_cast<std::int64_t>(expected.nnz()); ++number)
        impl::spgemm::sum_entry(level, entries, number, scratch.data());
    });
    EXPECT_EQ(scratch.back(), 1e300) << "written behind its end";
    EXPECT_EQ(to_vector(c.values), expected.values);
  }
}

TEST_F(SpgemmLanesTest, ShortRowsByAThreadAreTheTextbooks) {
  using Space = Kokkos::DefaultHostExecutionSpace;
  int tried = 0;
  for (const auto& [name, a, b] : awkward_factors<double>()) {
    SCOPED_TRACE(name);
    const HostMatrix<double> expected = reference_spgemm(a, b);
    HostMatrix<double> c = expected;
    std::fill(c.values.begin(), c.values.end(), -7.0);
    const auto left = to_device<Space>(a), right = to_device<Space>(b);
    const auto result = to_device<Space>(c);
    const impl::spgemm::Product<double, Space> product{left, right, result};
    const CsrGraphView<Space> of_a(left), of_b(right);
    for (int i = 0; i < c.num_rows; ++i) {
      const std::size_t begin = expected.row_ptrs[i], length = expected.row_ptrs[i + 1] - begin;
      if (length > 16) continue;
      ++tried;
      impl::spgemm::sum_short_row(product, i);
      const impl::spgemm::SmallPatternRow<Space, 16> row(of_a, of_b, i);
      ASSERT_TRUE(row.fits);
      ASSERT_EQ(row.count(), int(length));
      std::vector<int> written(length + 1, -7);
      row.write(written.data());
      ASSERT_EQ(written[length], -7);
      const bool few_fit = impl::spgemm::SmallPatternRow<Space, 3>(of_a, of_b, i).fits;
      ASSERT_EQ(few_fit, length <= 3) << "row " << i;
      for (std::size_t k = 0; k < length; ++k) {
        ASSERT_EQ(written[k], expected.col_idxs[begin + k]) << "row " << i;
        ASSERT_NEAR(result.values(begin + k), expected.values[begin + k], 1e-13) << "row " << i;
      }
    }
  }
  EXPECT_GT(tried, 500);
}

/// Columns by lanes that are threads: in tables that are as large as they have to be, and smaller.
TEST_F(SpgemmLanesTest, ThePatternOfARowInScratchIsTheTextbooks) {
  using Space = Kokkos::DefaultHostExecutionSpace;
  using Row = impl::spgemm::PatternRow<Space>;
  for (const auto& [name, a, b] : awkward_factors<double>()) {
    SCOPED_TRACE(name);
    const HostMatrix<double> expected = reference_spgemm(a, b);
    const auto left = to_device<Space>(a), right = to_device<Space>(b);
    const CsrGraphView<Space> of_a(left), of_b(right);
    for (int i = 0; i < expected.num_rows; i += 1 + static_cast<int>(expected.num_rows) / 20) {
      const std::size_t begin = expected.row_ptrs[i];
      const int length = static_cast<int>(expected.row_ptrs[i + 1] - begin);
      for (const int capacity : {std::max(length, 1), length + 5, length / 2 + 1}) {
        std::vector<int> scratch(Row::bytes(capacity) / sizeof(int) + 1, 77), cols(length + 1, 78), counts(8);
        LaneThreads<8> lanes;
        lanes.run([&](const auto& level) {
          const Row row(of_a, of_b, scratch.data(), capacity);
          const int count = row.search(level, i);
          level.region([&](int lane) { counts[lane] = count; });
          if (count >= 0) row.write(level, count, cols.data());
        });
        EXPECT_EQ(scratch.back(), 77) << "written behind the table's end";
        EXPECT_EQ(cols.back(), 78) << "written behind the row's end";
        for (const int count : counts) ASSERT_EQ(count, capacity < length ? -1 : length) << "row " << i;
        if (capacity < length) continue;
        for (int k = 0; k < length; ++k) ASSERT_EQ(cols[k], expected.col_idxs[begin + k]) << "row " << i;
      }
    }
  }
}

}  // namespace
}  // namespace prekond::testing
