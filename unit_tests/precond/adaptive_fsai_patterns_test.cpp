// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/host_matrix.hpp"
#include "testing/spaces.hpp"
#include "testing/spd_matrices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/precond/adaptive_fsai.hpp>
#include <prekond/precond/fsai.hpp>
#include <prekond/precond/registry.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

/// The patterns that rows of the adaptive FSAI begin with, their limits, and the filters.
namespace prekond::testing {
namespace {

using ::testing::HasSubstr;

AdaptiveFsaiOptions in_double() {
  AdaptiveFsaiOptions options = AdaptiveFsaiOptions::published();
  options.setup_scalar = Precision::double_precision;
  return options;
}

/// G, and what was reported; rows begin with `start` where it has rows.
template <class Space>
HostMatrix<double> factor(const HostMatrix<double>& a, const AdaptiveFsaiOptions& options,
                          Report* report = nullptr, const HostMatrix<double>& start = {}) {
  const Space space;
  const auto device = to_device<Space>(a);
  AdaptiveFsai<double, Space> fsai(options);
  if (start.num_rows > 0) fsai.set_initial_pattern(space, CsrGraphView<Space>(to_device<Space>(start)));
  fsai.symbolic(space, device);
  fsai.numeric(space, device);
  if (report) *report = fsai.report();
  return to_host(fsai.factor());
}

/// Entries (i, j) of a pattern that has nothing to do with any matrix: some below the diagonal, some above
/// it.
HostMatrix<double> scattered_pattern(int n, unsigned seed) {
  std::mt19937 random(seed);
  Dense pattern(n, std::vector<double>(n, 0.0));
  for (int i = 0; i < n; ++i)
    for (unsigned k = 0; k < random() % 12; ++k) pattern[i][random() % n] = 1;
  pattern[0][0] = 1;
  return sparse(pattern);
}

bool has_entry(const HostMatrix<double>& g, std::int64_t i, int col) {
  const auto begin = g.col_idxs.begin();
  return std::binary_search(begin + g.row_ptrs[i], begin + g.row_ptrs[i + 1], col);
}

std::vector<int> lower_row(const HostMatrix<double>& pattern, int i) {
  std::vector<int> cols;
  for (std::size_t k = pattern.row_ptrs[i]; k < pattern.row_ptrs[i + 1]; ++k)
    if (pattern.col_idxs[k] < i) cols.push_back(pattern.col_idxs[k]);
  return cols;
}

template <class Space>
class AdaptiveFsaiPatterns : public ::testing::Test {};
TYPED_TEST_SUITE(AdaptiveFsaiPatterns, TestSpaces, SpaceNames);

TYPED_TEST(AdaptiveFsaiPatterns, RowsBeginWithTheOnesGiven) {
  for (const int n : {1, 2, 33, 67, 150}) {
    const HostMatrix<double> a = random_spd(n, 0.12, 5u + n), start = scattered_pattern(n, 3u + n);
    const Dense dense = to_dense(a);
    for (const int steps : {0, 1, 7}) {
      for (const int size : {1, 3}) {
        AdaptiveFsaiOptions options = in_double();
        options.max_steps = steps;
        options.step_size = size;
        ReferenceAdaptiveFsai parameters;
        parameters.k_max = steps;
        parameters.s = size;
        const HostMatrix<double> g = factor<TypeParam>(a, options, nullptr, start);
        expect_sound(a, g, 1e-10);
        for (int i = 0; i < n; ++i) {
          const std::vector<int> begins = lower_row(start, i);
          for (const int col : begins) ASSERT_TRUE(has_entry(g, i, col)) << i << ' ' << col;
          const ReferenceRow reference = grow_row(dense, i, parameters, begins);
          ASSERT_NEAR(psi_of(g, i) / reference.psi, 1, 1e-10) << "row " << i;
          if (reference.tie) continue;
          ASSERT_EQ(g.row_ptrs[i + 1] - g.row_ptrs[i] - 1, reference.pattern.size()) << "row " << i;
        }
        EXPECT_TRUE(g == factor<TypeParam>(a, options, nullptr, start));
        options.workspace_budget = 1 << 16;
        EXPECT_TRUE(g == factor<TypeParam>(a, options, nullptr, start));
      }
    }
  }
}

TYPED_TEST(AdaptiveFsaiPatterns, WithoutStepsItIsTheStaticOneOnAPower) {
  const TypeParam space;
  for (const Case& test : small_matrices()) {
    for (const int power : {1, 2}) {
      AdaptiveFsaiOptions options = in_double();
      options.initial_power = power;
      options.max_steps = 0;
      FsaiOptions static_options;
      static_options.power = power;
      static_options.setup_scalar = Precision::double_precision;
      Fsai<double, TypeParam> fsai(static_options);
      const auto device = to_device<TypeParam>(test.matrix);
      fsai.symbolic(space, device);
      fsai.numeric(space, device);
      const HostMatrix<double> expected = to_host(fsai.factor()), g = factor<TypeParam>(test.matrix, options);
      ASSERT_EQ(g.row_ptrs, expected.row_ptrs) << test.name;
      ASSERT_EQ(g.col_idxs, expected.col_idxs) << test.name;
      for (std::int64_t i = 0; i < g.num_rows; ++i)
        for (std::size_t k = g.row_ptrs[i]; k < g.row_ptrs[i + 1]; ++k)
          ASSERT_NEAR(g.values[k], expected.values[k],
                      1e-9 * (std::abs(g.values[g.row_ptrs[i + 1] - 1]) + std::abs(expected.values[k])))
              << test.name;
    }
  }
}

TYPED_TEST(AdaptiveFsaiPatterns, GrowthFromAPowerInSinglePrecision) {
  const HostMatrix<double> a =
      to_host(generate<double>(Kokkos::DefaultHostExecutionSpace(), "elasticity3d:5"));
  AdaptiveFsaiOptions options = AdaptiveFsaiOptions::published();
  options.initial_power = 1;
  options.max_steps = 6;
  const HostMatrix<double> g = factor<TypeParam>(a, options);
  expect_sound(a, g, 1e-10);
  options.max_steps = 0;
  const HostMatrix<double> g_0 = factor<TypeParam>(a, options);
  for (std::int64_t i = 0; i < a.num_rows; ++i) {
    EXPECT_LE(psi_of(g, i), psi_of(g_0, i) * (1 + 1e-6));
    for (std::size_t k = g_0.row_ptrs[i]; k < g_0.row_ptrs[i + 1]; ++k)
      ASSERT_TRUE(has_entry(g, i, g_0.col_idxs[k]));
  }
  EXPECT_GT(g.nnz(), g_0.nnz());
}

TYPED_TEST(AdaptiveFsaiPatterns, AnInitialPatternOfAnotherSizeIsRefused) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(random_spd(20, 0.2, 1));
  AdaptiveFsai<double, TypeParam> fsai;
  fsai.set_initial_pattern(space, CsrGraphView<TypeParam>(to_device<TypeParam>(scattered_pattern(21, 1))));
  fsai.symbolic(space, a);
  EXPECT_EQ(message_of<InputError>([&] { fsai.numeric(space, a); }),
            "adaptive_fsai: the pattern has 21 rows, the matrix 20");
  HostMatrix<double> wide = scattered_pattern(20, 1);
  wide.num_cols = 22;
  EXPECT_EQ(message_of<InputError>([&] {
              fsai.set_initial_pattern(space, CsrGraphView<TypeParam>(to_device<TypeParam>(wide)));
            }),
            "adaptive_fsai: the pattern is 20 x 22; it has to be square");
}

// Rows 0 and 1 are parallel: the third row wants both, and gets one.
TYPED_TEST(AdaptiveFsaiPatterns, AStartWithABadPivotIsShortened) {
  Report report;
  AdaptiveFsaiOptions options = in_double();
  options.initial_power = 1;
  options.max_steps = 0;
  const HostMatrix<double> a =
      sparse<double>({{1, 1, .5, 0}, {1, 1, .5, 0}, {.5, .5, 1, .25}, {0, 0, .25, 1}});
  const auto g = factor<TypeParam>(a, options, &report);
  EXPECT_GE(report.breakdowns.count, 1);
  for (const double value : g.values) ASSERT_TRUE(std::isfinite(value));
  EXPECT_NEAR(unit_diagonal(to_dense(a), g, 2), 1, 1e-12);
}

TYPED_TEST(AdaptiveFsaiPatterns, ThePrefilterGrowsOnTheStrongEntriesAndScalesByAll) {
  const HostMatrix<double> a =
      to_host(generate<double>(Kokkos::DefaultHostExecutionSpace(), "elasticity3d:4"));
  for (const double tau : {1e-3, 0.05, 0.3, 1.0}) {
    HostMatrix<double> strong;
    strong.num_rows = strong.num_cols = a.num_rows;
    for (std::int64_t i = 0; i < a.num_rows; ++i) {
      for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
        const int j = a.col_idxs[k];
        if (j != i && !(std::abs(a.values[k]) > tau * std::sqrt(a(i, i)) * std::sqrt(a(j, j)))) continue;
        strong.col_idxs.push_back(j);
        strong.values.push_back(a.values[k]);
      }
      strong.row_ptrs.push_back(strong.nnz());
    }
    AdaptiveFsaiOptions options = in_double();
    options.max_steps = 8;
    const HostMatrix<double> expected = factor<TypeParam>(strong, options);
    options.prefilter = tau;
    Report report;
    const HostMatrix<double> g = factor<TypeParam>(a, options, &report);
    expect_sound(a, g, 1e-10);
    ASSERT_EQ(g.col_idxs, expected.col_idxs);
    for (std::int64_t i = 0; i < a.num_rows; ++i) {
      const std::size_t last = g.row_ptrs[i + 1] - 1;
      for (std::size_t k = g.row_ptrs[i]; k < last; ++k)
        ASSERT_NEAR(g.values[k] / g.values[last], expected.values[k] / expected.values[last], 1e-10);
    }
  }
}

