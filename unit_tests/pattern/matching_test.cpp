// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/general_matrices.hpp"
#include "testing/host_graph.hpp"
#include "testing/matrices.hpp"
#include "testing/one_thread.hpp"
#include "testing/reference_matching.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/matrix/io/matrix_market.hpp>
#include <prekond/pattern/matching.hpp>

#include <limits>
#include <numeric>

namespace prekond::testing {
namespace {

template <class Space>
class MatchingTest : public ::testing::Test {};
TYPED_TEST_SUITE(MatchingTest, TestSpaces, SpaceNames);

const std::vector<MatchingMethod> methods = {MatchingMethod::auction, MatchingMethod::augmenting_paths};

struct HostMatching {
  std::vector<int> column_of_row;
  std::vector<double> row_scale, column_scale;
  std::int64_t rank = 0;
  double log_product = 0;
  std::int64_t rounds = 0, rows_on_host = 0;
  bool has_host_seconds = false;

  bool operator==(const HostMatching&) const = default;
};

template <class Space, class Scalar>
HostMatching match(const Space& space, const HostMatrix<Scalar>& matrix, const MatchingOptions& options) {
  const auto a = to_device<Space>(matrix);
  const auto m = maximum_product_matching<Scalar, Space>(space, a, options);
  return {to_vector(m.column_of_row),
          to_vector(m.row_scale),
          to_vector(m.column_scale),
          m.rank,
          m.log_product,
          m.rounds,
          m.rows_on_host,
          m.host_seconds > 0};
}

/// Properties of every matching: a permutation, as many entries of A as it says and their product, scaled
/// entries of at most exp(slack), and 1 where they are matched.
template <class Scalar>
void expect_consistent(const HostMatrix<Scalar>& a, const HostMatching& m, double slack) {
  const auto n = static_cast<std::size_t>(a.num_rows);
  std::vector<int> sorted = m.column_of_row, all(n);
  std::sort(sorted.begin(), sorted.end());
  std::iota(all.begin(), all.end(), 0);
  ASSERT_EQ(sorted, all);
  ASSERT_EQ(m.row_scale.size(), n);
  ASSERT_EQ(m.column_scale.size(), n);
  std::int64_t rank = 0;
  double log_product = 0, size = 1;
  std::vector<int> rows_left, columns_left;
  for (std::size_t i = 0; i < n; ++i) {
    EXPECT_TRUE(std::isfinite(m.row_scale[i]) && m.row_scale[i] > 0);
    EXPECT_TRUE(std::isfinite(m.column_scale[i]) && m.column_scale[i] > 0);
    double largest = 0;
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
      const double x = matching_magnitude(a.values[k]);
      if (a.col_idxs[k] >= a.num_rows || x == 0) continue;
      const double scaled =
          static_cast<double>(static_cast<long double>(m.row_scale[i]) * x * m.column_scale[a.col_idxs[k]]);
      EXPECT_LE(scaled, std::exp(slack) * (1 + 1e-9)) << "row " << i << ", column " << a.col_idxs[k];
      largest = std::max(largest, scaled);
      if (a.col_idxs[k] != m.column_of_row[i]) continue;
      EXPECT_NEAR(scaled, 1, 1e-9) << "row " << i;
      ++rank;
      log_product += std::log(x);
      size += std::abs(std::log(x));
    }
    if (largest > 0) {
      EXPECT_GE(largest, 1 - 1e-9) << "row " << i;
    }
    if (matching_magnitude(a(i, m.column_of_row[i])) == 0) {
      rows_left.push_back(static_cast<int>(i));
      columns_left.push_back(m.column_of_row[i]);
    }
  }
  EXPECT_EQ(m.rank, rank);
  EXPECT_NEAR(m.log_product, log_product, 1e-10 * size);
  EXPECT_TRUE(std::is_sorted(columns_left.begin(), columns_left.end()));
}

/// Both methods on the matrix, and what the Hungarian algorithm says of it.
template <class Space, class Scalar>
void check(const HostMatrix<Scalar>& a) {
  const Space space;
  const ReferenceMatching expected = reference_matching(a);
  const double n = static_cast<double>(a.num_rows);
  for (const MatchingMethod method : methods)
    for (const double epsilon : {0.01, 0.5}) {
      const bool exact = method == MatchingMethod::augmenting_paths;
      SCOPED_TRACE(exact ? "augmenting paths" : "auction");
      const HostMatching m = match(space, a, {method, epsilon});
      expect_consistent(a, m, exact ? 0 : epsilon + 1e-5);
      EXPECT_EQ(m.rank, expected.rank);
      EXPECT_EQ(m.rows_on_host > 0, exact ? a.num_rows > 0 : m.rows_on_host > 0);
      EXPECT_EQ(m.has_host_seconds, m.rows_on_host > 0);
      const double size = 1 + std::abs(expected.log_product);
      if (expected.rank < a.num_rows) {
        EXPECT_LE(m.log_product, expected.log_product + 1e-10 * size * n);
        continue;
      }
      EXPECT_LE(m.log_product, expected.log_product + 1e-10 * size);
      EXPECT_GE(m.log_product, expected.log_product - (exact ? 1e-10 * size : n * (epsilon + 1e-5)));
    }
}

/// Entries of many sizes at random places.
HostMatrix<double> random_sizes(int rows, int cols, double density, double spread, unsigned seed) {
  HostMatrix<double> a = random_entries<double>(rows, cols, density, seed);
  std::mt19937 random(seed + 1000);
  for (double& value : a.values) value *= std::pow(10.0, spread * (double(random()) * 0x1p-32 - 0.5));
  return a;
}

/// The columns of a matrix in another order: its diagonal is anywhere.
template <class Scalar>
HostMatrix<Scalar> with_columns_moved(const HostMatrix<Scalar>& a, unsigned seed) {
  std::vector<int> to(a.num_cols);
  std::iota(to.begin(), to.end(), 0);
  std::shuffle(to.begin(), to.end(), std::mt19937(seed));
  std::vector<std::vector<Scalar>> dense(a.num_rows, std::vector<Scalar>(a.num_cols, 0));
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) dense[i][to[a.col_idxs[k]]] = a.values[k];
  return sparse(dense);
}

