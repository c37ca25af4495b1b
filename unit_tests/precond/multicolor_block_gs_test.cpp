// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/general_matrices.hpp"
#include "testing/one_thread.hpp"
#include "testing/reference_block_ilu.hpp"
#include "testing/spaces.hpp"
#include "testing/spd_matrices.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/precond/multicolor.hpp>

#include <cmath>

namespace prekond::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

template <class Space>
class MulticolorBlockGsTest : public ::testing::Test {};
TYPED_TEST_SUITE(MulticolorBlockGsTest, TestSpaces, SpaceNames);

MulticolorBlockGsOptions options_of(int b, SweepDirection direction = SweepDirection::forward,
                                    int sweeps = 1) {
  MulticolorBlockGsOptions options;
  options.block_size = b;
  options.direction = direction;
  options.sweeps = sweeps;
  return options;
}

/// Sweeps over the colours, block row after block row. Falls back as ReferenceBlockIlu does.
LongBlock reference_sweeps(const HostMatrix<double>& a, int b, const std::vector<int>& colors, int num_colors,
                           const MulticolorBlockGsOptions& options, const LongBlock& source) {
  const LongBlockRows rows = block_rows_of(a, b);
  const int n = static_cast<int>(rows.size());
  std::vector<LongBlock> inverse(n);
  for (int i = 0; i < n; ++i) {
    LongBlock own = rows[i].count(i) ? rows[i].at(i) : LongBlock(b * b, 0);
    for (int p = 0; p < b; ++p)
      if (std::int64_t(i) * b + p >= a.num_rows) own[p * b + p] = 1;
    inverse[i] = inverse_of(own, b, 16 * std::numeric_limits<double>::epsilon());
    if (!inverse[i].empty()) continue;
    inverse[i].assign(b * b, 0);
    for (int p = 0; p < b; ++p) inverse[i][p * b + p] = point_inverse(rows[i], b, p, own[p * b + p]);
  }
  LongBlock x(n * b, 0);
  const auto half = [&](bool forward) {
    for (int step = 0; step < num_colors; ++step) {
      const int color = forward ? step : num_colors - 1 - step;
      for (int i = 0; i < n; ++i) {
        if (colors[i] != color) continue;
        LongBlock rest(source.begin() + i * b, source.begin() + (i + 1) * b);
        for (const auto& [j, block] : rows[i])
          for (int q = 0; j != i && q < b; ++q)
            for (int p = 0; p < b; ++p) rest[p] -= block[q * b + p] * x[j * b + q];
        for (int p = 0; p < b; ++p) {
          x[i * b + p] = 0;
          for (int q = 0; q < b; ++q) x[i * b + p] += inverse[i][q * b + p] * rest[q];
        }
      }
    }
  };
  for (int sweep = 0; sweep < options.sweeps; ++sweep) {
    if (options.direction != SweepDirection::backward) half(true);
    if (options.direction != SweepDirection::forward) half(false);
  }
  return x;
}

template <class Scalar, class Space>
std::vector<std::vector<Scalar>> applied(const MatrixPreconditioner<Scalar, Space>& m,
                                         const std::vector<std::vector<Scalar>>& x,
                                         const Space& space = Space()) {
  const MultiVector<Scalar, Space> in("x", m.num_rows(), x.size()), out("y", m.num_rows(), x.size());
  for (std::size_t v = 0; v < x.size(); ++v)
    Kokkos::deep_copy(Kokkos::subview(in, Kokkos::ALL, v), to_device<Space>(x[v]));
  m.apply(space, in, out, *m.make_workspace(space, static_cast<int>(x.size())));
  space.fence();
  std::vector<std::vector<Scalar>> y;
  for (std::size_t v = 0; v < x.size(); ++v) y.push_back(to_vector(Kokkos::subview(out, Kokkos::ALL, v)));
  return y;
}

std::vector<double> some_vector(std::int64_t n, int v = 0) {
  std::vector<double> x(n);
  for (std::int64_t i = 0; i < n; ++i) x[i] = std::sin(1.0 + 3 * double(i) + v);
  return x;
}

