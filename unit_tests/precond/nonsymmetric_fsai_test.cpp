// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/general_matrices.hpp"
#include "testing/host_graph.hpp"
#include "testing/matrices.hpp"
#include "testing/preconditioned_iterations.hpp"
#include "testing/reference_lu.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/krylov/cg.hpp>
#include <prekond/matrix/io/matrix_market.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/precond/fsai.hpp>
#include <prekond/precond/nonsymmetric_fsai.hpp>
#include <prekond/precond/registry.hpp>

#include <map>
#include <set>
#include <sstream>

namespace prekond::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int all_steps = 1000;

NonsymmetricFsaiOptions in_single(int power = 1) {
  NonsymmetricFsaiOptions options;
  options.power = power;
  options.setup_scalar = Precision::single_precision;
  return options;
}

NonsymmetricFsaiOptions in_double(int power = 1) {
  NonsymmetricFsaiOptions options = in_single(power);
  options.setup_scalar = Precision::double_precision;
  return options;
}

std::vector<NonsymmetricFsaiOptions> both_precisions(int power = 1) {
  return {in_single(power), in_double(power)};
}

/// G_L and G_U^T, by rows.
template <class Scalar>
struct Factors {
  HostMatrix<Scalar> lower, upper;
  bool operator==(const Factors& other) const { return lower == other.lower && upper == other.upper; }
};

template <class Scalar, class Space>
Factors<Scalar> factors_of(const NonsymmetricFsai<Scalar, Space>& fsai) {
  return {to_host(fsai.lower_factor()), transposed(to_host(fsai.upper_factor()))};
}

template <class Space, class Scalar>
Factors<Scalar> factor(const HostMatrix<Scalar>& a, const NonsymmetricFsaiOptions& options,
                       Report* report = nullptr, const HostGraph* pattern = nullptr) {
  const Space space;
  const auto device = to_device<Space>(a);
  NonsymmetricFsai<Scalar, Space> fsai(options);
  if (pattern) fsai.set_pattern(space, graph_of<Space>(*pattern, a.num_rows));
  fsai.symbolic(space, device);
  fsai.numeric(space, device);
  if (report) *report = fsai.report();
  return factors_of(fsai);
}

/// The lower triangle of the k-th power of the symmetrised pattern, by products of dense Boolean matrices.
HostGraph symmetrised_power(const HostGraph& s, int k) {
  const std::size_t n = s.size();
  using Boolean = std::vector<std::vector<bool>>;
  Boolean factor(n, std::vector<bool>(n)), power(n, std::vector<bool>(n));
  for (std::size_t i = 0; i < n; ++i) {
    for (int j : s[i])
      if (j < static_cast<int>(n)) factor[i][j] = factor[j][i] = true;
    factor[i][i] = power[i][i] = true;
  }
  for (int step = 0; step < k; ++step) {
    Boolean next(n, std::vector<bool>(n));
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        for (std::size_t l = 0; power[i][j] && l < n; ++l)
          if (factor[j][l]) next[i][l] = true;
    if (next == power) break;
    power = next;
  }
  HostGraph rows(n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j)
      if (power[i][j]) rows[i].push_back(static_cast<int>(j));
  return rows;
}

/// The row of G_L and the column of G_U on given columns, from the inverse of A[P, P].
struct ReferencePair {
  std::vector<double> lower, upper;
};
ReferencePair reference_pair(const Dense& a, const std::vector<int>& cols) {
  const std::size_t m = cols.size();
  LongMatrix block(m, std::vector<long double>(m));
  for (std::size_t p = 0; p < m; ++p)
    for (std::size_t q = 0; q < m; ++q) block[p][q] = a[cols[p]][cols[q]];
  const LastOfInverse inverse = last_of_inverse(block);
  const long double pivot = 1 / inverse.row.back(), root = std::sqrt(std::abs(pivot));
  ReferencePair pair;
  for (std::size_t p = 0; p < m; ++p) {
    pair.lower.push_back(static_cast<double>(inverse.row[p] * pivot / root));
    pair.upper.push_back(static_cast<double>(inverse.column[p] * pivot / root * (pivot < 0 ? -1 : 1)));
  }
  return pair;
}

/// To the tolerance, relative to the largest entry, each weighted by the size of its row (column) of A.
void expect_near(const HostMatrix<double>& g, std::int64_t i, const std::vector<double>& expected,
                 const std::vector<double>& weight, double tolerance) {
  const std::size_t begin = g.row_ptrs[i];
  double largest = 0;
  for (std::size_t p = 0; p < expected.size(); ++p)
    largest = std::max(largest, std::abs(expected[p]) * weight[g.col_idxs[begin + p]]);
  for (std::size_t p = 0; p < expected.size(); ++p)
    ASSERT_NEAR((g.values[begin + p] - expected[p]) * weight[g.col_idxs[begin + p]] / largest, 0, tolerance)
        << "row " << i << " column " << g.col_idxs[begin + p];
}

/// Every row and column is the textbook's on its own columns.
void expect_textbook(const HostMatrix<double>& a, const Factors<double>& g, double tolerance,
                     std::vector<int> rows = {}) {
  const Dense dense = to_dense(a);
  std::vector<double> of_rows(a.num_rows, 0), of_cols(a.num_rows, 0);
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::int64_t j = 0; j < a.num_rows; ++j) of_rows[i] = std::max(of_rows[i], std::abs(dense[i][j]));
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::int64_t j = 0; j < a.num_rows; ++j)
      of_cols[j] = std::max(of_cols[j], std::abs(dense[i][j]) / of_rows[i]);
  if (rows.empty())
    for (int i = 0; i < a.num_rows; ++i) rows.push_back(i);
  for (const int i : rows) {
    const std::vector<int> cols(g.lower.col_idxs.begin() + g.lower.row_ptrs[i],
                                g.lower.col_idxs.begin() + g.lower.row_ptrs[i + 1]);
    const ReferencePair expected = reference_pair(dense, cols);
    ASSERT_NO_FATAL_FAILURE(expect_near(g.lower, i, expected.lower, of_rows, tolerance));
    ASSERT_NO_FATAL_FAILURE(expect_near(g.upper, i, expected.upper, of_cols, tolerance));
  }
}

