// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/approximate_inverse/spai/bins.hpp"
#include "precond/approximate_inverse/spai/tuning.hpp"
#include "testing/memory_peak.hpp"
#include "testing/set_up.hpp"
#include "testing/spaces.hpp"
#include "testing/spai_cases.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/lane_group.hpp"

#include <limits>
#include <numeric>

namespace prekond::testing {
namespace {

using ::testing::HasSubstr;

template <class Space, class Scalar>
HostMatrix<Scalar> invert(const HostMatrix<Scalar>& a, const SpaiOptions& options, Report* report = nullptr,
                          const HostGraph* pattern = nullptr) {
  return to_host(set_up<Spai, Space>(a, options, report, pattern)->inverse());
}

template <class Space>
class SpaiTest : public ::testing::Test {};
TYPED_TEST_SUITE(SpaiTest, TestSpaces, SpaceNames);

TEST(SpaiTuning, GroupsAreThePapers) {
  using namespace impl::spai;
  for (const auto& [n2, lanes] : std::vector<std::pair<int, int>>{{1, 8},
                                                                  {8, 8},
                                                                  {9, 16},
                                                                  {16, 16},
                                                                  {17, 32},
                                                                  {32, 32},
                                                                  {33, 64},
                                                                  {64, 64},
                                                                  {65, 128},
                                                                  {256, 256},
                                                                  {5000, 256}})
    EXPECT_EQ(group_size(device_tuning, n2), lanes) << n2;
}

TEST(SpaiTuning, StorageFollowsTheSizes) {
  using namespace impl::spai;
  const auto launch = [](int lanes, int n1, std::size_t bytes, std::size_t near) {
    return choose_launch(device_tuning, device_tuning.solve, lanes, n1, bytes, near);
  };
  EXPECT_EQ(launch(8, 20, 2000, 1500).unit, Unit::vector8);
  EXPECT_EQ(launch(8, 40, 2000, 1500).unit, Unit::vector16) << "a lane has at most 4 rows";
  EXPECT_EQ(launch(16, 100, 14000, 9000).unit, Unit::vector32);
  EXPECT_EQ(launch(16, 100, 14000, 9000).vectors, 3);
  EXPECT_EQ(launch(32, 100, 30000, 9000).unit, Unit::team);
  EXPECT_EQ(launch(64, 100, 10000, 9000).unit, Unit::team);
  EXPECT_EQ(launch(64, 200, 80000, 16000).unit, Unit::apart);
  EXPECT_EQ(launch(256, 5000, 8000000, 400000).unit, Unit::slab);
  EXPECT_LE(launch(256, 5000, 8000000, 400000).vectors, 8);
  EXPECT_EQ(choose_launch(host_tuning, host_tuning.solve, 8, 20, 2000, 2000).unit, Unit::slab);
}

TEST(SpaiTuning, SizeClassesAscend) {
  using impl::spai::size_class;
  int last = 0;
  for (int n = 0; n < 100000; ++n) {
    ASSERT_GE(size_class(n), last);
    ASSERT_LE(size_class(n), last + 1) << n;
    last = size_class(n);
  }
  EXPECT_EQ(size_class(8), 0);
  EXPECT_EQ(size_class(9), 1);
  EXPECT_EQ(size_class(32), 3);
  EXPECT_EQ(size_class(48), 4);
  EXPECT_EQ(size_class(64), 5);
  EXPECT_EQ(size_class(65), 6);
  EXPECT_LT(size_class(std::numeric_limits<int>::max()), impl::spai::num_size_classes);
}

TYPED_TEST(SpaiTest, TheLeftInverseIsTheTransposesRightOne) {
  const HostMatrix<double> a = random_around_three(120, 0.05, 19);
  const auto left = invert<TypeParam>(a, with(Side::left, 2));
  const auto right = invert<TypeParam>(transposed(a), with(Side::right, 2));
  EXPECT_TRUE(left == transposed(right));
}

// More rows than columns, and columns of sizes that differ much.
TYPED_TEST(SpaiTest, TheLeastNormOfTallSystems) {
  const int n = 260, length = 60;
  Dense dense = to_dense(random_around_three(n, 0.5, 63));
  for (int i = 0; i < n; ++i) dense[i][11] = dense[i][3] - dense[i][7];
  HostGraph pattern(n);
  for (int k = 0; k < n; ++k)
    for (int j = 0; j < (k < 5 ? length : 0); ++j) pattern[j].push_back(k);
  for (int j = length; j < n; ++j) pattern[j] = {j};
  for (const int spread : {0, 60}) {
    Dense scaled = dense;
    for (auto& row : scaled)
      for (int j : {20, 21}) row[j] = std::ldexp(row[j], -spread);
    const auto m = invert<TypeParam>(sparse(scaled), with(Side::right), nullptr, &pattern);
    ASSERT_NO_FATAL_FAILURE(expect_least(sparse(scaled), m, Side::right, 1e-10, {0, 1, 2, 3, 4}));
    for (int k = 0; k < 5; ++k) EXPECT_NEAR(m(11, k) - m(3, k) + m(7, k), 0, 1e-9);
  }
}

/// Column k of M has lengths[k] entries, k itself among them.
HostGraph columns_of_lengths(int n, const std::vector<int>& lengths) {
  HostGraph rows(n);
  for (int k = 0; k < n; ++k) {
    const int length = k < static_cast<int>(lengths.size()) ? lengths[k] : 1;
    for (int p = 0; p < length; ++p) rows[(k + p * 7) % n].push_back(k);
  }
  return rows;
}

TYPED_TEST(SpaiTest, SizesAroundTheEdgesOfEveryBin) {
  std::vector<int> lengths;
  for (int edge : {1, 8, 16, 24, 32, 48, 64, 96, 104, 128}) {
    lengths.push_back(edge);
    lengths.push_back(edge + 1);
  }
  std::vector<int> columns;
  for (std::size_t k = 0; k < lengths.size(); ++k) columns.push_back(static_cast<int>(k));
  const int n = 331;  // a prime
  const HostGraph pattern = columns_of_lengths(n, lengths);
  for (double density : {0.002, 0.01, 0.2}) {
    const HostMatrix<double> a = random_around_three(n, density, 40);
    SCOPED_TRACE(density);
    SpaiOptions options = with(Side::right);
    const auto m = invert<TypeParam>(a, options, nullptr, &pattern);
    ASSERT_EQ(pattern_of(m), pattern);
    ASSERT_NO_FATAL_FAILURE(expect_least(a, m, Side::right, 1e-10, columns));
    options.setup_scalar = Precision::single_precision;
    ASSERT_NO_FATAL_FAILURE(
        expect_least(a, invert<TypeParam>(a, options, nullptr, &pattern), Side::right, 1e-3, columns));
  }
}

/// A(:, J)^T (A m - e) is zero for the columns m of M.
void expect_orthogonal(const HostMatrix<double>& a, const HostMatrix<double>& m,
                       const std::vector<int>& columns, double tolerance) {
  const HostMatrix<double> b = transposed(a), lists = transposed(m);
  for (const int k : columns) {
    std::vector<double> rest(a.num_rows);
    rest[k] = -1;
    for (std::size_t p = lists.row_ptrs[k]; p < lists.row_ptrs[k + 1]; ++p)
      for (std::size_t e = b.row_ptrs[lists.col_idxs[p]]; e < b.row_ptrs[lists.col_idxs[p] + 1]; ++e)
        rest[b.col_idxs[e]] += b.values[e] * lists.values[p];
    for (std::size_t p = lists.row_ptrs[k]; p < lists.row_ptrs[k + 1]; ++p) {
      double product = 0;
      for (std::size_t e = b.row_ptrs[lists.col_idxs[p]]; e < b.row_ptrs[lists.col_idxs[p] + 1]; ++e)
        product += b.values[e] * rest[b.col_idxs[e]];
      ASSERT_NEAR(product, 0, tolerance) << "column " << k << ", entry " << lists.col_idxs[p];
    }
  }
}

// By vectors, by teams of either size, and by normal equations, at the same time.
TYPED_TEST(SpaiTest, LongColumnsOfEveryKind) {
  const int n = 1511;  // a prime
  const std::vector<int> lengths = {3,   95,  96,  97,  107, 108, 127, 128, 200, 255, 256,
                                    257, 383, 384, 385, 400, 510, 511, 512, 513, 700};
  std::vector<int> columns;
  for (std::size_t k = 0; k < lengths.size(); ++k) columns.push_back(static_cast<int>(k));
  const HostGraph pattern = columns_of_lengths(n, lengths);
  const HostMatrix<double> a = random_around_three(n, 0.003, 77);
  for (Precision precision : {Precision::single_precision, Precision::double_precision}) {
    SpaiOptions options = with(Side::right, 1, precision);
    Report report;
    const ToolEvents events;
    const auto once = invert<TypeParam>(a, options, &report, &pattern);
    EXPECT_EQ(report.breakdowns.count, 0);
    ASSERT_NO_FATAL_FAILURE(
        expect_orthogonal(a, once, columns, precision == Precision::double_precision ? 1e-11 : 1e-3));
    EXPECT_TRUE(once == invert<TypeParam>(a, options, nullptr, &pattern));
    options.workspace_budget = 1 << 20;
    EXPECT_TRUE(once == invert<TypeParam>(a, options, nullptr, &pattern)) << "one team after the other";
    const auto has_run = [&](const char* label) {
      return std::count(events.kernels().begin(), events.kernels().end(),
                        std::string("prekond::spai::numeric::") + label) > 0;
    };
    for (const char* label : {"stream_columns", "stream_long_columns", "count_rows"})
      EXPECT_TRUE(!has_register_levels<TypeParam> || has_run(label)) << label;
    EXPECT_TRUE(has_run("fill_gram"));
    EXPECT_TRUE(!has_register_levels<TypeParam> || !has_run("solve_columns"))
        << "normal equations have solved all long columns";
  }
}

// The closer two columns of A are to a multiple of each other, the less accurate are normal equations, and at
// last useless.
TYPED_TEST(SpaiTest, LongColumnsAreAsAccurateAsByQr) {
  const int n = 530;
  HostGraph pattern(n);
  for (int i = 0; i < n; ++i) {
    pattern[i] = {0};  // column 0 has the whole pattern: it is that of A^-1
    if (i > 0) pattern[i].push_back(i);
  }
  for (const int bits : {2, 5, 14, 22}) {
    SCOPED_TRACE(bits);
    Dense dense = to_dense(random_around_three(n, 0.006, 83));
    dense[41][40] = 1;
    for (int i = 0; i < n; ++i) dense[i][41] = 0.7 * dense[i][40];
    dense[300][41] += std::ldexp(1.0, -bits);
    const HostMatrix<double> a = sparse(dense);
    std::vector<int> all(n);
    std::iota(all.begin(), all.end(), 0);
    const LocalProblem problem = local_problem(transposed(a), 0, all);
    const std::vector<long double> x = least_squares(problem.matrix, problem.rhs).x;
    Report report;
    const auto m = invert<TypeParam>(a, with(Side::right), &report, &pattern);
    EXPECT_EQ(report.breakdowns.count, 0);
    long double largest = 0, error = 0;
    for (int i = 0; i < n; ++i) {
      largest = std::max(largest, std::abs(x[i]));
      error = std::max(error, std::abs(m(i, 0) - x[i]));
    }
    EXPECT_LT(static_cast<double>(error / largest), std::ldexp(1e-12, bits));
  }
}

TYPED_TEST(SpaiTest, LongColumnsThatNormalEquationsCannotSolve) {
  const int n = 600;
  HostGraph pattern(n);
  for (int i = 0; i < n; ++i) {
    for (int k : {0, 5})
      if (i < 540 && i != k) pattern[i].push_back(k);
    pattern[i].push_back(i);
    std::sort(pattern[i].begin(), pattern[i].end());
  }
  const Dense dense = to_dense(random_around_three(n, 0.006, 85));
  Dense alike = dense, with_nan = dense, empty = dense;
  for (auto& row : alike) row[70] = 2 * row[30];
  with_nan[40][30] = std::nan("");
  for (auto& row : empty) row[30] = 0;
  for (int j = 0; j < n; ++j) empty[5][j] = 0;  // e_5 is orthogonal to all columns
  for (const Dense& matrix : {alike, with_nan, empty}) {
    Report report;
    const auto m = invert<TypeParam>(sparse(matrix), with(Side::right), &report, &pattern);
    ASSERT_NO_FATAL_FAILURE(expect_finite(m, Side::right));
    EXPECT_GE(report.breakdowns.count, 2);
    Dense without = matrix;
    if (std::isnan(matrix[40][30]))
      for (auto& row : without) row[30] = 0;
    ASSERT_NO_FATAL_FAILURE(expect_least(sparse(without), m, Side::right, 1e-10, {0}));
    if (matrix[5][5] == 0) {
      EXPECT_EQ(m(5, 5), 1) << "the diagonal";
    }
  }
}

// A setup that has no room for B B^T solves by QR, with the same solution.
TYPED_TEST(SpaiTest, LongColumnsWithoutRoomForNormalEquations) {
  const int n = 900, length = 520;
  HostMatrix<double> a;
  a.num_rows = a.num_cols = n;
  a.row_ptrs = {0};
  // A full row: all products of columns are entries of B B^T.
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      if (i != 3 && i != j) continue;
      a.col_idxs.push_back(j);
      a.values.push_back(i == j ? 3 + j % 5 : std::sin(1.0 + j));
    }
    a.row_ptrs.push_back(a.nnz());
  }
  HostGraph pattern = columns_of_lengths(n, {length});
  for (auto& row : pattern) std::sort(row.begin(), row.end());
  SpaiOptions options = with(Side::right);
  const ToolEvents events;
  const auto by_normal_equations = invert<TypeParam>(a, options, nullptr, &pattern);
  const auto launches = [&] {
    return std::count(events.kernels().begin(), events.kernels().end(), "prekond::spai::numeric::fill_gram");
  };
  EXPECT_EQ(launches(), 1);
  options.memory_budget = 3 << 20;
  const auto by_qr = invert<TypeParam>(a, options, nullptr, &pattern);
  EXPECT_EQ(launches(), 1) << "no room";
  for (std::size_t k = 0; k < by_qr.nnz(); ++k)
    ASSERT_NEAR(by_qr.values[k], by_normal_equations.values[k], 1e-13);
}