template <class Space>
void check(const HostMatrix<double>& a, const MulticolorBlockGsOptions& options, double tolerance) {
  SCOPED_TRACE("rows " + std::to_string(a.num_rows) + ", b " + std::to_string(options.block_size));
  MulticolorBlockGs<double, Space> m(options);
  m.numeric(Space(), to_device<Space>(a));
  const std::vector<std::vector<double>> x = {some_vector(a.num_rows), some_vector(a.num_rows, 5)};
  const auto y = applied(m, x);
  for (int v = 0; v < 2; ++v) {
    LongBlock source((a.num_rows + options.block_size - 1) / options.block_size * options.block_size, 0);
    std::copy(x[v].begin(), x[v].end(), source.begin());
    const auto expected = reference_sweeps(a, options.block_size, to_vector(m.coloring().colors),
                                           m.coloring().num_colors, options, source);
    double size = 0;
    for (const long double entry : expected) size = std::max(size, double(std::abs(entry)));
    for (std::int64_t i = 0; i < a.num_rows; ++i)
      ASSERT_NEAR(y[v][i], double(expected[i]), tolerance * size) << "row " << i;
  }
}

TYPED_TEST(MulticolorBlockGsTest, SweepsEqualTheSequentialOnes) {
  for (const auto direction : {SweepDirection::forward, SweepDirection::backward, SweepDirection::symmetric})
    for (const int sweeps : {1, 2, 3})
      for (const int b : {1, 2, 3, 4, 5, 8, 17, 32}) {
        check<TypeParam>(dominant_clusters(97, b), options_of(b, direction, sweeps), 1e-12);
        check<TypeParam>(generated("elasticity3d:3"), options_of(b, direction, sweeps), 1e-12);
        check<TypeParam>(dominant_clusters(1, b), options_of(b, direction, sweeps), 1e-12);
      }
}

TYPED_TEST(MulticolorBlockGsTest, BlocksWithoutAnInverseFallBack) {
  auto a = generated("elasticity3d:3");
  for (std::size_t k = 0; k < a.row_ptrs[3]; ++k)
    if (a.col_idxs[k] < 3) a.values[k] = 2;  // singular
  for (std::size_t k = a.row_ptrs[6]; k < a.row_ptrs[9]; ++k)
    if (a.col_idxs[k] >= 6 && a.col_idxs[k] < 9) a.values[k] = 0;
  check<TypeParam>(a, options_of(3, SweepDirection::symmetric), 1e-12);
  MulticolorBlockGs<double, TypeParam> m(options_of(3));
  m.numeric(TypeParam(), to_device<TypeParam>(a));
  EXPECT_EQ(m.report().breakdowns.count, 2);
  EXPECT_EQ(m.report().breakdowns.first_row, 1) << "the second pivot of a block of equal entries";
}

TYPED_TEST(MulticolorBlockGsTest, OneThreadHasTheSameBits) {
  if (!is_host_space<TypeParam>) GTEST_SKIP() << "a device's threads are what they are";
  for (const auto direction :
       {SweepDirection::forward, SweepDirection::backward, SweepDirection::symmetric}) {
    MulticolorBlockGs<double, TypeParam> m(options_of(3, direction, 2));
    m.numeric(TypeParam(), to_device<TypeParam>(generated("elasticity3d:5")));
    const auto x = some_vector(m.num_rows());
    EXPECT_EQ((applied<double, TypeParam>(m, {x}, of_one_thread<TypeParam>())),
              (applied<double, TypeParam>(m, {x})));
  }
}

TYPED_TEST(MulticolorBlockGsTest, BlocksAreReadInBothOrders) {
  const TypeParam space;
  const auto csr = to_device<TypeParam>(dominant_clusters(100, 9));
  MulticolorBlockGs<double, TypeParam> of_rows(options_of(4));
  of_rows.numeric(space, csr);
  const std::vector<std::vector<double>> x = {some_vector(100)};
  for (const BlockOrder order : both_orders) {
    const auto blocks = to_bcsr<double, TypeParam>(space, csr, 4, order);
    MulticolorBlockGs<double, TypeParam> m;
    m.numeric(space, MatrixSource<double, TypeParam>(space, blocks));
    EXPECT_EQ(m.block_size(), 4);
    EXPECT_EQ(applied(m, x), applied(of_rows, x));
  }
}

