// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/fsai_expectations.hpp"
#include "testing/general_matrices.hpp"
#include "testing/reference_power.hpp"
#include "testing/set_up.hpp"
#include "testing/spaces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/precond/fsai.hpp>
#include <prekond/precond/registry.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace prekond::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Enough for every row to reach all columns that it can.
constexpr int all_steps = 1000;

template <class Space, class Scalar>
HostMatrix<Scalar> factor(const HostMatrix<Scalar>& a, const FsaiOptions& options, Report* report = nullptr,
                          const HostGraph* pattern = nullptr) {
  return to_host(set_up<Fsai, Space>(a, options, report, pattern)->factor());
}

struct Filtered {
  HostMatrix<double> g;
  int unclear = 0;  ///< entries too near the limit to say
};

/// The documented postfilter, from the factor without one: what is dropped, and the rest scaled so that g A
/// g^T = 1.
Filtered postfiltered(const HostMatrix<double>& a, const HostMatrix<double>& g, double delta) {
  Filtered result;
  result.g.num_rows = result.g.num_cols = g.num_rows;
  for (std::int64_t i = 0; i < g.num_rows; ++i) {
    const std::size_t begin = g.row_ptrs[i], last = g.row_ptrs[i + 1] - 1;
    std::vector<double> weight;
    double sum = 0;
    for (std::size_t k = begin; k <= last; ++k) {
      weight.push_back(std::abs(g.values[k] / g.values[last]) * std::sqrt(a(g.col_idxs[k], g.col_idxs[k])));
      sum += weight.back() * weight.back();
    }
    const double least = delta * std::sqrt(sum);
    for (std::size_t k = begin; k <= last; ++k) {
      if (k < last && std::abs(weight[k - begin] - least) <= 1e-12 * least) ++result.unclear;
      if (k < last && weight[k - begin] < least) continue;
      result.g.col_idxs.push_back(g.col_idxs[k]);
      result.g.values.push_back(g.values[k]);
    }
    result.g.row_ptrs.push_back(result.g.nnz());
  }
  const Dense dense = to_dense(a);
  for (std::int64_t i = 0; i < g.num_rows; ++i) {
    const double psi = unit_diagonal(dense, result.g, i);
    for (std::size_t k = result.g.row_ptrs[i]; k < result.g.row_ptrs[i + 1]; ++k)
      result.g.values[k] /= std::sqrt(psi);
  }
  return result;
}

template <class Space>
class FsaiTest : public ::testing::Test {};
TYPED_TEST_SUITE(FsaiTest, TestSpaces, SpaceNames);

TYPED_TEST(FsaiTest, RowsOfEveryLength) {
  const int n = 720;
  const HostMatrix<double> a = random_gram(n, n + 80, 0.05, 23);
  const HostGraph pattern = lower_rows_of_lengths(n, [](int i) {
    if (i == 310 || i == 640) return 300;
    return i == 700 || i == 719 ? 700 : i * 37 % 140 + 1;
  });
  std::set<std::size_t> lengths;
  for (const auto& row : pattern) lengths.insert(row.size());
  for (std::size_t length = 1; length <= 140; ++length) ASSERT_TRUE(lengths.count(length)) << length;
  ASSERT_TRUE(lengths.count(300) && lengths.count(700));
  const Dense dense = to_dense(a);
  for (const FsaiOptions& options : both_precisions<FsaiOptions>()) {
    Report report;
    const HostMatrix<double> g = factor<TypeParam>(a, options, &report, &pattern);
    ASSERT_EQ(pattern_of(g), pattern);
    EXPECT_EQ(report.breakdowns.count, 0);
    expect_sound(a, g, 1e-10);
    const double tolerance = options.setup_scalar == Precision::double_precision ? 1e-10 : 1e-3;
    for (int i = 0; i < n; ++i) ASSERT_NO_FATAL_FAILURE(expect_minimiser(dense, g, i, tolerance));
  }
}