/// Both have sorted rows that end with the diagonal, on the same pattern, and diag(G_L A G_U) = 1.
void expect_unit_diagonal(const HostMatrix<double>& a, const Factors<double>& g, double tolerance) {
  ASSERT_EQ(pattern_of(g.lower), pattern_of(g.upper));
  const Dense dense = to_dense(a);
  for (std::int64_t i = 0; i < a.num_rows; ++i) {
    const std::size_t begin = g.lower.row_ptrs[i], end = g.lower.row_ptrs[i + 1];
    ASSERT_GT(end, begin);
    ASSERT_EQ(g.lower.col_idxs[end - 1], i) << "the diagonal is last";
    ASSERT_NEAR(std::abs(g.upper.values[end - 1]), g.lower.values[end - 1], 1e-6 * g.lower.values[end - 1])
        << "balanced, and positive in G_L";
    long double sum = 0, magnitudes = 0;
    for (std::size_t k = begin; k < end; ++k) {
      for (std::size_t l = begin; l < end; ++l) {
        const long double term = static_cast<long double>(g.lower.values[k]) * g.upper.values[l] *
                                 dense[g.lower.col_idxs[k]][g.upper.col_idxs[l]];
        sum += term;
        magnitudes += std::abs(term);
      }
    }
    ASSERT_NEAR(static_cast<double>(sum), 1, std::max(tolerance, 1e-15 * static_cast<double>(magnitudes)))
        << "row " << i;
  }
}

void expect_finite(const Factors<double>& g) {
  for (const HostMatrix<double>* matrix : {&g.lower, &g.upper}) {
    for (double value : matrix->values) ASSERT_TRUE(std::isfinite(value));
    for (std::int64_t i = 0; i < matrix->num_rows; ++i)
      ASSERT_NE(matrix->values[matrix->row_ptrs[i + 1] - 1], 0) << "row " << i;
  }
}

template <class Space>
class NonsymmetricFsaiTest : public ::testing::Test {};
TYPED_TEST_SUITE(NonsymmetricFsaiTest, TestSpaces, SpaceNames);

TYPED_TEST(NonsymmetricFsaiTest, ItsPatternDoesNotGrow) {
  NonsymmetricFsaiOptions options;
  options.reuse = Reuse::extend;
  EXPECT_THROW((NonsymmetricFsai<double, TypeParam>(options)), OptionError);
}

TYPED_TEST(NonsymmetricFsaiTest, EveryRowAndColumnIsThatOfTheReference) {
  for (const Case& test : general_matrices()) {
    for (int power = 0; power <= 3; ++power) {
      SCOPED_TRACE(test.name + ", power " + std::to_string(power));
      Report report;
      const auto g = factor<TypeParam>(test.matrix, in_double(power), &report);
      ASSERT_EQ(pattern_of(g.lower), symmetrised_power(pattern_of(test.matrix), power));
      ASSERT_NO_FATAL_FAILURE(expect_unit_diagonal(test.matrix, g, 1e-10));
      ASSERT_NO_FATAL_FAILURE(expect_textbook(test.matrix, g, 1e-10));
      EXPECT_EQ(report.breakdowns.count, 0);
      EXPECT_EQ(report.breakdowns.first_row, -1);
      EXPECT_THAT(report.notes, IsEmpty());
      EXPECT_EQ(report.nnz, static_cast<std::int64_t>(2 * g.lower.nnz()));
    }
  }
}

TYPED_TEST(NonsymmetricFsaiTest, SinglePrecisionIsAsGoodAsItsBits) {
  for (const Case& test : general_matrices()) {
    for (int power = 0; power <= 3; ++power) {
      SCOPED_TRACE(test.name + ", power " + std::to_string(power));
      Report report;
      const auto g = factor<TypeParam>(test.matrix, in_single(power), &report);
      ASSERT_EQ(pattern_of(g.lower), symmetrised_power(pattern_of(test.matrix), power));
      ASSERT_NO_FATAL_FAILURE(expect_unit_diagonal(test.matrix, g, 1e-10)) << "the scaling is in double";
      ASSERT_NO_FATAL_FAILURE(expect_textbook(test.matrix, g, 2e-3));
      EXPECT_EQ(report.breakdowns.count, 0);
    }
  }
}

TYPED_TEST(NonsymmetricFsaiTest, TheFullTrianglesGiveTheInverse) {
  for (int n : {9, 41, 150}) {
    const HostMatrix<double> a = random_general(n, 0.5, 17u + n);
    const Dense dense = to_dense(a);
    for (const NonsymmetricFsaiOptions& options : both_precisions(all_steps)) {
      const auto g = factor<TypeParam>(a, options);
      ASSERT_EQ(g.lower.nnz(), std::size_t(n) * (n + 1) / 2);
      const Dense lower = to_dense(g.lower), upper = to_dense(g.upper);
      const double tolerance = options.setup_scalar == Precision::double_precision ? 1e-9 : 1e-2;
      for (int i = 0; i < n; ++i) {
        std::vector<long double> row(n, 0);
        for (int k = 0; k <= i; ++k)
          for (int j = 0; j < n; ++j) row[j] += static_cast<long double>(lower[i][k]) * dense[k][j];
        for (int j = 0; j < n; ++j) {
          long double entry = 0;
          for (int k = 0; k <= j; ++k) entry += row[k] * upper[j][k];
          ASSERT_NEAR(static_cast<double>(entry), i == j ? 1 : 0, tolerance) << n << ": " << i << ", " << j;
        }
      }
    }
  }
}

