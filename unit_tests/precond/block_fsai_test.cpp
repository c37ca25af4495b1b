// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/fsai_expectations.hpp"
#include "testing/host_graph.hpp"
#include "testing/host_matrix.hpp"
#include "testing/reference_supernodes.hpp"
#include "testing/spaces.hpp"
#include "testing/spd_matrices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/precond/fsai.hpp>
#include <prekond/precond/registry.hpp>

#include <string>
#include <vector>

/// The static FSAI in blocks of rows.
namespace prekond::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

FsaiOptions in_blocks(int block_size, int power = 1, Precision precision = Precision::double_precision) {
  FsaiOptions options;
  options.block_size = block_size;
  options.power = power;
  options.setup_scalar = precision;
  return options;
}

HostMatrix<double> generated(const std::string& spec) {
  return to_host(generate<double>(Kokkos::DefaultHostExecutionSpace(), spec));
}

template <class Space, class Scalar>
HostMatrix<Scalar> factor(const HostMatrix<Scalar>& a, const FsaiOptions& options, Report* report = nullptr,
                          const HostMatrix<double>* pattern = nullptr) {
  const Space space;
  const auto device = to_device<Space>(a);
  Fsai<Scalar, Space> fsai(options);
  if (pattern) fsai.set_pattern(space, CsrGraphView<Space>(to_device<Space>(*pattern)));
  fsai.symbolic(space, device);
  fsai.numeric(space, device);
  if (report) *report = fsai.report();
  return to_host(fsai.factor());
}

template <class Space>
class BlockFsaiTest : public ::testing::Test {};
TYPED_TEST_SUITE(BlockFsaiTest, TestSpaces, SpaceNames);

