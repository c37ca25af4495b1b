// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/general_matrices.hpp"
#include "testing/multicolor_cases.hpp"
#include "testing/reference_block_ilu.hpp"
#include "testing/spaces.hpp"
#include "testing/spd_matrices.hpp"
#include "testing/stars.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/precond/block_ilu0.hpp>
#include <prekond/precond/ilu.hpp>

#include "precond/factorization/block_ilu/factors.hpp"

#include <cmath>

namespace prekond::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr int block_sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 17, 32};

template <class Space>
class BlockIluTest : public ::testing::Test {};
TYPED_TEST_SUITE(BlockIluTest, TestSpaces, SpaceNames);

BlockIlu0Options options_of(int b, FactorSchedule schedule = FactorSchedule::automatic,
                            TriangularMethod method = TriangularMethod::automatic) {
  BlockIlu0Options options;
  options.block_size = b;
  options.shift = 0;
  options.solve.method = method;
  if (schedule == FactorSchedule::levels) options.solve.method = TriangularMethod::levels;
  if (schedule == FactorSchedule::sync_free) options.solve.method = TriangularMethod::sync_free;
  return options;
}

template <class Scalar>
HostMatrix<Scalar> in_precision(const HostMatrix<double>& a) {
  HostMatrix<Scalar> result;
  result.num_rows = a.num_rows;
  result.num_cols = a.num_cols;
  result.row_ptrs = a.row_ptrs;
  result.col_idxs = a.col_idxs;
  result.values.assign(a.values.begin(), a.values.end());
  return result;
}

template <class Scalar>
double size_of(Scalar x) {
  return std::abs(static_cast<double>(x));
}

/// Blocks of a triangle, compared with the largest of the reference.
template <class Blocks>
void expect_triangle(const Blocks& found, const LongBlockRows& expected, int b, double tolerance) {
  const auto row_ptrs = to_vector(found.row_ptrs);
  const auto cols = to_vector(found.col_idxs);
  const auto values = to_vector(found.values);
  double scale = 1;
  for (const auto& row : expected)
    for (const auto& [j, block] : row)
      for (const long double entry : block) scale = std::max(scale, size_of(entry));
  ASSERT_EQ(row_ptrs.size(), expected.size() + 1);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(row_ptrs[i + 1] - row_ptrs[i], expected[i].size()) << "block row " << i;
    std::size_t k = row_ptrs[i];
    for (const auto& [j, block] : expected[i]) {
      ASSERT_EQ(cols[k], j);
      for (int e = 0; e < b * b; ++e)
        ASSERT_NEAR(values[k * b * b + e], static_cast<double>(block[e]), tolerance * scale)
            << "block " << i << ", " << j << ", entry " << e;
      ++k;
    }
  }
}

template <class Scalar, class Space>
void check_factors(const HostMatrix<double>& a, const BlockIlu0Options& options, double tolerance) {
  const int b = options.block_size;
  SCOPED_TRACE("rows " + std::to_string(a.num_rows) + ", b " + std::to_string(b));
  const auto host = in_precision<Scalar>(a);
  const ReferenceBlockIlu expected = reference_block_ilu(host, b);
  BlockIlu0<Scalar, Space> m(options);
  m.numeric(Space(), to_device<Space>(host));
  expect_triangle(m.factor_lower(), expected.lower, b, tolerance);
  expect_triangle(m.factor_upper(), expected.upper, b, tolerance);
  const auto inverse = to_vector(m.inverse_diagonal());
  ASSERT_EQ(inverse.size(), expected.inverse.size() * b * b);
  for (std::size_t i = 0; i < expected.inverse.size(); ++i) {
    double scale = 0;
    for (const long double entry : expected.inverse[i]) scale = std::max(scale, size_of(entry));
    for (int e = 0; e < b * b; ++e)
      ASSERT_NEAR(inverse[i * b * b + e], static_cast<double>(expected.inverse[i][e]), tolerance * scale)
          << "inverse of block " << i << ", entry " << e;
  }
  EXPECT_EQ(m.report().breakdowns.count, std::int64_t(expected.broken.size()));
  if (!expected.broken.empty()) {
    EXPECT_EQ(m.report().breakdowns.first_row / b, expected.broken.front());
  }
}