TYPED_TEST(NonsymmetricFsaiTest, ASymmetricMatrixHasTheStaticFsaisFactor) {
  for (const Case& test : small_matrices()) {
    for (double delta : {0.0, 0.03}) {
      SCOPED_TRACE(test.name + ", delta " + std::to_string(delta));
      NonsymmetricFsaiOptions options = in_double(2);
      options.prefilter = delta / 3;
      options.postfilter = delta;
      const auto g = factor<TypeParam>(test.matrix, options);
      FsaiOptions symmetric;
      symmetric.power = 2;
      symmetric.setup_scalar = Precision::double_precision;
      symmetric.prefilter = options.prefilter;
      symmetric.postfilter = delta;
      Fsai<double, TypeParam> fsai(symmetric);
      fsai.numeric(TypeParam(), to_device<TypeParam>(test.matrix));
      const HostMatrix<double> expected = to_host(fsai.factor());
      ASSERT_EQ(pattern_of(g.lower), pattern_of(expected));
      ASSERT_EQ(pattern_of(g.upper), pattern_of(expected));
      for (std::int64_t i = 0; i < expected.num_rows; ++i) {
        const std::size_t begin = expected.row_ptrs[i], end = expected.row_ptrs[i + 1];
        const auto weighted = [&](double value, std::size_t k) {
          const int col = expected.col_idxs[k];
          return value * std::sqrt(test.matrix(col, col));
        };
        double largest = 0;
        for (std::size_t k = begin; k < end; ++k)
          largest = std::max(largest, std::abs(weighted(expected.values[k], k)));
        for (std::size_t k = begin; k < end; ++k) {
          ASSERT_NEAR(weighted(g.lower.values[k] - expected.values[k], k) / largest, 0, 1e-9) << "row " << i;
          ASSERT_NEAR(weighted(g.upper.values[k] - expected.values[k], k) / largest, 0, 1e-9) << "row " << i;
        }
      }
    }
  }
}

// The last pivots of -A are those of A, negated.
TYPED_TEST(NonsymmetricFsaiTest, ANegativeMatrixHasTheSignInGU) {
  const HostMatrix<double> a = random_spd(70, 0.2, 5);
  HostMatrix<double> negative = a;
  for (double& value : negative.values) value = -value;
  const auto g = factor<TypeParam>(a, in_double(2)), h = factor<TypeParam>(negative, in_double(2));
  EXPECT_TRUE(g.lower == h.lower);
  for (std::size_t k = 0; k < g.upper.nnz(); ++k) ASSERT_EQ(g.upper.values[k], -h.upper.values[k]);
}

TYPED_TEST(NonsymmetricFsaiTest, TheTransposeExchangesTheFactors) {
  const HostMatrix<double> a = random_general(90, 0.1, 15);
  const auto g = factor<TypeParam>(a, in_double(2)), h = factor<TypeParam>(transposed(a), in_double(2));
  ASSERT_EQ(pattern_of(g.lower), pattern_of(h.lower));
  for (std::size_t k = 0; k < g.lower.nnz(); ++k) {
    ASSERT_NEAR(std::abs(g.lower.values[k]), std::abs(h.upper.values[k]), 1e-9);
    ASSERT_NEAR(std::abs(g.upper.values[k]), std::abs(h.lower.values[k]), 1e-9);
  }
}

HostGraph rows_of_length(int n, int length) {
  HostGraph rows(n);
  for (int i = 0; i < n; ++i) {
    const int others = std::min(i + 1, length) - 1;
    for (int p = 0; p < others; ++p) rows[i].push_back(static_cast<int>(std::int64_t(p) * i / others));
    rows[i].push_back(i);
  }
  return rows;
}

TYPED_TEST(NonsymmetricFsaiTest, RowsOfOneLengthAroundTheEdgesOfEveryBin) {
  std::vector<int> lengths = {1, 2, 7, 20, 110, 300};
  for (int edge : {8, 16, 24, 32, 40, 48, 64, 80, 96, 128, 160, 192, 256}) {
    lengths.push_back(edge);
    lengths.push_back(edge + 1);
  }
  for (int length : lengths) {
    SCOPED_TRACE(length);
    const int n = length + 5;
    const HostMatrix<double> a = random_general(n, 0.7, 1000u + length);
    const HostGraph pattern = rows_of_length(n, length);
    const auto g = factor<TypeParam>(a, in_double(), nullptr, &pattern);
    ASSERT_EQ(pattern_of(g.lower), pattern);
    ASSERT_NO_FATAL_FAILURE(expect_textbook(a, g, 1e-11, {length - 1, length, n - 1}));
    ASSERT_NO_FATAL_FAILURE(expect_textbook(a, factor<TypeParam>(a, in_single(), nullptr, &pattern), 1e-3,
                                            {length - 1, length, n - 1}));
  }
}

TYPED_TEST(NonsymmetricFsaiTest, RowsThatNeedPivoting) {
  for (int n : {12, 50, 90}) {
    const HostMatrix<double> a = random_dense(n, 30u + n);
    const HostGraph pattern = rows_of_length(n, 1000);
    for (const NonsymmetricFsaiOptions& options : both_precisions()) {
      Report report;
      const auto g = factor<TypeParam>(a, options, &report, &pattern);
      EXPECT_EQ(report.breakdowns.count, 0) << "zeros on the diagonal are no breakdown";
      expect_finite(g);
      ASSERT_NO_FATAL_FAILURE(expect_unit_diagonal(a, g, 1e-8));
      if (options.setup_scalar == Precision::double_precision) {
        ASSERT_NO_FATAL_FAILURE(expect_textbook(a, g, 1e-9));
      }
    }
  }
}

TYPED_TEST(NonsymmetricFsaiTest, ALeadingBlockOfZerosIsSolvedByPivoting) {
  // The first two columns have no diagonal; with row 2 the system is regular, and its leading minors 0, -2
  // are too.
  const HostMatrix<double> a = sparse<double>({{0, 2, 1}, {1, 0, 3}, {2, 1, 5}});
  for (const NonsymmetricFsaiOptions& options : both_precisions()) {
    Report report;
    const auto g = factor<TypeParam>(a, options, &report);
    // Row 0 has only a_00 = 0; row 1's leading block is singular: both become 1.
    EXPECT_EQ(report.breakdowns.count, 2);
    EXPECT_EQ(report.breakdowns.first_row, 0);
    EXPECT_THAT(report.breakdowns.action, HasSubstr("2 fell back to the diagonal"));
    for (int i : {0, 1})
      for (int j = 0; j <= i; ++j) {
        EXPECT_EQ(g.lower(i, j), i == j);
        EXPECT_EQ(g.upper(i, j), i == j);
      }
    const ReferencePair expected = reference_pair(to_dense(a), {0, 1, 2});
    for (int j = 0; j < 3; ++j) {
      EXPECT_NEAR(g.lower(2, j), expected.lower[j], 1e-6);
      EXPECT_NEAR(g.upper(2, j), expected.upper[j], 1e-6);
    }
  }
}