TYPED_TEST(MatchingTest, EqualsTheReferenceOnRandomMatrices) {
  for (const int n : {1, 2, 3, 5, 8, 31, 32, 33, 64, 97})
    for (const double density : {0.05, 0.2, 1.0})
      for (unsigned seed = 1; seed <= 3; ++seed) {
        SCOPED_TRACE(std::to_string(n) + ", " + std::to_string(density) + ", " + std::to_string(seed));
        check<TypeParam>(random_sizes(n, n, density, seed == 1 ? 0 : 6.0 * seed, seed));
      }
  check<TypeParam>(random_sizes(257, 257, 0.03, 8, 1));
  check<TypeParam>(random_sizes(257, 300, 0.03, 8, 2));
}

TYPED_TEST(MatchingTest, EqualsTheReferenceOnAwkwardPatterns) {
  for (const auto& test : awkward_patterns<double>()) {
    SCOPED_TRACE(test.name);
    check<TypeParam>(test.matrix);
    if (test.matrix.num_rows > 0 && test.matrix.num_rows == test.matrix.num_cols)
      check<TypeParam>(with_columns_moved(test.matrix, 5));
  }
  for (const auto& test : general_matrices()) {
    SCOPED_TRACE(test.name);
    check<TypeParam>(test.matrix);
    check<TypeParam>(with_columns_moved(test.matrix, 6));
  }
}

TYPED_TEST(MatchingTest, FloatAndComplexEntries) {
  for (const int n : {1, 33, 70}) {
    const auto a = random_sizes(n, n, 0.2, 6, 11);
    HostMatrix<float> single{a.num_rows, a.num_cols, a.row_ptrs, a.col_idxs, {}};
    HostMatrix<Kokkos::complex<double>> complex{a.num_rows, a.num_cols, a.row_ptrs, a.col_idxs, {}};
    for (std::size_t k = 0; k < a.nnz(); ++k) {
      single.values.push_back(static_cast<float>(a.values[k]));
      complex.values.push_back({k % 3 == 0 ? 0 : a.values[k], k % 2 == 0 ? 3 * a.values[k] : 0});
    }
    check<TypeParam>(single);
    check<TypeParam>(complex);
  }
}