TYPED_TEST(MulticolorBlockGsTest, ASymmetricSweepOfASymmetricMatrixIsSymmetric) {
  const auto a = generated("elasticity3d:3");
  MulticolorBlockGs<double, TypeParam> m(options_of(3, SweepDirection::symmetric, 2));
  EXPECT_TRUE(m.is_symmetric());
  m.numeric(TypeParam(), to_device<TypeParam>(a));
  EXPECT_FALSE(m.is_symmetric()) << "the matrix is not looked at";
  EXPECT_FALSE(m.is_nonsymmetric());
  const auto x = some_vector(a.num_rows), z = some_vector(a.num_rows, 3);
  const auto y = applied<double, TypeParam>(m, {x, z});
  double left = 0, right = 0, square = 0;
  for (std::int64_t i = 0; i < a.num_rows; ++i) {
    left += z[i] * y[0][i];
    right += x[i] * y[1][i];
    square += x[i] * y[0][i];
  }
  EXPECT_NEAR(left, right, 1e-12 * std::abs(square));
  EXPECT_GT(square, 0);
}

TYPED_TEST(MulticolorBlockGsTest, NumericTakesNewValuesAndRefusesAnotherPattern) {
  auto host = dominant_clusters(90, 2);
  MulticolorBlockGs<double, TypeParam> m(options_of(3)), fresh(options_of(3));
  m.numeric(TypeParam(), to_device<TypeParam>(host));
  for (double& value : host.values) value *= 1.5 + 0.3 * std::sin(value);
  m.numeric(TypeParam(), to_device<TypeParam>(host));
  fresh.numeric(TypeParam(), to_device<TypeParam>(host));
  EXPECT_TRUE(m.report().pattern_kept);
  EXPECT_EQ((applied<double, TypeParam>(m, {some_vector(90)})),
            (applied<double, TypeParam>(fresh, {some_vector(90)})));
  const auto other = to_device<TypeParam>(dominant_clusters(90, 33));
  EXPECT_THAT(message_of<InputError>([&] { m.numeric(TypeParam(), other); }),
              HasSubstr("call symbolic again"));
}

TYPED_TEST(MulticolorBlockGsTest, ColumnsOfOtherRanksAreLeftOut) {
  const auto host = dominant_clusters(50, 3);
  const auto wide = with_columns_of_other_ranks(host);
  MulticolorBlockGs<double, TypeParam> expected(options_of(3)), found(options_of(3));
  expected.numeric(TypeParam(), to_device<TypeParam>(host));
  found.numeric(TypeParam(), to_device<TypeParam>(wide));
  EXPECT_EQ(found.report().foreign_entries, 3 * 50);
  EXPECT_EQ((applied<double, TypeParam>(found, {some_vector(50)})),
            (applied<double, TypeParam>(expected, {some_vector(50)})));
}

TYPED_TEST(MulticolorBlockGsTest, ApplicationsNeitherAllocateNorFence) {
  const TypeParam space;
  MulticolorBlockGs<double, TypeParam> m(options_of(3, SweepDirection::symmetric, 2));
  m.numeric(space, to_device<TypeParam>(generated("elasticity3d:3")));
  const MultiVector<double, TypeParam> x("x", m.num_rows(), 2), y("y", m.num_rows(), 2);
  const auto workspace = m.make_workspace(space, 2);
  space.fence();
  ToolEvents events;
  m.apply(space, x, y, *workspace);
  EXPECT_THAT(events.allocations(), IsEmpty());
  EXPECT_THAT(events.fences(), IsEmpty());
}

TYPED_TEST(MulticolorBlockGsTest, MatricesWithoutRows) {
  MulticolorBlockGs<double, TypeParam> m;
  m.numeric(TypeParam(), to_device<TypeParam>(HostMatrix<double>()));
  EXPECT_EQ(m.num_rows(), 0);
}

}  // namespace
}  // namespace prekond::testing