TYPED_TEST(NonsymmetricFsaiTest, ASingularRowFallsBackToItsDiagonal) {
  HostMatrix<double> path = generated("tridiagonal:40");
  path.values.front() = path.values.back() = 1;  // all pivots are 1, and the last is 0
  for (const NonsymmetricFsaiOptions& options : both_precisions(all_steps)) {
    for (double sign : {1.0, -1.0}) {
      HostMatrix<double> a = path;
      for (double& value : a.values) value *= sign;
      Report report;
      const auto g = factor<TypeParam>(a, options, &report);
      for (int i = 0; i < 40; ++i)
        for (int j = 0; j <= i; ++j) {
          ASSERT_NEAR(g.lower(i, j), i == 39 && j < 39 ? 0 : 1, 1e-12);
          ASSERT_NEAR(g.upper(i, j), i == 39 && j < 39 ? 0 : sign, 1e-12);
        }
      EXPECT_EQ(report.breakdowns.count, 1);
      EXPECT_EQ(report.breakdowns.first_row, 39);
      EXPECT_NEAR(report.breakdowns.first_pivot, 0, 1e-14);
      EXPECT_THAT(report.breakdowns.action,
                  AllOf(HasSubstr("0 rows kept"), HasSubstr("1 fell back to the diagonal")));
    }
  }
}

TYPED_TEST(NonsymmetricFsaiTest, ARepeatedColumnIsLeftOutOfTheRow) {
  Dense a = to_dense(random_general(30, 0.8, 61));
  for (int j = 0; j < 30; ++j) a[1][j] = a[0][j];
  for (int i = 0; i < 30; ++i) a[i][1] = a[i][0];
  for (const NonsymmetricFsaiOptions& options : both_precisions(all_steps)) {
    Report report;
    const auto g = factor<TypeParam>(sparse(a), options, &report);
    expect_finite(g);
    EXPECT_DOUBLE_EQ(g.lower(1, 1), 1 / std::sqrt(std::abs(a[1][1])));
    for (int i = 2; i < 30; ++i) {
      ASSERT_EQ(g.lower(i, 1), 0) << "row " << i;
      ASSERT_EQ(g.upper(i, 1), 0) << "row " << i;
      std::vector<int> others = {0};
      for (int j = 2; j <= i; ++j) others.push_back(j);
      const ReferencePair expected = reference_pair(a, others);
      for (std::size_t p = 0; p < others.size(); ++p) {
        ASSERT_NEAR(g.lower(i, others[p]), expected.lower[p], 1e-10) << "row " << i;
        ASSERT_NEAR(g.upper(i, others[p]), expected.upper[p], 1e-10) << "row " << i;
      }
    }
    EXPECT_EQ(report.breakdowns.count, 29);
    EXPECT_EQ(report.breakdowns.first_row, 1);
    EXPECT_THAT(report.breakdowns.action,
                AllOf(HasSubstr("28 rows kept"), HasSubstr("1 fell back to the diagonal")));
  }
}

TYPED_TEST(NonsymmetricFsaiTest, AwkwardMatricesGiveFiniteFactors) {
  for (const auto& test : awkward_patterns<double>()) {
    for (const NonsymmetricFsaiOptions& options : both_precisions(2)) {
      SCOPED_TRACE(test.name);
      if (test.matrix.num_cols < test.matrix.num_rows) continue;
      Report report;
      NonsymmetricFsaiOptions filtered = options;
      filtered.postfilter = 0.05;
      expect_finite(factor<TypeParam>(test.matrix, options, &report));
      EXPECT_EQ(report.breakdowns.count > 0, report.breakdowns.first_row >= 0);
      EXPECT_LE(report.breakdowns.count, test.matrix.num_rows);
      expect_finite(factor<TypeParam>(test.matrix, filtered));
    }
  }
  HostMatrix<double> bad = random_general(20, 0.5, 3);
  for (double value : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    for (std::size_t k : {std::size_t(0), bad.nnz() / 2, bad.nnz() - 1}) {
      HostMatrix<double> a = bad;
      a.values[k] = value;
      Report report;
      for (const NonsymmetricFsaiOptions& options : both_precisions(all_steps)) {
        expect_finite(factor<TypeParam>(a, options, &report));
        EXPECT_GT(report.breakdowns.count, 0);
      }
    }
  }
}

TYPED_TEST(NonsymmetricFsaiTest, RowsThatSinglePrecisionCannotSolveAreDoneInDouble) {
  Dense hilbert(9, std::vector<double>(9));
  for (int i = 0; i < 9; ++i)
    for (int j = 0; j < 9; ++j) hilbert[i][j] = 1.0 / (i + j + 1);
  Report report;
  const auto g = factor<TypeParam>(sparse(hilbert), in_single(), &report);
  EXPECT_EQ(report.breakdowns.count, 0);
  const auto h = factor<TypeParam>(sparse(hilbert), in_double(), &report);
  EXPECT_EQ(report.breakdowns.count, 0);
  EXPECT_FALSE(g == h) << "the first rows are in single precision";
  for (std::size_t k = h.lower.row_ptrs[8]; k < h.lower.nnz(); ++k) {
    EXPECT_EQ(g.lower.values[k], h.lower.values[k]);
    EXPECT_EQ(g.upper.values[k], h.upper.values[k]);
  }
}

