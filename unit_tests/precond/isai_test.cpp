// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/isai_cases.hpp"
#include "testing/matrices.hpp"
#include "testing/one_thread.hpp"
#include "testing/preconditioned_iterations.hpp"
#include "testing/spaces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/matrix/io/matrix_market.hpp>
#include <prekond/precond/isai.hpp>

#include <numeric>

namespace prekond::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int all_steps = 1000;
void expect_finite(const HostMatrix<double>& m) {
  for (int i = 0; i < m.num_rows; ++i) {
    bool has_entry = false;  // the diagonal's own may be 0
    for (std::size_t k = m.row_ptrs[i]; k < m.row_ptrs[i + 1]; ++k) {
      ASSERT_TRUE(std::isfinite(m.values[k])) << "row " << i;
      has_entry = has_entry || m.values[k] != 0;
    }
    ASSERT_TRUE(has_entry) << "row " << i;
  }
}

template <class Space>
class IsaiTest : public ::testing::Test {};
TYPED_TEST_SUITE(IsaiTest, TestSpaces, SpaceNames);

TYPED_TEST(IsaiTest, RefusesAUnitDiagonalOfOtherKinds) {
  for (const IsaiKind kind : all_kinds) {
    IsaiOptions options = of_kind(kind);
    options.reuse = Reuse::extend;
    EXPECT_THAT(message_of<OptionError>([&] { Isai<double, TypeParam> isai(options); }),
                HasSubstr("isai: reuse = extend"));
    options = of_kind(kind);
    options.unit_diagonal = true;
    if (kind == IsaiKind::lower || kind == IsaiKind::upper) continue;
    EXPECT_THAT(message_of<OptionError>([&] { Isai<double, TypeParam> isai(options); }),
                HasSubstr("isai: unit_diagonal is for kind = lower or upper"));
  }
}

// ------------------------------------------------------------------------------------ values and patterns

TYPED_TEST(IsaiTest, EveryRowIsThatOfTheReference) {
  for (const Case& test : general_matrices()) {
    for (const IsaiKind kind : explicit_kinds) {
      const Dense part = part_of(test.matrix, kind);
      for (int power = 0; power <= 3; ++power) {
        SCOPED_TRACE(test.name + ", " + word_of(kind) + ", power " + std::to_string(power));
        Report report;
        const auto m = inverse_of<TypeParam>(test.matrix, of_kind(kind, power), &report);
        ASSERT_EQ(pattern_of(m), reference_power(part_of(pattern_of(test.matrix), kind), power));
        ASSERT_NO_FATAL_FAILURE(expect_inverse_on_pattern(part, m, 1e-10));
        ASSERT_NO_FATAL_FAILURE(expect_reference_isai(part, m, 1e-10));
        EXPECT_EQ(report.breakdowns.count, 0);
        EXPECT_EQ(report.breakdowns.first_row, -1);
        EXPECT_THAT(report.notes, IsEmpty());
        EXPECT_EQ(report.nnz, static_cast<std::int64_t>(m.nnz()));
      }
    }
  }
}

TYPED_TEST(IsaiTest, SinglePrecisionIsAsGoodAsItsBits) {
  for (const Case& test : general_matrices()) {
    for (int power = 0; power <= 3; ++power) {
      SCOPED_TRACE(test.name + ", power " + std::to_string(power));
      Report report;
      const auto m = inverse_of<TypeParam>(
          test.matrix, of_kind(IsaiKind::general, power, Precision::single_precision), &report);
      ASSERT_NO_FATAL_FAILURE(expect_reference_isai(to_dense(test.matrix), m, 2e-3));
      EXPECT_EQ(report.breakdowns.count, 0);
    }
  }
}

TYPED_TEST(IsaiTest, TheFullPatternGivesTheInverse) {
  for (int n : {1, 9, 41, 150}) {
    const HostMatrix<double> a = random_general(n, 0.5, 17u + n);
    for (const IsaiKind kind : explicit_kinds) {
      HostGraph full(n);
      for (auto& row : full) {
        row.resize(n);
        std::iota(row.begin(), row.end(), 0);
      }
      const auto m = inverse_of<TypeParam>(a, of_kind(kind), nullptr, &full);
      ASSERT_EQ(m.nnz(), kind == IsaiKind::general ? std::size_t(n) * n : std::size_t(n) * (n + 1) / 2);
      ASSERT_NO_FATAL_FAILURE(expect_inverse_on_pattern(part_of(a, kind), m, 1e-11)) << word_of(kind);
    }
  }
}