TYPED_TEST(FsaiTest, ThePostfilterDropsTheEntriesOfItsRule) {
  const std::vector<Case> cases = {{"random:129", random_spd(129, 0.15, 41)},
                                   {"scaled:80", random_spd(80, 0.2, 42, 8)},
                                   {"gram:70", random_gram(70, 90, 0.05, 43)}};
  for (const Case& test : cases) {
    for (FsaiOptions options : both_precisions<FsaiOptions>(2)) {
      const HostMatrix<double> unfiltered = factor<TypeParam>(test.matrix, options);
      for (double delta : {0.005, 0.02, 0.08}) {
        SCOPED_TRACE(test.name + ", delta " + std::to_string(delta));
        options.postfilter = delta;
        const Filtered expected = postfiltered(test.matrix, unfiltered, delta);
        ASSERT_EQ(expected.unclear, 0);
        ASSERT_LT(expected.g.nnz(), unfiltered.nnz());
        ASSERT_GT(expected.g.nnz(), std::size_t(test.matrix.num_rows));
        Report report;
        const HostMatrix<double> g = factor<TypeParam>(test.matrix, options, &report);
        ASSERT_EQ(pattern_of(g), pattern_of(expected.g));
        for (std::size_t k = 0; k < g.nnz(); ++k) ASSERT_NEAR(g.values[k] / expected.g.values[k], 1, 1e-10);
        expect_sound(test.matrix, g, 1e-10);
        EXPECT_EQ(report.nnz, static_cast<std::int64_t>(g.nnz()));
        EXPECT_EQ(report.breakdowns.count, 0);
        EXPECT_THAT(report.notes, ElementsAre("G had " + std::to_string(unfiltered.nnz()) +
                                              " entries before the postfilter"));
      }
    }
  }
}

TYPED_TEST(FsaiTest, APostfilterOfOneLeavesTheDiagonal) {
  for (const char* spec : {"tridiagonal:37", "elasticity3d:3"}) {
    const HostMatrix<double> a = generated(spec);
    FsaiOptions options = in_single<FsaiOptions>(2);
    options.postfilter = 1;
    const HostMatrix<double> g = factor<TypeParam>(a, options);
    ASSERT_EQ(g.nnz(), std::size_t(a.num_rows));
    for (int i = 0; i < a.num_rows; ++i) {
      EXPECT_EQ(g.col_idxs[i], i);
      EXPECT_DOUBLE_EQ(g.values[i], 1 / std::sqrt(a(i, i)));
    }
  }
}

TYPED_TEST(FsaiTest, APatternTakesEffectWithTheNextSymbolic) {
  const TypeParam space;
  const HostMatrix<double> a = random_spd(50, 0.3, 53);
  const auto device = to_device<TypeParam>(a);
  const HostGraph pattern(50);
  for (double tau : {0.0, 0.01}) {
    for (Reuse reuse : {Reuse::pattern, Reuse::none}) {
      SCOPED_TRACE("prefilter " + std::to_string(tau) +
                   (reuse == Reuse::none ? ", reuse none" : ", reuse pattern"));
      FsaiOptions options = in_double<FsaiOptions>();
      options.prefilter = tau;
      options.reuse = reuse;
      const HostMatrix<double> without = factor<TypeParam>(a, options);
      Fsai<double, TypeParam> fsai(options);
      fsai.symbolic(space, device);
      fsai.set_pattern(space, graph_of<TypeParam>(pattern, 50));
      fsai.numeric(space, device);
      EXPECT_TRUE(to_host(fsai.factor()) == without) << "between symbolic and numeric";
      fsai.numeric(space, device);
      EXPECT_EQ(pattern_of(to_host(fsai.factor())), pattern_of(without)) << "between two numeric phases";
      fsai.symbolic(space, device);
      fsai.numeric(space, device);
      EXPECT_EQ(fsai.report().nnz, 50) << "after the next symbolic";
    }
  }
}

TYPED_TEST(FsaiTest, ASingularRowFallsBackToItsDiagonal) {
  // The graph Laplacian of a path: all its pivots are 1, but the last is 0.
  HostMatrix<double> path = generated("tridiagonal:40");
  path.values.front() = path.values.back() = 1;
  for (const FsaiOptions& options : both_precisions<FsaiOptions>(all_steps)) {
    Report report;
    const HostMatrix<double> g = factor<TypeParam>(path, options, &report);
    ASSERT_EQ(g.nnz(), 40u * 41 / 2);
    for (int i = 0; i < 40; ++i)
      for (int j = 0; j <= i; ++j) ASSERT_NEAR(g(i, j), i == 39 && j < 39 ? 0 : 1, 1e-13);
    EXPECT_EQ(report.breakdowns.count, 1);
    EXPECT_EQ(report.breakdowns.first_row, 39);
    EXPECT_EQ(report.breakdowns.first_pivot, 0);
    EXPECT_THAT(report.breakdowns.action,
                AllOf(HasSubstr("0 rows kept"), HasSubstr("1 fell back to the diagonal")));
  }
}

