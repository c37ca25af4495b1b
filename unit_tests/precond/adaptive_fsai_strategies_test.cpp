// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/approximate_inverse/adaptive_fsai/numeric.hpp"
#include "precond/approximate_inverse/adaptive_fsai/setup.hpp"
#include "testing/host_matrix.hpp"
#include "testing/memory_peak.hpp"
#include "testing/no_small_views.hpp"
#include "testing/one_thread.hpp"
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
#include <set>
#include <string>
#include <vector>

/// The ways to a gradient, what a numeric phase extends, and the memory that all of it takes.
namespace prekond::testing {
namespace {

using ::testing::HasSubstr;
using Gradient = AdaptiveFsaiOptions::Gradient;

constexpr Gradient all_gradients[] = {Gradient::list, Gradient::marker, Gradient::merge};
constexpr Gradient others[] = {Gradient::marker, Gradient::merge};

std::string word(Gradient gradient) {
  return gradient == Gradient::list ? "list" : gradient == Gradient::marker ? "marker" : "merge";
}

AdaptiveFsaiOptions in_double(Gradient gradient = Gradient::list) {
  AdaptiveFsaiOptions options = AdaptiveFsaiOptions::published();
  options.setup_scalar = Precision::double_precision;
  options.gradient = gradient;
  return options;
}

template <class Space>
HostMatrix<double> factor(const HostMatrix<double>& a, const AdaptiveFsaiOptions& options,
                          Report* report = nullptr, const HostMatrix<double>& start = {},
                          const Space& space = {}) {
  const auto device = to_device<Space>(a);
  AdaptiveFsai<double, Space> fsai(options);
  if (start.num_rows > 0) fsai.set_initial_pattern(space, CsrGraphView<Space>(to_device<Space>(start)));
  fsai.symbolic(space, device);
  fsai.numeric(space, device);
  if (report) *report = fsai.report();
  return to_host(fsai.factor());
}

HostMatrix<double> generated(const std::string& spec) {
  return to_host(generate<double>(Kokkos::DefaultHostExecutionSpace(), spec));
}

/// Every third column before i, for i a multiple of 4.
HostMatrix<double> some_start(int n) {
  Dense pattern(n, std::vector<double>(n, 0.0));
  for (int i = 0; i < n; ++i) {
    pattern[i][i] = 1;
    for (int j = i % 3; i % 4 == 0 && j < i; j += 3) pattern[i][j] = 1;
  }
  return sparse(pattern);
}

/// The same G to rounding: the same psi, and, where no tie decided, the same pattern and values.
void expect_same(const HostMatrix<double>& g, const HostMatrix<double>& expected,
                 const std::set<int>& tied = {}) {
  ASSERT_EQ(g.num_rows, expected.num_rows);
  for (int i = 0; i < g.num_rows; ++i) {
    ASSERT_NEAR(psi_of(g, i) / psi_of(expected, i), 1, 1e-9) << "row " << i;
    if (tied.count(i) > 0) continue;
    const std::size_t begin = g.row_ptrs[i], length = g.row_ptrs[i + 1] - begin, other = expected.row_ptrs[i];
    ASSERT_EQ(length, expected.row_ptrs[i + 1] - other) << "row " << i;
    for (std::size_t k = 0; k < length; ++k) {
      ASSERT_EQ(g.col_idxs[begin + k], expected.col_idxs[other + k]) << "row " << i;
      ASSERT_NEAR(g.values[begin + k], expected.values[other + k],
                  1e-9 * (std::abs(g.values[begin + length - 1]) + std::abs(g.values[begin + k])))
          << "row " << i;
    }
  }
}

/// Rows of which the textbook algorithm says that a tie decided.
std::set<int> ties(const HostMatrix<double>& a, const AdaptiveFsaiOptions& options,
                   const HostMatrix<double>& start = {}) {
  ReferenceAdaptiveFsai parameters;
  parameters.k_max = options.max_steps;
  parameters.s = options.step_size;
  const Dense dense = to_dense(a);
  std::set<int> rows;
  for (int i = 0; i < a.num_rows; ++i) {
    std::vector<int> begins;
    for (int j = 0; i < start.num_rows && j < i; ++j)
      if (start(i, j) != 0) begins.push_back(j);
    if (grow_row(dense, i, parameters, begins).tie) rows.insert(i);
  }
  return rows;
}

template <class Space>
class AdaptiveFsaiStrategies : public ::testing::Test {};
TYPED_TEST_SUITE(AdaptiveFsaiStrategies, TestSpaces, SpaceNames);

TYPED_TEST(AdaptiveFsaiStrategies, GiveTheFactorOfTheDefault) {
  for (const Case& test : small_matrices()) {
    SCOPED_TRACE(test.name);
    const std::set<int> tied = ties(test.matrix, in_double());
    const HostMatrix<double> expected = factor<TypeParam>(test.matrix, in_double());
    for (const Gradient gradient : others) {
      const HostMatrix<double> g = factor<TypeParam>(test.matrix, in_double(gradient));
      expect_sound(test.matrix, g, 1e-10);
      expect_same(g, expected, tied);
    }
  }
}

TYPED_TEST(AdaptiveFsaiStrategies, TakeEveryParameter) {
  const HostMatrix<double> a = random_spd(131, 0.12, 17);
  std::vector<AdaptiveFsaiOptions> sets(7, in_double());
  sets[0].max_steps = 0;
  sets[1].step_size = 3;
  sets[2].max_steps = 2, sets[2].step_size = 4;
  sets[3].step_tolerance = 0.02;
  sets[4].tolerance = 0, sets[4].max_steps = 60;
  sets[5].initial_power = 1, sets[5].max_steps = 4;
  sets[6].prefilter = 0.05, sets[6].postfilter = 0.05;
  for (std::size_t k = 0; k < sets.size(); ++k) {
    SCOPED_TRACE("set " + std::to_string(k));
    const HostMatrix<double> expected = factor<TypeParam>(a, sets[k]);
    for (const Gradient gradient : others) {
      sets[k].gradient = gradient;
      const HostMatrix<double> g = factor<TypeParam>(a, sets[k]);
      expect_sound(a, g, 1e-10);
      expect_same(g, expected);
    }
  }
}

TYPED_TEST(AdaptiveFsaiStrategies, BeginWithThePatternGiven) {
  for (const int n : {1, 2, 33, 67, 131}) {
    const HostMatrix<double> a = random_spd(n, 0.12, 5u + n), start = some_start(n);
    for (const int size : {1, 3}) {
      AdaptiveFsaiOptions options = in_double();
      options.max_steps = 5;
      options.step_size = size;
      const std::set<int> tied = ties(a, options, start);
      const HostMatrix<double> expected = factor<TypeParam>(a, options, nullptr, start);
      for (const Gradient gradient : others) {
        options.gradient = gradient;
        expect_same(factor<TypeParam>(a, options, nullptr, start), expected, tied);
      }
    }
  }
}

TYPED_TEST(AdaptiveFsaiStrategies, InSinglePrecision) {
  for (const Case& test : small_matrices()) {
    const Dense dense = to_dense(test.matrix);
    for (const Gradient gradient : others) {
      AdaptiveFsaiOptions options = AdaptiveFsaiOptions::published();
      options.gradient = gradient;
      const HostMatrix<double> g = factor<TypeParam>(test.matrix, options);
      expect_sound(test.matrix, g, 1e-10);
      for (int i = 0; i < test.matrix.num_rows; ++i)
        ASSERT_NEAR(psi_of(g, i) / grow_row(dense, i, {}).psi, 1, 2e-2) << test.name << " row " << i;
    }
  }
}

TYPED_TEST(AdaptiveFsaiStrategies, FloatMatrixInEitherPrecision) {
  const TypeParam space;
  const HostMatrix<float> a = convert<float>(random_spd(97, 0.1, 5));
  for (const Gradient gradient : others) {
    for (const Precision precision : {Precision::single_precision, Precision::double_precision}) {
      AdaptiveFsaiOptions options = in_double(gradient);
      options.setup_scalar = precision;
      AdaptiveFsai<float, TypeParam> fsai(options);
      fsai.numeric(space, to_device<TypeParam>(a));
      expect_sound(convert<double>(a), convert<double>(to_host(fsai.factor())), 1e-4);
    }
  }
}

TYPED_TEST(AdaptiveFsaiStrategies, SameBitsTwiceInChunksAndOnAnyNumberOfThreads) {
  const HostMatrix<double> a = generated("elasticity3d:6");
  for (const Gradient gradient : all_gradients) {
    for (const Precision precision : {Precision::single_precision, Precision::double_precision}) {
      AdaptiveFsaiOptions options = in_double(gradient);
      options.setup_scalar = precision;
      options.max_steps = 12;
      options.step_size = 2;
      const HostMatrix<double> once = factor<TypeParam>(a, options);
      EXPECT_TRUE(once == factor<TypeParam>(a, options));
      EXPECT_TRUE(once == factor<TypeParam>(a, options, nullptr, {}, of_one_thread<TypeParam>()))
          << word(gradient);
      options.workspace_budget = 1 << 16;
      EXPECT_TRUE(once == factor<TypeParam>(a, options)) << word(gradient);
    }
  }
}

TYPED_TEST(AdaptiveFsaiStrategies, RowsThatOutgrowTheirWorkspaceLoseNothing) {
  // Rows of some 576 entries next to rows of five; then rows of more members than the first workspaces hold.
  const HostMatrix<double> circuit = generated("circuit:48"), random = random_spd(290, 0.05, 21);
  AdaptiveFsaiOptions few = in_double(), many = in_double();
  few.max_steps = 12;
  many.max_steps = 280;
  many.tolerance = 0;
  const HostMatrix<double> g_circuit = factor<TypeParam>(circuit, few),
                           g_random = factor<TypeParam>(random, many);
  for (const Gradient gradient : others) {
    few.gradient = many.gradient = gradient;
    const HostMatrix<double> g = factor<TypeParam>(circuit, few);
    for (int i = 0; i < circuit.num_rows; ++i)
      ASSERT_NEAR(psi_of(g, i) / psi_of(g_circuit, i), 1, 1e-10) << "row " << i;
    const HostMatrix<double> h = factor<TypeParam>(random, many);
    for (int i = 0; i < 290; ++i) ASSERT_NEAR(psi_of(h, i) / psi_of(g_random, i), 1, 1e-10) << "row " << i;
  }
}

/// Rows of three entries, and a last one of n.
HostMatrix<double> with_a_dense_row(int n) {
  const HostMatrix<double> path = generated("tridiagonal:" + std::to_string(n));
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
  return a;
}

TYPED_TEST(AdaptiveFsaiStrategies, ADenseRowIsLikeAnyOther) {
  const HostMatrix<double> a = with_a_dense_row(9001);
  const HostMatrix<double> expected = factor<TypeParam>(a, in_double());
  for (const Gradient gradient : others) {
    const HostMatrix<double> g = factor<TypeParam>(a, in_double(gradient));
    for (int i = 0; i < 9001; ++i) ASSERT_NEAR(psi_of(g, i) / psi_of(expected, i), 1, 1e-9) << "row " << i;
    EXPECT_EQ(g.row_ptrs[9001] - g.row_ptrs[9000], 31u);
  }
}

TYPED_TEST(AdaptiveFsaiStrategies, BreakdownsAreThoseOfTheDefault) {
  HostMatrix<double> path = generated("tridiagonal:40");
  path.values.front() = path.values.back() = 1;  // singular
  const std::vector<HostMatrix<double>> matrices = {path, sparse<double>({{1, 2, 0}, {2, 1, 0}, {0, 0, 1}}),
                                                    sparse<double>({{1, 1, .5}, {1, 1, .4}, {.5, .4, 1}})};
  std::int64_t seen = 0;
  for (const auto& a : matrices) {
    AdaptiveFsaiOptions options = in_double();
    options.tolerance = 0;
    options.max_steps = 50;
    for (const int power : {0, 1}) {
      options.initial_power = power;
      options.gradient = Gradient::list;
      Report expected, report;
      factor<TypeParam>(a, options, &expected);
      seen += expected.breakdowns.count;
      for (const Gradient gradient : others) {
        options.gradient = gradient;
        const HostMatrix<double> g = factor<TypeParam>(a, options, &report);
        for (const double value : g.values) ASSERT_TRUE(std::isfinite(value));
        EXPECT_EQ(report.breakdowns.count, expected.breakdowns.count);
        EXPECT_EQ(report.breakdowns.first_row, expected.breakdowns.first_row);
        EXPECT_NEAR(report.breakdowns.first_pivot, expected.breakdowns.first_pivot, 1e-6);
        EXPECT_EQ(report.breakdowns.action, expected.breakdowns.action);
      }
    }
  }
  EXPECT_GT(seen, 3);
}

TYPED_TEST(AdaptiveFsaiStrategies, SolveOnAKeptPatternAndSkipColumnsOfOtherRanks) {
  const TypeParam space;
  const HostMatrix<double> a = random_spd(150, 0.1, 41), changed = with_larger_diagonal(a, 1);
  HostMatrix<double> expected;
  for (const Gradient gradient : all_gradients) {
    AdaptiveFsai<double, TypeParam> fsai(in_double(gradient));
    fsai.symbolic(space, to_device<TypeParam>(a));
    fsai.numeric(space, to_device<TypeParam>(a));
    fsai.numeric(space, to_device<TypeParam>(changed));
    EXPECT_TRUE(fsai.report().pattern_kept);
    const HostMatrix<double> g = to_host(fsai.factor());
    if (gradient == Gradient::list) expected = g;
    expect_same(g, expected);
    EXPECT_TRUE(factor<TypeParam>(a, in_double(gradient)) ==
                factor<TypeParam>(with_columns_of_other_ranks(a), in_double(gradient)));
  }
}

TYPED_TEST(AdaptiveFsaiStrategies, TakeARankWithoutRows) {
  const TypeParam space;
  HostMatrix<double> a;
  a.num_cols = 3;
  for (const Gradient gradient : all_gradients) {
    AdaptiveFsaiOptions options = in_double(gradient);
    options.reuse = Reuse::extend;
    AdaptiveFsai<double, TypeParam> fsai(options);
    for (int k = 0; k < 2; ++k) fsai.numeric(space, to_device<TypeParam>(a));
    EXPECT_EQ(fsai.report().nnz, 0);
  }
}

TYPED_TEST(AdaptiveFsaiStrategies, MarkersStayWithinTheSlab) {
  const NoSmallViews no_small_views;
  const HostMatrix<double> a = generated("tridiagonal:20001");
  AdaptiveFsaiOptions options = in_double(Gradient::marker);
  options.max_steps = 2;
  const HostMatrix<double> roomy = factor<TypeParam>(a, options);
  options.workspace_budget = 80004;  // one row in flight
  Report report;
  EXPECT_TRUE(roomy == factor<TypeParam>(a, options, &report));
  // Two slabs, the markers, the diagonal and its roots; G once more, since the rows come in chunks.
  EXPECT_LT(report.setup_bytes, 3 * 80004 + 20001 * (8 + 8 + 3 * 12) + 100000);
  options.workspace_budget = 80003;
  EXPECT_EQ(
      message_of<InputError>([&] { factor<TypeParam>(a, options); }),
      "adaptive_fsai: gradient = marker takes 80004 bytes for each row in flight, and workspace_budget is "
      "80003; raise "
      "workspace_budget to that at least, or set gradient to list or merge");
  options.gradient = Gradient::merge;
  expect_same(factor<TypeParam>(a, options), roomy);
}

TYPED_TEST(AdaptiveFsaiStrategies, AreChosenByName) {
  const TypeParam space;
  const auto device = to_device<TypeParam>(random_spd(90, 0.1, 81));
  for (const Gradient gradient : all_gradients) {
    const auto m = create_preconditioner<double, TypeParam>("adaptive_fsai", {{"gradient", word(gradient)}});
    m->numeric(space, device);
    EXPECT_EQ((dynamic_cast<AdaptiveFsai<double, TypeParam>&>(*m).options().gradient), gradient);
  }
  EXPECT_THAT(
      message_of<OptionError>([] {
        create_preconditioner<double, TypeParam>("adaptive_fsai", {{"gradient", std::string("mege")}});
      }),
      HasSubstr("merge"));
}

TYPED_TEST(AdaptiveFsaiStrategies, ThePortableLaneGroupGivesTheSameFactor) {
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
  const auto expected =
      to_host(inner::Setup<double, double, TypeParam>(space, matrix, a.nnz(), parameters, 1 << 24).grow());
  expect_same(to_host(inner::Setup<double, double, TypeParam, true, Gradient::marker>(space, matrix, a.nnz(),
                                                                                      parameters, 1 << 24)
                          .grow()),
              expected);
  expect_same(to_host(inner::Setup<double, double, TypeParam, true, Gradient::merge>(space, matrix, a.nnz(),
                                                                                     parameters, 1 << 24)
                          .grow()),
              expected);
}

// Ten steps, then ten more from the pattern they found, are twenty.
TYPED_TEST(AdaptiveFsaiStrategies, ExtendingTakesUpWhereTheGrowthEnded) {
  const TypeParam space;
  const HostMatrix<double> a = random_spd(150, 0.15, 91);
  const auto device = to_device<TypeParam>(a);
  for (const Gradient gradient : all_gradients) {
    AdaptiveFsaiOptions options = in_double(gradient);
    options.tolerance = 0;
    options.max_steps = 20;
    const HostMatrix<double> expected = factor<TypeParam>(a, options);
    options.max_steps = 10;
    options.reuse = Reuse::extend;
    AdaptiveFsai<double, TypeParam> extended(options), given(options);
    extended.numeric(space, device);
    const HostMatrix<double> first = to_host(extended.factor());
    EXPECT_LT(first.nnz(), expected.nnz());
    EXPECT_TRUE(extended.report().notes.empty());
    given.set_initial_pattern(space, extended.factor());
    extended.numeric(space, device);
    EXPECT_FALSE(extended.report().pattern_kept);
    EXPECT_EQ(extended.report().notes,
              std::vector<std::string>{"rows began with the pattern of the G before"});
    expect_same(to_host(extended.factor()), expected);
    given.numeric(space, device);
    EXPECT_TRUE(to_host(given.factor()) == to_host(extended.factor()))
        << "another's factor as the initial pattern";
    extended.numeric(space, device);
    EXPECT_GT(extended.report().nnz, std::int64_t(expected.nnz())) << "thirty";
    extended.symbolic(space, device);
    extended.numeric(space, device);
    EXPECT_TRUE(to_host(extended.factor()) == first) << "symbolic forgets";
  }
}

// psi_0 of the tolerance is that of what a phase began with, the row size counts what there is, and new
// values are new values.
TYPED_TEST(AdaptiveFsaiStrategies, ExtendingIsUnderTheSameStops) {
  const TypeParam space;
  const HostMatrix<double> a = random_spd(131, 0.15, 92), changed = with_larger_diagonal(a, 3);
  const auto run = [&](const AdaptiveFsaiOptions& options, const HostMatrix<double>& second,
                       HostMatrix<double>& first) {
    AdaptiveFsai<double, TypeParam> fsai(options);
    fsai.numeric(space, to_device<TypeParam>(a));
    first = to_host(fsai.factor());
    fsai.numeric(space, to_device<TypeParam>(second));
    return to_host(fsai.factor());
  };
  std::vector<AdaptiveFsaiOptions> sets(4, in_double());
  sets[0].tolerance = 0.7, sets[0].max_steps = 6;
  sets[1].step_tolerance = 0.05;
  sets[2].max_steps = 3, sets[2].step_size = 2;
  sets[3].max_steps = 8, sets[3].postfilter = 0.1;
  for (std::size_t k = 0; k < sets.size(); ++k) {
    SCOPED_TRACE("set " + std::to_string(k));
    AdaptiveFsaiOptions options = sets[k];
    options.reuse = Reuse::extend;
    HostMatrix<double> first;
    const HostMatrix<double> g = run(options, changed, first);
    expect_sound(changed, g, 1e-10);
    options.reuse = Reuse::none;
    EXPECT_TRUE(g == factor<TypeParam>(changed, options, nullptr, first)) << "as from that pattern";
    for (int i = 0; i < 131; ++i) {
      const std::size_t before = first.row_ptrs[i + 1] - first.row_ptrs[i],
                        after = g.row_ptrs[i + 1] - g.row_ptrs[i];
      ASSERT_LE(after, before + std::size_t(options.max_steps * options.step_size));
    }
    EXPECT_TRUE(g.nnz() > first.nnz() || options.postfilter > 0);
  }
}

TYPED_TEST(AdaptiveFsaiStrategies, OnlyAPatternThatGrowsIsExtended) {
  const auto refused = [](const std::string& name) {
    return message_of<OptionError>([&] {
      create_preconditioner<double, TypeParam>(name, {{"reuse", std::string("extend")}});
    });
  };
  EXPECT_THAT(refused("fsai"), HasSubstr("pattern"));
  EXPECT_NO_THROW(
      (create_preconditioner<double, TypeParam>("adaptive_fsai", {{"reuse", std::string("extend")}})));
  FsaiOptions options;
  options.reuse = Reuse::extend;
  EXPECT_EQ(message_of<InputError>([&] { const Fsai<double, TypeParam> fsai(options); }),
            "fsai: reuse = extend is for patterns that grow, those of adaptive_fsai; choose pattern or none");
}

/// The peak that was measured, and the one reported, of a first and of a second numeric phase.
template <class Space, class Preconditioner>
void expect_setup_bytes(Preconditioner& m, const HostMatrix<double>& a) {
  const Space space;
  const auto device = to_device<Space>(a);
  std::int64_t kept = 0;  // of what symbolic found in the pattern
  for (int phase = 0; phase < 2; ++phase) {
    const MemoryPeak memory;  // of the first phase with symbolic, whose pattern numeric has
    if (phase == 0) m.symbolic(space, device);
    m.numeric(space, device);
    space.fence();
    const auto& g = m.factor();
    const auto& gt = m.factor_transposed();
    const std::vector<const void*> results = {g.row_ptrs.data(),  g.col_idxs.data(),  g.values.data(),
                                              gt.row_ptrs.data(), gt.col_idxs.data(), gt.values.data()};
    const std::int64_t measured = kept + memory.without(results);
    kept = memory.left(results);
    EXPECT_NEAR(m.report().setup_bytes, measured, 0.01 * double(measured) + 1000) << "phase " << phase;
    EXPECT_GT(m.report().setup_bytes, 8 * a.num_rows) << "the diagonal";
  }
}

TYPED_TEST(AdaptiveFsaiStrategies, TheReportHasThePeakOfTheWorkingMemory) {
  const HostMatrix<double> a = generated("elasticity3d:7");
  for (const Gradient gradient : all_gradients) {
    std::vector<AdaptiveFsaiOptions> sets(5, in_double(gradient));
    sets[0].setup_scalar = Precision::single_precision;
    sets[1].workspace_budget = 1 << 16;
    sets[2].prefilter = 0.01, sets[2].postfilter = 0.05;
    sets[3].reuse = Reuse::extend;
    sets[4].initial_power = 1, sets[4].reuse = Reuse::none;
    for (std::size_t k = 0; k < sets.size(); ++k) {
      SCOPED_TRACE(word(gradient) + ", set " + std::to_string(k));
      sets[k].max_steps = 5;
      AdaptiveFsai<double, TypeParam> fsai(sets[k]);
      expect_setup_bytes<TypeParam>(fsai, a);
    }
  }
  for (const double postfilter : {0.0, 0.1}) {
    for (const Precision precision : {Precision::single_precision, Precision::double_precision}) {
      SCOPED_TRACE("static, postfilter " + std::to_string(postfilter));
      FsaiOptions options;
      options.postfilter = postfilter;
      options.setup_scalar = precision;
      Fsai<double, TypeParam> fsai(options);
      expect_setup_bytes<TypeParam>(fsai, a);
    }
  }
}

TYPED_TEST(AdaptiveFsaiStrategies, MergingNeedsNothingOfTheMatrixsSize) {
  const HostMatrix<double> a = generated("poisson2d:300");
  const auto bytes = [&](Gradient gradient) {
    AdaptiveFsaiOptions options = in_double(gradient);
    options.max_steps = 3;
    options.workspace_budget =
        1 << 23;  // all rows in one chunk: the growth has the peak, not the pieces of G that are joined
    Report report;
    factor<TypeParam>(a, options, &report);
    return report.setup_bytes;
  };
  // The markers of one row in flight at least, but for what the workspaces differ by.
  EXPECT_LT(bytes(Gradient::merge) + 4 * 90000 / 2, bytes(Gradient::marker));
}

}  // namespace
}  // namespace prekond::testing
