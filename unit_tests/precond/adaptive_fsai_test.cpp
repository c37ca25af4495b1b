// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/approximate_inverse/adaptive_fsai/numeric.hpp"
#include "precond/approximate_inverse/adaptive_fsai/setup.hpp"
#include "testing/host_matrix.hpp"
#include "testing/reference_adaptive_fsai.hpp"
#include "testing/spaces.hpp"
#include "testing/spd_matrices.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/matrix/generate.hpp>
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
  const Space space;
  const auto device = to_device<Space>(a);
  AdaptiveFsai<double, Space> fsai(options);
  fsai.symbolic(space, device);
  fsai.numeric(space, device);
  if (report) *report = fsai.report();
  return to_host(fsai.factor());
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
  const std::vector<Case> cases = {
      {"random:67", random_spd(67, 0.2, 11)},
      {"random:130", random_spd(130, 0.1, 12)},
      {"elasticity3d:4", to_host(generate<double>(Kokkos::DefaultHostExecutionSpace(), "elasticity3d:4"))}};
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

TYPED_TEST(AdaptiveFsaiTest, FloatMatrixInEitherPrecision) {
  const TypeParam space;
  const HostMatrix<double> a = random_spd(97, 0.1, 5);
  const HostMatrix<float> a_float = convert<float>(a);
  const auto device = to_device<TypeParam>(a_float);
  for (Precision precision : {Precision::single_precision, Precision::double_precision}) {
    AdaptiveFsaiOptions options = AdaptiveFsaiOptions::published();
    options.setup_scalar = precision;
    AdaptiveFsai<float, TypeParam> fsai(options);
    fsai.symbolic(space, device);
    fsai.numeric(space, device);
    expect_sound(convert<double>(a_float), convert<double>(to_host(fsai.factor())), 1e-4);
  }
}

TYPED_TEST(AdaptiveFsaiTest, SameBitsTwiceAndInChunksOfAnySize) {
  const HostMatrix<double> a =
      to_host(generate<double>(Kokkos::DefaultHostExecutionSpace(), "elasticity3d:7"));
  for (AdaptiveFsaiOptions options : {AdaptiveFsaiOptions::published(), in_double()}) {
    const HostMatrix<double> once = factor<TypeParam>(a, options);
    EXPECT_TRUE(once == factor<TypeParam>(a, options));
    options.workspace_budget = 1 << 16;  // 176 rows
    EXPECT_TRUE(once == factor<TypeParam>(a, options));
  }
}