TYPED_TEST(BlockFsaiTest, EveryRowIsTheMinimiserOnItsBlocksUnitedPattern) {
  for (const Case& test : small_matrices()) {
    const int n = static_cast<int>(test.matrix.num_rows);
    for (const int power : {0, 1, 2}) {
      const HostGraph alone = pattern_of(factor<TypeParam>(test.matrix, in_blocks(1, power)));
      for (const int size : {2, 3, 6, 32}) {
        SCOPED_TRACE(test.name + ", power " + std::to_string(power) + ", blocks of " + std::to_string(size));
        Report report;
        const HostMatrix<double> g = factor<TypeParam>(test.matrix, in_blocks(size, power), &report);
        ASSERT_EQ(pattern_of(g), reference_merge(alone, reference_uniform_supernodes(n, size)));
        expect_sound(test.matrix, g, 1e-10);
        expect_minimisers(test.matrix, g, 1e-9);
        EXPECT_EQ(report.breakdowns.count, 0);
        EXPECT_EQ(report.nnz, static_cast<std::int64_t>(g.nnz()));
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

TYPED_TEST(BlockFsaiTest, SinglePrecisionIsAsGoodAsItsBits) {
  for (const Case& test : small_matrices()) {
    for (const int size : {2, 3, 6, 32}) {
      SCOPED_TRACE(test.name + ", blocks of " + std::to_string(size));
      const HostMatrix<double> g =
          factor<TypeParam>(test.matrix, in_blocks(size, 1, Precision::single_precision));
      EXPECT_EQ(pattern_of(g), pattern_of(factor<TypeParam>(test.matrix, in_blocks(size))));
      expect_sound(test.matrix, g, 1e-10);  // the scaling is in double
      expect_psi(test.matrix, g, 1e-3);
      if (this->HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(BlockFsaiTest, BlocksOfEveryOrderAroundTheEdgesOfTheBins) {
  const int n = 400;
  const HostMatrix<double> a = random_gram(n, n + 60, 0.05, 29);
  // Block k has some k columns on its left.
  HostMatrix<double> pattern;
  pattern.num_rows = pattern.num_cols = n;
  for (int i = 0; i < n; ++i) {
    const int first = i / 3 * 3, others = std::min(first, first > 360 ? first : i / 3);
    for (int p = 0; p < others; ++p) {
      pattern.col_idxs.push_back(p * first / others);
      pattern.values.push_back(1);
    }
    pattern.row_ptrs.push_back(pattern.nnz());
  }
  const Dense dense = to_dense(a);
  for (const Precision precision : {Precision::double_precision, Precision::single_precision}) {
    const bool in_double = precision == Precision::double_precision;
    const HostMatrix<double> g = factor<TypeParam>(a, in_blocks(3, 1, precision), nullptr, &pattern);
    ASSERT_EQ(pattern_of(g), reference_merge(pattern_of(pattern), reference_uniform_supernodes(n, 3)));
    expect_sound(a, g, 1e-10);
    for (int i = 0; i < n; i += i < 360 ? 1 : 7)
      ASSERT_NO_FATAL_FAILURE(expect_minimiser(dense, g, i, in_double ? 1e-10 : 2e-3));
  }
}

TYPED_TEST(BlockFsaiTest, ABlockOfAllRowsGivesTheInverse) {
  for (const int n : {1, 2, 17, 31, 32}) {
    const HostMatrix<double> a = random_spd(n, 0.2, 90u + n);
    const HostMatrix<double> g = factor<TypeParam>(a, in_blocks(32, 0));
    ASSERT_EQ(g.nnz(), std::size_t(n) * (n + 1) / 2);
    expect_sound(a, g, 1e-10);
    const Dense dense = to_dense(a);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < i; ++j) {  // (G A G^T)_ij
        long double entry = 0;
        for (int k = 0; k <= i; ++k)
          for (int l = 0; l <= j; ++l) entry += static_cast<long double>(g(i, k)) * dense[k][l] * g(j, l);
        ASSERT_NEAR(static_cast<double>(entry), 0, 1e-12) << i << ' ' << j;
      }
    }
  }
}

TYPED_TEST(BlockFsaiTest, SupernodesAreTheNodesOfElasticity) {
  const HostMatrix<double> a = generated("elasticity3d:5");
  FsaiOptions options = in_blocks(0);
  Report report;
  const HostMatrix<double> g = factor<TypeParam>(a, options, &report);
  EXPECT_THAT(report.notes, ElementsAre("supernodes: 100, mean size 3, fill ratio 1"));
  EXPECT_TRUE(g == factor<TypeParam>(a, in_blocks(3)));
  factor<TypeParam>(a, in_blocks(7), &report);
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_THAT(report.notes[0], HasSubstr("supernodes: 43, mean size 6.98, fill ratio 1."));
}

TYPED_TEST(BlockFsaiTest, WithoutSupernodesRowsAreSingle) {
  const HostMatrix<double> a = generated("poisson3d:6");
  Report report;
  const HostMatrix<double> g = factor<TypeParam>(a, in_blocks(0), &report);
  EXPECT_THAT(report.notes, ElementsAre("supernodes: none were found, each row was solved by itself"));
  EXPECT_TRUE(g == factor<TypeParam>(a, in_blocks(1), &report));
  EXPECT_THAT(report.notes, IsEmpty());
}

TYPED_TEST(BlockFsaiTest, FiltersWorkRowByRow) {
  const HostMatrix<double> a = random_spd(131, 0.15, 41);
  FsaiOptions options = in_blocks(3);
  const HostMatrix<double> full = factor<TypeParam>(a, options);
  options.postfilter = 0.05;
  Report report;
  const HostMatrix<double> g = factor<TypeParam>(a, options, &report);
  EXPECT_LT(g.nnz(), full.nnz());
  EXPECT_THAT(report.notes, ElementsAre(HasSubstr("supernodes: 44"), "G had " + std::to_string(full.nnz()) +
                                                                         " entries before the postfilter"));
  expect_sound(a, g, 1e-10);
  for (int i = 0; i < 131; ++i) {
    // The other entries are as before, but for the row's scale.
    const double ratio = g(i, i) / full(i, i);
    for (std::size_t k = g.row_ptrs[i]; k < g.row_ptrs[i + 1]; ++k)
      ASSERT_NEAR(g.values[k] / (ratio * full(i, g.col_idxs[k])), 1, 1e-10);
  }
  options.postfilter = 0;
  options.prefilter = 0.05;
  FsaiOptions alone = in_blocks(1);
  alone.prefilter = 0.05;
  const HostMatrix<double> h = factor<TypeParam>(a, options);
  EXPECT_EQ(pattern_of(h),
            reference_merge(pattern_of(factor<TypeParam>(a, alone)), reference_uniform_supernodes(131, 3)));
  expect_minimisers(a, h, 1e-9);
}

TYPED_TEST(BlockFsaiTest, ASecondNumericSolvesOnThePatternFound) {
  const TypeParam space;
  const HostMatrix<double> a = random_spd(128, 0.1, 41), changed = with_larger_diagonal(a, 1);
  for (const double postfilter : {0.0, 0.05}) {
    for (const double prefilter : {0.0, 0.02}) {
      FsaiOptions options = in_blocks(6);
      options.postfilter = postfilter;
      options.prefilter = prefilter;
      Fsai<double, TypeParam> fsai(options);
      fsai.symbolic(space, to_device<TypeParam>(a));
      fsai.numeric(space, to_device<TypeParam>(a));
      const HostMatrix<double> first = to_host(fsai.factor());
      fsai.numeric(space, to_device<TypeParam>(changed));
      EXPECT_TRUE(fsai.report().pattern_kept);
      const HostMatrix<double> second = to_host(fsai.factor());
      ASSERT_EQ(first.col_idxs, second.col_idxs);
      expect_minimisers(changed, second, 1e-9);
      expect_sound(changed, second, 1e-10);
      fsai.numeric(space, to_device<TypeParam>(a));
      EXPECT_EQ(to_host(fsai.factor()) == first, postfilter == 0)
          << "with one, rows are alone the second time";
    }
  }
}

TYPED_TEST(BlockFsaiTest, AFailedSymbolicLeavesTheBlocksOfTheOldFactor) {
  const TypeParam space;
  const HostMatrix<double> a = generated("elasticity3d:4"), dense = random_spd(144, 1.0, 3);
  FsaiOptions options = in_blocks(0);
  options.memory_budget = 16000;
  Fsai<double, TypeParam> fsai(options);
  fsai.symbolic(space, to_device<TypeParam>(a));
  fsai.numeric(space, to_device<TypeParam>(a));
  const HostMatrix<double> g = to_host(fsai.factor());
  EXPECT_THROW(fsai.symbolic(space, to_device<TypeParam>(dense)), InputError);
  fsai.numeric(space, to_device<TypeParam>(a));
  EXPECT_TRUE(to_host(fsai.factor()) == g);
}

TYPED_TEST(BlockFsaiTest, AUnitedPatternBeyondItsBudgetIsRefused) {
  // The pattern takes more than a row's system, which the budget bounds too.
  const HostMatrix<double> a = random_spd(900, 0.01, 51);
  FsaiOptions options = in_blocks(1);
  const auto bytes = [&](const HostMatrix<double>& g) {
    return static_cast<std::int64_t>(901 * sizeof(std::size_t) + g.nnz() * sizeof(int));
  };
  const std::int64_t alone = bytes(factor<TypeParam>(a, options));
  options = in_blocks(6);
  const std::int64_t united = bytes(factor<TypeParam>(a, options));
  ASSERT_GT(united, alone);
  options.memory_budget = united;
  factor<TypeParam>(a, options);
  options.memory_budget = united - 1;
  EXPECT_THAT(message_of<InputError>([&] { factor<TypeParam>(a, options); }),
              HasSubstr("lower the block size"));
}

TYPED_TEST(BlockFsaiTest, RepeatedRowsAreLeftOut) {
  // Columns 0 and 1 are parallel, and both are in the last block's pattern; 2 and 3 are parallel in a block.
  const HostMatrix<double> a = sparse<double>({{1, 1, 0, 0, .5, .5},
                                               {1, 1, 0, 0, .5, .5},
                                               {0, 0, 1, 1, .25, 0},
                                               {0, 0, 1, 1, .25, 0},
                                               {.5, .5, .25, .25, 1, .1},
                                               {.5, .5, 0, 0, .1, 1}});
  for (const Precision precision : {Precision::double_precision, Precision::single_precision}) {
    Report report;
    const HostMatrix<double> g = factor<TypeParam>(a, in_blocks(2, 1, precision), &report);
    expect_finite(g);
    const Dense dense = to_dense(a);
    for (int i = 0; i < 6; ++i) ASSERT_NEAR(unit_diagonal(dense, g, i), 1, 1e-12) << "row " << i;
    // Rows 1 and 3 repeat the ones before; rows 4 and 5 have both of a pair.
    EXPECT_EQ(report.breakdowns.count, 4);
    EXPECT_EQ(report.breakdowns.first_row, 1);
    EXPECT_THAT(report.breakdowns.action, HasSubstr("2 rows kept"));
    EXPECT_THAT(report.breakdowns.action, HasSubstr("2 fell back to the diagonal"));
    EXPECT_EQ(g(1, 0), 0);
    EXPECT_EQ(g(1, 1), 1);
    EXPECT_EQ(g(4, 1), 0);
    EXPECT_EQ(g(5, 3), 0);
    EXPECT_NE(g(5, 4), 0);
  }
}

TYPED_TEST(BlockFsaiTest, LowRankAndIndefiniteMatricesGiveFiniteRows) {
  for (const int size : {2, 5, 32}) {
    for (const Precision precision : {Precision::double_precision, Precision::single_precision}) {
      Report report;
      expect_finite(factor<TypeParam>(random_gram(70, 25, 0, 61), in_blocks(size, 1, precision), &report));
      EXPECT_GT(report.breakdowns.count, 0);
      HostMatrix<double> indefinite = random_spd(60, 0.4, 62);
      for (double& value : indefinite.values)
        if (value < 0) value *= 8;
      const HostMatrix<double> g = factor<TypeParam>(indefinite, in_blocks(size, 1, precision), &report);
      expect_finite(g);
      EXPECT_GT(report.breakdowns.count, 0);
      EXPECT_LE(report.breakdowns.count, 60);
    }
  }
}

TYPED_TEST(BlockFsaiTest, BlocksThatSinglePrecisionCannotSolveAreDoneInDouble) {
  // Single precision knows no difference between c and 1.
  const double c = 1 - 1e-10;
  const HostMatrix<double> a = sparse<double>(
      {{1, c, .1, .1, 0}, {c, 1, .1, .1, 0}, {.1, .1, 1, c, .2}, {.1, .1, c, 1, .2}, {0, 0, .2, .2, 1}});
  for (const int size : {2, 3, 5}) {
    Report report;
    const HostMatrix<double> g =
        factor<TypeParam>(a, in_blocks(size, 1, Precision::single_precision), &report);
    const HostMatrix<double> expected = factor<TypeParam>(a, in_blocks(size));
    EXPECT_EQ(report.breakdowns.count, 0);
    for (int i = 0; i < 5; ++i) ASSERT_NEAR(psi_of(g, i) / psi_of(expected, i), 1, 1e-5) << "row " << i;
    EXPECT_LT(psi_of(g, 1), 1e-9);
  }
}

TYPED_TEST(BlockFsaiTest, SameBitsTwiceAndInSlabsOfAnySize) {
  const HostMatrix<double> a = generated("elasticity3d:6");
  for (const Precision precision : {Precision::double_precision, Precision::single_precision}) {
    for (const int power : {1, 3}) {
      FsaiOptions options = in_blocks(6, power, precision);
      const HostMatrix<double> once = factor<TypeParam>(a, options);
      EXPECT_TRUE(once == factor<TypeParam>(a, options));
      options.workspace_budget = 1 << 21;  // one of the longest rows
      EXPECT_TRUE(once == factor<TypeParam>(a, options));
    }
  }
}

TYPED_TEST(BlockFsaiTest, FloatMatricesRanksAndEmptyParts) {
  const HostMatrix<double> a = random_spd(97, 0.1, 5);
  const HostMatrix<float> a_float = convert<float>(a);
  for (const Precision precision : {Precision::double_precision, Precision::single_precision}) {
    const auto g = factor<TypeParam>(a_float, in_blocks(3, 1, precision));
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

TYPED_TEST(BlockFsaiTest, TheRegistryTakesTheOptionsAndTheirRanges) {
  const auto build = [](const OptionMap& options) {
    create_preconditioner<double, TypeParam>("fsai", options);
  };
  build({{"block_size", std::int64_t(32)}});
  build({{"block_size", std::int64_t(0)}});
  EXPECT_THROW(build({{"block_size", std::int64_t(33)}}), OptionError);
}

TYPED_TEST(BlockFsaiTest, AUnitedPatternNeedsNoMoreIterations) {
  for (const char* spec : {"elasticity3d:6", "poisson3d:9"}) {
    const HostMatrix<double> a = generated(spec);
    for (const int power : {1, 2}) {
      const auto alone = iterations_with(a, factor<TypeParam>(a, in_blocks(1, power)));
      for (const int size : {2, 3, 6})
        EXPECT_LE(iterations_with(a, factor<TypeParam>(a, in_blocks(size, power))), alone + 1)
            << spec << ' ' << size;
    }
  }
}

}  // namespace
}  // namespace prekond::testing