TYPED_TEST(SpaiTest, RankDeficientColumnsHaveTheLeastNorm) {
  Dense dense = to_dense(random_around_three(40, 0.4, 61));
  for (int i = 0; i < 40; ++i) {
    dense[i][1] = 2 * dense[i][0];
    dense[i][7] = dense[i][3] - dense[i][4];
  }
  HostGraph full(40);
  for (auto& row : full)
    for (int j = 0; j < 40; ++j) row.push_back(j);
  // Also where a column of A is not a number: it is left out, and takes nothing with it.
  Dense with_nan = dense;
  with_nan[5][9] = std::nan("");
  Dense without = dense;
  for (auto& row : without) row[9] = 0;
  for (Precision precision : {Precision::single_precision, Precision::double_precision}) {
    for (const Dense& matrix : {dense, with_nan}) {
      const bool has_nan = std::isnan(matrix[5][9]);
      Report report;
      const auto m = invert<TypeParam>(sparse(matrix), with(Side::right, 1, precision), &report, &full);
      EXPECT_EQ(report.breakdowns.count, 40);
      EXPECT_EQ(report.breakdowns.first_row, 0);
      EXPECT_LT(report.breakdowns.first_pivot, 1e-12);
      EXPECT_THAT(report.breakdowns.action, HasSubstr("40 columns of rank-deficient systems have the "
                                                      "solution of the least norm, as far as rounding tells "
                                                      "their rank, 0 fell back"));
      for (int k = 0; k < 40; ++k) {
        // Orthogonal to what A maps to zero.
        EXPECT_NEAR(2 * m(0, k) - m(1, k), 0, 1e-11);
        EXPECT_NEAR(m(7, k) - m(3, k) + m(4, k), 0, 1e-11);
        if (has_nan) {
          EXPECT_EQ(m(9, k), 0);
        }
      }
      std::vector<int> others;
      for (int k = 0; k < 40; ++k) others.push_back(k);
      ASSERT_NO_FATAL_FAILURE(expect_least(sparse(has_nan ? without : dense), m, Side::right, 1e-10, others));
    }
  }
}