TYPED_TEST(AdaptiveFsaiTest, RowsThatOutgrowTheirWorkspaceLoseNothing) {
  // Rows of some 576 entries next to rows of five; a long row meets far more columns than its neighbours.
  const HostMatrix<double> a = to_host(generate<double>(Kokkos::DefaultHostExecutionSpace(), "circuit:48"));
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
  const HostMatrix<double> path =
      to_host(generate<double>(Kokkos::DefaultHostExecutionSpace(), "tridiagonal:20000"));
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

TYPED_TEST(AdaptiveFsaiTest, ASecondNumericSolvesOnThePatternFound) {
  const TypeParam space;
  const HostMatrix<double> a = random_spd(150, 0.1, 41);
  const HostMatrix<double> changed = with_larger_diagonal(a, 1);
  for (Reuse reuse : {Reuse::pattern, Reuse::none}) {
    AdaptiveFsaiOptions options = in_double();
    options.reuse = reuse;
    options.max_steps = 9;
    AdaptiveFsai<double, TypeParam> fsai(options);
    fsai.symbolic(space, to_device<TypeParam>(a));
    fsai.numeric(space, to_device<TypeParam>(a));
    EXPECT_FALSE(fsai.report().pattern_kept);
    const auto first = to_host(fsai.factor());
    fsai.numeric(space, to_device<TypeParam>(a));
    const auto again = to_host(fsai.factor());
    ASSERT_EQ(first.col_idxs, again.col_idxs);
    for (std::size_t k = 0; k < first.nnz(); ++k) ASSERT_NEAR(first.values[k], again.values[k], 1e-12);
    fsai.numeric(space, to_device<TypeParam>(changed));
    EXPECT_EQ(fsai.report().pattern_kept, reuse == Reuse::pattern);
    const auto second = to_host(fsai.factor());
    expect_sound(changed, second, 1e-10);
    if (reuse == Reuse::none) {
      EXPECT_TRUE(second == factor<TypeParam>(changed, options));
      continue;
    }
    EXPECT_EQ(first.col_idxs, second.col_idxs);
    const Dense dense = to_dense(changed);
    for (int i = 0; i < a.num_rows; ++i) {
      const std::vector<int> pattern(first.col_idxs.begin() + first.row_ptrs[i],
                                     first.col_idxs.begin() + first.row_ptrs[i + 1] - 1);
      ASSERT_NEAR(psi_of(second, i), solve_row(dense, i, pattern).psi, 1e-10);
    }
    const auto transposed = to_host(fsai.factor_transposed());
    for (int i = 0; i < a.num_rows; ++i)
      for (std::size_t k = second.row_ptrs[i]; k < second.row_ptrs[i + 1]; ++k)
        ASSERT_EQ(transposed(second.col_idxs[k], i), second.values[k]);
  }
}

TYPED_TEST(AdaptiveFsaiTest, ColumnsOfOtherRanksAreSkipped) {
  const HostMatrix<double> a = random_spd(80, 0.1, 51);
  EXPECT_TRUE(factor<TypeParam>(a, AdaptiveFsaiOptions::published()) ==
              factor<TypeParam>(with_columns_of_other_ranks(a), AdaptiveFsaiOptions::published()));
}

TYPED_TEST(AdaptiveFsaiTest, BreakdownsAreSafeAndReported) {
  Report report;
  // Singular: the graph Laplacian of a path, whose last row reaches psi = 0.
  HostMatrix<double> path = to_host(generate<double>(Kokkos::DefaultHostExecutionSpace(), "tridiagonal:40"));
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

TYPED_TEST(AdaptiveFsaiTest, ExtremeScales) {
  const HostMatrix<double> a = random_spd(60, 0.2, 61);
  const auto plain = factor<TypeParam>(a, AdaptiveFsaiOptions::published());
  for (double scale : {0x1p-300, 0x1p300}) {
    HostMatrix<double> scaled = a;
    for (double& value : scaled.values) value *= scale;
    const auto g = factor<TypeParam>(scaled, AdaptiveFsaiOptions::published());
    ASSERT_EQ(g.col_idxs, plain.col_idxs);
    for (std::size_t k = 0; k < g.nnz(); ++k)
      ASSERT_NEAR(g.values[k] * std::sqrt(scale) / plain.values[k], 1, 1e-12);
  }
  const HostMatrix<double> wide = widened(a, 4);
  Report report;
  expect_sound(wide, factor<TypeParam>(wide, AdaptiveFsaiOptions::published(), &report), 1e-10);
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_THAT(report.notes[0], ::testing::HasSubstr("too wide for single precision"));
}

TYPED_TEST(AdaptiveFsaiTest, AppliesGTransposeGToAnyNumberOfVectorsWithoutFenceOrAllocation) {
  const TypeParam space;
  const HostMatrix<double> a = random_spd(211, 0.05, 71);
  AdaptiveFsai<double, TypeParam> fsai;
  fsai.symbolic(space, to_device<TypeParam>(a));
  fsai.numeric(space, to_device<TypeParam>(a));
  const Dense g = to_dense(to_host(fsai.factor()));
  const int vectors = 7;
  MultiVector<double, TypeParam> x("x", 211, vectors), y("y", 211, vectors);
  auto host_x = Kokkos::create_mirror_view(x);
  for (int v = 0; v < vectors; ++v)
    for (int i = 0; i < 211; ++i) host_x(i, v) = std::sin(1.0 + i + 300 * v);
  Kokkos::deep_copy(x, host_x);
  Kokkos::deep_copy(y, std::nan(""));
  auto workspace = fsai.make_workspace(space, vectors);
  space.fence();
  {
    const ToolEvents events;
    fsai.apply(space, x, y, *workspace);
    EXPECT_EQ(events.kernels().size(), 4u);  // two products, in groups of four vectors
    EXPECT_THAT(events.fences(), ::testing::IsEmpty());
    EXPECT_THAT(events.allocations(), ::testing::IsEmpty());
  }
  space.fence();
  const auto host_y = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), y);
  for (int v = 0; v < vectors; ++v) {
    std::vector<double> gx(211, 0), expected(211, 0);
    for (int i = 0; i < 211; ++i)
      for (int j = 0; j <= i; ++j) gx[i] += g[i][j] * host_x(j, v);
    for (int i = 0; i < 211; ++i)
      for (int j = 0; j <= i; ++j) expected[j] += g[i][j] * gx[i];
    for (int i = 0; i < 211; ++i) ASSERT_NEAR(host_y(i, v), expected[i], 1e-12);
  }
}

