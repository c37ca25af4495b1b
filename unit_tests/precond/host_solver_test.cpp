// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// Solves in one call on arrays of the host.
#include <prekond/prekond.hpp>

#ifdef KOKKOS_CORE_HPP
#error "<prekond/prekond.hpp> needs no Kokkos"
#endif

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace prekond {
namespace {

using ::testing::HasSubstr;

/// -u'' and a constant, with columns that descend where `sorted` is false.
template <class Offset>
struct Arrays {
  explicit Arrays(int n, bool sorted = true, double diagonal = 2.5) {
    for (int i = 0; i < n; ++i) {
      const std::size_t begin = columns.size();
      for (const int j : {i - 1, i, i + 1}) {
        if (j < 0 || j >= n) continue;
        columns.push_back(j);
        values.push_back(i == j ? diagonal : -1.0);
      }
      if (!sorted) {
        std::reverse(columns.begin() + static_cast<std::ptrdiff_t>(begin), columns.end());
        std::reverse(values.begin() + static_cast<std::ptrdiff_t>(begin), values.end());
      }
      ptrs.push_back(static_cast<Offset>(columns.size()));
    }
  }
  operator CsrArrays() const { return {std::span<const Offset>(ptrs), columns, values}; }

  double residual(const std::vector<double>& b, const std::vector<double>& x) const {
    double most = 0;
    for (std::size_t i = 0; i < b.size(); ++i) {
      double r = b[i];
      for (auto k = static_cast<std::size_t>(ptrs[i]); k < static_cast<std::size_t>(ptrs[i + 1]); ++k)
        r -= values[k] * x[static_cast<std::size_t>(columns[k])];
      most = std::max(most, std::abs(r));
    }
    return most;
  }

  std::vector<Offset> ptrs = {0};
  std::vector<int> columns;
  std::vector<double> values;
};

std::vector<double> ramp(std::size_t n) {
  std::vector<double> b(n);
  for (std::size_t i = 0; i < n; ++i) b[i] = 1 + static_cast<double>(i % 7);
  return b;
}

template <class Offset>
void expect_solved(bool sorted) {
  const Arrays<Offset> a(57, sorted);
  const auto b = ramp(57);
  std::vector<double> x(57);
  const SolveResult result = solve(a, b, x);
  EXPECT_TRUE(result.converged);
  EXPECT_LT(a.residual(b, x), 1e-4);
}

TEST(HostSolver, SolvesInOneCallWithRowPointersOfEitherType) {
  expect_solved<int>(true);
  expect_solved<std::size_t>(true);
}

TEST(HostSolver, UnsortedRowsAreSortedWithANote) {
  expect_solved<int>(false);
  HostSolver solver;
  solver.set_matrix(Arrays<int>(20));
  EXPECT_TRUE(solver.notes().empty());
  solver.set_matrix(Arrays<int>(20, false));
  ASSERT_EQ(solver.notes().size(), 1u);
  EXPECT_THAT(solver.notes().front(), HasSubstr("sorted"));
  std::vector<double> x(20);
  EXPECT_EQ(solve(Arrays<int>(20, false), ramp(20), x).notes, solver.notes());
}

TEST(HostSolver, LaterValuesAreInTheOrderOfTheCaller) {
  HostSolver solver;
  solver.set_matrix(Arrays<int>(40, false, 3));
  const auto b = ramp(40);
  std::vector<double> x(40);
  EXPECT_TRUE(solver.solve(b, x).converged);
  const Arrays<int> later(40, false, 4);
  solver.set_values(later.values);
  EXPECT_TRUE(solver.solve(b, x).converged);
  EXPECT_LT(later.residual(b, x), 1e-4);
}

TEST(HostSolver, TellsTheMethodsAndTakesNamedOnes) {
  HostSolver chosen;
  EXPECT_EQ(chosen.methods(), "");
  const Arrays<int> a(30);
  const auto b = ramp(30);
  std::vector<double> x(30);
  chosen.set_matrix(a);
  (void)chosen.solve(b, x);
  EXPECT_THAT(chosen.methods(), HasSubstr(" with cg"));
  LinearSolverOptions options;
  options.preconditioner = {"iluk", {{"level", 2}}};
  options.solver = {"gmres", {}};
  HostSolver named(options);
  named.set_matrix(a);
  EXPECT_TRUE(named.solve(b, x).converged);
  EXPECT_EQ(named.methods(), "iluk (level=2) with gmres");
  EXPECT_EQ(named.setups(), 1);
}

template <class Error = InputError, class Work>
std::string error_of(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(HostSolver, ArraysThatDoNotFitAreNamed) {
  const Arrays<int> good(4);
  const auto refused = [&](const auto& change) {
    Arrays<int> a = good;
    change(a);
    return error_of([&] { HostSolver().set_matrix(a); });
  };
  EXPECT_THAT(refused([](auto& a) { a.ptrs.clear(); }), HasSubstr("the matrix is empty"));
  EXPECT_THAT(refused([](auto& a) { a.ptrs = {0}; }), HasSubstr("the matrix is empty"));
  EXPECT_THAT(refused([](auto& a) { a.ptrs[0] = 1; }), HasSubstr("counted from 0"));
  EXPECT_THAT(refused([](auto& a) { a.ptrs[2] = -1; }), HasSubstr("negative element, -1"));
  EXPECT_THAT(refused([](auto& a) { std::swap(a.ptrs[1], a.ptrs[2]); }), HasSubstr("falls from 5 to 2"));
  EXPECT_THAT(refused([](auto& a) { a.values.pop_back(); }), HasSubstr("10 columns and 9 values"));
  EXPECT_THAT(refused([](auto& a) { a.columns[0] = 4; }), HasSubstr("column"));
  EXPECT_THAT(refused([](auto& a) { a.columns[1] = 0; }), HasSubstr("column"));
  EXPECT_THAT(refused([](auto& a) { a.values[3] = NAN; }), HasSubstr("NaN"));
}

// Springs along the edges and diagonals of a grid, which is held at the left.
TEST(HostSolver, CoordinatesGiveMultigridTheRigidBodyModes) {
  constexpr int edge = 24, n = 2 * edge * edge;
  std::vector<std::map<int, double>> rows(n);
  std::vector<double> coordinates;
  const auto add_spring = [&](int node, int dx, int dy) {
    const double d[] = {dx / std::hypot(dx, dy), dy / std::hypot(dx, dy)};
    const int other = node + dx + edge * dy;
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 2; ++j)
        for (const int of : {node, other})
          for (const int to : {node, other})
            rows[2 * of + i][2 * to + j] += (of == to ? 1 : -1) * d[i] * d[j];
  };
  for (int y = 0; y < edge; ++y)
    for (int x = 0; x < edge; ++x) {
      const int node = x + edge * y;
      coordinates.insert(coordinates.end(), {0.5 * x, 0.5 * y});
      if (x + 1 < edge) add_spring(node, 1, 0);
      if (y + 1 < edge) add_spring(node, 0, 1);
      if (x + 1 < edge && y + 1 < edge) add_spring(node, 1, 1);
      if (x > 0 && y + 1 < edge) add_spring(node, -1, 1);
      if (x == 0)
        for (int i = 0; i < 2; ++i) rows[2 * node + i][2 * node + i] += 1;
    }
  std::vector<int> ptrs = {0}, columns;
  std::vector<double> values;
  for (const auto& row : rows) {
    for (const auto& [column, value] : row) {
      columns.push_back(column);
      values.push_back(value);
    }
    ptrs.push_back(static_cast<int>(columns.size()));
  }
  const CsrArrays a{std::span<const int>(ptrs), columns, values};
  LinearSolverOptions options;
  options.preconditioner = {"amg", {{"coarse_size", std::int64_t(20)}}};
  options.solver = {"cg", {}};
  options.reuse = SetupReuse::values;
  HostSolver solver(options);
  const auto iterations = [&] {
    solver.set_matrix(a);
    std::vector<double> x(n, 0.0);
    const SolveResult result = solver.solve(ramp(n), x);
    EXPECT_TRUE(result.converged);
    return result.iterations;
  };
  const auto without = iterations();
  solver.set_coordinates(coordinates, 2);
  const auto with = iterations();
  EXPECT_LT(4 * with, 3 * without);
  solver.set_values(values);
  std::vector<double> x(n, 0.0);
  const auto setups = solver.setups();
  EXPECT_EQ(solver.solve(ramp(n), x).iterations, with) << "new values keep the modes";
  EXPECT_EQ(solver.setups(), setups + 1);
  solver.set_coordinates({}, 0);
  EXPECT_EQ(iterations(), without);
  EXPECT_THAT(error_of([&] { solver.set_coordinates(coordinates, 5); }), HasSubstr("2 or 3 coordinates"));
  coordinates.resize(8);
  solver.set_coordinates(coordinates, 2);
  EXPECT_THAT(error_of([&] { solver.set_matrix(a); }),
              HasSubstr("8 displacements, and the matrix has 1152 rows"));
}

TEST(HostSolver, CallsThatCannotBeAreRefused) {
  HostSolver solver;
  std::vector<double> x(5);
  EXPECT_THAT(error_of<std::logic_error>([&] { (void)solver.solve(x, x); }), HasSubstr("before set_matrix"));
  EXPECT_THAT(error_of<std::logic_error>([&] { solver.set_values(x); }), HasSubstr("before set_matrix"));
  solver.set_matrix(Arrays<int>(4));
  EXPECT_THAT(error_of([&] { (void)solver.solve(x, x); }), HasSubstr("the matrix has 4 rows"));
  EXPECT_THAT(error_of([&] { solver.set_values(x); }), HasSubstr("the matrix has 10 entries"));
  LinearSolverOptions options;
  options.preconditioner.name = "jacoby";
  EXPECT_THAT(error_of<OptionError>([&] { HostSolver{options}; }), HasSubstr("jacobi"));
  options = {};
  options.stopping.rtol = -1;
  EXPECT_THAT(error_of<OptionError>([&] { HostSolver{options}; }), HasSubstr("rtol"));
}

}  // namespace
}  // namespace prekond
