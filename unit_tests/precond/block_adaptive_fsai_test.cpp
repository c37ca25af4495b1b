// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/approximate_inverse/adaptive_fsai/block_setup.hpp"
#include "precond/approximate_inverse/adaptive_fsai/numeric.hpp"
#include "testing/host_graph.hpp"
#include "testing/host_matrix.hpp"
#include "testing/reference_block_fsai.hpp"
#include "testing/reference_supernodes.hpp"
#include "testing/spaces.hpp"
#include "testing/spd_matrices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/precond/adaptive_fsai.hpp>
#include <prekond/precond/fsai.hpp>
#include <prekond/precond/registry.hpp>

#include <string>
#include <vector>

/// The adaptive FSAI in blocks of rows.
namespace prekond::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

AdaptiveFsaiOptions in_blocks(int block_size, Precision precision = Precision::double_precision) {
  AdaptiveFsaiOptions options = AdaptiveFsaiOptions::published();
  options.block_size = block_size;
  options.setup_scalar = precision;
  return options;
}

HostMatrix<double> generated(const std::string& spec) {
  return to_host(generate<double>(Kokkos::DefaultHostExecutionSpace(), spec));
}

template <class Space, class Scalar>
HostMatrix<Scalar> factor(const HostMatrix<Scalar>& a, const AdaptiveFsaiOptions& options,
                          Report* report = nullptr, const HostMatrix<double>* start = nullptr) {
  const Space space;
  const auto device = to_device<Space>(a);
  AdaptiveFsai<Scalar, Space> fsai(options);
  if (start) fsai.set_initial_pattern(space, CsrGraphView<Space>(to_device<Space>(*start)));
  fsai.symbolic(space, device);
  fsai.numeric(space, device);
  if (report) *report = fsai.report();
  return to_host(fsai.factor());
}

/// The columns left of `first` that rows have in common.
std::vector<int> columns_before(const HostMatrix<double>& pattern, int first, int size) {
  std::vector<int> cols;
  for (int i = first; i < first + size; ++i)
    for (std::size_t k = pattern.row_ptrs[i]; k < pattern.row_ptrs[i + 1]; ++k)
      if (pattern.col_idxs[k] < first) cols.push_back(pattern.col_idxs[k]);
  std::sort(cols.begin(), cols.end());
  cols.erase(std::unique(cols.begin(), cols.end()), cols.end());
  return cols;
}

/// Every row of G as the reference has it; where a tie decided, psi alone cannot be compared either.
void expect_reference(const Case& test, const HostMatrix<double>& g, const std::vector<int>& begins,
                      const ReferenceAdaptiveFsai& parameters, const HostMatrix<double>* start = nullptr,
                      int longest = 1 << 30) {
  const Dense dense = to_dense(test.matrix);
  int compared = 0;
  for (std::size_t k = 0; k + 1 < begins.size(); ++k) {
    const int first = begins[k], size = begins[k + 1] - first;
    const ReferenceBlock block = grow_block(dense, first, size, parameters,
                                            start ? columns_before(*start, first, size) : std::vector<int>{},
                                            std::max(0, longest - size));
    for (int r = 0; r < size && !block.tie; ++r) {
      const ReferenceRow& reference = block.rows[r];
      const int i = first + r;
      const std::size_t last = g.row_ptrs[i + 1] - 1;
      ASSERT_EQ(last - g.row_ptrs[i], reference.pattern.size()) << test.name << " row " << i;
      ASSERT_NEAR(psi_of(g, i) / reference.psi, 1, 1e-10) << test.name << " row " << i;
      for (std::size_t p = 0; p < reference.pattern.size(); ++p) {
        const double expected = reference.g[p] / std::sqrt(reference.psi);
        ASSERT_NEAR(g(i, reference.pattern[p]), expected,
                    1e-9 * std::abs(g.values[last]) * (1 + std::abs(reference.g[p])))
            << test.name << " row " << i << " column " << reference.pattern[p];
      }
      ++compared;
    }
  }
  const bool no_ties = test.name.rfind("random", 0) == 0;
  EXPECT_TRUE(compared == test.matrix.num_rows || !no_ties) << test.name;
}