TYPED_TEST(BlockIluTest, FactorsEqualTheSequentialOnes) {
  for (const FactorSchedule schedule : {FactorSchedule::levels, FactorSchedule::sync_free})
    for (const int b : block_sizes) {
      check_factors<double, TypeParam>(dominant_clusters(97, b), options_of(b, schedule), 1e-12);
      check_factors<float, TypeParam>(dominant_clusters(64, b + 50), options_of(b, schedule), 2e-4);
      check_factors<double, TypeParam>(dominant_clusters(1, b), options_of(b, schedule), 1e-12);
    }
}

TYPED_TEST(BlockIluTest, RowsThatMeetLongOnesEqualTheSequentialOnes) {
  for (const FactorSchedule schedule :
       {FactorSchedule::automatic, FactorSchedule::levels, FactorSchedule::sync_free})
    for (const int b : {1, 3})
      for (const Case& test : stars(211))
        check_factors<double, TypeParam>(test.matrix, options_of(b, schedule), 1e-12);
}

/// With a reading of the full row for each row that meets it this would take 10^11 steps.
TYPED_TEST(BlockIluTest, ALongRowIsNotReadByEachRowThatMeetsIt) {
  if (!is_host_space<TypeParam>) GTEST_SKIP() << "a device's rows read it";
  const int n = 400000;
  for (const int hub : {0, n / 2, n - 1}) {
    BlockIlu0<double, TypeParam> m(options_of(1));
    m.numeric(TypeParam(), to_device<TypeParam>(star(n, {hub})));
    const auto inverse = to_vector(m.inverse_diagonal());
    for (const int i : {0, 1, n / 2, n - 2, n - 1})
      EXPECT_NEAR(inverse[i] * pivot_of_star(n, hub, i), 1, 1e-10) << "hub " << hub << ", row " << i;
  }
}

TYPED_TEST(BlockIluTest, RowsThatDoNotFitScratchEqualTheSequentialOnes) {
  for (const FactorSchedule schedule : {FactorSchedule::levels, FactorSchedule::sync_free})
    for (const int b : {2, 3, 32})
      check_factors<double, TypeParam>(dominant_clusters(1203, 11 + b), options_of(b, schedule), 1e-12);
}

/// Without dominance, and with empty rows: blocks of the diagonal are missing or singular.
TYPED_TEST(BlockIluTest, RowsWithoutARegularDiagonalFallBack) {
  int broken = 0;
  for (const int b : {1, 2, 3, 5}) {
    auto a = dominant_clusters(83, 7);
    for (std::int64_t i = 30; i < 30 + 2 * b; ++i)  // block rows of which all columns but one are 0
      for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
        if (a.col_idxs[k] / b == i / b) a.values[k] = 0;
    check_factors<double, TypeParam>(a, options_of(b), 1e-11);
    broken += static_cast<int>(reference_block_ilu(a, b).broken.size());
  }
  EXPECT_GT(broken, 10);
}

TYPED_TEST(BlockIluTest, ScalesOfRowsAndColumnsDoNotMakeABlockSingular) {
  auto a = dominant_clusters(60, 4);
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
      a.values[k] *= std::pow(10.0, i % 3 * 9) * std::pow(10.0, a.col_idxs[k] % 3 * -7);
  BlockIlu0<double, TypeParam> plain(options_of(3)), scaled(options_of(3));
  plain.numeric(TypeParam(), to_device<TypeParam>(dominant_clusters(60, 4)));
  scaled.numeric(TypeParam(), to_device<TypeParam>(a));
  EXPECT_EQ(scaled.report().breakdowns.count, plain.report().breakdowns.count);
}