// The inverse of A's triangle does not depend on the entries of the other one.
TYPED_TEST(IsaiTest, TheOtherTriangleIsIgnored) {
  const HostMatrix<double> a = random_general(90, 0.1, 23);
  for (const bool upper : {false, true}) {
    const Dense triangle = triangle_of(to_dense(a), upper);
    HostMatrix<double> spoilt = a;
    for (std::int64_t i = 0; i < a.num_rows; ++i)
      for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
        if (upper ? a.col_idxs[k] < i : a.col_idxs[k] > i) spoilt.values[k] = std::nan("");
    for (const int power : {0, 1, 2, 5}) {
      for (const double tau : {0.0, 0.1}) {
        IsaiOptions options = of_kind(upper ? IsaiKind::upper : IsaiKind::lower, power);
        options.prefilter = tau;
        const auto m = inverse_of<TypeParam>(sparse(triangle), options);
        EXPECT_TRUE(m == inverse_of<TypeParam>(a, options)) << power;
        EXPECT_TRUE(m == inverse_of<TypeParam>(spoilt, options)) << power;
      }
    }
  }
}

TYPED_TEST(IsaiTest, AUnitDiagonalIsNotLookedAt) {
  const HostMatrix<double> a = random_general(75, 0.1, 29);
  for (const IsaiKind kind : {IsaiKind::lower, IsaiKind::upper}) {
    Dense triangle = triangle_of(to_dense(a), kind == IsaiKind::upper, true);
    for (const int power : {0, 1, 3}) {
      for (const double tau : {0.0, 0.3}) {
        IsaiOptions options = of_kind(kind, power);
        options.prefilter = tau;
        const auto expected = inverse_of<TypeParam>(sparse(triangle), options);
        options.unit_diagonal = true;
        Report report;
        EXPECT_TRUE(expected == inverse_of<TypeParam>(sparse(triangle), options, &report));
        EXPECT_TRUE(expected == inverse_of<TypeParam>(a, options));
        Dense strict = triangle, spoilt = triangle;
        for (int i = 0; i < 75; ++i) {
          strict[i][i] = 0;
          spoilt[i][i] = std::nan("");
        }
        EXPECT_TRUE(expected == inverse_of<TypeParam>(sparse(strict), options, &report)) << "not stored";
        EXPECT_EQ(report.breakdowns.count, 0);
        EXPECT_TRUE(expected == inverse_of<TypeParam>(sparse(spoilt), options));
      }
    }
  }
}

TYPED_TEST(IsaiTest, TheTransposeExchangesTheTriangles) {
  const HostMatrix<double> a = random_general(90, 0.1, 15);
  HostGraph full(90);
  for (auto& row : full)
    for (int j = 0; j < 90; ++j) row.push_back(j);
  const auto lower = inverse_of<TypeParam>(a, of_kind(IsaiKind::lower), nullptr, &full);
  const auto upper =
      transposed(inverse_of<TypeParam>(transposed(a), of_kind(IsaiKind::upper), nullptr, &full));
  ASSERT_EQ(pattern_of(lower), pattern_of(upper));
  for (std::size_t k = 0; k < lower.nnz(); ++k)
    ASSERT_NEAR(lower.values[k], upper.values[k], 1e-11 * (1 + std::abs(lower.values[k])));
}

TYPED_TEST(IsaiTest, ThePatternIsThatOfTheFilteredMatrix) {
  const HostMatrix<double> a = random_general(80, 0.15, 33);
  for (const double tau : {0.05, 0.2, 1.0}) {
    HostGraph filtered(80);
    for (int i = 0; i < 80; ++i)
      for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
        const int j = a.col_idxs[k];
        if (j == i ||
            std::abs(a.values[k]) > tau * std::sqrt(std::abs(a(i, i))) * std::sqrt(std::abs(a(j, j))))
          filtered[i].push_back(j);
      }
    for (const IsaiKind kind : explicit_kinds) {
      for (const int power : {1, 2}) {
        IsaiOptions options = of_kind(kind, power);
        options.prefilter = tau;
        const auto m = inverse_of<TypeParam>(a, options);
        ASSERT_EQ(pattern_of(m), reference_power(part_of(filtered, kind), power)) << word_of(kind);
        ASSERT_NO_FATAL_FAILURE(expect_inverse_on_pattern(part_of(a, kind), m, 1e-10));
      }
    }
  }
}