TYPED_TEST(FsaiTest, ARepeatedColumnIsLeftOutOfTheRow) {
  // Rows 0 and 1 are the same; the rows after them want both.
  HostMatrix<double> once = random_gram(30, 40, 0.05, 61);
  Dense a = to_dense(once);
  for (int j = 0; j < 30; ++j) a[1][j] = a[0][j];
  for (int i = 0; i < 30; ++i) a[i][1] = a[i][0];
  for (const FsaiOptions& options : both_precisions<FsaiOptions>()) {
    Report report;
    const HostMatrix<double> g = factor<TypeParam>(sparse(a), options, &report);
    expect_finite(g);
    EXPECT_EQ(g(1, 0), 0);
    EXPECT_DOUBLE_EQ(g(1, 1), 1 / std::sqrt(a[1][1]));
    for (int i = 2; i < 30; ++i) {
      ASSERT_EQ(g(i, 1), 0) << "row " << i;
      std::vector<int> others = {0};
      for (int j = 2; j < i; ++j) others.push_back(j);
      const ReferenceRow reference = solve_row(a, i, others);
      // These rows are done again in double whatever the setup's precision.
      for (std::size_t p = 0; p < others.size(); ++p)
        ASSERT_NEAR(g(i, others[p]) * std::sqrt(reference.psi), reference.g[p], 1e-10) << "row " << i;
      ASSERT_NEAR(g(i, i) * std::sqrt(reference.psi), 1, 1e-10) << "row " << i;
    }
    EXPECT_EQ(report.breakdowns.count, 29);
    EXPECT_EQ(report.breakdowns.first_row, 1);
    EXPECT_THAT(report.breakdowns.action,
                AllOf(HasSubstr("28 rows kept"), HasSubstr("1 fell back to the diagonal")));
  }
}

// Columns 0 and 1 differ by what leaves a pivot of 4 rounding errors, or of 64.
TYPED_TEST(FsaiTest, APivotOfAFewRoundingErrorsIsLeftOut) {
  const auto matrix = [](double delta) {
    return sparse<double>({{1, 1 - delta, .5}, {1 - delta, 1, .5}, {.5, .5, 1}});
  };
  for (const FsaiOptions& options : both_precisions<FsaiOptions>()) {
    Report report;
    const HostMatrix<double> few = factor<TypeParam>(matrix(0x1p-51), options, &report);
    EXPECT_EQ(report.breakdowns.count, 2);
    EXPECT_EQ(report.breakdowns.first_row, 1);
    EXPECT_NEAR(report.breakdowns.first_pivot, 0x1p-50, 0x1p-60);
    EXPECT_EQ(few(1, 0), 0);
    EXPECT_EQ(few(1, 1), 1);
    EXPECT_NEAR(few(2, 0), -.5 / std::sqrt(.75), 1e-15);
    EXPECT_EQ(few(2, 1), 0);
    const HostMatrix<double> enough = factor<TypeParam>(matrix(0x1p-47), options, &report);
    EXPECT_EQ(report.breakdowns.count, 0);
    EXPECT_NEAR(enough(1, 1) / 0x1p23, 1, 1e-6) << "1 / sqrt(2 delta)";
  }
}

TYPED_TEST(FsaiTest, ALowRankMatrixGivesFiniteRows) {
  for (const FsaiOptions& options : both_precisions<FsaiOptions>()) {
    for (int n : {40, 200}) {
      Report report;
      const HostMatrix<double> g = factor<TypeParam>(random_gram(n, 6, 0, 62), options, &report);
      expect_finite(g);
      EXPECT_GE(report.breakdowns.count, 1);
      EXPECT_LE(report.breakdowns.count, n - 6);
      EXPECT_GE(report.breakdowns.first_row, 6);
    }
  }
}