/// On blocks that are full, the same as the scalar ILU(0) of the expanded matrix.
TYPED_TEST(BlockIluTest, ApplicationsEqualTheScalarOnesOfTheExpandedMatrix) {
  const TypeParam space;
  int compared = 0;
  for (const TriangularMethod method : {TriangularMethod::automatic, TriangularMethod::isai})
    for (const int b : {1, 2, 3, 4, 7}) {
      const auto host = dominant_clusters(28 * 7, 21);  // every block size but 3 divides its rows
      if (host.num_rows % b != 0) continue;
      const auto a = to_device<TypeParam>(host);
      const auto blocks = to_bcsr<double, TypeParam>(space, a, b);
      auto dominant = to_host(expand_blocks<double, TypeParam>(
          space, blocks));  // empty rows need a diagonal for the scalar method
      for (std::int64_t i = 0; i < dominant.num_rows; ++i)
        for (std::size_t k = dominant.row_ptrs[i]; k < dominant.row_ptrs[i + 1]; ++k)
          if (dominant.col_idxs[k] == i && dominant.values[k] == 0) dominant.values[k] = 3;
      BlockIlu0<double, TypeParam> m(options_of(b, FactorSchedule::automatic, method));
      IluOptions scalar_options;
      scalar_options.shift = 0;
      scalar_options.solve.method = method;
      Ilu<double, TypeParam> scalar(scalar_options);
      const auto expanded = to_device<TypeParam>(dominant);
      m.numeric(space, expanded);
      scalar.numeric(space, expanded);
      if (scalar.report().breakdowns.count > 0 || m.report().breakdowns.count > 0) continue;
      std::vector<double> x(host.num_rows);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(1.0 + double(i));
      const MultiVector<double, TypeParam> in("x", x.size(), 1), y("y", x.size(), 1), z("z", x.size(), 1);
      Kokkos::deep_copy(Kokkos::subview(in, Kokkos::ALL, 0), to_device<TypeParam>(x));
      m.apply(space, in, y, *m.make_workspace(space, 1));
      scalar.apply(space, in, z, *scalar.make_workspace(space, 1));
      space.fence();
      const auto found = to_vector(Kokkos::subview(y, Kokkos::ALL, 0));
      const auto expected = to_vector(Kokkos::subview(z, Kokkos::ALL, 0));
      for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-11) << "b " << b;
      ++compared;
    }
  EXPECT_GE(compared, 6);
}

TYPED_TEST(BlockIluTest, SchedulesHaveTheSameBits) {
  for (const int b : {1, 3, 5, 9}) {
    const auto a = to_device<TypeParam>(dominant_clusters(301, b));
    BlockIlu0<double, TypeParam> levels(options_of(b, FactorSchedule::levels)),
        sync_free(options_of(b, FactorSchedule::sync_free));
    levels.numeric(TypeParam(), a);
    sync_free.numeric(TypeParam(), a);
    EXPECT_EQ(to_vector(levels.factor_lower().values), to_vector(sync_free.factor_lower().values));
    EXPECT_EQ(to_vector(levels.factor_upper().values), to_vector(sync_free.factor_upper().values));
    EXPECT_EQ(to_vector(levels.inverse_diagonal()), to_vector(sync_free.inverse_diagonal()));
  }
}

TYPED_TEST(BlockIluTest, ARowThatGivesUpWaitingIsDoneAgain) {
  const TypeParam space;
  const int b = 3;
  const auto a = to_bcsr<double, TypeParam>(space, to_device<TypeParam>(dominant_clusters(300, 5)), b);
  impl::block_ilu::Symbolic<double, TypeParam> symbolic{b, a.padding, a.num_blocks(), {}, {"test", {}}};
  symbolic.pattern =
      fill_pattern<TypeParam>(space, impl::graph_of<TypeParam>(a), 0, std::int64_t(1) << 40, true);
  const auto levels = level_schedule<TypeParam>(space, symbolic.pattern.lower, Triangle::lower);
  impl::block_ilu::schedule_factorisation<double, TypeParam>(space, levels, FactorSchedule::levels, symbolic);
  impl::ilu::Outcome expected_outcome, outcome;
  const auto expected = impl::block_ilu::factor<double, TypeParam>(space, a, symbolic, 0, expected_outcome);
  impl::block_ilu::schedule_factorisation<double, TypeParam>(space, levels, FactorSchedule::sync_free,
                                                             symbolic);
  symbolic.threads_in_order = 0;  // one thread too has tickets
  auto chunks = to_vector(symbolic.schedule.chunks.bounds);
  ASSERT_GT(chunks.size(), 4u);
  std::reverse(chunks.begin(), chunks.end());
  for (std::size_t k = 0; k + 1 < chunks.size(); k += 2) std::swap(chunks[k], chunks[k + 1]);
  symbolic.schedule.chunks.bounds = to_device<TypeParam>(chunks);
  for (const std::int64_t most_polls : {0, 100}) {
    symbolic.schedule.most_polls = most_polls;
    const auto found = impl::block_ilu::factor<double, TypeParam>(space, a, symbolic, 0, outcome);
    EXPECT_TRUE(outcome.stalled);
    EXPECT_EQ(outcome.breakdowns.diagonals, expected_outcome.breakdowns.diagonals);
    EXPECT_EQ(to_vector(found.lower), to_vector(expected.lower));
    EXPECT_EQ(to_vector(found.upper), to_vector(expected.upper));
    EXPECT_EQ(to_vector(found.inverse), to_vector(expected.inverse));
  }
}