/// Rows of a block have the same columns on its left, and all of its own up to the diagonal.
void expect_united(const HostMatrix<double>& g, const std::vector<int>& begins) {
  for (std::size_t k = 0; k + 1 < begins.size(); ++k) {
    std::vector<int> cols = columns_before(g, begins[k], begins[k + 1] - begins[k]);
    for (int i = begins[k]; i < begins[k + 1]; ++i) {
      cols.push_back(i);
      const auto begin = g.col_idxs.begin();
      ASSERT_EQ(std::vector<int>(begin + g.row_ptrs[i], begin + g.row_ptrs[i + 1]), cols) << "row " << i;
    }
  }
}

template <class Space>
class BlockAdaptiveFsaiTest : public ::testing::Test {};
TYPED_TEST_SUITE(BlockAdaptiveFsaiTest, TestSpaces, SpaceNames);

TYPED_TEST(BlockAdaptiveFsaiTest, EqualsTheDenseAlgorithm) {
  for (const Case& test : small_matrices()) {
    const int n = static_cast<int>(test.matrix.num_rows);
    for (const int size : {2, 3, 6, 32}) {
      SCOPED_TRACE(test.name + ", blocks of " + std::to_string(size));
      const auto begins = reference_uniform_supernodes(n, size);
      const HostMatrix<double> g = factor<TypeParam>(test.matrix, in_blocks(size));
      expect_sound(test.matrix, g, 1e-10);
      expect_united(g, begins);
      expect_minimisers(test.matrix, g, 1e-9);
      expect_reference(test, g, begins, {});
      if (this->HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(BlockAdaptiveFsaiTest, EveryParameterIsTheReferences) {
  const std::vector<Case> cases = {{"random:67", random_spd(67, 0.2, 11)},
                                   {"random:130", random_spd(130, 0.1, 12)}};
  std::vector<ReferenceAdaptiveFsai> sets(9);
  sets[0].k_max = 0;
  sets[1].k_max = 3;
  sets[2].s = 2;
  sets[3].s = 5, sets[3].k_max = 3;
  sets[4].epsilon = 0.5;
  sets[5].epsilon = 0, sets[5].k_max = 60;
  sets[6].step_tolerance = 0.01;
  sets[7].floor = 0.05;
  sets[8].floor = 0.05, sets[8].s = 3;
  for (const auto& set : sets) {
    for (const int size : {2, 3, 7}) {
      AdaptiveFsaiOptions options = in_blocks(size);
      options.max_steps = set.k_max;
      options.step_size = set.s;
      options.tolerance = set.epsilon;
      options.step_tolerance = set.step_tolerance;
      options.candidate_floor = set.floor == 1e-12 ? -1 : set.floor;
      for (const Case& test : cases) {
        const HostMatrix<double> g = factor<TypeParam>(test.matrix, options);
        expect_sound(test.matrix, g, 1e-10);
        expect_reference(test, g, reference_uniform_supernodes(int(test.matrix.num_rows), size), set);
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

TYPED_TEST(BlockAdaptiveFsaiTest, BlocksBeginWithTheUnionOfTheirRowsPatterns) {
  const Case test{"random:131", random_spd(131, 0.1, 13)};
  const HostMatrix<double> pattern = random_entries<double>(131, 131, 0.04, 14);
  for (const int size : {2, 3, 6}) {
    const auto begins = reference_uniform_supernodes(131, size);
    for (const int steps : {0, 1, 7}) {
      AdaptiveFsaiOptions options = in_blocks(size);
      options.max_steps = steps;
      options.step_size = 2;
      ReferenceAdaptiveFsai parameters;
      parameters.k_max = steps;
      parameters.s = 2;
      const HostMatrix<double> g = factor<TypeParam>(test.matrix, options, nullptr, &pattern);
      expect_sound(test.matrix, g, 1e-10);
      expect_reference(test, g, begins, parameters, &pattern);
      options.slab_bytes = 1 << 16;
      EXPECT_TRUE(g == factor<TypeParam>(test.matrix, options, nullptr, &pattern));
    }
  }
}

TYPED_TEST(BlockAdaptiveFsaiTest, WithoutStepsItIsTheStaticOneOnAPower) {
  const TypeParam space;
  for (const Case& test : small_matrices()) {
    for (const int size : {3, 6}) {
      AdaptiveFsaiOptions options = in_blocks(size);
      options.initial_power = 2;
      options.max_steps = 0;
      FsaiOptions static_options;
      static_options.power = 2;
      static_options.block_size = size;
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

TYPED_TEST(BlockAdaptiveFsaiTest, SinglePrecisionIsAsGoodAsItsBits) {
  for (const Case& test : small_matrices()) {
    for (const int size : {2, 3, 32}) {
      SCOPED_TRACE(test.name + ", blocks of " + std::to_string(size));
      const HostMatrix<double> g =
          factor<TypeParam>(test.matrix, in_blocks(size, Precision::single_precision));
      expect_sound(test.matrix, g, 1e-10);  // the scaling is in double
      expect_united(g, reference_uniform_supernodes(int(test.matrix.num_rows), size));
      expect_psi(test.matrix, g, 1e-3);
      if (this->HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(BlockAdaptiveFsaiTest, SupernodesAreTheNodesOfElasticity) {
  const HostMatrix<double> a = generated("elasticity3d:5");
  Report report;
  const HostMatrix<double> g = factor<TypeParam>(a, in_blocks(0), &report);
  EXPECT_THAT(report.notes, ElementsAre("supernodes: 100, mean size 3"));
  EXPECT_TRUE(g == factor<TypeParam>(a, in_blocks(3)));
  // Blocks of different sizes.
  AdaptiveFsaiOptions options = in_blocks(0);
  options.block_similarity = 0.25;
  options.block_limit = 7;
  const auto begins = reference_supernodes(pattern_of(a), 0.25, 7);
  ASSERT_EQ(begins.size(), 61u);
  const HostMatrix<double> h = factor<TypeParam>(a, options, &report);
  expect_united(h, begins);
  expect_sound(a, h, 1e-10);
  options.slab_bytes = 1 << 16;
  EXPECT_TRUE(h == factor<TypeParam>(a, options));
}

TYPED_TEST(BlockAdaptiveFsaiTest, WithoutSupernodesRowsAreAlone) {
  const HostMatrix<double> a = generated("poisson3d:6");
  Report report;
  const HostMatrix<double> g = factor<TypeParam>(a, in_blocks(0), &report);
  EXPECT_THAT(report.notes, ElementsAre("supernodes: none were found, rows were alone"));
  EXPECT_TRUE(g == factor<TypeParam>(a, in_blocks(1)));
}

TYPED_TEST(BlockAdaptiveFsaiTest, BlocksOfOneRowGrowAsRowsDo) {
  const HostMatrix<double> a = random_spd(131, 0.1, 12);
  const TypeParam space;
  for (const int n : {1, 2, 3, 4, 7}) {
    // The last block has one row, and what is on its left is the same.
    HostMatrix<double> leading;
    leading.num_rows = leading.num_cols = 30 + 6 * n + 1;
    for (int i = 0; i < leading.num_rows; ++i) {
      for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
        if (a.col_idxs[k] >= leading.num_rows) continue;
        leading.col_idxs.push_back(a.col_idxs[k]);
        leading.values.push_back(a.values[k]);
      }
      leading.row_ptrs.push_back(leading.nnz());
    }
    const HostMatrix<double> g = factor<TypeParam>(leading, in_blocks(6)),
                             alone = factor<TypeParam>(leading, in_blocks(1));
    const int i = static_cast<int>(leading.num_rows) - 1;
    ASSERT_EQ(pattern_of(g)[i], pattern_of(alone)[i]);
    for (const int j : pattern_of(g)[i]) ASSERT_NEAR(g(i, j), alone(i, j), 1e-11);
  }
}

TYPED_TEST(BlockAdaptiveFsaiTest, SameBitsTwiceAndInChunksOfAnySize) {
  const HostMatrix<double> a = generated("elasticity3d:7");
  for (const Precision precision : {Precision::single_precision, Precision::double_precision}) {
    for (const int size : {3, 5}) {
      AdaptiveFsaiOptions options = in_blocks(size, precision);
      const HostMatrix<double> once = factor<TypeParam>(a, options);
      EXPECT_TRUE(once == factor<TypeParam>(a, options));
      options.slab_bytes = 1 << 16;
      EXPECT_TRUE(once == factor<TypeParam>(a, options));
    }
  }
}

TYPED_TEST(BlockAdaptiveFsaiTest, BlocksThatOutgrowTheirWorkspaceLoseNothing) {
  // Rows of some 576 entries beside rows of five.
  const Case test{"circuit:48", generated("circuit:48")};
  AdaptiveFsaiOptions options = in_blocks(6);
  options.max_steps = 12;
  const HostMatrix<double> g = factor<TypeParam>(test.matrix, options);
  const Dense dense = to_dense(test.matrix);
  ReferenceAdaptiveFsai parameters;
  parameters.k_max = 12;
  const int n = static_cast<int>(test.matrix.num_rows);
  int compared = 0;
  for (int first = 0; first < n; first += 6) {
    bool wide = first % 97 < 6;
    for (int i = first; i < std::min(n, first + 6); ++i)
      wide = wide || test.matrix.row_ptrs[i + 1] - test.matrix.row_ptrs[i] > 300;
    if (!wide) continue;
    const ReferenceBlock block = grow_block(dense, first, std::min(6, n - first), parameters);
    for (std::size_t r = 0; r < block.rows.size() && !block.tie; ++r, ++compared)
      ASSERT_NEAR(psi_of(g, first + int(r)) / block.rows[r].psi, 1, 1e-10) << "row " << first + r;
  }
  EXPECT_GT(compared, 60);
}

TYPED_TEST(BlockAdaptiveFsaiTest, ManyStepsNeedMoreThanScratch) {
  const HostMatrix<double> a = random_spd(400, 0.05, 21);
  AdaptiveFsaiOptions options = in_blocks(3);
  options.max_steps = 380;
  options.tolerance = 0;
  const HostMatrix<double> g = factor<TypeParam>(a, options);
  expect_sound(a, g, 1e-10);
  const Dense dense = to_dense(a);
  for (const int i : {0, 1, 200, 399}) ASSERT_NO_FATAL_FAILURE(expect_minimiser(dense, g, i, 1e-9));
  EXPECT_GT(g.row_ptrs[400] - g.row_ptrs[399], 300u);
}

// On the host the portable form has 32 lanes too, one after the other: what devices run.
TYPED_TEST(BlockAdaptiveFsaiTest, ThePortableLaneGroupGivesTheSameFactor) {
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
  const auto start = lower_power<TypeParam>(space, CsrGraphView<TypeParam>(device), 1, 1 << 30, 1 << 20);
  for (const int size : {2, 3, 6, 7, 32}) {
    const auto blocks = uniform_supernodes<TypeParam>(space, a.num_rows, size);
    const auto united = merge_supernodes<TypeParam>(space, start, blocks, 1 << 30);
    for (const bool with_start : {false, true}) {
      const inner::Parameters parameters{202, 202, 20, 2, 202, 1e-3, 0, 1e-12, 1e-15};
      const CsrGraphView<TypeParam> begin =
          with_start ? CsrGraphView<TypeParam>(united) : CsrGraphView<TypeParam>();
      inner::BlockSetup<double, double, TypeParam, false> native(space, matrix, a.nnz(), parameters, 1 << 24,
                                                                 blocks);
      inner::BlockSetup<double, double, TypeParam, true> portable(space, matrix, a.nnz(), parameters, 1 << 24,
                                                                  blocks);
      const auto g = to_host(native.grow(begin)), h = to_host(portable.grow(begin));
      ASSERT_EQ(g.col_idxs, h.col_idxs);
      for (std::size_t k = 0; k < g.nnz(); ++k) ASSERT_NEAR(g.values[k], h.values[k], 1e-11);
      EXPECT_EQ(native.outcome().pivots, portable.outcome().pivots);
    }
  }
}

TYPED_TEST(BlockAdaptiveFsaiTest, ASecondNumericSolvesOnThePatternFound) {
  const TypeParam space;
  const HostMatrix<double> a = random_spd(152, 0.1, 41), changed = with_larger_diagonal(a, 1);
  for (const int power : {0, 2}) {
    for (const Reuse reuse : {Reuse::pattern, Reuse::none}) {
      // Rows alone too: those that began with a power are longer than their steps alone would make them.
      AdaptiveFsaiOptions options = in_blocks(power == 2 && reuse == Reuse::pattern ? 1 : 6);
      options.reuse = reuse;
      options.max_steps = 5;
      options.initial_power = power;
      AdaptiveFsai<double, TypeParam> fsai(options);
      fsai.symbolic(space, to_device<TypeParam>(a));
      fsai.numeric(space, to_device<TypeParam>(a));
      const auto first = to_host(fsai.factor());
      fsai.numeric(space, to_device<TypeParam>(a));
      const auto again = to_host(fsai.factor());
      ASSERT_EQ(first.col_idxs, again.col_idxs);
      for (std::size_t k = 0; k < first.nnz(); ++k) ASSERT_NEAR(first.values[k], again.values[k], 1e-11);
      fsai.numeric(space, to_device<TypeParam>(changed));
      EXPECT_EQ(fsai.report().pattern_kept, reuse == Reuse::pattern);
      const auto second = to_host(fsai.factor());
      expect_sound(changed, second, 1e-10);
      expect_minimisers(changed, second, 1e-9);
      if (reuse == Reuse::none)
        EXPECT_TRUE(second == factor<TypeParam>(changed, options));
      else
        EXPECT_EQ(first.col_idxs, second.col_idxs);
    }
  }
}

TYPED_TEST(BlockAdaptiveFsaiTest, MaxRowSizeHoldsForABlocksLongestRow) {
  const Case test{"random:130", random_spd(130, 0.1, 12)};
  for (const int size : {3, 6}) {
    for (const int most : {1, 6, 8, 11, 100}) {
      AdaptiveFsaiOptions options = in_blocks(size);
      options.max_row_size = most;
      options.step_size = 4;
      ReferenceAdaptiveFsai parameters;
      parameters.s = 4;
      const HostMatrix<double> g = factor<TypeParam>(test.matrix, options);
      expect_reference(test, g, reference_uniform_supernodes(130, size), parameters, nullptr, most);
      std::size_t longest = 0;
      for (int i = 0; i < 130; ++i) longest = std::max(longest, g.row_ptrs[i + 1] - g.row_ptrs[i]);
      EXPECT_LE(longest, static_cast<std::size_t>(std::max(size, most)));
    }
  }
}

TYPED_TEST(BlockAdaptiveFsaiTest, FiltersWorkAsForRowsAlone) {
  const HostMatrix<double> a = random_spd(131, 0.15, 12, 6);
  AdaptiveFsaiOptions options = in_blocks(3);
  const HostMatrix<double> full = factor<TypeParam>(a, options);
  options.postfilter = 0.05;
  Report report;
  const HostMatrix<double> g = factor<TypeParam>(a, options, &report);
  EXPECT_THAT(report.notes,
              ElementsAre("supernodes: 44, mean size 2.98",
                          "G had " + std::to_string(full.nnz()) + " entries before the postfilter"));
  EXPECT_LT(g.nnz(), full.nnz());
  expect_sound(a, g, 1e-10);
  options.prefilter = 0.05;
  const HostMatrix<double> h = factor<TypeParam>(a, options);
  expect_sound(a, h, 1e-10);
  EXPECT_FALSE(h == g);
}

TYPED_TEST(BlockAdaptiveFsaiTest, FloatMatricesRanksAndEmptyParts) {
  const HostMatrix<double> a = random_spd(97, 0.1, 5);
  const HostMatrix<float> a_float = convert<float>(a);
  for (const Precision precision : {Precision::double_precision, Precision::single_precision}) {
    const auto g = factor<TypeParam>(a_float, in_blocks(3, precision));
    expect_sound(convert<double>(a_float), convert<double>(g), 1e-4);
  }
  for (const int size : {0, 3}) {
    EXPECT_TRUE(factor<TypeParam>(a, in_blocks(size)) ==
                factor<TypeParam>(with_columns_of_other_ranks(a), in_blocks(size)));
    HostMatrix<double> empty;
    empty.num_cols = 4;
    EXPECT_EQ(factor<TypeParam>(empty, in_blocks(size)).nnz(), 0u);
  }
}

TYPED_TEST(BlockAdaptiveFsaiTest, ExtremeScales) {
  const HostMatrix<double> a = random_spd(60, 0.2, 61);
  const AdaptiveFsaiOptions single = in_blocks(3, Precision::single_precision);
  const auto plain = factor<TypeParam>(a, single);
  for (const double scale : {0x1p-300, 0x1p300}) {
    HostMatrix<double> scaled = a;
    for (double& value : scaled.values) value *= scale;
    const auto g = factor<TypeParam>(scaled, single);
    ASSERT_EQ(g.col_idxs, plain.col_idxs);
    for (std::size_t k = 0; k < g.nnz(); ++k)
      ASSERT_NEAR(g.values[k] * std::sqrt(scale), plain.values[k], 1e-5 * std::abs(plain.values[k]) + 1e-7);
  }
  // Diagonals of 2^-43 to 2^43 are still grown in single precision.
  const HostMatrix<double> wide = widened(random_spd(43, 0.2, 62), 1), wider = widened(a, 4);
  Report report;
  const auto g = factor<TypeParam>(wide, single, &report);
  EXPECT_EQ(report.notes.size(), 1u);
  EXPECT_EQ(report.breakdowns.count, 0);
  expect_psi(wide, g, 1e-3);
  expect_sound(wider, factor<TypeParam>(wider, single, &report), 1e-10);
  ASSERT_EQ(report.notes.size(), 2u);
  EXPECT_THAT(report.notes[1], HasSubstr("too wide for single precision"));
}

TYPED_TEST(BlockAdaptiveFsaiTest, BreakdownsAreSafeAndReported) {
  Report report;
  for (const Precision precision : {Precision::single_precision, Precision::double_precision}) {
    // Singular: the graph Laplacian of a path, whose last row reaches psi = 0.
    HostMatrix<double> path = generated("tridiagonal:40");
    path.values.front() = 1;
    path.values.back() = 1;
    for (const int size : {2, 3, 32}) {
      AdaptiveFsaiOptions options = in_blocks(size, precision);
      options.tolerance = 0;
      options.max_steps = 50;
      expect_finite(factor<TypeParam>(path, options));
      expect_finite(factor<TypeParam>(random_gram(70, 25, 0, 61), options, &report));
      EXPECT_GT(report.breakdowns.count, 0);
    }
    // Indefinite with a positive diagonal, in a block and between two.
    const auto g = factor<TypeParam>(sparse<double>({{1, 2, 0, 0}, {2, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}),
                                     in_blocks(2, precision), &report);
    EXPECT_EQ(report.breakdowns.count, 1);
    EXPECT_EQ(report.breakdowns.first_row, 1);
    EXPECT_LT(report.breakdowns.first_pivot, 0);
    EXPECT_THAT(report.breakdowns.action, HasSubstr("1 fell back to the diagonal"));
    EXPECT_EQ(g(1, 1), 1);
    EXPECT_EQ(g(1, 0), 0);
    // Rows 0 and 1 of a block are parallel: row 2 goes without one of them.
    const HostMatrix<double> a = sparse<double>({{1, 1, .5}, {1, 1, .5}, {.5, .5, 1}});
    const auto h = factor<TypeParam>(a, in_blocks(3, precision), &report);
    EXPECT_EQ(report.breakdowns.count, 2);
    EXPECT_EQ(report.breakdowns.first_row, 1);
    EXPECT_THAT(report.breakdowns.action, HasSubstr("1 rows kept"));
    expect_finite(h);
    EXPECT_NEAR(unit_diagonal(to_dense(a), h, 2), 1, 1e-12);
    EXPECT_EQ(h(2, 1), 0);
    // The same two on the left of a block: it stops growing, all of its rows are counted.
    const HostMatrix<double> b =
        sparse<double>({{1, 1, .5, .4}, {1, 1, .4, .5}, {.5, .4, 1, 0}, {.4, .5, 0, 1}});
    expect_finite(factor<TypeParam>(b, in_blocks(2, precision), &report));
    EXPECT_GE(report.breakdowns.count, 2);
  }
}

TYPED_TEST(BlockAdaptiveFsaiTest, TheRegistryTakesTheOptionsAndTheirRanges) {
  const auto build = [](const OptionMap& options) {
    create_preconditioner<double, TypeParam>("adaptive_fsai", options);
  };
  build({{"block_size", std::int64_t(32)}});
  build({{"block_size", std::int64_t(0)}, {"block_similarity", 0.5}, {"block_limit", std::int64_t(8)}});
  EXPECT_THROW(build({{"block_size", std::int64_t(-1)}}), OptionError);
  EXPECT_THROW(build({{"block_similarity", -0.1}}), OptionError);
  EXPECT_THROW(build({{"block_limit", std::int64_t(33)}}), OptionError);
}

// Rows of a node share columns that are best for them together: some more iterations for the same entries.
TYPED_TEST(BlockAdaptiveFsaiTest, BlocksAreNearlyAsGoodAsRowsAlone) {
  const HostMatrix<double> a = generated("elasticity3d:7");
  const HostMatrix<double> alone = factor<TypeParam>(a, in_blocks(1)), g = factor<TypeParam>(a, in_blocks(3));
  EXPECT_LT(g.nnz(), alone.nnz() * 1.05);
  EXPECT_LE(iterations_with(a, g), iterations_with(a, alone) * 1.2);
}

}  // namespace
}  // namespace prekond::testing
