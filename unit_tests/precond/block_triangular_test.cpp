// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/concurrency.hpp"
#include "testing/one_thread.hpp"
#include "testing/reference_block_ilu.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/precond/triangular_solver.hpp>

#include <cmath>
#include <random>

namespace prekond::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Method = TriangularMethod;

constexpr int block_sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 17, 32};

template <class Space>
class BlockTriangularTest : public ::testing::Test {};
TYPED_TEST_SUITE(BlockTriangularTest, TestSpaces, SpaceNames);

/// A strict triangle of blocks, and blocks S.
struct TriangleCase {
  int b = 1, padding = 0;
  Triangle which = Triangle::lower;
  LongBlockRows rows;
  std::vector<LongBlock> scale;
};

/// Rows with none, some and, once, all blocks; entries of about 1 / (their number).
TriangleCase random_triangle(int rows, int b, int padding, Triangle which, double size, unsigned seed) {
  std::mt19937 random(seed);
  const auto number = [&] { return double(random()) / double(1u << 31) - 1; };
  TriangleCase result{b, padding, which, LongBlockRows(rows), {}};
  for (int i = 0; i < rows; ++i) {
    const int others = which == Triangle::lower ? i : rows - 1 - i;
    for (int k = 0; k < others; ++k) {
      if (i != rows / 2 && random() % 4 > 0 && !(i % 3 != 0 && k == others - 1)) continue;
      LongBlock block(b * b);
      for (auto& entry : block) entry = static_cast<double>(size * number());
      result.rows[i][which == Triangle::lower ? k : rows - 1 - k] = block;
    }
    LongBlock own(b * b);
    for (auto& entry : own) entry = static_cast<double>(number());
    result.scale.push_back(own);
  }
  // The padding is zero.
  for (int i = 0; i < rows; ++i)
    for (int p = 0; p < b; ++p)
      for (int q = 0; q < b; ++q) {
        if (i == rows - 1 && (p >= b - padding || q >= b - padding)) result.scale[i][q * b + p] = 0;
        for (auto& [k, block] : result.rows[i])
          if ((i == rows - 1 && p >= b - padding) || (k == rows - 1 && q >= b - padding))
            block[q * b + p] = 0;
      }
  return result;
}

template <class Scalar, class Space>
struct DeviceTriangle {
  CsrGraph<Space> graph;
  Vector<Scalar, Space> values, scale;

  explicit DeviceTriangle(const TriangleCase& test) {
    std::vector<std::size_t> row_ptrs = {0};
    std::vector<int> cols;
    std::vector<Scalar> entries, scales;
    for (std::size_t i = 0; i < test.rows.size(); ++i) {
      for (const auto& [k, block] : test.rows[i]) {
        cols.push_back(k);
        entries.insert(entries.end(), block.begin(), block.end());
      }
      row_ptrs.push_back(cols.size());
      scales.insert(scales.end(), test.scale[i].begin(), test.scale[i].end());
    }
    const auto n = static_cast<std::int64_t>(test.rows.size());
    graph = {n, n, to_device<Space>(row_ptrs), to_device<Space>(cols)};
    values = to_device<Space>(entries);
    scale = to_device<Space>(scales);
  }
};

template <class Scalar, class Space>
std::vector<std::vector<Scalar>> applied(const TriangularSolver<Scalar, Space>& solver,
                                         const std::vector<std::vector<Scalar>>& x, const Space& space = {}) {
  const std::size_t n = solver.num_rows();
  const MultiVector<Scalar, Space> in("x", n, x.size()), out("y", n, x.size());
  for (std::size_t v = 0; v < x.size(); ++v)
    Kokkos::deep_copy(Kokkos::subview(in, Kokkos::ALL, v), to_device<Space>(x[v]));
  const auto workspace = solver.make_workspace(space, static_cast<int>(x.size()));
  solver.apply(space, in, out, *workspace);
  space.fence();
  std::vector<std::vector<Scalar>> y;
  for (std::size_t v = 0; v < x.size(); ++v) y.push_back(to_vector(Kokkos::subview(out, Kokkos::ALL, v)));
  return y;
}

template <class Scalar>
std::vector<std::vector<Scalar>> vectors(std::size_t n, int count) {
  std::vector<std::vector<Scalar>> x(count, std::vector<Scalar>(n));
  for (int v = 0; v < count; ++v)
    for (std::size_t i = 0; i < n; ++i) x[v][i] = static_cast<Scalar>(std::sin(1.0 + 3 * double(i) + v));
  return x;
}