TYPED_TEST(AdaptiveFsaiPatterns, ThePostfilterDropsWhatIsSmallInItsRow) {
  const HostMatrix<double> a = random_spd(130, 0.1, 12, 6);
  AdaptiveFsaiOptions options = in_double();
  const HostMatrix<double> full = factor<TypeParam>(a, options);
  for (const double delta : {1e-3, 0.05, 0.2, 1.0}) {
    options.postfilter = delta;
    Report report;
    const HostMatrix<double> g = factor<TypeParam>(a, options, &report);
    expect_sound(a, g, 1e-10);
    ASSERT_EQ(report.notes.size(), 1u);
    EXPECT_EQ(report.notes[0], "G had " + std::to_string(full.nnz()) + " entries before the postfilter");
    EXPECT_EQ(report.nnz, static_cast<std::int64_t>(g.nnz()));
    EXPECT_LT(g.nnz(), full.nnz());
    for (int i = 0; i < 130; ++i) {
      double sum = 0;
      const auto square = [&](std::size_t k) {
        return full.values[k] * full.values[k] * a(full.col_idxs[k], full.col_idxs[k]);
      };
      for (std::size_t k = full.row_ptrs[i]; k < full.row_ptrs[i + 1]; ++k) sum += square(k);
      const std::size_t last = g.row_ptrs[i + 1] - 1, full_last = full.row_ptrs[i + 1] - 1;
      for (std::size_t k = full.row_ptrs[i]; k < full_last; ++k) {
        const double ratio = std::sqrt(square(k) / sum) / delta;
        if (std::abs(ratio - 1) < 1e-9) continue;
        if (ratio < 1)
          ASSERT_EQ(g(i, full.col_idxs[k]), 0) << i;
        else
          ASSERT_NEAR(g(i, full.col_idxs[k]) * full.values[full_last] / (full.values[k] * g.values[last]), 1,
                      1e-12)
              << i;
      }
    }
  }
}