TYPED_TEST(IsaiTest, TakesAPatternOfTheUsers) {
  const TypeParam space;
  const HostMatrix<double> a = random_general(60, 0.3, 37);
  HostGraph pattern = pattern_of(random_entries<double>(60, 60, 0.2, 9));
  pattern[17] = {};
  HostGraph with_diagonal = pattern;
  for (int i = 0; i < 60; ++i) {
    auto& row = with_diagonal[i];
    if (std::find(row.begin(), row.end(), i) == row.end()) row.push_back(i);
    std::sort(row.begin(), row.end());
  }
  for (const IsaiKind kind : explicit_kinds) {
    IsaiOptions options = of_kind(kind, 3);
    options.prefilter = 0.1;
    const auto m = inverse_of<TypeParam>(a, options, nullptr, &pattern);
    ASSERT_EQ(pattern_of(m), part_of(with_diagonal, kind));
    ASSERT_NO_FATAL_FAILURE(expect_reference_isai(part_of(a, kind), m, 1e-10));
  }
  for (const IsaiKind kind : all_kinds) {
    Isai<double, TypeParam> isai(of_kind(kind));
    EXPECT_THAT(message_of<InputError>([&] { isai.set_pattern(space, graph_of<TypeParam>(pattern, 61)); }),
                HasSubstr("isai: the pattern is 60 x 61; it has to be square"));
    EXPECT_THAT(message_of<InputError>([&] {
                  isai.set_pattern(space, graph_of<TypeParam>({{0}, {2}}, 2));
                }),
                HasSubstr("isai: the pattern has the column 3"));
    isai.set_pattern(space, graph_of<TypeParam>({{0}, {1}}, 2));
    EXPECT_THAT(message_of<InputError>([&] { isai.numeric(space, to_device<TypeParam>(a)); }),
                HasSubstr("isai: the pattern has 2 rows, the matrix 60"));
  }
}

// ------------------------------------------------------------------------------------------- row lengths

/// Rows of up to `length` columns, spread over the matrix, with the diagonal at changing places.
HostGraph spread_rows(int n, int length) {
  HostGraph rows(n);
  for (int i = 0; i < n; ++i) {
    std::vector<bool> has(n);
    has[i] = true;
    int count = 1;
    for (int j = i % 7; count < length && j < n; j += 1 + (n > length + 20)) {
      count += !has[j];
      has[j] = true;
    }
    for (int j = 0; count < length && j < n; ++j) {
      count += !has[j];
      has[j] = true;
    }
    for (int j = 0; j < n; ++j)
      if (has[j]) rows[i].push_back(j);
  }
  return rows;
}

TYPED_TEST(IsaiTest, RowsOfOneLengthAroundTheEdgesOfEveryBin) {
  std::vector<int> lengths = {1, 2, 7, 20, 31, 110, 300};
  for (int edge : {8, 16, 24, 32, 40, 48, 64, 80, 96, 128, 160, 192, 256}) {
    lengths.push_back(edge);
    lengths.push_back(edge + 1);
  }
  for (int length : lengths) {
    SCOPED_TRACE(length);
    const int n = length + 5;
    const HostMatrix<double> a = random_general(n, 0.7, 1000u + length);
    const Dense dense = to_dense(a);
    const HostGraph pattern = spread_rows(n, length);
    const std::vector<int> rows = {0, n / 2, n - 1};
    const auto m = inverse_of<TypeParam>(a, of_kind(IsaiKind::general), nullptr, &pattern);
    ASSERT_EQ(pattern_of(m), pattern);
    for (const auto& row : pattern) ASSERT_EQ(row.size(), std::size_t(length));
    ASSERT_NO_FATAL_FAILURE(expect_reference_isai(dense, m, 1e-11, rows));
    ASSERT_NO_FATAL_FAILURE(expect_reference_isai(
        dense,
        inverse_of<TypeParam>(a, of_kind(IsaiKind::general, 1, Precision::single_precision), nullptr,
                              &pattern),
        1e-3, rows));
  }
}

