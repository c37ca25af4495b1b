// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/triangular_cases.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/core/options.hpp>
#include "matrix/counter_hash.hpp"

#include <limits>

namespace prekond::testing {
namespace {

using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// Sweeps until a bound, and inverses with their transposes.
template <class Space>
class TriangularSweepsTest : public ::testing::Test {};
TYPED_TEST_SUITE(TriangularSweepsTest, TestSpaces, SpaceNames);

TriangularOptions until(double tolerance, int sweeps = 1000) {
  TriangularOptions options = with(TriangularMethod::jacobi);
  options.tolerance = tolerance;
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

/// The least number that reaches the tolerance.
int least_sweeps(const std::vector<double>& changes, double tolerance) {
  for (std::size_t k = 0; k < changes.size(); ++k)
    if (changes[k] <= tolerance * changes[0]) return static_cast<int>(k) + 1;
  return static_cast<int>(changes.size());
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

TYPED_TEST(TriangularSweepsTest, FewestSweepsThatReachTheTolerance) {
  std::vector<int> found;
  for (const Case& test : sweep_cases())
    for (const Triangle which : triangles)
      for (const double tolerance : {1.0, 0.5, 0.1, 1e-3})
        for (const bool scales : {false, true}) {
          SCOPED_TRACE(test.name + (which == Triangle::lower ? ", lower, " : ", upper, ") +
                       std::to_string(tolerance));
          const auto n = strict_triangle(test.matrix, which);
          const auto s = scales ? scales_of<double>(n.num_rows) : std::vector<double>();
          const int expected = least_sweeps(changes_of(n, s, 60), tolerance);
          const Solver<double, TypeParam> solve(n, which, until(tolerance, 60), s);
          ASSERT_EQ(solve.solver.method(), TriangularMethod::jacobi);
          EXPECT_EQ(solve.solver.sweeps(), expected);
          EXPECT_THAT(solve.report.notes, Contains(solve.solver.description()));
          const Solver<double, TypeParam> as_many(n, which, until(0, expected), s);
          EXPECT_EQ(as_many.solver.sweeps(), expected);
          EXPECT_EQ(solve.solver.flops(), as_many.solver.flops());
          const auto b = right_sides<double>(n.num_rows, 2);
          EXPECT_EQ(solve(b), as_many(b));
          found.push_back(expected);
        }
  EXPECT_THAT(found, ::testing::AllOf(Contains(1), Contains(2), Contains(3), Contains(::testing::Ge(8))));
}

TYPED_TEST(TriangularSweepsTest, SweepsEndWhereNothingChanges) {
  for (const char* spec : {"poisson3d:7", "convection_diffusion3d:6,peclet=1000"})
    for (const Triangle which : triangles) {
      const auto n = strict_triangle(generated(spec), which);
      const auto b = waves_of(n.num_rows);
      const Solver<double, TypeParam> levels(n, which, with(TriangularMethod::levels));
      const Solver<double, TypeParam> solve(n, which, until(1e-300));
      EXPECT_LE(solve.solver.sweeps(), levels.solver.num_levels());
      expect_solution(n, which, {}, b, solve(b), 1e-14);
    }
}

TYPED_TEST(TriangularSweepsTest, SweepsBeyondTheRowsAreLeftOut) {
  const auto n = strict_triangle(random_general(23, 0.4, 3), Triangle::lower);
  const auto b = waves_of(n.num_rows);
  const Solver<double, TypeParam> many(n, Triangle::lower, until(0, 1000000));
  EXPECT_EQ(many.solver.method(), TriangularMethod::jacobi);
  EXPECT_EQ(many.solver.sweeps(), 23);
  expect_solution(n, Triangle::lower, {}, b, many(b), 1e-14);
  // Nor does the last of these.
  const Solver<double, TypeParam> enough(n, Triangle::lower, until(0, 22));
  EXPECT_EQ(enough.solver.sweeps(), 22);
  EXPECT_EQ(enough(b), many(b));
}

TYPED_TEST(TriangularSweepsTest, DescriptionHasTheChangeReached) {
  const auto n = strict_triangle(generated("poisson3d:9"), Triangle::upper);
  const Solver<double, TypeParam> reaches(n, Triangle::upper, until(0.01));
  EXPECT_EQ(reaches.solver.description(), "test, upper solve: jacobi, " +
                                              std::to_string(least_sweeps(changes_of(n, {}, 60), 0.01)) +
                                              " sweeps (changes below 0.01 of the first)");
  const Solver<double, TypeParam> ends(n, Triangle::upper, until(0.01, 3));
  EXPECT_EQ(ends.solver.sweeps(), 3);
  const std::string text = ends.solver.description(),
                    begin = "test, upper solve: jacobi, 3 sweeps (changes of ";
  ASSERT_EQ(text.substr(0, begin.size()), begin);
  EXPECT_THAT(text, EndsWith(" of the first, not below 0.01)"));
  const auto changes = changes_of(n, {}, 3);
  EXPECT_NEAR(std::stod(text.substr(begin.size())), changes[2] / changes[0], 1e-5);
  EXPECT_THAT(ends.report.notes, Contains(text));
  const Solver<double, TypeParam> one(n, Triangle::upper, until(1));
  EXPECT_EQ(one.solver.description(), "test, upper solve: jacobi, 1 sweep (changes below 1 of the first)");
  const Solver<double, TypeParam> none(n, Triangle::upper, until(0.5, 0));
  EXPECT_EQ(none.solver.description(), "test, upper solve: jacobi, 0 sweeps");
  const Solver<double, TypeParam> exact(n, Triangle::upper, with(TriangularMethod::levels));
  EXPECT_EQ(exact.solver.sweeps(), 0);
}

TYPED_TEST(TriangularSweepsTest, NumericFixesSweepsAnewAndRefusesDivergence) {
  const auto slow = strict_triangle(generated("poisson2d:20"), Triangle::lower);
  const auto fast = strict_triangle(slow, Triangle::lower, 0.05);
  const auto wild = strict_triangle(slow, Triangle::lower, 4);
  Solver<double, TypeParam> solve(slow, Triangle::lower, until(0.01, 8));
  const auto b = waves_of(slow.num_rows);
  const int before = solve.solver.sweeps();
  solve.numeric(fast);
  EXPECT_LT(solve.solver.sweeps(), before);
  EXPECT_EQ(solve.solver.sweeps(), least_sweeps(changes_of(fast, {}, 8), 0.01));
  solve.numeric(wild);
  EXPECT_EQ(solve.solver.sweeps(), 0);
  EXPECT_NE(solve.solver.method(), TriangularMethod::jacobi);
  EXPECT_THAT(solve.report.notes, Contains(HasSubstr("jacobi was refused")));
  expect_solution(wild, Triangle::lower, {}, b, solve(b), 1e-14);
}

TYPED_TEST(TriangularSweepsTest, OnlyNumericLooksAtChanges) {
  const auto n = strict_triangle(generated("poisson3d:9"), Triangle::lower);
  const auto looks = [](const ToolEvents& events) {
    const auto& kernels = events.kernels();
    return std::count(kernels.begin(), kernels.end(), "prekond::triangular::numeric::change");
  };
  for (const double tolerance : {0.0, 0.01}) {
    Solver<double, TypeParam> solve(n, Triangle::lower, until(tolerance, 40));
    const ToolEvents of_numeric;
    solve.numeric(n);
    EXPECT_EQ(looks(of_numeric), tolerance > 0 ? solve.solver.sweeps() : 2);
    const Vector<double, TypeParam> x("x", n.num_rows), y("y", n.num_rows);
    const auto workspace = solve.solver.make_workspace(solve.space, 1);
    const ToolEvents events;
    solve.solver.apply(solve.space, as_multivector(VectorView<const double, TypeParam>(x)), as_multivector(y),
                       *workspace);
    EXPECT_EQ(events.kernels().size(), static_cast<std::size_t>(solve.solver.sweeps()));
    EXPECT_THAT(events.fences(), IsEmpty());
    EXPECT_THAT(events.allocations(), IsEmpty());
  }
}

TYPED_TEST(TriangularSweepsTest, SweepsAreRaisedToThoseOfAnotherSolve) {
  const auto n = strict_triangle(generated("poisson3d:9"), Triangle::lower);
  const auto b = waves_of(n.num_rows);
  Solver<double, TypeParam> solve(n, Triangle::lower, until(0.01, 40));
  const std::string before = solve.solver.description();
  const int more = solve.solver.sweeps() + 3;
  EXPECT_TRUE(solve.solver.raise_sweeps(solve.space, more, solve.report));
  EXPECT_EQ(solve.solver.sweeps(), more);
  EXPECT_THAT(solve.report.notes, Contains(solve.solver.description()));
  EXPECT_THAT(solve.report.notes, Not(Contains(before)));
  EXPECT_EQ(solve(b), (Solver<double, TypeParam>(n, Triangle::lower, until(0, more))(b)));
  EXPECT_TRUE(solve.solver.raise_sweeps(solve.space, 1, solve.report));
  EXPECT_LT(solve.solver.sweeps(), more) << "it looks at the tolerance from there on";
  Solver<double, TypeParam> exact(n, Triangle::lower, with(TriangularMethod::levels));
  EXPECT_THROW(exact.solver.raise_sweeps(exact.space, 3, exact.report), std::logic_error);
  // Diverging sweeps are refused, and nothing changes.
  const auto wild = strict_triangle(n, Triangle::lower, 4);
  Solver<double, TypeParam> grows(wild, Triangle::lower, until(1, 6));
  EXPECT_EQ(grows.solver.sweeps(), 1);
  EXPECT_FALSE(grows.solver.raise_sweeps(grows.space, 6, grows.report));
  EXPECT_EQ(grows.solver.sweeps(), 1);
}

TYPED_TEST(TriangularSweepsTest, TolerancesOutOfRangeAreRefused) {
  for (const double tolerance : {-0.1, 1.5, std::nan(""), std::numeric_limits<double>::infinity()})
    EXPECT_THAT(message_of<OptionError>(
                    [&] { TriangularSolver<double, TypeParam>("test", Triangle::lower, until(tolerance)); }),
                HasSubstr("tolerance"));
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
