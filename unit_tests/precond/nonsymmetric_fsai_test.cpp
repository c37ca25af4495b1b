// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/nonsymmetric_fsai_cases.hpp"
#include "testing/reference_power.hpp"
#include "testing/set_up.hpp"
#include "testing/spaces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/precond/fsai.hpp>
#include <prekond/precond/nonsymmetric_fsai.hpp>
#include <prekond/precond/registry.hpp>

#include <map>
#include <numeric>
#include <sstream>

namespace prekond::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int all_steps = 1000;

template <class Space, class Scalar>
Factors<Scalar> factor(const HostMatrix<Scalar>& a, const NonsymmetricFsaiOptions& options,
                       Report* report = nullptr, const HostGraph* pattern = nullptr) {
  return factors_of(*set_up<NonsymmetricFsai, Space>(a, options, report, pattern));
}

template <class Space>
class NonsymmetricFsaiTest : public ::testing::Test {};
TYPED_TEST_SUITE(NonsymmetricFsaiTest, TestSpaces, SpaceNames);

TYPED_TEST(NonsymmetricFsaiTest, ASymmetricMatrixHasTheStaticFsaisFactor) {
  for (const Case& test : small_matrices()) {
    for (double delta : {0.0, 0.03}) {
      SCOPED_TRACE(test.name + ", delta " + std::to_string(delta));
      NonsymmetricFsaiOptions options = in_double<NonsymmetricFsaiOptions>(2);
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
  const auto g = factor<TypeParam>(a, in_double<NonsymmetricFsaiOptions>(2)),
             h = factor<TypeParam>(negative, in_double<NonsymmetricFsaiOptions>(2));
  EXPECT_TRUE(g.lower == h.lower);
  for (std::size_t k = 0; k < g.upper.nnz(); ++k) ASSERT_EQ(g.upper.values[k], -h.upper.values[k]);
}

TYPED_TEST(NonsymmetricFsaiTest, TheTransposeExchangesTheFactors) {
  const HostMatrix<double> a = random_general(90, 0.1, 15);
  const auto g = factor<TypeParam>(a, in_double<NonsymmetricFsaiOptions>(2)),
             h = factor<TypeParam>(transposed(a), in_double<NonsymmetricFsaiOptions>(2));
  ASSERT_EQ(pattern_of(g.lower), pattern_of(h.lower));
  for (std::size_t k = 0; k < g.lower.nnz(); ++k) {
    ASSERT_NEAR(std::abs(g.lower.values[k]), std::abs(h.upper.values[k]), 1e-9);
    ASSERT_NEAR(std::abs(g.upper.values[k]), std::abs(h.lower.values[k]), 1e-9);
  }
}

TYPED_TEST(NonsymmetricFsaiTest, RowsThatNeedPivoting) {
  for (int n : {12, 50, 90}) {
    const HostMatrix<double> a = random_dense(n, 30u + n);
    const HostGraph pattern = lower_rows_of_lengths(n, [](int) { return 1000; });
    for (const NonsymmetricFsaiOptions& options : both_precisions<NonsymmetricFsaiOptions>()) {
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

TYPED_TEST(NonsymmetricFsaiTest, ALeadingBlockOfZerosHasStandIns) {
  // Row 0 has only a_00 = 0, and row 1's leading block is singular; with the largest entries of their rows in
  // place of the zeros, no row breaks down.
  const HostMatrix<double> a = sparse<double>({{0, 2, 1}, {1, 0, 3}, {2, 1, 5}});
  const HostMatrix<double> filled = sparse<double>({{-2, 2, 1}, {1, -3, 3}, {2, 1, 5}});
  for (const NonsymmetricFsaiOptions& options : both_precisions<NonsymmetricFsaiOptions>()) {
    Report report;
    const auto g = factor<TypeParam>(a, options, &report);
    EXPECT_EQ(report.breakdowns.count, 2);
    EXPECT_EQ(report.breakdowns.first_row, 0);
    EXPECT_THAT(report.breakdowns.action, HasSubstr("2 rows without a usable diagonal entry took"));
    for (int i = 0; i < 3; ++i) {
      std::vector<int> cols(i + 1);
      std::iota(cols.begin(), cols.end(), 0);
      const ReferencePair expected = reference_pair(to_dense(filled), cols);
      for (int j = 0; j <= i; ++j) {
        EXPECT_NEAR(g.lower(i, j), expected.lower[j], 1e-6) << i;
        EXPECT_NEAR(g.upper(i, j), expected.upper[j], 1e-6) << i;
      }
    }
  }
}

TYPED_TEST(NonsymmetricFsaiTest, ASingularRowFallsBackToItsDiagonal) {
  HostMatrix<double> path = generated("tridiagonal:40");
  path.values.front() = path.values.back() = 1;  // all pivots are 1, and the last is 0
  for (const NonsymmetricFsaiOptions& options : both_precisions<NonsymmetricFsaiOptions>(all_steps)) {
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
  for (const NonsymmetricFsaiOptions& options : both_precisions<NonsymmetricFsaiOptions>(all_steps)) {
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

TYPED_TEST(NonsymmetricFsaiTest, AWideDiagonal) {
  const HostMatrix<double> a = random_general(60, 0.2, 81);
  for (NonsymmetricFsaiOptions options : both_precisions<NonsymmetricFsaiOptions>(2)) {
    options.prefilter = options.postfilter = 0.02;
    const auto plain = factor<TypeParam>(a, options);
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

TYPED_TEST(NonsymmetricFsaiTest, ThePostfilterDropsWhatIsSmallInBoth) {
  const HostMatrix<double> a = random_general(129, 0.1, 41);
  for (NonsymmetricFsaiOptions options : both_precisions<NonsymmetricFsaiOptions>(2)) {
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

}  // namespace
}  // namespace prekond::testing