// Rows of a triangle are binned too: in scratch up to some 1500 entries, then in a slab.
TYPED_TEST(IsaiTest, RowsOfATriangleOfAnyLength) {
  const int n = 1700;
  HostMatrix<double> a;
  a.num_rows = a.num_cols = n;
  std::mt19937_64 engine(5);
  for (int i = 0; i < n; ++i) {
    for (int j : {i - 900, i - 41, i - 3, i, i + 1, i + 60, i + 1000}) {
      if (j < 0 || j >= n) continue;
      a.col_idxs.push_back(j);
      a.values.push_back(j == i ? 3 : static_cast<double>(engine() >> 11) * 0x1p-52 - 1);
    }
    a.row_ptrs.push_back(a.nnz());
  }
  const std::vector<double> x(n, 1.0);
  for (const IsaiKind kind : {IsaiKind::lower, IsaiKind::upper}) {
    HostGraph pattern(n);
    for (int i = 0; i < n; ++i)  // lengths from 1 to n in either triangle
      for (int j = 0; j < n; ++j) pattern[i].push_back(j);
    const auto m = inverse_of<TypeParam>(a, of_kind(kind), nullptr, &pattern);
    const bool upper = kind == IsaiKind::upper;
    // M is the triangle's inverse: M T x = x.
    std::vector<double> tx(n, 0);
    for (int i = 0; i < n; ++i)
      for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
        if (upper ? a.col_idxs[k] >= i : a.col_idxs[k] <= i) tx[i] += a.values[k];
    const std::vector<double> found = multiply(m, tx);
    for (int i = 0; i < n; ++i) ASSERT_NEAR(found[i], 1, 1e-11) << word_of(kind) << " row " << i;
  }
}

// A long row of T is searched for the few columns that a short row of M has in common with it.
TYPED_TEST(IsaiTest, ShortRowsWithALongRowOfATriangle) {
  const int n = 401, long_row = 200;
  Dense dense = to_dense(random_general(n, 0.01, 7));
  for (int j = 0; j < n; ++j)
    if (j != long_row && j % 5 < 3) dense[long_row][j] = 1 + std::sin(1.0 * j);
  const HostMatrix<double> a = sparse(dense);
  HostGraph pattern(n);
  for (int i = 0; i < n; ++i) {
    pattern[i] = {i};
    if (i == long_row) continue;
    const int beside = i > long_row ? i % (long_row - 1) : n - 1 - i % (long_row - 1);
    for (const int j : {long_row, beside, beside + (i > long_row ? 1 : -1)}) pattern[i].push_back(j);
    std::sort(pattern[i].begin(), pattern[i].end());
  }
  for (const IsaiKind kind : {IsaiKind::lower, IsaiKind::upper}) {
    const auto m = inverse_of<TypeParam>(a, of_kind(kind), nullptr, &pattern);
    ASSERT_EQ(pattern_of(m), part_of(pattern, kind));
    ASSERT_NO_FATAL_FAILURE(expect_reference_isai(part_of(a, kind), m, 1e-11)) << word_of(kind);
  }
}

// ------------------------------------------------------------------------------------------- breakdowns

TYPED_TEST(IsaiTest, RowsThatNeedPivoting) {
  for (int n : {12, 50, 90}) {
    const HostMatrix<double> a = random_dense(n, 30u + n);
    for (const IsaiOptions& options : both_precisions(IsaiKind::general)) {
      Report report;
      const auto m = inverse_of<TypeParam>(a, options, &report);
      EXPECT_EQ(report.breakdowns.count, 0) << "zeros on the diagonal are no breakdown";
      if (options.setup_scalar == Precision::double_precision)
        expect_inverse_on_pattern(to_dense(a), m, 1e-10);
    }
  }
}