/// Expects the result of `solve` for S x, or for x.
template <class Scalar, class Solve>
void expect_solution(const TriangleCase& test, bool with_scale, const std::vector<Scalar>& x,
                     const std::vector<Scalar>& y, double tolerance, const Solve& solve) {
  LongBlock source(test.rows.size() * test.b, 0);
  std::copy(x.begin(), x.end(), source.begin());
  if (with_scale) source = reference_scale(test.scale, test.b, source);
  const LongBlock expected = solve(source);
  double size = 0;
  for (const long double entry : expected) size = std::max(size, double(std::abs(entry)));
  for (std::size_t i = 0; i < y.size(); ++i)
    ASSERT_NEAR(y[i], static_cast<double>(expected[i]), tolerance * size) << "row " << i;
}

template <class Scalar, class Space>
TriangularSolver<Scalar, Space> solver_of(const TriangleCase& test, bool with_scale,
                                          const TriangularOptions& options) {
  const Space space;
  const DeviceTriangle<Scalar, Space> device(test);
  TriangularSolver<Scalar, Space> solver("test", test.which, options);
  solver.symbolic(space, device.graph, {test.b, test.padding});
  Report report;
  solver.numeric(space, device.values, with_scale ? device.scale : Vector<Scalar, Space>(), report);
  return solver;
}

std::vector<TriangleCase> cases(int b, double size) {
  std::vector<TriangleCase> result;
  for (const Triangle which : {Triangle::lower, Triangle::upper}) {
    result.push_back(random_triangle(41, b, 0, which, size, b));
    result.push_back(random_triangle(19, b, b - 1, which, size, b + 7));
    result.push_back(random_triangle(1, b, b / 2, which, size, b + 9));
  }
  return result;
}

TYPED_TEST(BlockTriangularTest, ExactSolvesEqualTheSequentialOnes) {
  for (const Method method : {Method::automatic, Method::levels, Method::sync_free})
    for (const int b : block_sizes)
      for (const TriangleCase& test : cases(b, 0.5 / b))
        for (const bool with_scale : {false, true}) {
          SCOPED_TRACE("b " + std::to_string(b));
          TriangularOptions options;
          options.method = method;
          const auto reference = [&](const LongBlock& source) {
            return reference_solve(test.rows, b, source, test.which == Triangle::lower);
          };
          const auto solver = solver_of<double, TypeParam>(test, with_scale, options);
          const auto x = vectors<double>(solver.num_rows(), 3);
          const auto y = applied(solver, x);
          for (int v = 0; v < 3; ++v) expect_solution(test, with_scale, x[v], y[v], 1e-12, reference);
          EXPECT_EQ(applied(solver, {x[1]})[0], y[1]) << "a column does not depend on the others";
          const auto single = solver_of<float, TypeParam>(test, with_scale, options);
          const auto x1 = vectors<float>(single.num_rows(), 1);
          expect_solution(test, with_scale, x1[0], applied(single, x1)[0], 1e-4, reference);
        }
}

/// One thread of a host has the rows in their own order, without levels.
TYPED_TEST(BlockTriangularTest, OneThreadHasTheSameBits) {
  if (!is_host_space<TypeParam>) GTEST_SKIP() << "a device's threads are what they are";
  const TypeParam one = of_one_thread<TypeParam>();
  ASSERT_EQ(concurrency(one), 1);
  for (const int b : {1, 2, 3, 8, 17})
    for (const Triangle which : {Triangle::lower, Triangle::upper})
      for (const Method method : {Method::automatic, Method::levels, Method::sync_free}) {
        TriangularOptions options;
        options.method = method;
        const auto solver =
            solver_of<double, TypeParam>(random_triangle(150, b, b / 2, which, 0.05 / b, 3), true, options);
        const auto x = vectors<double>(solver.num_rows(), 2);
        EXPECT_EQ(applied(solver, x, one), applied(solver, x));
      }
}

TYPED_TEST(BlockTriangularTest, LevelsAndWaitingRowsHaveTheSameBits) {
  for (const int b : {1, 2, 3, 5, 17})
    for (const TriangleCase& test : cases(b, 1.0 / b)) {
      TriangularOptions levels, sync_free, in_vain;
      levels.method = Method::levels;
      sync_free.method = in_vain.method = Method::sync_free;
      in_vain.max_polls = 0;
      const auto solver = solver_of<double, TypeParam>(test, true, levels);
      const auto x = vectors<double>(solver.num_rows(), 2);
      const auto expected = applied(solver, x);
      EXPECT_EQ(applied(solver_of<double, TypeParam>(test, true, sync_free), x), expected);
      EXPECT_EQ(applied(solver_of<double, TypeParam>(test, true, in_vain), x), expected);
    }
}