TYPED_TEST(MatchingTest, WhatIsNoEntry) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  HostMatrix<double> a = sparse<double>({{1, 2, 3, 4}, {4, 1, 1, 1}, {1, 5, 1, 1}});
  a.values = {nan, -inf, 0, 4, 4, 1, 1, 1, 0, 5, 0, 1};
  a.num_rows = 3;  // the last column is another rank's: row 0 has nothing
  check<TypeParam>(a);
  for (const MatchingMethod method : methods) {
    const HostMatching m = match(TypeParam(), a, {method});
    EXPECT_EQ(m.rank, 2);
    EXPECT_EQ(m.row_scale[0], 1);
  }
  // Large and small numbers, and scales at the end of their range.
  check<TypeParam>(sparse<double>({{1e250, 5e-324}, {1e250, 1e-290}}));
  check<TypeParam>(sparse<double>({{1e-290, 1e-310}, {1e-320, 1e280}}));
  const HostMatching m = match(TypeParam(), sparse<double>({{5e-324, 1e-310}, {1e-320, 0}}), {});
  EXPECT_EQ(m.column_of_row, (std::vector<int>{1, 0}));
  for (const double scale : {m.column_scale[0], m.column_scale[1]}) EXPECT_NEAR(scale, 1e300, 1e298);
}

TYPED_TEST(MatchingTest, StructurallySingular) {
  // Three rows have two columns between them, and another two rows one, which leads to those.
  const auto a = sparse<double>({{1, 2, 0, 0, 0, 0, 0},
                                 {3, 1, 0, 0, 0, 0, 0},
                                 {9, 9, 0, 0, 0, 0, 0},
                                 {7, 0, 1, 0, 0, 0, 0},
                                 {0, 5, 1, 0, 0, 0, 0},
                                 {900, 0, 80, 1, 1, 0, 0},
                                 {0, 0, 1e9, 1, 2, 1, 0}});
  check<TypeParam>(a);
  for (unsigned seed = 1; seed <= 20; ++seed) {
    check<TypeParam>(with_columns_moved(a, seed));
    check<TypeParam>(with_columns_moved(random_sizes(41, 41, 0.035, 9, seed), seed));
  }
  // 80 rows for 30 columns.
  std::vector<std::vector<double>> dense(80, std::vector<double>(80, 0));
  for (int i = 0; i < 80; ++i)
    for (int j = 0; j < 30; ++j) dense[i][j] = 1 + (i * j) % 7;
  check<TypeParam>(sparse(dense));
}

TYPED_TEST(MatchingTest, TiesKeepTheDiagonal) {
  for (const int n : {1, 2, 33, 100}) {
    const auto a = sparse(std::vector<std::vector<double>>(n, std::vector<double>(n, -2.0)));
    for (const MatchingMethod method : methods) {
      const HostMatching m = match(TypeParam(), a, {method});
      for (int i = 0; i < n; ++i) ASSERT_EQ(m.column_of_row[i], i);
    }
  }
}

TYPED_TEST(MatchingTest, PricesAreNoHigherThanTheyHaveToBe) {
  // The largest entries of columns and of rows are matched: no column has a price.
  const int n = 120;
  std::vector<std::vector<double>> dense(n, std::vector<double>(n, 0));
  std::mt19937 random(8);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      if (j == (i + 7) % n || random() % 9 == 0)
        dense[i][j] = j == (i + 7) % n ? 8.0 : 1e-3 * (1 + random() % 99);
  const auto a = sparse(dense);
  for (const MatchingMethod method : methods) {
    const HostMatching m = match(TypeParam(), a, {method});
    for (int i = 0; i < n; ++i) {
      ASSERT_EQ(m.column_of_row[i], (i + 7) % n);
      EXPECT_NEAR(m.row_scale[i], 1, 1e-12);
      EXPECT_NEAR(m.column_scale[i], 0.125, 1e-12);
    }
  }
  // Rows that want the same column: the price that decides between them is the difference, and a chain of
  // others that follow it.
  for (const auto& matrix : {sparse<double>({{1, 0.5}, {1, 0.25}}), sparse<double>({{1, 1e-4}, {1, 1e-9}})}) {
    const HostMatching m = match(TypeParam(), matrix, {MatchingMethod::auction, 1e-3});
    EXPECT_EQ(m.column_of_row, (std::vector<int>{1, 0}));
    const double ratio = matrix.values[1] / 1.0;
    EXPECT_NEAR(m.column_scale[0], 1, 2e-3);
    EXPECT_NEAR(m.column_scale[1] * ratio, 1, 2e-3);
    EXPECT_NEAR(m.row_scale[0], 1, 2e-3);
    EXPECT_NEAR(m.row_scale[1], 1, 2e-3);
  }
}