TYPED_TEST(NonsymmetricFsaiTest, ScalesOfAnySize) {
  const HostMatrix<double> a = random_general(60, 0.2, 81);
  for (NonsymmetricFsaiOptions options : both_precisions(2)) {
    options.prefilter = options.postfilter = 0.02;
    const auto plain = factor<TypeParam>(a, options);
    for (int exponent : {-300, 300}) {
      HostMatrix<double> scaled = a;
      for (double& value : scaled.values) value = std::ldexp(value, exponent);
      Report report;
      const auto g = factor<TypeParam>(scaled, options, &report);
      ASSERT_EQ(g.lower.col_idxs, plain.lower.col_idxs);
      for (std::size_t k = 0; k < g.lower.nnz(); ++k) {
        ASSERT_EQ(std::ldexp(g.lower.values[k], exponent / 2), plain.lower.values[k]);
        ASSERT_EQ(std::ldexp(g.upper.values[k], exponent / 2), plain.upper.values[k]);
      }
      EXPECT_EQ(report.breakdowns.count, 0);
    }
    // Rows of A from 2^-120 to 2^120: what single precision loses is done in double.
    const auto wide = factor<TypeParam>(widened(a, 2), options);
    ASSERT_EQ(wide.lower.col_idxs, plain.lower.col_idxs);
    for (std::size_t k = 0; k < wide.lower.nnz(); ++k) {
      const int shift = 2 * (wide.lower.col_idxs[k] - 30);
      const double tolerance = options.setup_scalar == Precision::double_precision ? 1e-12 : 1e-3;
      ASSERT_NEAR(std::ldexp(wide.lower.values[k], shift), plain.lower.values[k], tolerance);
      ASSERT_NEAR(std::ldexp(wide.upper.values[k], shift), plain.upper.values[k], tolerance);
    }
  }
}

TYPED_TEST(NonsymmetricFsaiTest, ThePrefilterOnlyShapesThePattern) {
  const HostMatrix<double> a = random_general(129, 0.1, 31);
  for (double tau : {0.02, 0.15, 1.0}) {
    for (int power : {0, 1, 2}) {
      HostGraph s(a.num_rows);
      for (int i = 0; i < a.num_rows; ++i)
        for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
          const int j = a.col_idxs[k];
          if (i == j || std::abs(a.values[k]) > tau * std::sqrt(std::abs(a(i, i) * a(j, j))))
            s[i].push_back(j);
        }
      NonsymmetricFsaiOptions options = in_double(power);
      options.prefilter = tau;
      const auto g = factor<TypeParam>(a, options);
      ASSERT_EQ(pattern_of(g.lower), symmetrised_power(s, power)) << tau << " " << power;
      ASSERT_NO_FATAL_FAILURE(expect_textbook(a, g, 1e-9));
      if (power > 0) {
        EXPECT_LE(g.lower.nnz(), factor<TypeParam>(a, in_double(power)).lower.nnz());
      }
    }
  }
}

TYPED_TEST(NonsymmetricFsaiTest, ThePostfilterDropsWhatIsSmallInBoth) {
  const HostMatrix<double> a = random_general(129, 0.1, 41);
  for (NonsymmetricFsaiOptions options : both_precisions(2)) {
    const auto all = factor<TypeParam>(a, options);
    const auto weights = [&](const HostMatrix<double>& g, std::int64_t i) {
      std::vector<double> result;
      double sum = 0;
      for (std::size_t k = g.row_ptrs[i]; k < g.row_ptrs[i + 1]; ++k) {
        result.push_back(std::abs(g.values[k]) * std::sqrt(std::abs(a(g.col_idxs[k], g.col_idxs[k]))));
        sum += result.back() * result.back();
      }
      for (double& value : result) value /= std::sqrt(sum);
      return result;
    };
    for (double delta : {0.01, 0.05}) {
      HostGraph expected(a.num_rows);
      for (std::int64_t i = 0; i < a.num_rows; ++i) {
        const auto lower = weights(all.lower, i), upper = weights(all.upper, i);
        for (std::size_t p = 0; p < lower.size(); ++p)
          if (p + 1 == lower.size() || lower[p] >= delta || upper[p] >= delta)
            expected[i].push_back(all.lower.col_idxs[all.lower.row_ptrs[i] + p]);
      }
      options.postfilter = delta;
      Report report;
      const auto g = factor<TypeParam>(a, options, &report);
      ASSERT_EQ(pattern_of(g.lower), expected);
      ASSERT_LT(g.lower.nnz(), all.lower.nnz());
      ASSERT_NO_FATAL_FAILURE(expect_unit_diagonal(a, g, 1e-10));
      // Rows keep the proportions of their entries.
      for (std::int64_t i = 0; i < a.num_rows; ++i) {
        const std::size_t last = g.lower.row_ptrs[i + 1] - 1, last_of_all = all.lower.row_ptrs[i + 1] - 1;
        for (std::size_t k = g.lower.row_ptrs[i]; k <= last; ++k) {
          const int j = g.lower.col_idxs[k];
          ASSERT_NEAR(g.lower.values[k] / g.lower.values[last],
                      all.lower(i, j) / all.lower.values[last_of_all], 1e-12);
          ASSERT_NEAR(g.upper.values[k] / g.upper.values[last],
                      all.upper(i, j) / all.upper.values[last_of_all], 1e-12);
        }
      }
      EXPECT_THAT(report.notes, ElementsAre("G_L and G_U had " + std::to_string(2 * all.lower.nnz()) +
                                            " entries before the postfilter"));
    }
  }
}

TYPED_TEST(NonsymmetricFsaiTest, APatternOfTheUsersIsObeyed) {
  const TypeParam space;
  const HostMatrix<double> a = random_general(90, 0.2, 51);
  HostGraph pattern = pattern_of(random_entries<double>(90, 90, 0.08, 52));
  pattern[40].clear();
  HostGraph expected(90);
  for (int i = 0; i < 90; ++i) {
    for (int j : pattern[i])
      if (j < i) expected[i].push_back(j);
    expected[i].push_back(i);
  }
  NonsymmetricFsaiOptions options = in_double(3);
  options.prefilter = 0.3;  // neither counts
  const auto g = factor<TypeParam>(a, options, nullptr, &pattern);
  ASSERT_EQ(pattern_of(g.lower), expected);
  ASSERT_NO_FATAL_FAILURE(expect_textbook(a, g, 1e-9));

  NonsymmetricFsai<double, TypeParam> fsai;
  EXPECT_THAT(message_of<InputError>([&] {
                fsai.set_pattern(space, graph_of<TypeParam>({{0}, {1}, {2}}, 4));
              }),
              AllOf(HasSubstr("nonsymmetric_fsai"), HasSubstr("the pattern is 3 x 4")));
  EXPECT_THROW(fsai.set_pattern(space, graph_of<TypeParam>({{0}, {-1, 1}, {2}}, 3)), InputError);
  fsai.numeric(space, to_device<TypeParam>(a));
  const auto before = factors_of(fsai);
  fsai.set_pattern(space, graph_of<TypeParam>(HostGraph(5), 5));
  EXPECT_THAT(message_of<InputError>([&] { fsai.symbolic(space, to_device<TypeParam>(a)); }),
              HasSubstr("nonsymmetric_fsai: the pattern has 5 rows, the matrix 90"));
  EXPECT_TRUE(before == factors_of(fsai));
}