TYPED_TEST(IsaiTest, ASingularRowIsShortenedOrFallsBackToItsDiagonal) {
  // Rows 0 and 1 are the same, and 2 and 3 are regular.
  const HostMatrix<double> a = sparse<double>({{2, 2, 0, 0}, {2, 2, 0, 1}, {0, 0, 4, 1}, {0, 0, 1, 4}});
  for (const IsaiOptions& options : both_precisions(IsaiKind::general)) {
    Report report;
    HostGraph pattern = {{0, 1}, {0, 1}, {2, 3}, {0, 1, 3}};
    const auto m = inverse_of<TypeParam>(a, options, &report, &pattern);
    EXPECT_EQ(m.values, (std::vector<double>{0.5, 0, 0, 0.5, m(2, 2), m(2, 3), 0, 0, 0.25}));
    EXPECT_NEAR(m(2, 2), 4 / 15.0, 1e-6);
    EXPECT_EQ(report.breakdowns.count, 3);
    EXPECT_EQ(report.breakdowns.first_row, 0);
    EXPECT_EQ(report.breakdowns.first_pivot, 0);
    EXPECT_THAT(report.breakdowns.action,
                AllOf(HasSubstr("2 rows kept fewer columns"), HasSubstr("1 fell back to the diagonal")));
  }
}

// One whose inverse overflows is no better than none.
TYPED_TEST(IsaiTest, AnUnusableDiagonalOfATriangleIsLeftOut) {
  for (const double unusable : {0.0, 1e-320, std::nan("")}) {
    SCOPED_TRACE(unusable);
    const HostMatrix<double> a =
        sparse<double>({{2, 0, 0, 0}, {1, unusable, 0, 0}, {0, 5, 4, 0}, {1, 0, 1, 2}});
    Report report;
    const auto m = inverse_of<TypeParam>(a, of_kind(IsaiKind::lower, 3), &report);
    ASSERT_EQ(pattern_of(m), (HostGraph{{0}, {0, 1}, {0, 1, 2}, {0, 1, 2, 3}}));
    EXPECT_EQ(m.values, (std::vector<double>{0.5, 0, 1, 0, 0, 0.25, -0.25, 0, -0.125, 0.5}));
    EXPECT_EQ(report.breakdowns.count, 3);
    EXPECT_EQ(report.breakdowns.first_row, 1);
    EXPECT_EQ(report.breakdowns.first_pivot, 0);
    EXPECT_THAT(report.breakdowns.action, AllOf(HasSubstr("2 rows kept"), HasSubstr("1 fell back")));
    const auto upper = inverse_of<TypeParam>(transposed(a), of_kind(IsaiKind::upper, 3), &report);
    EXPECT_EQ(report.breakdowns.count, 2) << "row 1 itself and row 0, which has its column";
    expect_finite(upper);
  }
}

TYPED_TEST(IsaiTest, AwkwardMatricesGiveFiniteInverses) {
  for (const auto& test : awkward_patterns<double>()) {
    if (test.matrix.num_cols < test.matrix.num_rows) continue;
    for (const IsaiKind kind : explicit_kinds) {
      for (const IsaiOptions& options : both_precisions(kind, 2)) {
        SCOPED_TRACE(test.name + ", " + word_of(kind));
        Report report;
        expect_finite(inverse_of<TypeParam>(test.matrix, options, &report));
        EXPECT_EQ(report.breakdowns.count > 0, report.breakdowns.first_row >= 0);
        EXPECT_LE(report.breakdowns.count, test.matrix.num_rows);
      }
    }
  }
  const HostMatrix<double> good = random_general(20, 0.5, 3);
  for (double value : {std::nan(""), std::numeric_limits<double>::infinity(), 1e-320}) {
    for (const IsaiKind kind : explicit_kinds) {
      for (std::size_t k : {std::size_t(0), good.nnz() / 2, good.nnz() - 1}) {
        HostMatrix<double> a = good;
        a.values[k] = value;
        for (const IsaiOptions& options : both_precisions(kind, all_steps))
          expect_finite(inverse_of<TypeParam>(a, options));
      }
    }
  }
}