TYPED_TEST(AdaptiveFsaiPatterns, ASecondNumericKeepsTheFilteredPattern) {
  const TypeParam space;
  const HostMatrix<double> a = random_spd(150, 0.1, 41), changed = with_larger_diagonal(a, 1);
  AdaptiveFsaiOptions options = in_double();
  options.postfilter = 0.1;
  options.prefilter = 0.01;
  AdaptiveFsai<double, TypeParam> fsai(options);
  fsai.symbolic(space, to_device<TypeParam>(a));
  fsai.numeric(space, to_device<TypeParam>(a));
  const HostMatrix<double> first = to_host(fsai.factor());
  fsai.numeric(space, to_device<TypeParam>(changed));
  EXPECT_TRUE(fsai.report().pattern_kept);
  const HostMatrix<double> second = to_host(fsai.factor());
  EXPECT_EQ(first.col_idxs, second.col_idxs);
  expect_sound(changed, second, 1e-10);
}

TYPED_TEST(AdaptiveFsaiPatterns, AStructAndNamesMeanTheSame) {
  const TypeParam space;
  const HostMatrix<double> a = random_spd(150, 0.2, 7);
  const auto device = to_device<TypeParam>(a);
  const auto by_name = [&](const OptionMap& options) {
    const auto m = create_preconditioner<double, TypeParam>("adaptive_fsai", options);
    m->symbolic(space, device);
    m->numeric(space, device);
    return to_host(dynamic_cast<AdaptiveFsai<double, TypeParam>&>(*m).factor());
  };
  EXPECT_TRUE(
      factor<TypeParam>(a, AdaptiveFsaiOptions::published()) ==
      by_name({{"max_steps", std::int64_t(30)}, {"step_size", std::int64_t(1)}, {"step_tolerance", 0.0}}));
  EXPECT_TRUE(factor<TypeParam>(a, {.tolerance = 0.1}) == by_name({{"tolerance", 0.1}}));
  EXPECT_TRUE(factor<TypeParam>(a, {.tolerance = 0.1, .step_tolerance = 0.05}) ==
              by_name({{"tolerance", 0.1}, {"step_tolerance", 0.05}}));
  EXPECT_FALSE(factor<TypeParam>(a, {.tolerance = 0.1}) ==
               factor<TypeParam>(a, {.tolerance = 0.1, .step_tolerance = 0.05}));
  EXPECT_TRUE(factor<TypeParam>(a, {}) == by_name({}));
}