TYPED_TEST(SpaiTest, EmptyRowsAndColumnsFallBackToTheDiagonal) {
  Dense dense = to_dense(random_around_three(30, 0.1, 71));
  for (int j = 0; j < 30; ++j) dense[4][j] = dense[j][9] = 0;
  for (Precision precision : {Precision::single_precision, Precision::double_precision}) {
    for (Side side : {Side::right, Side::left}) {
      Report report;
      const auto m = invert<TypeParam>(sparse(dense), with(side, 1, precision), &report);
      ASSERT_NO_FATAL_FAILURE(expect_finite(m, side));
      // Nothing reaches the one unit vector, and the other's own column is zero.
      const int alone = side == Side::right ? 4 : 9;
      for (int k : {4, 9})
        for (int i = 0; i < 30; ++i) EXPECT_TRUE((side == Side::right ? m(i, k) : m(k, i)) == (i == k));
      EXPECT_THAT(report.breakdowns.action, HasSubstr("2 fell back to the diagonal"));
      std::vector<int> others;
      for (int k = 0; k < 30; ++k)
        if (k != alone) others.push_back(k);
      ASSERT_NO_FATAL_FAILURE(expect_least(sparse(dense), m, side,
                                           precision == Precision::double_precision ? 1e-10 : 1e-4, others));
    }
  }
  HostMatrix<double> zero;
  zero.num_rows = zero.num_cols = 12;
  zero.row_ptrs.assign(13, 0);
  Report report;
  const auto m = invert<TypeParam>(zero, {}, &report);
  EXPECT_EQ(m.nnz(), 12u);
  EXPECT_EQ(m.values, std::vector<double>(12, 1.0));
  EXPECT_EQ(report.breakdowns.count, 12);
}