TYPED_TEST(IsaiTest, RowsThatSinglePrecisionCannotSolveAreDoneInDouble) {
  Dense hilbert(9, std::vector<double>(9));
  for (int i = 0; i < 9; ++i)
    for (int j = 0; j < 9; ++j) hilbert[i][j] = 1.0 / (i + j + 1);
  Report report;
  const auto single = inverse_of<TypeParam>(
      sparse(hilbert), of_kind(IsaiKind::general, 1, Precision::single_precision), &report);
  EXPECT_EQ(report.breakdowns.count, 0);
  EXPECT_TRUE(single == inverse_of<TypeParam>(sparse(hilbert), of_kind(IsaiKind::general), &report));
  EXPECT_EQ(report.breakdowns.count, 0);
}

TYPED_TEST(IsaiTest, ScalesOfAnySize) {
  const HostMatrix<double> a = random_general(60, 0.2, 81);
  for (const IsaiKind kind : explicit_kinds) {
    for (const IsaiOptions& options : both_precisions(kind, 2)) {
      const auto plain = inverse_of<TypeParam>(a, options);
      for (int exponent : {-300, 300}) {
        HostMatrix<double> scaled = a;
        for (double& value : scaled.values) value = std::ldexp(value, exponent);
        Report report;
        const auto m = inverse_of<TypeParam>(scaled, options, &report);
        ASSERT_EQ(m.col_idxs, plain.col_idxs);
        for (std::size_t k = 0; k < m.nnz(); ++k)
          ASSERT_EQ(std::ldexp(m.values[k], exponent), plain.values[k]) << word_of(kind);
        EXPECT_EQ(report.breakdowns.count, 0);
      }
    }
  }
}

TYPED_TEST(IsaiTest, EntriesBeyondFloatFallBackToTheDiagonal) {
  const HostMatrix<float> a = sparse<float>({{1, 0, 0}, {1e30f, 1, 0}, {0, 1e30f, 2}});
  for (const IsaiKind kind : {IsaiKind::general, IsaiKind::lower}) {
    Report report;
    const auto m = inverse_of<TypeParam>(a, of_kind(kind, 2), &report);
    ASSERT_EQ(m.nnz(), 6u);
    EXPECT_EQ(m(2, 2), 0.5f);
    EXPECT_EQ(m(2, 0), 0.0f);
    EXPECT_EQ(report.breakdowns.count, 1);
    EXPECT_EQ(report.breakdowns.first_row, 2);
  }
}

// ---------------------------------------------------------------------------------------------- phases

TYPED_TEST(IsaiTest, ASecondNumericKeepsThePatternOrFindsItAnew) {
  const TypeParam space;
  const HostMatrix<double> a = random_general(120, 0.08, 91);
  HostMatrix<double> changed = a;
  for (std::size_t k = 0; k < a.nnz(); ++k) changed.values[k] *= 1 + 0.3 * std::sin(double(k));
  for (const IsaiKind kind : explicit_kinds) {
    for (const Reuse reuse : {Reuse::pattern, Reuse::none}) {
      IsaiOptions options = of_kind(kind, 2);
      options.prefilter = 0.1;
      options.reuse = reuse;
      Isai<double, TypeParam> isai(options);
      isai.symbolic(space, to_device<TypeParam>(a));
      isai.numeric(space, to_device<TypeParam>(a));
      EXPECT_FALSE(isai.report().pattern_kept);
      const auto first = to_host(isai.inverse());
      isai.numeric(space, to_device<TypeParam>(changed));
      EXPECT_EQ(isai.report().pattern_kept, reuse == Reuse::pattern);
      const auto second = to_host(isai.inverse());
      ASSERT_NO_FATAL_FAILURE(expect_inverse_on_pattern(part_of(changed, kind), second, 1e-10));
      if (reuse == Reuse::none)
        EXPECT_TRUE(second == inverse_of<TypeParam>(changed, options));
      else
        EXPECT_EQ(pattern_of(first), pattern_of(second));
      isai.symbolic(space, to_device<TypeParam>(changed));
      isai.numeric(space, to_device<TypeParam>(changed));
      EXPECT_TRUE(to_host(isai.inverse()) == inverse_of<TypeParam>(changed, options));
    }
  }
}