TYPED_TEST(AdaptiveFsaiPatterns, AStructOutOfRangeIsRefused) {
  const auto message = [](const AdaptiveFsaiOptions& options) {
    return message_of<OptionError>([&] { AdaptiveFsai<double, TypeParam>{options}; });
  };
  EXPECT_EQ(message({.max_steps = -1}),
            "adaptive_fsai: option 'max_steps' = -1 is out of its range 0 .. 1000000");
  EXPECT_THAT(message({.step_size = 0}), HasSubstr("'step_size' = 0"));
  EXPECT_THAT(message({.tolerance = -0.5}), HasSubstr("'tolerance' = -0.5"));
  EXPECT_THAT(message({.step_tolerance = std::nan("")}), HasSubstr("'step_tolerance'"));
}

// A user who gives a tolerance wants that stop, not the other one.
TEST(AdaptiveFsaiOptionsTest, AToleranceAloneIsTheOnlyStop) {
  const auto step_tolerance = [](const OptionMap& options) {
    AdaptiveFsaiOptions set;
    OptionFields::of(set).set(options, "adaptive_fsai");
    return *resolved(set).step_tolerance;
  };
  EXPECT_EQ(step_tolerance({}), 0.05);
  EXPECT_GT(step_tolerance({{"max_steps", std::int64_t(7)}}), 0);
  EXPECT_EQ(step_tolerance({{"tolerance", 1e-2}}), 0);
  EXPECT_EQ(step_tolerance({{"tolerance", 1e-2}, {"step_tolerance", 0.25}}), 0.25);
}

// Only the stop on a step's improvement: as the reference, and with fewer entries the larger it is.
TYPED_TEST(AdaptiveFsaiPatterns, StepToleranceStopsARowWhoseStepsNoLongerPay) {
  const HostMatrix<double> a = random_spd(130, 0.15, 77);
  const Dense dense = to_dense(a);
  std::size_t before = 0;
  for (const double stop : {0.0, 1e-4, 1e-3, 1e-2, 0.1, 1.0}) {
    for (const int size : {1, 4}) {
      AdaptiveFsaiOptions options = in_double();
      options.tolerance = 0;
      options.step_tolerance = stop;
      options.step_size = size;
      ReferenceAdaptiveFsai parameters;
      parameters.epsilon = 0;
      parameters.step_tolerance = stop;
      parameters.s = size;
      const HostMatrix<double> g = factor<TypeParam>(a, options);
      for (int i = 0; i < 130; i += 3)
        ASSERT_NEAR(psi_of(g, i) / grow_row(dense, i, parameters).psi, 1, 1e-10)
            << "row " << i << ", stop " << stop;
      if (size > 1) continue;
      EXPECT_TRUE(stop == 0 || g.nnz() <= before);
      before = g.nnz();
    }
  }
  EXPECT_LE(before, 2u * 130);  // every row stops after its first step
}

}  // namespace
}  // namespace prekond::testing