TYPED_TEST(FsaiTest, IndefiniteMatricesGiveFiniteRows) {
  for (const FsaiOptions& options : both_precisions<FsaiOptions>()) {
    Report report;
    const HostMatrix<double> g =
        factor<TypeParam>(sparse<double>({{4, 8, 0}, {8, 4, 0}, {0, 0, 1}}), options, &report);
    EXPECT_EQ(report.breakdowns.count, 1);
    EXPECT_EQ(report.breakdowns.first_row, 1);
    EXPECT_THAT(report.breakdowns.action, HasSubstr("1 fell back to the diagonal"));
    EXPECT_EQ(g(1, 1), 0.5);
    EXPECT_EQ(g(1, 0), 0);
    // Row 2 keeps column 0 of the two that it wants.
    const HostMatrix<double> a = sparse<double>({{1, 2, .5}, {2, 1, .4}, {.5, .4, 1}});
    const HostMatrix<double> h = factor<TypeParam>(a, options, &report);
    EXPECT_EQ(report.breakdowns.count, 2);
    EXPECT_EQ(report.breakdowns.first_row, 1);
    EXPECT_THAT(report.breakdowns.action,
                AllOf(HasSubstr("1 rows kept"), HasSubstr("1 fell back to the diagonal")));
    EXPECT_NEAR(h(2, 0), -.5 / std::sqrt(.75), 1e-15);
    EXPECT_EQ(h(2, 1), 0);
    EXPECT_NEAR(h(2, 2), 1 / std::sqrt(.75), 1e-15);
    // Far too large for single precision, and for a square in double.
    const HostMatrix<double> huge =
        factor<TypeParam>(sparse<double>({{1, 1e200, .1}, {1e200, 1, .1}, {.1, .1, 1}}), options, &report);
    expect_finite(huge);
    EXPECT_EQ(huge(1, 1), 1);
    EXPECT_EQ(report.breakdowns.first_row, 1);
  }
}

TYPED_TEST(FsaiTest, TheReportTellsTheFirstBadPivot) {
  for (const FsaiOptions& options : both_precisions<FsaiOptions>()) {
    for (double scale : {1.0, 3.0, 0x1p-299, 0x1p301}) {
      const HostMatrix<double> a =
          sparse<double>({{4 * scale, 8 * scale, 0}, {8 * scale, 4 * scale, scale}, {0, scale, 4 * scale}});
      Report report;
      factor<TypeParam>(a, options, &report);
      EXPECT_EQ(report.breakdowns.first_row, 1);
      EXPECT_NEAR(report.breakdowns.first_pivot, -3, 1e-6) << "(4 - 64 / 4) / 4 times " << scale;
      // Row 2's pivot of column 1, where row 1 wants nothing.
      const HostGraph pattern = {{}, {}, {0, 1}};
      factor<TypeParam>(a, options, &report, &pattern);
      EXPECT_EQ(report.breakdowns.count, 1);
      EXPECT_EQ(report.breakdowns.first_row, 2);
      EXPECT_NEAR(report.breakdowns.first_pivot, -3, 1e-6);
      EXPECT_THAT(report.breakdowns.action,
                  AllOf(HasSubstr("1 rows kept"), HasSubstr("0 fell back to the diagonal")));
    }
  }
}

/// Symmetric, with ones on the diagonal and far too large entries off it.
HostMatrix<double> indefinite(int n, unsigned seed) {
  std::mt19937_64 engine(seed);
  Dense a(n, std::vector<double>(n));
  for (int i = 0; i < n; ++i) {
    a[i][i] = 1;
    for (int j = 0; j < i; ++j) a[i][j] = a[j][i] = static_cast<double>(engine() >> 11) * 0x1p-52 - 1;
  }
  return sparse(a);
}

TYPED_TEST(FsaiTest, EveryRowThatBreaksDownIsCountedOnce) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const HostMatrix<double> a = indefinite(60, seed);
    const Dense dense = to_dense(a);
    for (FsaiOptions options : both_precisions<FsaiOptions>()) {
      Report report;
      const HostMatrix<double> g = factor<TypeParam>(a, options, &report);
      expect_finite(g);
      std::set<int> broken;
      for (int i = 0; i < 60; ++i) {
        bool zero = false;
        for (int j = 0; j < i; ++j) zero = zero || g(i, j) == 0;
        if (zero) broken.insert(i);
        ASSERT_NEAR(unit_diagonal(dense, g, i), 1, 1e-8) << "row " << i;
      }
      ASSERT_FALSE(broken.empty());
      EXPECT_EQ(report.breakdowns.count, static_cast<std::int64_t>(broken.size()));
      EXPECT_EQ(report.breakdowns.first_row, *broken.begin());

      options.postfilter = 0.3;
      const HostMatrix<double> filtered = factor<TypeParam>(a, options, &report);
      expect_finite(filtered);
      for (int i = 0; i < 60; ++i) ASSERT_NEAR(unit_diagonal(dense, filtered, i), 1, 1e-8) << "row " << i;
      // The part of A that a row keeps is positive definite, and so is any part of that: no other row falls
      // back.
      EXPECT_EQ(report.breakdowns.count, static_cast<std::int64_t>(broken.size())) << "with the postfilter";
    }
  }
}