TYPED_TEST(BlockIluTest, BlocksOfAnyOrderAndSingleRowsGiveTheSameFactors) {
  const TypeParam space;
  const auto csr = to_device<TypeParam>(dominant_clusters(100, 9));
  for (const int b : {3, 4}) {
    BlockIlu0<double, TypeParam> of_rows(options_of(b));
    of_rows.numeric(space, csr);
    for (const BlockOrder order : both_orders) {
      const auto blocks = to_bcsr<double, TypeParam>(space, csr, b, order);
      const MatrixSource<double, TypeParam> source(space, blocks);
      BlockIlu0<double, TypeParam> m(options_of(0));  // takes the blocks' size
      m.numeric(space, source);
      EXPECT_EQ(m.block_size(), b);
      EXPECT_EQ(to_vector(m.factor_lower().values), to_vector(of_rows.factor_lower().values));
      EXPECT_EQ(to_vector(m.factor_upper().values), to_vector(of_rows.factor_upper().values));
      EXPECT_EQ(to_vector(m.inverse_diagonal()), to_vector(of_rows.inverse_diagonal()));
    }
  }
}

TYPED_TEST(BlockIluTest, FindsTheBlockSize) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(generated("elasticity3d:4"));
  BlockIlu0<double, TypeParam> m;
  m.numeric(space, a);
  EXPECT_EQ(m.block_size(), 3);
  MatrixSource<double, TypeParam> source(a);
  source.set_unknowns_per_node(6);
  m.symbolic(space, source);
  EXPECT_EQ(m.block_size(), 6);
}

TYPED_TEST(BlockIluTest, ColumnsOfOtherRanksAreLeftOut) {
  const TypeParam space;
  const auto host = dominant_clusters(50, 3);
  const auto own = to_device<TypeParam>(host), wide = to_device<TypeParam>(with_columns_of_other_ranks(host));
  BlockIlu0<double, TypeParam> expected(options_of(3)), found(options_of(3));
  expected.numeric(space, own);
  found.numeric(space, wide);
  EXPECT_EQ(to_vector(found.factor_upper().values), to_vector(expected.factor_upper().values));
  EXPECT_EQ(to_vector(found.factor_lower().values), to_vector(expected.factor_lower().values));
}

TYPED_TEST(BlockIluTest, ShiftsAreRaisedUntilNoPivotBreaksDown) {
  auto host = generated("elasticity3d:3");
  for (std::size_t k = 0; k < host.row_ptrs[3]; ++k)
    if (host.col_idxs[k] < 3) host.values[k] = 1;  // a block of ones: singular
  BlockIlu0Options options;
  options.block_size = 3;
  BlockIlu0<double, TypeParam> m(options);
  options.shift = 0.5;
  BlockIlu0<double, TypeParam> shifted(options);
  m.numeric(TypeParam(), to_device<TypeParam>(host));
  EXPECT_GT(m.shift(), 0);
  EXPECT_EQ(m.report().breakdowns.count, 0);
  EXPECT_THAT(m.report().notes, Contains(HasSubstr("shift")));
  shifted.numeric(TypeParam(), to_device<TypeParam>(host));
  const ReferenceBlockIlu expected = reference_block_ilu(host, 3, 0.5);
  expect_triangle(shifted.factor_upper(), expected.upper, 3, 1e-12);
}