TYPED_TEST(NonsymmetricFsaiTest, ASecondNumericSolvesOnThePatternFound) {
  const TypeParam space;
  const HostMatrix<double> a = random_general(150, 0.1, 91), changed = with_larger_diagonal(a, 1);
  for (Reuse reuse : {Reuse::pattern, Reuse::none}) {
    for (double tau : {0.0, 0.05}) {
      NonsymmetricFsaiOptions options = in_double(2);
      options.reuse = reuse;
      options.prefilter = options.postfilter = tau;
      NonsymmetricFsai<double, TypeParam> fsai(options);
      fsai.symbolic(space, to_device<TypeParam>(a));
      fsai.numeric(space, to_device<TypeParam>(a));
      EXPECT_FALSE(fsai.report().pattern_kept);
      const auto first = factors_of(fsai);
      fsai.numeric(space, to_device<TypeParam>(changed));
      EXPECT_EQ(fsai.report().pattern_kept, reuse == Reuse::pattern);
      const auto second = factors_of(fsai);
      ASSERT_NO_FATAL_FAILURE(expect_unit_diagonal(changed, second, 1e-10));
      if (reuse == Reuse::none) {
        EXPECT_TRUE(second == factor<TypeParam>(changed, options));
      } else {
        EXPECT_EQ(pattern_of(first.lower), pattern_of(second.lower));
        ASSERT_NO_FATAL_FAILURE(expect_textbook(changed, second, 1e-9));
      }
      fsai.symbolic(space, to_device<TypeParam>(changed));
      fsai.numeric(space, to_device<TypeParam>(changed));
      EXPECT_FALSE(fsai.report().pattern_kept);
      EXPECT_TRUE(factors_of(fsai) == factor<TypeParam>(changed, options)) << "symbolic begins anew";
    }
  }
}

TYPED_TEST(NonsymmetricFsaiTest, AFailedNumericLeavesTheFactorsAsTheyWere) {
  const TypeParam space;
  const HostMatrix<double> a = generated("convection_diffusion3d:6");
  NonsymmetricFsaiOptions options = in_double(3);
  options.reuse = Reuse::none;
  options.prefilter = 0.05;
  options.memory_budget = 10000;
  HostMatrix<double> diagonal = a;
  for (int i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
      if (a.col_idxs[k] == i) diagonal.values[k] = 1e6;
  NonsymmetricFsai<double, TypeParam> fsai(options);
  fsai.symbolic(space, to_device<TypeParam>(diagonal));
  fsai.numeric(space, to_device<TypeParam>(diagonal));
  const auto before = factors_of(fsai);
  EXPECT_EQ(before.lower.nnz(), 216u);
  EXPECT_THAT(message_of<InputError>([&] { fsai.numeric(space, to_device<TypeParam>(a)); }),
              HasSubstr("10000"));
  EXPECT_THAT(
      message_of<InputError>([&] { fsai.numeric(space, to_device<TypeParam>(random_general(21, 0.5, 1))); }),
      HasSubstr("nonsymmetric_fsai: numeric was given 21 rows, symbolic 216; call symbolic again"));
  EXPECT_TRUE(before == factors_of(fsai));
  EXPECT_EQ(fsai.report().nnz, 432);
  EXPECT_THAT(message_of<InputError>([&] {
                factor<TypeParam>(sparse<double>({{1}, {2}}), options);
              }),
              HasSubstr("2 rows but only 1 columns"));
}

TYPED_TEST(NonsymmetricFsaiTest, RefusesToApplyBeforeNumeric) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(random_general(10, 0.5, 1));
  NonsymmetricFsai<double, TypeParam> fsai;
  fsai.symbolic(space, a);
  const MultiVector<double, TypeParam> x("x", 10, 1), y("y", 10, 1);
  const auto workspace = fsai.make_workspace(space, 1);
  EXPECT_THAT(message_of<std::logic_error>([&] { fsai.apply(space, x, y, *workspace); }),
              HasSubstr("nonsymmetric_fsai: apply before numeric"));
}

TYPED_TEST(NonsymmetricFsaiTest, SameBitsTwiceAndInSlabsOfAnySize) {
  for (const HostMatrix<double>& a : {generated("convection_diffusion3d:8"), random_dense(130, 101)}) {
    for (NonsymmetricFsaiOptions options : both_precisions(2)) {
      options.prefilter = 0.01;
      options.postfilter = 0.02;
      const auto once = factor<TypeParam>(a, options);
      EXPECT_TRUE(once == factor<TypeParam>(a, options));
      options.workspace_budget = 1 << 18;  // one of the longest rows
      EXPECT_TRUE(once == factor<TypeParam>(a, options));
    }
  }
}

TYPED_TEST(NonsymmetricFsaiTest, ColumnsOfOtherRanksAreSkipped) {
  const HostMatrix<double> a = random_general(80, 0.1, 111), wide = with_columns_of_other_ranks(a);
  for (int power = 0; power <= 3; ++power) {
    for (double tau : {0.0, 0.05}) {
      for (NonsymmetricFsaiOptions options : both_precisions(power)) {
        options.prefilter = options.postfilter = tau;
        EXPECT_TRUE(factor<TypeParam>(a, options) == factor<TypeParam>(wide, options)) << power << " " << tau;
      }
    }
  }
}