TYPED_TEST(FsaiTest, TheWidestDiagonalsOfFloatAndDoubleChangeNoBit) {
  const HostMatrix<double> a = random_spd(60, 0.2, 82);
  const HostMatrix<float> b = convert<float>(random_spd(50, 0.2, 83));
  for (FsaiOptions options : both_precisions<FsaiOptions>(2)) {
    for (double delta : {0.0, 0.01, 0.05}) {
      options.prefilter = options.postfilter = delta;
      Report report;
      const HostMatrix<double> plain = factor<TypeParam>(a, options);
      for (int step : {4, -4, 16, -16}) {  // up to 2^-960 to 2^960
        const HostMatrix<double> g = factor<TypeParam>(widened(a, step), options, &report);
        EXPECT_EQ(report.breakdowns.count, 0);
        EXPECT_EQ(report.notes.size(), delta > 0 ? 1u : 0u) << "the postfilter's";
        ASSERT_EQ(pattern_of(g), pattern_of(plain));
        for (std::size_t k = 0; k < g.nnz(); ++k)
          ASSERT_EQ(std::ldexp(g.values[k], step * (g.col_idxs[k] - 30)), plain.values[k]);
      }
      const HostMatrix<float> plain_float = factor<TypeParam>(b, options);
      for (int step : {2, -2}) {  // 2^-100 to 2^100
        const HostMatrix<float> wide = convert<float>(widened(convert<double>(b), step));
        const HostMatrix<float> g = factor<TypeParam>(wide, options, &report);
        EXPECT_EQ(report.breakdowns.count, 0);
        ASSERT_EQ(pattern_of(g), pattern_of(plain_float));
        for (std::size_t k = 0; k < g.nnz(); ++k)
          ASSERT_EQ(std::ldexp(g.values[k], step * (g.col_idxs[k] - 25)), plain_float.values[k]);
      }
    }
  }
}

TYPED_TEST(FsaiTest, AFailedNumericLeavesGAsItWas) {
  const TypeParam space;
  const auto a = random_spd(20, 0.5, 92);
  for (Reuse reuse : {Reuse::pattern, Reuse::none}) {
    FsaiOptions options;
    options.reuse = reuse;
    Fsai<double, TypeParam> fsai(options);
    fsai.symbolic(space, to_device<TypeParam>(a));
    fsai.numeric(space, to_device<TypeParam>(a));
    const auto before = to_host(fsai.factor());
    const auto transposed = to_host(fsai.factor_transposed());
    for (double entry : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
      auto bad = a;
      for (std::size_t k = bad.row_ptrs[7]; k < bad.row_ptrs[8]; ++k)
        if (bad.col_idxs[k] == 7) bad.values[k] = entry;
      EXPECT_THAT(message_of<InputError>([&] { fsai.numeric(space, to_device<TypeParam>(bad)); }),
                  HasSubstr("fsai: the diagonal entry of row 8 is missing or not positive"));
    }
    EXPECT_TRUE(before == to_host(fsai.factor()));
    EXPECT_TRUE(transposed == to_host(fsai.factor_transposed()));
    EXPECT_EQ(fsai.report().nnz, static_cast<std::int64_t>(before.nnz()));
    fsai.numeric(space, to_device<TypeParam>(a));
    EXPECT_TRUE(before == to_host(fsai.factor()));
  }
}

TYPED_TEST(FsaiTest, RefusesADiagonalThatIsNotPositive) {
  const auto refuse = [&](const HostMatrix<double>& a) {
    return message_of<InputError>([&] { factor<TypeParam>(a, FsaiOptions()); });
  };
  EXPECT_THAT(refuse(sparse<double>({{1, 0}, {0, -2}})),
              HasSubstr("fsai: the diagonal entry of row 2 is missing or not positive"));
  EXPECT_THAT(refuse(sparse<double>({{0, 1}, {1, 2}})), HasSubstr("row 1"));
}