TYPED_TEST(IsaiTest, AFailedNumericLeavesTheInverseAsItWas) {
  const TypeParam space;
  const HostMatrix<double> a = generated("convection_diffusion3d:6");
  HostMatrix<double> diagonal = a;
  for (int i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
      if (a.col_idxs[k] == i) diagonal.values[k] = 1e6;
  for (const IsaiKind kind : explicit_kinds) {
    IsaiOptions options = of_kind(kind, 3);
    options.reuse = Reuse::none;
    options.prefilter = 0.001;
    options.memory_budget = 8000;
    options.relaxation_steps = 1;
    Isai<double, TypeParam> isai(options);
    isai.symbolic(space, to_device<TypeParam>(diagonal));
    isai.numeric(space, to_device<TypeParam>(diagonal));
    const auto before = to_host(isai.inverse());
    const std::vector<double> x(216, 1.0), y = applied<TypeParam>(isai, x);
    EXPECT_EQ(before.nnz(), 216u);
    EXPECT_THAT(message_of<InputError>([&] { isai.numeric(space, to_device<TypeParam>(a)); }),
                HasSubstr("8000"));
    EXPECT_THAT(message_of<InputError>(
                    [&] { isai.numeric(space, to_device<TypeParam>(random_general(21, 0.5, 1))); }),
                HasSubstr("isai: numeric was given 21 rows, symbolic 216; call symbolic again"));
    EXPECT_TRUE(before == to_host(isai.inverse()));
    EXPECT_EQ(isai.report().nnz, 216);
    EXPECT_EQ(y, applied<TypeParam>(isai, x)) << "the relaxation's copy too";
    EXPECT_THAT(message_of<InputError>([&] {
                  inverse_of<TypeParam>(sparse<double>({{1}, {2}}), options);
                }),
                HasSubstr("2 rows but only 1 columns"));
  }
}

TYPED_TEST(IsaiTest, RefusesToApplyBeforeNumeric) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(random_spd(10, 0.5, 1));
  for (const IsaiKind kind : all_kinds) {
    for (const int steps : {0, 2}) {
      IsaiOptions options = of_kind(kind);
      options.relaxation_steps = steps;
      Isai<double, TypeParam> isai(options);
      isai.symbolic(space, a);
      const MultiVector<double, TypeParam> x("x", 10, 2), y("y", 10, 2);
      const auto workspace = isai.make_workspace(space, 1);
      const MultiVectorView<double, TypeParam> one(x.data(), 10, 1), to(y.data(), 10, 1);
      EXPECT_THAT(message_of<std::logic_error>([&] { isai.apply(space, one, to, *workspace); }),
                  HasSubstr("isai: apply before numeric"));
      isai.numeric(space, a);
      if (steps == 0) continue;
      EXPECT_THAT(message_of<std::logic_error>([&] { isai.apply(space, x, y, *workspace); }),
                  HasSubstr("isai: the workspace was made for fewer vectors"));
    }
  }
}

TYPED_TEST(IsaiTest, SameBitsTwiceAndInSlabsOfAnySize) {
  for (const HostMatrix<double>& a : {generated("convection_diffusion3d:8"), random_dense(130, 101)}) {
    for (const IsaiKind kind : explicit_kinds) {
      for (IsaiOptions options : both_precisions(kind, 2)) {
        options.prefilter = 0.01;
        const auto once = inverse_of<TypeParam>(a, options);
        EXPECT_TRUE(once == inverse_of<TypeParam>(a, options));
        options.workspace_budget = 1 << 18;  // one of the longest rows
        EXPECT_TRUE(once == inverse_of<TypeParam>(a, options));
      }
    }
  }
}

#ifdef KOKKOS_ENABLE_OPENMP
TEST(IsaiThreads, TheSameBitsOnFewerThreads) {
  using Space = Kokkos::OpenMP;
  const HostMatrix<double> a = random_general(400, 0.02, 103);
  for (const IsaiKind kind : explicit_kinds) {
    std::vector<HostMatrix<double>> inverses;
    // One thread, and all.
    for (const Space& space : {of_one_thread<Space>(), Space()}) {
      Isai<double, Space> isai(of_kind(kind, 2));
      isai.symbolic(space, to_device<Space>(a));
      isai.numeric(space, to_device<Space>(a));
      space.fence();
      inverses.push_back(to_host(isai.inverse()));
    }
    EXPECT_TRUE(inverses[0] == inverses[1]) << word_of(kind);
  }
}
#endif