TYPED_TEST(SpaiTest, ColumnsOfAnyScale) {
  const HostMatrix<double> a = random_around_three(60, 0.1, 81);
  // Columns of A from 2^-120 to 2^120: the unknowns take it all.
  HostMatrix<double> wide = a;
  for (std::size_t k = 0; k < a.nnz(); ++k)
    wide.values[k] = std::ldexp(a.values[k], 4 * (a.col_idxs[k] - 30));
  const auto plain = invert<TypeParam>(a, with(Side::right)), m = invert<TypeParam>(wide, with(Side::right));
  for (int i = 0; i < 60; ++i)
    for (std::size_t k = m.row_ptrs[i]; k < m.row_ptrs[i + 1]; ++k)
      ASSERT_EQ(std::ldexp(m.values[k], 4 * (i - 30)), plain.values[k]);
}

TYPED_TEST(SpaiTest, ADenseRowAndAHugeColumn) {
  const int n = 1100;
  HostMatrix<double> arrow;
  arrow.num_rows = arrow.num_cols = n;
  arrow.row_ptrs = {0};
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      if (i != j && i != 0 && j != 0) continue;
      arrow.col_idxs.push_back(j);
      arrow.values.push_back(i == j ? 4 + i % 7 : 0.01 * (1 + (i + 2 * j) % 5));
    }
    arrow.row_ptrs.push_back(arrow.nnz());
  }
  for (Side side : {Side::right, Side::left}) {
    SpaiOptions options = with(side);
    options.workspace_budget = 1 << 16;
    const auto m = invert<TypeParam>(arrow, options);
    ASSERT_EQ(pattern_of(m), pattern_of(arrow));
    ASSERT_NO_FATAL_FAILURE(expect_least(arrow, m, side, 1e-10, {1, 500, n - 1}));
    // Column 0 (row 0) has the full pattern: its residual is zero.
    const Dense a = to_dense(arrow), inverse = to_dense(m);
    for (int i = 0; i < n; ++i) {
      double sum = 0;
      for (int k = 0; k < n; ++k)
        sum += side == Side::right ? a[i][k] * inverse[k][0] : inverse[0][k] * a[k][i];
      ASSERT_NEAR(sum, i == 0, 1e-12);
    }
  }
}

