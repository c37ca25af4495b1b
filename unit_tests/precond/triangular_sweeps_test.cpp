// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/triangular_cases.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/core/options.hpp>
#include "matrix/counter_hash.hpp"

#include <algorithm>

namespace prekond::testing {
namespace {

using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Sweeps, and inverses with their transposes.
template <class Space>
class TriangularSweepsTest : public ::testing::Test {};
TYPED_TEST_SUITE(TriangularSweepsTest, TestSpaces, SpaceNames);

TriangularOptions sweeps_of(int sweeps) {
  TriangularOptions options = with(TriangularMethod::jacobi);
  options.sweeps = sweeps;
  return options;
}

/// The largest change of each of `sweeps` sweeps on the fixed vector, times the scales.
std::vector<double> changes_of(const HostMatrix<double>& n, const std::vector<double>& s, int sweeps) {
  std::vector<long double> source(n.num_rows);
  for (std::size_t i = 0; i < source.size(); ++i)
    source[i] = (2 * impl::unit_interval(impl::counter_hash(1, i)) - 1) * (s.empty() ? 1 : s[i]);
  std::vector<long double> y = source;
  std::vector<double> changes;
  for (int k = 0; k < sweeps; ++k) {
    const auto from = y;
    long double most = 0;
    for (std::int64_t i = 0; i < n.num_rows; ++i) {
      y[i] = source[i];
      for (std::size_t e = n.row_ptrs[i]; e < n.row_ptrs[i + 1]; ++e)
        if (n.col_idxs[e] < n.num_rows) y[i] -= n.values[e] * from[n.col_idxs[e]];
      most = std::max(most, std::abs(y[i] - from[i]));
    }
    changes.push_back(static_cast<double>(most));
  }
  return changes;
}

std::vector<Case> sweep_cases() {
  std::vector<Case> cases;
  for (const Case& test : awkward_patterns<double>())
    if (test.matrix.num_cols >= test.matrix.num_rows && test.matrix.num_rows > 0) cases.push_back(test);
  for (const int n : {1, 2, 31, 32, 33, 257})
    cases.push_back({"random:" + std::to_string(n), random_general(n, 0.1, n)});
  for (const char* spec : {"poisson3d:9", "elasticity3d:4", "circuit:24"})
    cases.push_back({spec, generated(spec)});
  cases.push_back({"a rank's part", with_columns_of_other_ranks(generated("poisson3d:6"))});
  return cases;
}

TYPED_TEST(TriangularSweepsTest, SweepsWhoseLastChangeIsLargerAreRefused) {
  int refused = 0, taken = 0;
  for (const Case& test : sweep_cases())
    for (const Triangle which : triangles)
      for (const double growth : {1.0, 4.0})
        for (const int sweeps : {1, 2, 3, 6}) {
          SCOPED_TRACE(test.name + (which == Triangle::lower ? ", lower, " : ", upper, ") +
                       std::to_string(sweeps) + " sweeps of " + std::to_string(growth));
          const auto n = strict_triangle(test.matrix, which, growth);
          const auto s = sweeps % 2 == 0 ? scales_of<double>(n.num_rows) : std::vector<double>();
          const int count = std::min<int>(sweeps, n.num_rows);
          const auto changes = changes_of(n, s, count);
          const Solver<double, TypeParam> solve(n, which, sweeps_of(sweeps), s);
          EXPECT_THAT(solve.report.notes, Contains(solve.solver.description()));
          const double ratio = changes.front() > 0 ? changes.back() / changes.front() : 0;
          if (std::abs(ratio - 1) < 1e-12 && count > 1) continue;  // rounding decides
          if (ratio > 1) {
            ++refused;
            EXPECT_NE(solve.solver.method(), TriangularMethod::jacobi);
            EXPECT_EQ(solve.solver.sweeps(), 0);
            const std::string text = solve.solver.description(),
                              begin = "jacobi was refused: its last sweep changed a vector ";
            ASSERT_THAT(text, HasSubstr(begin));
            EXPECT_NEAR(std::stod(text.substr(text.find(begin) + begin.size())), ratio, 1e-4 * ratio);
          } else {
            ++taken;
            ASSERT_EQ(solve.solver.method(), TriangularMethod::jacobi);
            EXPECT_EQ(solve.solver.sweeps(), count);
          }
        }
  EXPECT_GT(refused, 10);
  EXPECT_GT(taken, 10);
}

TYPED_TEST(TriangularSweepsTest, OneSweepFewerThanThereAreLevelsIsExact) {
  for (const char* spec : {"poisson3d:7", "convection_diffusion3d:6,peclet=1000"})
    for (const Triangle which : triangles) {
      const auto n = strict_triangle(generated(spec), which);
      const auto b = waves_of(n.num_rows);
      const Solver<double, TypeParam> levels(n, which, with(TriangularMethod::levels));
      const Solver<double, TypeParam> solve(n, which, sweeps_of(levels.solver.num_levels() - 1));
      expect_solution(n, which, {}, b, solve(b), 1e-14);
    }
}

TYPED_TEST(TriangularSweepsTest, SweepsBeyondTheRowsAreLeftOut) {
  const auto n = strict_triangle(random_general(23, 0.4, 3), Triangle::lower);
  const auto b = waves_of(n.num_rows);
  const Solver<double, TypeParam> many(n, Triangle::lower, sweeps_of(1000000));
  EXPECT_EQ(many.solver.method(), TriangularMethod::jacobi);
  EXPECT_EQ(many.solver.sweeps(), 23);
  expect_solution(n, Triangle::lower, {}, b, many(b), 1e-14);
  // Nor does the last of these.
  const Solver<double, TypeParam> enough(n, Triangle::lower, sweeps_of(22));
  EXPECT_EQ(enough.solver.sweeps(), 22);
  EXPECT_EQ(enough(b), many(b));
}

TYPED_TEST(TriangularSweepsTest, EachNumericTriesTheSweepsAnew) {
  const auto slow = strict_triangle(generated("poisson2d:20"), Triangle::lower);
  const auto wild = strict_triangle(slow, Triangle::lower, 4);
  Solver<double, TypeParam> solve(slow, Triangle::lower, sweeps_of(8));
  EXPECT_EQ(solve.solver.description(), "test, lower solve: jacobi, 8 sweeps");
  const auto b = waves_of(slow.num_rows), y = solve(b);
  solve.numeric(wild);
  EXPECT_EQ(solve.solver.sweeps(), 0);
  EXPECT_NE(solve.solver.method(), TriangularMethod::jacobi);
  expect_solution(wild, Triangle::lower, {}, b, solve(b), 1e-14);
  solve.numeric(slow);
  EXPECT_EQ(solve.solver.sweeps(), 8);
  EXPECT_EQ(solve(b), y);
  const Solver<double, TypeParam> one(slow, Triangle::upper, sweeps_of(1));
  EXPECT_EQ(one.solver.description(), "test, upper solve: jacobi, 1 sweep");
}

TYPED_TEST(TriangularSweepsTest, OnlyNumericLooksAtChanges) {
  const auto n = strict_triangle(generated("poisson3d:9"), Triangle::lower);
  Solver<double, TypeParam> solve(n, Triangle::lower, sweeps_of(12));
  const ToolEvents of_numeric;
  solve.numeric(n);
  const auto& kernels = of_numeric.kernels();
  EXPECT_EQ(std::count(kernels.begin(), kernels.end(), "prekond::triangular::numeric::change"), 2);
  const Vector<double, TypeParam> x("x", n.num_rows), y("y", n.num_rows);
  const auto workspace = solve.solver.make_workspace(solve.space, 1);
  const ToolEvents events;
  solve.solver.apply(solve.space, as_multivector(VectorView<const double, TypeParam>(x)), as_multivector(y),
                     *workspace);
  EXPECT_EQ(events.kernels().size(), 12u);
  EXPECT_THAT(events.fences(), IsEmpty());
  EXPECT_THAT(events.allocations(), IsEmpty());
}

// ------------------------------------------------------------------------------------------- the transpose

/// The results of a solve for the unit vectors, by rows.
template <class Space>
std::vector<std::vector<double>> columns_of_inverse(const Solver<double, Space>& solve) {
  const auto n = static_cast<std::size_t>(solve.solver.num_rows());
  std::vector<std::vector<double>> identity(n, std::vector<double>(n, 0));
  for (std::size_t i = 0; i < n; ++i) identity[i][i] = 1;
  return solve(identity);
}

Triangle other_of(Triangle which) {
  return which == Triangle::lower ? Triangle::upper : Triangle::lower;
}

TYPED_TEST(TriangularSweepsTest, AnInverseAndItsTranspose) {
  for (const Case& test : sweep_cases())
    for (const Triangle which : triangles)
      for (const Storage storage : {Storage::full, Storage::half}) {
        if (test.matrix.num_rows > 300) continue;
        SCOPED_TRACE(test.name + ", storage " + std::to_string(int(storage)));
        auto options = with(TriangularMethod::isai, storage);
        options.isai_power = 2;
        const auto n = strict_triangle(test.matrix, which);
        const auto t = transposed(n);
        const auto rows = static_cast<std::size_t>(n.num_rows);
        const Solver<double, TypeParam> expected(n, which, options);
        Solver<double, TypeParam> solve(n, which, options), other(t, other_of(which), options);
        const auto numeric = [&](double factor, const std::vector<double>& s, const std::vector<double>& s2) {
          auto values = n.values, other_values = t.values;
          for (double& value : values) value *= factor;
          for (double& value : other_values) value *= factor;
          solve.report = {};
          solve.solver.numeric_with_transpose(
              solve.space, to_device<TypeParam>(values), to_device<TypeParam>(s), other.solver,
              to_device<TypeParam>(other_values), to_device<TypeParam>(s2), solve.report);
        };
        // Twice: the second time on the patterns that there are.
        for (const double factor : {0.7, 1.0}) {
          const ToolEvents events;
          numeric(factor, {}, {});
          const auto& kernels = events.kernels();
          const bool first = factor < 1;
          EXPECT_EQ(std::count(kernels.begin(), kernels.end(), "prekond::transpose_graph::count"),
                    first ? 1 : 0);
          const bool makes_pattern =
              std::any_of(kernels.begin(), kernels.end(),
                          [](const std::string& label) { return label.find("power") != std::string::npos; });
          EXPECT_EQ(makes_pattern, first);
        }
        EXPECT_THAT(solve.report.notes, Contains(solve.solver.description()));
        EXPECT_THAT(solve.report.notes, Contains(other.solver.description()));
        EXPECT_THAT(other.solver.description(), EndsWith("isai, power 2; the transpose of the other's"));
        const auto m = columns_of_inverse(solve), mt = columns_of_inverse(other);
        EXPECT_EQ(m, columns_of_inverse(expected));
        for (std::size_t i = 0; i < rows; ++i)
          for (std::size_t j = 0; j < rows; ++j) ASSERT_EQ(m[j][i], mt[i][j]) << i << ", " << j;
        const auto s = scales_of<double>(n.num_rows);
        std::vector<double> s2(rows);
        for (std::size_t i = 0; i < rows; ++i) s2[i] = 1 + 0.1 * double(i % 5);
        numeric(1, s, s2);
        const auto ms = columns_of_inverse(solve), mts = columns_of_inverse(other);
        for (std::size_t i = 0; i < rows; ++i)
          for (std::size_t j = 0; j < rows; ++j) {
            ASSERT_EQ(ms[j][i], m[j][i] * s[j]);
            ASSERT_NEAR(mts[j][i], m[i][j] * s2[j], 1e-15 * std::abs(mts[j][i]));
          }
        EXPECT_GE(other.solver.bytes(), static_cast<std::int64_t>(8 * rows));
        solve.numeric(n);  // and one by itself again
        EXPECT_EQ(columns_of_inverse(solve), m);
      }
  const auto n = strict_triangle(generated("poisson2d:5"), Triangle::lower);
  Solver<double, TypeParam> levels(n, Triangle::lower, with(TriangularMethod::levels));
  const auto values = to_device<TypeParam>(n.values);
  EXPECT_THROW(levels.solver.numeric_with_transpose(levels.space, values, {}, levels.solver, values, {},
                                                    levels.report),
               std::logic_error);
}

}  // namespace
}  // namespace prekond::testing