TYPED_TEST(MatchingTest, ATriangleThatWasPermutedHasOneMatching) {
  const int n = 150;
  std::mt19937 random(3);
  std::vector<std::vector<double>> dense(n, std::vector<double>(n, 0));
  std::vector<int> column(n);
  std::iota(column.begin(), column.end(), 0);
  std::shuffle(column.begin(), column.end(), random);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j)
      if (j == i || random() % 10 == 0) dense[i][column[j]] = j == i ? 1e-6 : 1 + random() % 100;
  const auto a = sparse(dense);
  for (const MatchingMethod method : methods) {
    const HostMatching m = match(TypeParam(), a, {method});
    EXPECT_EQ(m.column_of_row, column);
    EXPECT_EQ(m.rank, n);
  }
}

TYPED_TEST(MatchingTest, SameBitsWhateverTheThreads) {
  for (const char* spec : {"circuit:40", "irregular3d:9,mean=9,longest=300"}) {
    auto a = with_columns_moved(generated(spec), 4);
    for (const MatchingMethod method : methods) {
      const HostMatching m = match(TypeParam(), a, {method});
      for (int again = 0; again < 3; ++again) EXPECT_TRUE(m == match(TypeParam(), a, {method}));
      EXPECT_TRUE(m == match(of_one_thread<TypeParam>(), a, {method}));
    }
  }
}

TYPED_TEST(MatchingTest, TheMethodOfASpace) {
  const auto a = random_sizes(60, 60, 0.2, 6, 3);
  const HostMatching m = match(TypeParam(), a, {});
  EXPECT_EQ(m.rounds > 0, !is_host_space<TypeParam>);
  EXPECT_EQ(m.rows_on_host == 60, is_host_space<TypeParam>);
  const HostMatching auction = match(TypeParam(), a, {MatchingMethod::auction});
  EXPECT_GT(auction.rounds, 0);
  EXPECT_LT(auction.rows_on_host, 60);
}

TYPED_TEST(MatchingTest, BadOptionsAndShapes) {
  const auto a = random_sizes(4, 4, 1, 1, 1);
  for (const double epsilon : {0.0, 20.0, std::nan("")})
    EXPECT_THAT(message_of<InputError>([&] {
                  match(TypeParam(), a, {MatchingMethod::auction, epsilon});
                }),
                ::testing::EndsWith("it must be from 1e-5 to 10"));
  EXPECT_EQ(message_of<InputError>([&] { match(TypeParam(), random_sizes(4, 3, 1, 1, 1), {}); }),
            "maximum_product_matching: the matrix has 4 rows and 3 columns; it needs a column for each row");
}

TYPED_TEST(MatchingTest, EveryKernelAndViewIsLabelled) {
  const auto a = with_columns_moved(random_sizes(50, 50, 0.05, 1, 1), 1);
  for (const MatchingMethod method : methods) {
    const ToolEvents events;
    match(TypeParam(), a, {method});
    for (const auto& labels : {events.kernels(), events.allocations()})
      for (const auto& label : labels)
        EXPECT_THAT(label,
                    ::testing::AnyOf(::testing::StartsWith("prekond::"), ::testing::StartsWith("Kokkos::"),
                                     ::testing::HasSubstr("_mirror")));
  }
}

TYPED_TEST(MatchingTest, RealMatrices) {
  int compared = 0;
  for (const auto& path : matrices_of_kind("general", 400000)) {
    SCOPED_TRACE(path.filename().string());
    MatrixMarketFile file(path.string());
    if (file.info().field == "complex") continue;
    const auto a = to_host(file.template read<double>());
    if (a.num_rows != a.num_cols) continue;
    const HostMatching paths = match(TypeParam(), a, {MatchingMethod::augmenting_paths});
    const HostMatching bids = match(TypeParam(), a, {MatchingMethod::auction});
    expect_consistent(a, paths, 0);
    expect_consistent(a, bids, 0.01 + 1e-5);
    EXPECT_EQ(paths.rank, bids.rank);
    if (paths.rank == a.num_rows) {
      EXPECT_LE(bids.log_product, paths.log_product + 1e-9 * (1 + std::abs(paths.log_product)));
      EXPECT_GE(bids.log_product, paths.log_product - 0.0101 * double(a.num_rows));
    }
    ++compared;
  }
  EXPECT_GE(compared, has_collection() ? 30 : 8);
}

}  // namespace
}  // namespace prekond::testing