TYPED_TEST(AdaptiveFsaiTest, EveryKernelAndViewIsLabelled) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(random_spd(90, 0.1, 81));
  AdaptiveFsai<double, TypeParam> fsai;
  const ToolEvents events;
  fsai.symbolic(space, a);
  fsai.numeric(space, a);
  for (const auto& labels : {events.kernels(), events.allocations()})
    for (const auto& label : labels)
      EXPECT_THAT(label,
                  ::testing::AnyOf(::testing::StartsWith("prekond::"), ::testing::StartsWith("Kokkos::")));
  EXPECT_THAT(events.kernels(), ::testing::Contains("prekond::adaptive_fsai::numeric::grow_row"));
}

TYPED_TEST(AdaptiveFsaiTest, TakesARankWithoutRows) {
  const TypeParam space;
  HostMatrix<double> a;
  a.num_cols = 3;
  AdaptiveFsai<double, TypeParam> fsai;
  fsai.symbolic(space, to_device<TypeParam>(a));
  fsai.numeric(space, to_device<TypeParam>(a));
  fsai.numeric(space, to_device<TypeParam>(a));
  EXPECT_EQ(fsai.num_rows(), 0);
  EXPECT_EQ(fsai.report().nnz, 0);
  const MultiVector<double, TypeParam> x("x", 0, 2), y("y", 0, 2);
  const auto workspace = fsai.make_workspace(space, 2);
  EXPECT_NO_THROW(fsai.apply(space, x, y, *workspace));
}

TYPED_TEST(AdaptiveFsaiTest, EstimatesItsOperations) {
  // Every row of G has the i columns before i, each with 5 entries in A: 5 i (i + 1) + 2 i^3 / 3.
  const TypeParam space;
  auto dense = std::vector<std::vector<double>>(5, std::vector<double>(5, 1));
  for (int i = 0; i < 5; ++i) dense[i][i] = 10;
  AdaptiveFsaiOptions options = AdaptiveFsaiOptions::published();
  options.tolerance = 0;
  AdaptiveFsai<double, TypeParam> fsai(options);
  fsai.symbolic(space, to_device<TypeParam>(sparse(dense)));
  fsai.numeric(space, to_device<TypeParam>(sparse(dense)));
  ASSERT_EQ(fsai.report().nnz, 15);
  EXPECT_DOUBLE_EQ(fsai.report().numeric_flops, 5 * (2 + 6 + 12 + 20) + 2 * (1 + 8 + 27 + 64) / 3.0);
  EXPECT_EQ(fsai.report().apply_flops, 4 * 15);
  fsai.numeric(space, to_device<TypeParam>(sparse(dense)));
  EXPECT_DOUBLE_EQ(fsai.report().numeric_flops, 2 * (1 + 8 + 27 + 64) / 3.0) << "on the kept pattern";
}

TYPED_TEST(AdaptiveFsaiTest, RefusesBadInput) {
  const TypeParam space;
  const auto refuse = [&](const HostMatrix<double>& a) {
    return message_of<InputError>([&] { factor<TypeParam>(a, AdaptiveFsaiOptions::published()); });
  };
  EXPECT_THAT(refuse(sparse<double>({{1, 0}, {0, -2}})),
              ::testing::HasSubstr("diagonal entry of row 2 is missing or not positive"));
  EXPECT_THAT(refuse(sparse<double>({{0, 1}, {1, 2}})), ::testing::HasSubstr("row 1"));
  EXPECT_THAT(refuse(sparse<double>({{1}, {2}})), ::testing::HasSubstr("2 rows but only 1 columns"));
  AdaptiveFsai<double, TypeParam> fsai;
  const auto a = random_spd(10, 0.5, 1);
  fsai.symbolic(space, to_device<TypeParam>(a));
  MultiVector<double, TypeParam> x("x", 10, 2), y("y", 10, 2);
  auto workspace = fsai.make_workspace(space, 1);
  EXPECT_THROW(fsai.apply(space, x, y, *workspace), std::logic_error) << "apply before numeric";
  fsai.numeric(space, to_device<TypeParam>(a));
  EXPECT_THROW(fsai.apply(space, x, y, *workspace), std::logic_error) << "a workspace for one vector";
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
