// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/approximate_inverse/adaptive_fsai/numeric.hpp"
#include "precond/approximate_inverse/adaptive_fsai/setup.hpp"
#include "testing/general_matrices.hpp"
#include "testing/reference_adaptive_fsai.hpp"
#include "testing/set_up.hpp"
#include "testing/spaces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/precond/adaptive_fsai.hpp>

namespace prekond::testing {
namespace {

AdaptiveFsaiOptions in_double() {
  AdaptiveFsaiOptions options = AdaptiveFsaiOptions::published();
  options.setup_scalar = Precision::double_precision;
  return options;
}

template <class Space>
HostMatrix<double> factor(const HostMatrix<double>& a, const AdaptiveFsaiOptions& options,
                          Report* report = nullptr) {
  return to_host(set_up<AdaptiveFsai, Space>(a, options, report)->factor());
}

void expect_reference(const Case& test, const HostMatrix<double>& g,
                      const ReferenceAdaptiveFsai& parameters) {
  const Dense dense = to_dense(test.matrix);
  for (int i = 0; i < test.matrix.num_rows; ++i) {
    const ReferenceRow reference = grow_row(dense, i, parameters);
    const std::size_t last = g.row_ptrs[i + 1] - 1;
    const double psi = 1 / (g.values[last] * g.values[last]);
    ASSERT_NEAR(psi / reference.psi, 1, 1e-10) << test.name << " row " << i;
    if (reference.tie) continue;
    ASSERT_EQ(last - g.row_ptrs[i], reference.pattern.size()) << test.name << " row " << i;
    for (std::size_t p = 0; p < reference.pattern.size(); ++p) {
      const double expected = reference.g[p] / std::sqrt(reference.psi);
      ASSERT_NEAR(g(i, reference.pattern[p]), expected,
                  1e-9 * std::abs(g.values[last]) * (1 + std::abs(reference.g[p])))
          << test.name << " row " << i << " column " << reference.pattern[p];
    }
  }
}

template <class Space>
class AdaptiveFsaiTest : public ::testing::Test {};
TYPED_TEST_SUITE(AdaptiveFsaiTest, TestSpaces, SpaceNames);

TYPED_TEST(AdaptiveFsaiTest, EqualsTheDenseTextbookAlgorithm) {
  for (const Case& test : small_matrices()) {
    const HostMatrix<double> g = factor<TypeParam>(test.matrix, in_double());
    expect_sound(test.matrix, g, 1e-10);
    expect_reference(test, g, {});
  }
}

TYPED_TEST(AdaptiveFsaiTest, EveryParameterIsTheReferences) {
  const std::vector<Case> cases = {{"random:67", random_spd(67, 0.2, 11)},
                                   {"random:130", random_spd(130, 0.1, 12)},
                                   {"elasticity3d:4", generated("elasticity3d:4")}};
  std::vector<ReferenceAdaptiveFsai> sets(7);
  sets[0].k_max = 0;
  sets[1].k_max = 3;
  sets[2].s = 2;
  sets[3].s = 5, sets[3].k_max = 3;
  sets[4].epsilon = 0.5;
  sets[5].epsilon = 0, sets[5].k_max = 60;
  sets[6].step_tolerance = 0.01;
  for (const auto& set : sets) {
    AdaptiveFsaiOptions options = in_double();
    options.max_steps = set.k_max;
    options.step_size = set.s;
    options.tolerance = set.epsilon;
    options.step_tolerance = set.step_tolerance;
    for (const Case& test : cases) {
      const HostMatrix<double> g = factor<TypeParam>(test.matrix, options);
      expect_sound(test.matrix, g, 1e-10);
      // With s > 1 ties within a step decide more than one place: compare where there are none.
      if (test.name != "elasticity3d:4") expect_reference(test, g, set);
    }
  }
}

TYPED_TEST(AdaptiveFsaiTest, SinglePrecisionIsAsGoodAsItsBits) {
  for (const Case& test : small_matrices()) {
    const HostMatrix<double> g = factor<TypeParam>(test.matrix, AdaptiveFsaiOptions::published());
    expect_sound(test.matrix, g, 1e-10);  // the scaling is in double
    const Dense dense = to_dense(test.matrix);
    for (int i = 0; i < test.matrix.num_rows; ++i) {
      ASSERT_NEAR(psi_of(g, i) / grow_row(dense, i, {}).psi, 1, 2e-2) << test.name << " row " << i;
    }
  }
}

TYPED_TEST(AdaptiveFsaiTest, RowsThatOutgrowTheirWorkspaceLoseNothing) {
  // Rows of some 576 entries next to rows of five; a long row meets far more columns than its neighbours.
  const HostMatrix<double> a = generated("circuit:48");
  AdaptiveFsaiOptions options = in_double();
  options.max_steps = 12;
  ReferenceAdaptiveFsai parameters;
  parameters.k_max = 12;
  const HostMatrix<double> g = factor<TypeParam>(a, options);
  std::vector<int> rows;
  for (int i = 0; i < a.num_rows; i += 97) rows.push_back(i);
  for (int i = 0; i < a.num_rows; ++i)
    if (a.row_ptrs[i + 1] - a.row_ptrs[i] > 300) rows.push_back(i);
  ASSERT_GT(rows.size(), 22u);
  const Dense dense = to_dense(a);
  for (int i : rows) {
    ASSERT_NEAR(psi_of(g, i) / grow_row(dense, i, parameters).psi, 1, 1e-10) << "row " << i;
  }
}

TYPED_TEST(AdaptiveFsaiTest, ADenseRowLeavesItsNeighboursAlone) {
  // Rows of three entries, and a last one of 20,000: longer than any workspace that a mean row would ask for.
  const HostMatrix<double> path = generated("tridiagonal:20000");
  const int n = 20000;
  HostMatrix<double> a;
  a.num_rows = a.num_cols = n;
  for (int i = 0; i < n; ++i) {
    for (std::size_t k = path.row_ptrs[i]; i + 1 < n && k < path.row_ptrs[i + 1]; ++k) {
      if (path.col_idxs[k] == n - 1) continue;
      a.col_idxs.push_back(path.col_idxs[k]);
      a.values.push_back(path.values[k]);
    }
    for (int j = 0; i + 1 == n && j + 1 < n; ++j) {
      a.col_idxs.push_back(j);
      a.values.push_back(1e-4 + 1e-9 * j);
    }
    a.col_idxs.push_back(n - 1);
    a.values.push_back(i + 1 == n ? 4 : 1e-4 + 1e-9 * i);
    a.row_ptrs.push_back(a.nnz());
  }
  const HostMatrix<double> g = factor<TypeParam>(a, in_double());
  const HostMatrix<double> g_path = factor<TypeParam>(path, in_double());
  for (int i = 0; i + 1 < n; ++i)
    ASSERT_EQ(g.values[g.row_ptrs[i + 1] - 1], g_path.values[g_path.row_ptrs[i + 1] - 1]) << "row " << i;
  EXPECT_EQ(g.row_ptrs[n] - g.row_ptrs[n - 1], 31u);
  EXPECT_TRUE(g == factor<TypeParam>(a, in_double()));
}

TYPED_TEST(AdaptiveFsaiTest, AWideDiagonalLosesNoCandidateInSinglePrecision) {
  for (int exponent : {-180, -90, -60, 60, 90, 180}) {
    const double ratio = std::ldexp(1.0, exponent);
    const double coupling = 0.9 * std::sqrt(ratio);
    const HostMatrix<double> g = factor<TypeParam>(sparse<double>({{ratio, coupling}, {coupling, 1}}),
                                                   AdaptiveFsaiOptions::published());
    EXPECT_EQ(g.nnz(), 3u) << "2^" << exponent;
  }
}

TYPED_TEST(AdaptiveFsaiTest, ManyStepsNeedMoreThanScratch) {
  const Case test{"random:400", random_spd(400, 0.05, 21)};
  AdaptiveFsaiOptions options = in_double();
  options.max_steps = 380;
  options.tolerance = 0;
  const HostMatrix<double> g = factor<TypeParam>(test.matrix, options);
  expect_sound(test.matrix, g, 1e-10);
  ReferenceAdaptiveFsai parameters;
  parameters.k_max = 380;
  parameters.epsilon = 0;
  const Dense dense = to_dense(test.matrix);
  for (int i : {0, 1, 200, 399}) {
    ASSERT_NEAR(psi_of(g, i) / grow_row(dense, i, parameters).psi, 1, 1e-10) << "row " << i;
  }
}

TYPED_TEST(AdaptiveFsaiTest, ThePortableLaneGroupGivesTheSameFactor) {
  namespace inner = impl::adaptive_fsai;
  const TypeParam space;
  const HostMatrix<double> a = random_spd(203, 0.08, 31);
  const auto device = to_device<TypeParam>(a);
  auto diagonal = Vector<double, TypeParam>("diagonal", a.num_rows);
  impl::extract_diagonal<double, TypeParam>(space, device, diagonal);
  const auto root = inner::square_roots<double, TypeParam>(space, diagonal);
  const auto representatives = equal_row_representatives<TypeParam>(space, device.row_ptrs, device.col_idxs);
  const inner::Matrix<double, double> matrix{device.row_ptrs.data(), device.col_idxs.data(),
                                             device.values.data(),   device.values.data(),
                                             diagonal.data(),        root.data(),
                                             representatives.data(), a.num_rows};
  const inner::Parameters parameters{20, 20, 1, 1, 1e-3, 0, 1e-12, 1e-15};
  const auto native = to_host(
      inner::Setup<double, double, TypeParam, false>(space, matrix, a.nnz(), parameters, 1 << 24).grow());
  const auto portable = to_host(
      inner::Setup<double, double, TypeParam, true>(space, matrix, a.nnz(), parameters, 1 << 24).grow());
  ASSERT_EQ(native.col_idxs, portable.col_idxs);
  for (std::size_t k = 0; k < native.nnz(); ++k) ASSERT_NEAR(native.values[k], portable.values[k], 1e-12);
}

TYPED_TEST(AdaptiveFsaiTest, BreakdownsAreSafeAndReported) {
  Report report;
  // Singular: the graph Laplacian of a path, whose last row reaches psi = 0.
  HostMatrix<double> path = generated("tridiagonal:40");
  path.values.front() = 1;
  path.values.back() = 1;
  for (AdaptiveFsaiOptions options : {AdaptiveFsaiOptions::published(), in_double()}) {
    options.tolerance = 0;
    options.max_steps = 50;
    const auto g = factor<TypeParam>(path, options, &report);
    for (double value : g.values) ASSERT_TRUE(std::isfinite(value));
  }
  // Indefinite with a positive diagonal: row 1 meets psi < 0 at once.
  const auto g = factor<TypeParam>(sparse<double>({{1, 2, 0}, {2, 1, 0}, {0, 0, 1}}),
                                   AdaptiveFsaiOptions::published(), &report);
  EXPECT_EQ(report.breakdowns.count, 1);
  EXPECT_EQ(report.breakdowns.first_row, 1);
  EXPECT_LT(report.breakdowns.first_pivot, 0);
  EXPECT_THAT(report.breakdowns.action, ::testing::HasSubstr("1 fell back to the diagonal"));
  EXPECT_EQ(g(1, 1), 1);
  // A pivot under the floor: rows 0 and 1 are parallel, and row 2 wants both.
  const auto h =
      factor<TypeParam>(sparse<double>({{1, 1, .5}, {1, 1, .4}, {.5, .4, 1}}), in_double(), &report);
  EXPECT_GE(report.breakdowns.count, 1);
  for (double value : h.values) ASSERT_TRUE(std::isfinite(value));
}

// Row 2 takes column 1, and then wants column 0, whose pivot is 4 rounding errors, or 64.
TYPED_TEST(AdaptiveFsaiTest, APivotOfAFewRoundingErrorsEndsTheGrowth) {
  const double gamma = 1e-9, psi = 1 - (.5 + gamma) * (.5 + gamma);
  const auto matrix = [&](double delta) {
    return sparse<double>({{1, 1 - delta, .5}, {1 - delta, 1, .5 + gamma}, {.5, .5 + gamma, 1}});
  };
  using Gradient = AdaptiveFsaiOptions::Gradient;
  for (const Gradient gradient : {Gradient::list, Gradient::marker, Gradient::merge}) {
    AdaptiveFsaiOptions options = in_double();
    options.gradient = gradient;
    options.tolerance = 0;
    options.max_steps = 5;
    SCOPED_TRACE(static_cast<int>(gradient));
    const auto few = factor<TypeParam>(matrix(0x1p-51), options);
    EXPECT_EQ(few(2, 0), 0);
    EXPECT_NEAR(few(2, 1), -(.5 + gamma) / std::sqrt(psi), 1e-12);
    EXPECT_NEAR(few(2, 2), 1 / std::sqrt(psi), 1e-12);
    const auto enough = factor<TypeParam>(matrix(0x1p-47), options);
    EXPECT_NE(enough(2, 0), 0);
  }
}

// Half the exponents between the least and the largest diagonal entry: up to 46 single precision has them.
TYPED_TEST(AdaptiveFsaiTest, TheWidestDiagonalOfASetupInSingle) {
  for (const int half_width : {45, 46, 47, 59}) {
    HostMatrix<double> a = sparse<double>({{1, .5, 0}, {.5, 1, 0}, {0, 0, 1}});
    a.values.back() = std::ldexp(1.0, 2 * half_width);
    Report report;
    const auto g = factor<TypeParam>(a, AdaptiveFsaiOptions::published(), &report);
    EXPECT_EQ(g.nnz(), 4u);
    EXPECT_EQ(report.notes.size(), half_width > 46 ? 1u : 0u) << half_width;
  }
}

TYPED_TEST(AdaptiveFsaiTest, AVeryWideDiagonal) {
  const HostMatrix<double> a = random_spd(60, 0.2, 61);
  const HostMatrix<double> wide = widened(a, 4);
  Report report;
  expect_sound(wide, factor<TypeParam>(wide, AdaptiveFsaiOptions::published(), &report), 1e-10);
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_THAT(report.notes[0], ::testing::HasSubstr("too wide for single precision"));
}

TYPED_TEST(AdaptiveFsaiTest, RefusesADiagonalThatIsNotPositive) {
  const TypeParam space;
  const auto refuse = [&](const HostMatrix<double>& a) {
    return message_of<InputError>([&] { factor<TypeParam>(a, AdaptiveFsaiOptions::published()); });
  };
  EXPECT_THAT(refuse(sparse<double>({{1, 0}, {0, -2}})),
              ::testing::HasSubstr("diagonal entry of row 2 is missing or not positive"));
  EXPECT_THAT(refuse(sparse<double>({{0, 1}, {1, 2}})), ::testing::HasSubstr("row 1"));
  const auto a = random_spd(10, 0.5, 1);
  AdaptiveFsai<double, TypeParam> fsai;
  fsai.numeric(space, to_device<TypeParam>(a));
  const auto before = to_host(fsai.factor());
  EXPECT_THAT(
      message_of<InputError>([&] { fsai.numeric(space, to_device<TypeParam>(random_spd(11, 0.5, 1))); }),
      ::testing::HasSubstr("call symbolic again"));
  auto bad = a;
  bad.values[0] = -1;
  EXPECT_THROW(fsai.numeric(space, to_device<TypeParam>(bad)), InputError);
  EXPECT_TRUE(before == to_host(fsai.factor())) << "a failed numeric leaves G as it was";
}

}  // namespace
}  // namespace prekond::testing