TYPED_TEST(IsaiTest, ColumnsOfOtherRanksAreSkipped) {
  const HostMatrix<double> a = random_general(80, 0.1, 111), wide = with_columns_of_other_ranks(a);
  std::vector<double> x(80);
  for (int i = 0; i < 80; ++i) x[i] = std::cos(2.0 + i);
  for (const IsaiKind kind : explicit_kinds) {
    for (int power = 0; power <= 3; ++power) {
      for (double tau : {0.0, 0.05}) {
        for (IsaiOptions options : both_precisions(kind, power)) {
          options.prefilter = tau;
          options.relaxation_steps = 2;
          const auto solve = [&](const HostMatrix<double>& matrix) {
            Isai<double, TypeParam> isai(options);
            isai.numeric(TypeParam(), to_device<TypeParam>(matrix));
            return std::pair(to_host(isai.inverse()), applied<TypeParam>(isai, x));
          };
          const auto narrow = solve(a), of_rank = solve(wide);
          EXPECT_TRUE(narrow.first == of_rank.first) << power << " " << tau;
          EXPECT_EQ(narrow.second, of_rank.second);
        }
      }
    }
  }
}

TYPED_TEST(IsaiTest, TakesARankWithoutRows) {
  const TypeParam space;
  for (const IsaiKind kind : all_kinds) {
    for (const int steps : {0, 3}) {
      for (int power : {0, 1, 3}) {
        IsaiOptions options = of_kind(kind, power);
        options.relaxation_steps = steps;
        HostMatrix<double> a;
        a.num_cols = 3;
        Isai<double, TypeParam> isai(options);
        isai.symbolic(space, to_device<TypeParam>(a));
        isai.numeric(space, to_device<TypeParam>(a));
        isai.numeric(space, to_device<TypeParam>(a));
        EXPECT_EQ(isai.report().nnz, 0);
        const MultiVector<double, TypeParam> x("x", 0, 2), y("y", 0, 2);
        EXPECT_NO_THROW(isai.apply(space, x, y, *isai.make_workspace(space, 2)));
      }
    }
  }
}

TYPED_TEST(IsaiTest, FloatMatrixInEitherPrecision) {
  const HostMatrix<float> a = convert<float>(random_general(97, 0.1, 121));
  for (const IsaiKind kind : explicit_kinds) {
    for (int power : {0, 1, 2}) {
      for (const IsaiOptions& options : both_precisions(kind, power)) {
        const auto m = convert<double>(inverse_of<TypeParam>(a, options));
        ASSERT_NO_FATAL_FAILURE(expect_reference_isai(part_of(convert<double>(a), kind), m, 1e-4));
      }
    }
  }
}

// ------------------------------------------------------------------------------------------ real matrices

/// Every small matrix of the collection ends with a finite inverse that is one on its pattern where no row
/// broke down, and says what did.
TEST(IsaiRealMatrices, EveryInverseIsFinite) {
  using Space = Kokkos::DefaultExecutionSpace;
  int seen = 0;
  for (const auto& file : matrices_of_kind("general", 60000)) {
    const HostMatrix<double> a = to_host(read_matrix_market<double>(file.string()));
    if (a.num_cols != a.num_rows) continue;
    for (const IsaiKind kind : explicit_kinds) {
      for (const IsaiOptions& options : both_precisions(kind)) {
        Report report;
        const auto m = inverse_of<Space>(a, options, &report);
        ASSERT_NO_FATAL_FAILURE(expect_finite(m)) << file;
        EXPECT_EQ(report.breakdowns.count > 0, report.breakdowns.first_row >= 0) << file;
        EXPECT_LE(report.breakdowns.count, a.num_rows) << file;
        if (report.breakdowns.count > 0 || options.setup_scalar == Precision::single_precision) continue;
        ASSERT_NO_FATAL_FAILURE(expect_inverse_on_pattern(part_of(a, kind), m, 1e-6)) << file;
      }
    }
    ++seen;
  }
  EXPECT_GE(seen, has_collection() ? 30 : 8);
}

}  // namespace
}  // namespace prekond::testing