TYPED_TEST(FsaiTest, NumericMakesUpForAMissingSymbolic) {
  const TypeParam space;
  const HostMatrix<double> a = random_spd(40, 0.2, 93);
  Fsai<double, TypeParam> fsai;
  fsai.numeric(space, to_device<TypeParam>(a));
  EXPECT_TRUE(to_host(fsai.factor()) == factor<TypeParam>(a, FsaiOptions()));
}

TYPED_TEST(FsaiTest, APatternBeyondItsBudgetIsRefused) {
  const TypeParam space;
  const HostMatrix<double> a = generated("poisson2d:20");
  const HostGraph pattern = triangle_of(reference_power(pattern_of(a), 3), false);
  std::size_t nnz = 0;
  for (const auto& row : pattern) nnz += row.size();
  const std::int64_t bytes =
      static_cast<std::int64_t>((pattern.size() + 1) * sizeof(std::size_t) + nnz * sizeof(int));
  FsaiOptions options = in_double<FsaiOptions>(3);
  options.memory_budget = bytes;
  EXPECT_EQ(pattern_of(factor<TypeParam>(a, options)), pattern);
  options.memory_budget = bytes - 1;
  const auto names_both =
      AllOf(HasSubstr(std::to_string(nnz) + " entries"), HasSubstr(std::to_string(bytes - 1)));
  Fsai<double, TypeParam> fsai(options);
  EXPECT_THAT(message_of<InputError>([&] { fsai.symbolic(space, to_device<TypeParam>(a)); }), names_both);
}

TYPED_TEST(FsaiTest, EveryOptionIsUsed) {
  const TypeParam space;
  // Rows of up to 400 entries: on a device their systems do not fit into scratch.
  const HostMatrix<double> a = random_gram(400, 500, 0.05, 131);
  const auto device = to_device<TypeParam>(a);
  const auto changed = to_device<TypeParam>(with_larger_diagonal(a, 2));
  struct BreakdownCounter {
    HostMatrix<double> first, second;
    std::string error;
  };
  const auto run = [&](const OptionMap& options) {
    BreakdownCounter outcome;
    const auto fsai = create_preconditioner<double, TypeParam>("fsai", options);
    const auto& g = dynamic_cast<const FactoredInverse<double, TypeParam>&>(*fsai);
    try {
      fsai->symbolic(space, device);
      fsai->numeric(space, device);
    } catch (const InputError& error) {
      outcome.error = error.what();
      return outcome;
    }
    outcome.first = to_host(g.factor());
    fsai->numeric(space, changed);
    outcome.second = to_host(g.factor());
    return outcome;
  };
  const OptionMap base = {{"postfilter", 0.01}};
  const BreakdownCounter plain = run(base);
  const auto with = [&](const std::string& name, const OptionValue& value) {
    OptionMap options = base;
    options[name] = value;
    return run(options);
  };
  std::set<std::string> tested = {"power",         "prefilter", "postfilter", "setup_scalar",  "reuse",
                                  "memory_budget", "storage",   "block_size", "storage_format"};
  FsaiOptions all;
  for (const auto& field : OptionFields::of(all).list())
    EXPECT_EQ(tested.erase(field.name), 1u) << field.name;
  EXPECT_THAT(tested, IsEmpty());
  EXPECT_EQ(with("power", std::int64_t(0)).first.nnz(), 400u);
  EXPECT_LT(with("prefilter", 0.1).first.nnz(), plain.first.nnz());
  EXPECT_LT(with("postfilter", 0.1).first.nnz(), plain.first.nnz());
  EXPECT_NE(with("setup_scalar", std::string("double")).first.values, plain.first.values);
  EXPECT_TRUE(with("storage", std::string("single")).first.values.empty());
  EXPECT_TRUE(with("storage_format", std::string("jad")).first.values.empty());
  EXPECT_NE(with("reuse", std::string("none")).second.col_idxs, plain.second.col_idxs);
  EXPECT_EQ(with("reuse", std::string("pattern")).second.col_idxs, plain.second.col_idxs);
  EXPECT_THAT(with("memory_budget", std::int64_t(1) << 10).error, HasSubstr("1024"));
  // The 400 rows are all alike.
  const auto entries_in_blocks = [&](std::int64_t size) {
    return run({{"power", std::int64_t(0)}, {"block_size", size}}).first.nnz();
  };
  EXPECT_EQ(entries_in_blocks(4), 1000u);
  EXPECT_EQ(entries_in_blocks(0), 3400u);
}

}  // namespace
}  // namespace prekond::testing