TYPED_TEST(BlockTriangularTest, SweepsEqualTheSequentialOnes) {
  for (const int b : block_sizes)
    for (const TriangleCase& test : cases(b, 0.05 / b))
      for (const int sweeps : {0, 1, 2, 3, 6})
        for (const bool with_scale : {false, true}) {
          SCOPED_TRACE("b " + std::to_string(b) + ", sweeps " + std::to_string(sweeps));
          TriangularOptions options;
          options.method = Method::jacobi;
          options.sweeps = sweeps;
          const auto solver = solver_of<double, TypeParam>(test, with_scale, options);
          ASSERT_EQ(solver.method(), Method::jacobi);
          const int done = static_cast<int>(std::min<std::size_t>(sweeps, test.rows.size()));
          EXPECT_EQ(solver.sweeps(), done);
          const auto x = vectors<double>(solver.num_rows(), 2);
          const auto y = applied(solver, x);
          for (int v = 0; v < 2; ++v)
            expect_solution(test, with_scale, x[v], y[v], 1e-12, [&](const LongBlock& source) {
              return reference_sweeps(test.rows, b, source, done);
            });
        }
}

/// M by its columns: that of the pattern, with (M (I + N))_ij = I_ij there and no other blocks.
TYPED_TEST(BlockTriangularTest, TheApproximateInverseIsExactOnThePattern) {
  TriangularOptions options;
  options.method = Method::isai;
  for (const int b : {1, 2, 3, 5, 8, 17})
    for (const Triangle which : {Triangle::lower, Triangle::upper}) {
      SCOPED_TRACE("b " + std::to_string(b));
      const TriangleCase test = random_triangle(14, b, b / 2, which, 1.0 / b, b);
      const auto solver = solver_of<double, TypeParam>(test, false, options);
      ASSERT_EQ(solver.method(), Method::isai);
      const int n = static_cast<int>(solver.num_rows()), rows = static_cast<int>(test.rows.size());
      std::vector<std::vector<double>> units(n, std::vector<double>(n));
      for (int j = 0; j < n; ++j) units[j][j] = 1;
      const auto m = applied(solver, units);
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
          if (i / b != j / b && !test.rows[i / b].contains(j / b)) {
            ASSERT_EQ(m[j][i], 0) << i << ", " << j;
            continue;
          }
          double sum = m[j][i];
          for (int k = 0; k < rows; ++k)
            if (const auto found = test.rows[k].find(j / b); found != test.rows[k].end())
              for (int q = 0; q < b && k * b + q < n; ++q)
                sum += m[k * b + q][i] * double(found->second[j % b * b + q]);
          ASSERT_NEAR(sum, i == j, 1e-13) << i << ", " << j;
        }
      const auto scaled = solver_of<double, TypeParam>(test, true, options);
      const auto x = vectors<double>(n, 1);
      expect_solution(test, true, x[0], applied(scaled, x)[0], 1e-13, [&](const LongBlock& source) {
        LongBlock y(source.size(), 0);
        for (int i = 0; i < n; ++i)
          for (int j = 0; j < n; ++j) y[i] += m[j][i] * source[j];
        return y;
      });
      EXPECT_GE(scaled.bytes(), static_cast<std::int64_t>(sizeof(double)) * b * b);
    }
}

TYPED_TEST(BlockTriangularTest, AnInverseThatIsNotFiniteIsRefused) {
  TriangleCase test = random_triangle(9, 2, 0, Triangle::lower, 1, 5);
  for (auto& row : test.rows)
    for (auto& [k, block] : row)
      for (auto& entry : block) entry *= 1e200L;
  TriangularOptions options;
  options.method = Method::isai;
  const auto solver = solver_of<double, TypeParam>(test, true, options);
  EXPECT_NE(solver.method(), Method::isai);
  EXPECT_THAT(solver.description(), HasSubstr("isai was refused"));
}