TYPED_TEST(BlockIluTest, AShiftEnlargesNegativeDiagonalEntries) {
  auto host = dominant_clusters(60, 3);
  for (int i = 0; i < 60; i += 2)
    for (std::size_t k = host.row_ptrs[i]; k < host.row_ptrs[i + 1]; ++k) host.values[k] *= -1;
  for (std::size_t k = host.row_ptrs[9]; k < host.row_ptrs[12]; ++k)  // singular once it is shifted
    if (host.col_idxs[k] >= 9 && host.col_idxs[k] < 12) host.values[k] = -3;
  for (int i = 9; i < 12; ++i)
    for (std::size_t k = host.row_ptrs[i]; k < host.row_ptrs[i + 1]; ++k)
      if (host.col_idxs[k] == i) host.values[k] = -2;
  auto larger = host;
  for (int i = 0; i < 60; ++i)
    for (std::size_t k = host.row_ptrs[i]; k < host.row_ptrs[i + 1]; ++k)
      if (host.col_idxs[k] == i) larger.values[k] *= 1.5;
  BlockIlu0Options options;
  options.block_size = 3;
  options.shift = 0.5;
  BlockIlu0<double, TypeParam> shifted(options);
  options.shift = 0;
  BlockIlu0<double, TypeParam> expected(options);
  shifted.numeric(TypeParam(), to_device<TypeParam>(host));
  expected.numeric(TypeParam(), to_device<TypeParam>(larger));
  EXPECT_GT(shifted.report().breakdowns.count, 0);
  EXPECT_EQ(shifted.report().breakdowns.count, expected.report().breakdowns.count);
  EXPECT_EQ(to_vector(shifted.factor_upper().values), to_vector(expected.factor_upper().values));
  const std::vector<double> x = waves_of(60);
  EXPECT_EQ((applied_to<double, TypeParam>(shifted, x)), (applied_to<double, TypeParam>(expected, x)));
}

TYPED_TEST(BlockIluTest, NumericTakesNewValuesAndRefusesAnotherPattern) {
  auto host = dominant_clusters(90, 2);
  BlockIlu0<double, TypeParam> m(options_of(4)), fresh(options_of(4));
  m.numeric(TypeParam(), to_device<TypeParam>(host));
  for (double& value : host.values) value *= 1.5 + 0.3 * std::sin(value);
  m.numeric(TypeParam(), to_device<TypeParam>(host));
  fresh.numeric(TypeParam(), to_device<TypeParam>(host));
  EXPECT_TRUE(m.report().pattern_kept);
  EXPECT_EQ(to_vector(m.factor_upper().values), to_vector(fresh.factor_upper().values));
  const auto other = to_device<TypeParam>(dominant_clusters(90, 33));
  EXPECT_THAT(message_of<InputError>([&] { m.numeric(TypeParam(), other); }),
              HasSubstr("call symbolic again"));
}

TYPED_TEST(BlockIluTest, ValuesThatAreNotFiniteAreContained) {
  auto host = dominant_clusters(60, 8);
  host.values[host.row_ptrs[30] + 3] = std::numeric_limits<double>::quiet_NaN();
  host.values[host.row_ptrs[45] + 1] = std::numeric_limits<double>::infinity();
  BlockIlu0<double, TypeParam> m(options_of(3));
  m.numeric(TypeParam(), to_device<TypeParam>(host));
  EXPECT_GE(m.report().breakdowns.count, 2);
  for (const auto& values : {to_vector(m.factor_lower().values), to_vector(m.factor_upper().values),
                             to_vector(m.inverse_diagonal())})
    for (const double value : values) ASSERT_TRUE(std::isfinite(value));
}

TYPED_TEST(BlockIluTest, MatricesWithoutRows) {
  HostMatrix<double> none;
  BlockIlu0<double, TypeParam> m;
  m.numeric(TypeParam(), to_device<TypeParam>(none));
  EXPECT_EQ(m.num_rows(), 0);
  EXPECT_EQ(m.report().breakdowns.count, 0);
}

}  // namespace
}  // namespace prekond::testing