TYPED_TEST(SpaiTest, ColumnsOfThousandsOfRows) {
  const int n = 6000, dense = 37;
  HostMatrix<double> a;
  a.num_rows = a.num_cols = n;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < dense; ++j) {
      a.col_idxs.push_back(j);
      a.values.push_back(i == j ? 90 : std::sin(1.0 + i * (j + 1)));
    }
    if (i >= dense) {
      a.col_idxs.push_back(i);
      a.values.push_back(2);
    }
    a.row_ptrs.push_back(a.nnz());
  }
  HostGraph pattern(n);
  for (int k = 0; k < n; ++k)
    for (int i = 0; i < dense && k < dense; ++i) pattern[i].push_back(k);
  for (const Precision precision : {Precision::single_precision, Precision::double_precision}) {
    SpaiOptions options = with(Side::right, 1, precision);
    options.workspace_budget = 1 << 20;
    const auto m = invert<TypeParam>(a, options, nullptr, &pattern);
    const double tolerance = precision == Precision::double_precision ? 1e-10 : 1e-4;
    ASSERT_NO_FATAL_FAILURE(expect_least(a, m, Side::right, tolerance, {0, 20, dense - 1, dense, n - 1}));
  }
}

TYPED_TEST(SpaiTest, HoldsNoMoreThanItReports) {
  const TypeParam space;
  for (Side side : {Side::right, Side::left}) {
    const auto a = to_device<TypeParam>(generated("convection_diffusion3d:14"));
    SpaiOptions options = with(side, 1);
    options.workspace_budget = 1 << 20;
    Spai<double, TypeParam> spai(options);
    spai.symbolic(space, a);
    const MemoryPeak memory;
    spai.numeric(space, a);
    const auto& m = spai.inverse();
    const std::int64_t peak = memory.without({m.row_ptrs.data(), m.col_idxs.data(), m.values.data()});
    EXPECT_LE(peak, spai.report().setup_bytes * 102 / 100 + 100000);
    // A^T, M^T, and some bytes a column; a transposition's row pointers.
    EXPECT_LE(spai.report().setup_bytes, a.bytes() + m.bytes() + 40 * a.num_rows + (3 << 20));
  }
}

}  // namespace
}  // namespace prekond::testing