TYPED_TEST(NonsymmetricFsaiTest, TakesARankWithoutRows) {
  const TypeParam space;
  for (double tau : {0.0, 0.1}) {
    for (int power : {0, 1, 3}) {
      NonsymmetricFsaiOptions options = in_single(power);
      options.prefilter = options.postfilter = tau;
      HostMatrix<double> a;
      a.num_cols = 3;
      NonsymmetricFsai<double, TypeParam> fsai(options);
      fsai.symbolic(space, to_device<TypeParam>(a));
      fsai.numeric(space, to_device<TypeParam>(a));
      fsai.numeric(space, to_device<TypeParam>(a));
      EXPECT_EQ(fsai.report().nnz, 0);
      const MultiVector<double, TypeParam> x("x", 0, 2), y("y", 0, 2);
      EXPECT_NO_THROW(fsai.apply(space, x, y, *fsai.make_workspace(space, 2)));
    }
  }
}

TYPED_TEST(NonsymmetricFsaiTest, FloatMatrixInEitherPrecision) {
  const HostMatrix<float> a = convert<float>(random_general(97, 0.1, 121));
  for (int power : {0, 1, 2}) {
    for (const NonsymmetricFsaiOptions& options : both_precisions(power)) {
      const auto g = factor<TypeParam>(a, options);
      const Factors<double> wide{convert<double>(g.lower), convert<double>(g.upper)};
      ASSERT_NO_FATAL_FAILURE(expect_unit_diagonal(convert<double>(a), wide, 1e-5));
      ASSERT_NO_FATAL_FAILURE(expect_textbook(convert<double>(a), wide, 1e-4));
    }
  }
}

TYPED_TEST(NonsymmetricFsaiTest, TheRegistryBuildsItWithEveryOption) {
  const OptionMap options = {{"power", std::int64_t(3)},
                             {"prefilter", 0.02},
                             {"postfilter", 0.03},
                             {"setup_scalar", std::string("double")},
                             {"reuse", std::string("none")},
                             {"memory_budget", std::int64_t(1) << 30},
                             {"storage", std::string("half")},
                             {"storage_format", std::string("jad")}};
  const auto built = create_preconditioner<double, TypeParam>("nonsymmetric_fsai", options);
  EXPECT_EQ(built->name(), "nonsymmetric_fsai");
  EXPECT_FALSE(built->is_symmetric());
  EXPECT_TRUE(built->is_nonsymmetric());
  const auto* fsai = dynamic_cast<const NonsymmetricFsai<double, TypeParam>*>(built.get());
  ASSERT_TRUE(fsai);
  NonsymmetricFsaiOptions seen = fsai->options();
  EXPECT_EQ(OptionFields::of(seen).values(), options);
  const auto refuse = [](const OptionMap& map) {
    return message_of<OptionError>(
        [&] { create_preconditioner<double, TypeParam>("nonsymmetric_fsai", map); });
  };
  EXPECT_THAT(refuse({{"pover", std::int64_t(2)}}), AllOf(HasSubstr("pover"), HasSubstr("'power'")));
  EXPECT_THAT(refuse({{"prefilter", 1.5}}), HasSubstr("prefilter"));
  EXPECT_THAT(refuse({{"postfilter", -0.5}}), HasSubstr("postfilter"));
}

TYPED_TEST(NonsymmetricFsaiTest, TheRegistrysPropertyIsThePreconditioners) {
  // With the defaults and with every choice of an option.
  std::map<Symmetry, int> seen;
  for (const auto& line : preconditioner_registry<double, TypeParam>()) {
    const auto check = [&](const OptionMap& options) {
      const auto configurator = line.configure();
      configurator->fields().set(options, line.name);
      const Properties said = configurator->properties();
      const auto built = configurator->build();
      EXPECT_EQ(said.symmetry, built->properties().symmetry) << line.name;
      EXPECT_EQ(said.symmetry == Symmetry::symmetric, built->is_symmetric()) << line.name;
      EXPECT_EQ(said.symmetry == Symmetry::nonsymmetric, built->is_nonsymmetric()) << line.name;
      EXPECT_FALSE(said.symmetry == Symmetry::nonsymmetric && said.needs_spd) << line.name;
      ++seen[said.symmetry];
    };
    check({});
    for (const auto& field : line.configure()->fields().list()) {
      std::istringstream words(field.kind == "choice" ? field.range : "");
      for (std::string word; words >> word;)
        if (word != "|") check({{field.name, word}});
    }
  }
  EXPECT_GE(seen[Symmetry::symmetric], 10);
  EXPECT_GE(seen[Symmetry::nonsymmetric], 10);
}

TYPED_TEST(NonsymmetricFsaiTest, ConjugateGradientsRefuseIt) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(generated("poisson2d:5"));
  NonsymmetricFsai<double, TypeParam> fsai;
  fsai.numeric(space, a);
  const Vector<double, TypeParam> b("b", 25), x("x", 25);
  EXPECT_THAT(message_of<InputError>([&] {
                Cg<double, TypeParam>().solve(space, CsrOperator<double, TypeParam>(a), &fsai, b, x, {});
              }),
              AllOf(HasSubstr("cg"), HasSubstr("nonsymmetric_fsai is not symmetric"),
                    HasSubstr("adaptive_fsai"), HasSubstr("bicgstab")));
}

TYPED_TEST(NonsymmetricFsaiTest, CountsItsOperationsAndBytes) {
  const TypeParam space;
  Dense dense(5, std::vector<double>(5, 1));
  for (int i = 0; i < 5; ++i) dense[i][i] = 10;
  const auto a = to_device<TypeParam>(sparse(dense));
  NonsymmetricFsaiOptions options;
  options.postfilter = 1;
  NonsymmetricFsai<double, TypeParam> fsai(options);
  fsai.numeric(space, a);
  EXPECT_DOUBLE_EQ(fsai.report().numeric_flops, 2 * ((1 + 8 + 27 + 64 + 125) / 3.0 + (1 + 4 + 9 + 16 + 25)));
  EXPECT_EQ(fsai.report().nnz, 10);
  EXPECT_EQ(fsai.report().apply_flops, 4 * 5);
  EXPECT_EQ(fsai.report().bytes,
            std::int64_t(2 * (6 * sizeof(std::size_t) + 5 * (sizeof(int) + sizeof(double)))));
}