TYPED_TEST(BlockTriangularTest, SweepsThatDivergeAreRefused) {
  const TriangleCase test = random_triangle(41, 3, 0, Triangle::lower, 40, 5);
  TriangularOptions options;
  options.method = Method::jacobi;
  options.sweeps = 4;
  const auto solver = solver_of<double, TypeParam>(test, true, options);
  EXPECT_NE(solver.method(), Method::jacobi);
  EXPECT_EQ(solver.sweeps(), 0);
  EXPECT_GT(solver.num_levels(), 4);
  EXPECT_THAT(solver.description(), HasSubstr("refused"));
  const auto x = vectors<double>(solver.num_rows(), 1);
  const auto y = applied(solver, x);
  // The solution grows with the rows: each is compared with what is before it.
  LongBlock source(x[0].begin(), x[0].end());
  const auto expected = reference_solve(test.rows, 3, reference_scale(test.scale, 3, source), true);
  for (std::size_t i = 0; i < y[0].size(); ++i)
    ASSERT_NEAR(y[0][i] / double(expected[i]), 1, 1e-6) << "row " << i;
}

TYPED_TEST(BlockTriangularTest, ApplicationsNeitherAllocateNorFence) {
  const TriangleCase test = random_triangle(41, 3, 1, Triangle::upper, 0.02, 5);
  const TypeParam space;
  for (const Method method : {Method::levels, Method::sync_free, Method::jacobi, Method::isai}) {
    TriangularOptions options;
    options.method = method;
    const auto solver = solver_of<double, TypeParam>(test, true, options);
    ASSERT_EQ(solver.method(), method);
    const MultiVector<double, TypeParam> x("x", solver.num_rows(), 2), y("y", solver.num_rows(), 2);
    const auto workspace = solver.make_workspace(space, 2);
    space.fence();
    ToolEvents events;
    solver.apply(space, x, y, *workspace);
    EXPECT_THAT(events.allocations(), IsEmpty());
    EXPECT_THAT(events.fences(), IsEmpty());
  }
}

TYPED_TEST(BlockTriangularTest, SizesThatDoNotFitAreRefused) {
  using Solver = TriangularSolver<double, TypeParam>;
  const TypeParam space;
  const TriangleCase test = random_triangle(9, 3, 0, Triangle::lower, 0.1, 5);
  const DeviceTriangle<double, TypeParam> device(test);
  Report report;
  Solver solver("test", Triangle::lower);
  EXPECT_THROW(solver.numeric(space, device.values, device.scale, report), std::logic_error);
  EXPECT_THROW(solver.make_workspace(space, 1), std::logic_error);
  EXPECT_THROW(solver.symbolic(space, device.graph, BlockShape{33}), InputError);
  EXPECT_THROW(solver.symbolic(space, device.graph, BlockShape{-1}), InputError);
  auto wide = device.graph;
  wide.num_cols = 10;
  EXPECT_THROW(solver.symbolic(space, wide, BlockShape{3}), InputError);
  EXPECT_THROW(solver.symbolic(space, device.graph, LevelSchedule<TypeParam>(), {3}), InputError);
  solver.symbolic(space, device.graph, BlockShape{3});
  EXPECT_THROW(solver.numeric(space, device.scale, device.scale, report), InputError);
  EXPECT_THROW(solver.numeric(space, device.values, device.values, report), InputError);
  solver.numeric(space, device.values, device.scale, report);
  const MultiVector<double, TypeParam> x("x", 27, 2), y("y", 27, 2), shorter("z", 26, 2);
  const auto workspace = solver.make_workspace(space, 1);
  EXPECT_THROW(solver.apply(space, x, y, *workspace), std::logic_error);
  EXPECT_THROW(solver.apply(space, x, shorter, *workspace), InputError);
  TriangularOptions options;
  options.sweeps = -1;
  EXPECT_THROW(Solver("test", Triangle::lower, options), OptionError);
}

TYPED_TEST(BlockTriangularTest, WhatOnlySingleRowsHaveIsRefused) {
  const DeviceTriangle<double, TypeParam> device(random_triangle(9, 3, 0, Triangle::lower, 0.1, 5));
  for (const TriangularOptions& options : {TriangularOptions{.method = Method::isai, .isai_power = 2},
                                           TriangularOptions{.storage = Storage::single_precision}}) {
    TriangularSolver<double, TypeParam> solver("test", Triangle::lower, options);
    EXPECT_THROW(solver.symbolic(TypeParam(), device.graph, BlockShape{3}), OptionError);
  }
}

}  // namespace
}  // namespace prekond::testing