TYPED_TEST(NonsymmetricFsaiTest, EveryKernelAndViewIsLabelled) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(random_general(300, 0.1, 141));
  NonsymmetricFsaiOptions options = in_single(2);
  options.prefilter = 0.001;
  options.postfilter = 0.01;
  options.storage = Storage::half;
  NonsymmetricFsai<double, TypeParam> fsai(options);
  const ToolEvents events;
  fsai.symbolic(space, a);
  fsai.numeric(space, a);
  for (const auto& labels : {events.kernels(), events.allocations()})
    for (const auto& label : labels)
      EXPECT_THAT(label,
                  ::testing::AnyOf(::testing::StartsWith("prekond::"), ::testing::StartsWith("Kokkos::")));
  for (const char* label :
       {"prekond::nonsymmetric_fsai::numeric::solve_rows", "prekond::nonsymmetric_fsai::numeric::scale_rows"})
    EXPECT_THAT(events.kernels(), ::testing::Contains(label));
}

TYPED_TEST(NonsymmetricFsaiTest, AppliesGUTimesGLInEveryStorage) {
  const TypeParam space;
  const HostMatrix<double> a = random_general(211, 0.05, 151);
  std::vector<double> x(211);
  for (int i = 0; i < 211; ++i) x[i] = std::sin(1.0 + i);
  const auto g = factor<TypeParam>(a, in_double(2));
  std::vector<double> gx = multiply(g.lower, x), expected = multiply_transposed(g.upper, gx);
  HostMatrix<double> lower = g.lower, upper = g.upper;  // magnitudes: what rounding errors are relative to
  for (auto* values : {&lower.values, &upper.values})
    for (double& value : *values) value = std::abs(value);
  std::vector<double> sizes = x;
  for (double& value : sizes) value = std::abs(value);
  sizes = multiply_transposed(upper, multiply(lower, sizes));
  struct StorageCase {
    Storage storage;
    double error;
  };
  for (const auto& [storage, error] : std::vector<StorageCase>{{Storage::full, 1e-15},
                                                               {Storage::single_precision, 0x1p-24},
                                                               {Storage::half, 0x1p-11},
                                                               {Storage::bfloat16, 0x1p-8}}) {
    NonsymmetricFsaiOptions options = in_double(2);
    options.storage = storage;
    NonsymmetricFsai<double, TypeParam> fsai(options);
    fsai.numeric(space, to_device<TypeParam>(a));
    const auto y = applied<TypeParam>(fsai, x);
    for (int i = 0; i < 211; ++i) ASSERT_NEAR(y[i], expected[i], 2.1 * error * sizes[i]);
    EXPECT_EQ(fsai.report().nnz, std::int64_t(2 * g.lower.nnz()));
    EXPECT_EQ(fsai.lower_factor().values.extent(0) == 0, storage != Storage::full);
  }
}

TYPED_TEST(NonsymmetricFsaiTest, NeedsFewerIterationsThanTheDiagonal) {
  for (const char* spec : {"convection_diffusion3d:16", "convection_diffusion3d:16,peclet=1000"}) {
    const HostMatrix<double> a = generated(spec);
    const auto jacobi = iterations<TypeParam>(a, "jacobi", {}, 300);
    ASSERT_LE(jacobi, 300);
    for (const char* scalar : {"single", "double"}) {
      const auto with_power = [&](int k) {
        return iterations<TypeParam>(
            a, "nonsymmetric_fsai", {{"power", std::int64_t(k)}, {"setup_scalar", std::string(scalar)}}, 300);
      };
      EXPECT_LT(with_power(1), jacobi * 3 / 4) << spec;
      EXPECT_LT(with_power(3), with_power(1)) << spec;
    }
  }
}

/// Real matrices on which neither needs a reordering.
TEST(NonsymmetricFsaiRealMatrices, NeedsFewerIterationsThanTheDiagonal) {
  using Space = Kokkos::DefaultExecutionSpace;
  for (const auto& file :
       matrices_named({"general/convection_diffusion2d.mtx", "general/convection.mtx", "general/circuit.mtx"},
                      {"general/orsirr_1.mtx.gz", "general/sherman4.mtx.gz", "general/pde900.mtx.gz",
                       "general/jpwh_991.mtx", "general/add32.mtx.gz", "general/bfwa398.mtx",
                       "general/poisson2D.mtx.gz", "general/epb0.mtx.gz", "general/fs_680_1.mtx",
                       "general/ck400.mtx", "general/cavity01.mtx.gz", "general/pyamg_recirc_flow.mtx"})) {
    const HostMatrix<double> a = to_host(read_matrix_market<double>(file.string()));
    const auto jacobi = iterations<Space>(a, "jacobi", {}, 2000);
    const auto fsai = iterations<Space>(a, "nonsymmetric_fsai", {{"power", std::int64_t(2)}}, 2000);
    EXPECT_LT(fsai, jacobi * 3 / 4) << file;
  }
}

/// Every matrix of the collection ends with finite factors, and says what broke down.
TEST(NonsymmetricFsaiRealMatrices, EveryFactorIsFinite) {
  using Space = Kokkos::DefaultExecutionSpace;
  int seen = 0;
  for (const auto& file : matrices_of_kind("general", 60000)) {
    const HostMatrix<double> a = to_host(read_matrix_market<double>(file.string()));
    if (a.num_cols != a.num_rows) continue;
    Report report;
    const auto g = factor<Space>(a, in_single(1), &report);
    ASSERT_NO_FATAL_FAILURE(expect_finite(g)) << file;
    EXPECT_EQ(report.breakdowns.count > 0, report.breakdowns.first_row >= 0) << file;
    EXPECT_LE(report.breakdowns.count, a.num_rows) << file;
    ++seen;
  }
  EXPECT_GE(seen, has_collection() ? 30 : 8);
}

}  // namespace
}  // namespace prekond::testing
