// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batched/batch_cases.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace prekond::testing {
namespace {

template <class Space>
class BatchedSolversTest : public ::testing::Test {};
TYPED_TEST_SUITE(BatchedSolversTest, TestSpaces, SpaceNames);

const std::map<BatchedMethod, std::string> method_names = {{BatchedMethod::cg, "cg"},
                                                           {BatchedMethod::bicgstab, "bicgstab"},
                                                           {BatchedMethod::gmres, "gmres"},
                                                           {BatchedMethod::idr, "idr"},
                                                           {BatchedMethod::richardson, "richardson"}};

/// Each system by the solver for one.
template <class Space>
void expect_as_alone(const std::vector<HostMatrix<double>>& systems, BatchedMethod method,
                     BatchedPreconditioner inverse, double rtol = 1e-10, double bound = 1e-9) {
  const std::size_t n = static_cast<std::size_t>(systems.front().num_rows);
  SCOPED_TRACE(method_names.at(method) + (inverse == BatchedPreconditioner::none ? "" : ", jacobi") +
               ", rows " + std::to_string(n) + ", systems " + std::to_string(systems.size()));
  const auto b = random_columns(n, systems.size());
  BatchedOptions options = options_of(method, inverse, rtol);
  options.history = 6;
  const DeviceBatch<double, Space> batch(systems);
  const auto solved = solve_batch<double>(batch.matrix, b, options);
  ASSERT_EQ(solved.report.num_converged, std::int64_t(systems.size())) << solved.report.text();
  for (std::size_t s = 0; s < systems.size(); s += 1 + systems.size() / 5) {
    const auto m =
        inverse == BatchedPreconditioner::none ? nullptr : preconditioner_of<Space>("jacobi", systems[s]);
    const auto alone = solve_with<double, Space>(
        {method_names.at(method), {}}, operator_of<Space>(systems[s]), m.get(), b[s], stop_at(rtol, 500));
    // IDR's residuals grow by thousands at first, and so do differences in rounding.
    const bool idr = method == BatchedMethod::idr;
    const int slack = idr ? 2 + int(alone.result.iterations) / 5 : 1;
    EXPECT_LE(std::abs(solved.iterations[s] - int(alone.result.iterations)), slack) << "system " << s;
    EXPECT_EQ(solved.reasons[s], alone.result.reason);
    EXPECT_LE(solved.relative[s], rtol);
    for (std::size_t k = 0; k < std::min<std::size_t>(6, alone.history.size()); ++k) {
      const double size = idr ? std::max(alone.history[k], alone.history[0]) : alone.history[0];
      if (alone.history[k] <= rtol * alone.history[0]) break;
      EXPECT_NEAR(solved.history[s][k], alone.history[k], 1e-8 * size) << k;
    }
    for (std::size_t i = 0; i < n; ++i) ASSERT_NEAR(solved.x[s][i], alone.x[i], bound) << "system " << s;
  }
}

TYPED_TEST(BatchedSolversTest, EachSystemMatchesItsOwnSolve) {
  for (const int n : {1, 2, 7, 8, 9, 31, 32, 33, 64, 65, 257, 512})
    for (const int count : {1, 2, 33}) {
      const auto general = perturbed(uneven_matrix(n), count, 0.1);
      const auto spd = perturbed(shifted(problem("tridiagonal:" + std::to_string(n)), -1), count, 0.1, true);
      for (const auto inverse : {BatchedPreconditioner::none, BatchedPreconditioner::jacobi}) {
        for (const auto method : {BatchedMethod::bicgstab, BatchedMethod::gmres, BatchedMethod::idr})
          expect_as_alone<TypeParam>(general, method, inverse);
        expect_as_alone<TypeParam>(spd, BatchedMethod::cg, inverse);
      }
      expect_as_alone<TypeParam>(spd, BatchedMethod::richardson, BatchedPreconditioner::jacobi);
    }
}

TYPED_TEST(BatchedSolversTest, SolutionsMatchTheSolverForOneSystem) {
  for (const int n : {7, 33, 64, 257}) {
    const auto general = perturbed(uneven_matrix(n), 5, 0.1);
    const auto spd = perturbed(shifted(problem("tridiagonal:" + std::to_string(n)), -1), 5, 0.1, true);
    for (const auto inverse : {BatchedPreconditioner::none, BatchedPreconditioner::jacobi}) {
      for (const auto method : {BatchedMethod::bicgstab, BatchedMethod::gmres, BatchedMethod::idr})
        expect_as_alone<TypeParam>(general, method, inverse, 1e-14, 1e-12);
      expect_as_alone<TypeParam>(spd, BatchedMethod::cg, inverse, 1e-14, 1e-12);
    }
    expect_as_alone<TypeParam>(spd, BatchedMethod::richardson, BatchedPreconditioner::jacobi, 1e-14, 1e-12);
  }
}

TYPED_TEST(BatchedSolversTest, AThousandSystems) {
  const auto systems = perturbed(uneven_matrix(19), 1000, 0.1);
  expect_as_alone<TypeParam>(systems, BatchedMethod::bicgstab, BatchedPreconditioner::jacobi);
  // That one looks at a few of them.
  const DeviceBatch<double, TypeParam> batch(systems);
  const auto solved = solve_batch<double>(batch.matrix, random_columns(19, 1000),
                                          options_of(BatchedMethod::bicgstab, BatchedPreconditioner::jacobi));
  for (std::size_t s = 0; s < systems.size(); ++s) ASSERT_GT(solved.iterations[s], 0) << s;
}

TYPED_TEST(BatchedSolversTest, TheScratchLayoutDoesNotChangeResults) {
  const auto systems = perturbed(uneven_matrix(65), 9, 0.1);
  const auto b = random_columns(65, 9);
  const DeviceBatch<double, TypeParam> batch(systems);
  for (const auto& [method, name] : method_names) {
    SCOPED_TRACE(name);
    BatchedOptions options = options_of(method, BatchedPreconditioner::jacobi, 1e-10, 40);
    options.restart = 7;
    const auto all = solve_batch<double>(batch.matrix, b, options);
    for (const int scratch : {0, 600, 1200, 2500, 3300}) {
      options.scratch = scratch;
      const auto some = solve_batch<double>(batch.matrix, b, options);
      for (int s = 0; s < 9; ++s) EXPECT_TRUE(some.same(s, all, s)) << scratch << ", system " << s;
    }
    options.workspace_budget = 1000000;
    options.stored = true;
    const auto stored = solve_batch<double>(batch.matrix, b, options);
    for (int s = 0; s < 9; ++s) EXPECT_TRUE(stored.same(s, all, s)) << "stored, system " << s;
  }
}

template <class Space>
void expect_bad_ones_named(BatchedMethod method, StopReason reason_of_zeros) {
  SCOPED_TRACE(method_names.at(method));
  auto systems = perturbed(uneven_matrix(33), 8, 0.1);
  auto b = random_columns(33, 8);
  const auto options = options_of(method, BatchedPreconditioner::jacobi);
  const auto good = solve_batch<double>(DeviceBatch<double, Space>(systems).matrix, b, options);
  systems[1].values[5] = std::numeric_limits<double>::quiet_NaN();
  std::fill(systems[3].values.begin(), systems[3].values.end(), 0.0);
  b[4].assign(33, 0.0);
  b[5][7] = std::numeric_limits<double>::infinity();
  b[6].assign(33, 1e-200);
  const auto bad = solve_batch<double>(DeviceBatch<double, Space>(systems).matrix, b, options);
  for (const int s : {0, 2, 7}) EXPECT_TRUE(bad.same(s, good, s)) << "system " << s;
  EXPECT_EQ(bad.reasons[1], StopReason::nan);
  EXPECT_EQ(bad.reasons[3], reason_of_zeros);
  EXPECT_EQ(bad.reasons[4], StopReason::zero_rhs);
  EXPECT_EQ(bad.reasons[5], StopReason::nan);
  EXPECT_EQ(bad.reasons[6], StopReason::out_of_range);
  EXPECT_EQ(bad.replaced[3], 33);
  for (const int s : {3, 4, 5, 6}) EXPECT_EQ(bad.x[s], std::vector<double>(33, 0.0)) << "system " << s;
  EXPECT_EQ(bad.report.num_converged, 4);
  ASSERT_EQ(bad.report.failures.size(), 4u);
  EXPECT_EQ(bad.report.failures[0].system, 1);
  EXPECT_EQ(bad.report.failures[1].system, 3);
  EXPECT_EQ(bad.report.reasons.at(StopReason::nan), 2);
  EXPECT_NE(bad.report.text().find("system 3: " + to_string(reason_of_zeros)), std::string::npos)
      << bad.report.text();
}

TYPED_TEST(BatchedSolversTest, FailedSystemsDoNotChangeTheOthers) {
  expect_bad_ones_named<TypeParam>(BatchedMethod::bicgstab, StopReason::breakdown_pivot);
  expect_bad_ones_named<TypeParam>(BatchedMethod::gmres, StopReason::breakdown_arnoldi);
  expect_bad_ones_named<TypeParam>(BatchedMethod::idr, StopReason::breakdown_pivot);
}

/// Cycles of GMRES and shadow spaces of IDR of other sizes than the default.
TYPED_TEST(BatchedSolversTest, RestartsAndShadowSpacesMatchTheSolverForOneSystem) {
  const auto systems = perturbed(uneven_matrix(65), 3, 0.1);
  const auto b = random_columns(65, 3);
  const DeviceBatch<double, TypeParam> batch(systems);
  const auto m = preconditioner_of<TypeParam>("jacobi", systems[1]);
  for (const int size : {1, 2, 5}) {
    BatchedOptions options = options_of(BatchedMethod::gmres, BatchedPreconditioner::jacobi, 1e-8);
    options.restart = options.s = size;
    for (const auto method : {BatchedMethod::gmres, BatchedMethod::idr}) {
      options.solver = method;
      const bool idr = method == BatchedMethod::idr;
      const auto solved = solve_batch<double>(batch.matrix, b, options);
      const auto alone = solve_with<double, TypeParam>(
          {method_names.at(method), {{idr ? "s" : "restart", std::to_string(size)}}},
          operator_of<TypeParam>(systems[1]), m.get(), b[1], stop_at(1e-8, 500));
      EXPECT_LE(std::abs(solved.iterations[1] - int(alone.result.iterations)),
                idr ? 2 + alone.result.iterations / 5 : 1)
          << method_names.at(method) << " " << size;
      EXPECT_EQ(solved.reasons[1], alone.result.reason);
    }
  }
}

TYPED_TEST(BatchedSolversTest, InitialGuessesAndTolerancesOfSystems) {
  const auto systems = perturbed(uneven_matrix(33), 4, 0.1);
  auto b = random_columns(33, 4);
  const DeviceBatch<double, TypeParam> batch(systems);
  auto options = options_of(BatchedMethod::bicgstab, BatchedPreconditioner::jacobi, 1e-12);
  const auto exact = solve_batch<double>(batch.matrix, b, options);
  b[3].assign(33, 0.0);
  BatchedTolerances<TypeParam> tolerances;
  const auto rtols = to_device<TypeParam>(std::vector<double>{1e-3, 1e-10, 1e-8, 1e-8});
  const auto atols = to_device<TypeParam>(std::vector<double>{0, 0, 1e-2, 0});
  tolerances.rtol = rtols;
  tolerances.atol = atols;
  const auto solved = solve_batch<double>(batch.matrix, b, options, {}, tolerances);
  EXPECT_EQ(solved.reasons, (std::vector<StopReason>{StopReason::rtol, StopReason::rtol, StopReason::atol,
                                                     StopReason::zero_rhs}));
  EXPECT_LT(solved.iterations[0], solved.iterations[1]);
  EXPECT_LE(solved.relative[1], 1e-10);
  EXPECT_GT(solved.relative[2], 1e-8);
  const auto again = solve_batch<double>(batch.matrix, b, options, exact.x, tolerances);
  EXPECT_EQ(again.iterations, (std::vector<int>{0, 0, 0, 0}));
  for (int s = 0; s < 3; ++s) EXPECT_EQ(again.x[s], exact.x[s]);
  EXPECT_EQ(again.x[3], std::vector<double>(33, 0.0)) << "b = 0, for any initial x";
}

double residual_of(const HostMatrix<double>& a, const std::vector<double>& b, const std::vector<double>& x) {
  double square = 0;
  for (std::int64_t i = 0; i < a.num_rows; ++i) {
    long double sum = b[i];
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
      sum -= static_cast<long double>(a.values[k]) * x[a.col_idxs[k]];
    square += double(sum * sum);
  }
  return std::sqrt(square) / norm(b);
}

/// Indefinite systems, with which all but GMRES end with residuals that have grown, and steps that diverge.
TYPED_TEST(BatchedSolversTest, XIsNeverWorseThanTheInitialOne) {
  const auto systems = perturbed(shifted(problem("tridiagonal:33"), 1.3), 6, 0.4);
  const DeviceBatch<double, TypeParam> batch(systems);
  const auto b = random_columns(33, 6);
  auto x0 = random_columns(33, 6);
  for (auto& column : x0)
    for (double& value : column) value *= 0.1;
  int grown = 0;
  for (const auto& [method, name] : method_names) {
    if (method == BatchedMethod::cg) continue;  // it refuses what is not symmetric in general
    for (const int iterations : {1, 2, 3, 5, 8, 13})
      for (const int scratch : {0, 700, 40000}) {  // x in scratch, and not
        SCOPED_TRACE(name + ", iterations " + std::to_string(iterations));
        BatchedOptions options = options_of(method, BatchedPreconditioner::jacobi, 1e-12, iterations);
        options.restart = 4;
        options.scratch = scratch;
        options.omega = 3;
        const auto solved = solve_batch<double>(batch.matrix, b, options, x0);
        for (int s = 0; s < 6; ++s) {
          EXPECT_LE(residual_of(systems[s], b[s], solved.x[s]),
                    residual_of(systems[s], b[s], x0[s]) * (1 + 1e-14));
          EXPECT_NEAR(solved.relative[s] / residual_of(systems[s], b[s], solved.x[s]), 1, 1e-10);
          grown += solved.x[s] == x0[s];
        }
      }
  }
  EXPECT_GT(grown, 100) << "iterations that make x worse";
}

TYPED_TEST(BatchedSolversTest, GmresReturnsTheBestOfItsRestarts) {
  // A step of a cycle never makes the residual worse, so that the x of more iterations is never worse.
  const auto systems = perturbed(shifted(problem("tridiagonal:33"), 1.3), 3, 0.4);
  const DeviceBatch<double, TypeParam> batch(systems);
  const auto b = random_columns(33, 3);
  std::vector<double> last(3, 1.0);
  for (const int iterations : {4, 8, 12, 40}) {
    BatchedOptions options = options_of(BatchedMethod::gmres, BatchedPreconditioner::none, 1e-12, iterations);
    options.restart = 4;
    const auto solved = solve_batch<double>(batch.matrix, b, options);
    for (int s = 0; s < 3; ++s) {
      EXPECT_LE(solved.relative[s], last[s] * (1 + 1e-12));
      last[s] = solved.relative[s];
    }
  }
}

TYPED_TEST(BatchedSolversTest, RoundingEndsASolveWhoseTargetIsZero) {
  for (const char* spec : {"poisson2d:9", "convection_diffusion3d:4"}) {
    const auto systems = perturbed(problem(spec), 4, 0.01, std::string(spec) == "poisson2d:9");
    const DeviceBatch<double, TypeParam> batch(systems);
    const auto b = random_columns(systems[0].num_rows, 4);
    for (const auto method : {BatchedMethod::gmres, BatchedMethod::bicgstab, BatchedMethod::idr})
      for (const double rtol : {0.0, 1e-30})
        for (const int restart : {5, 30}) {
          SCOPED_TRACE(method_names.at(method) + ", " + spec + ", restart " + std::to_string(restart));
          BatchedOptions options = options_of(method, BatchedPreconditioner::none, rtol, 5000);
          options.restart = restart;
          const auto solved = solve_batch<double>(batch.matrix, b, options);
          for (int s = 0; s < 4; ++s) {
            EXPECT_EQ(solved.reasons[s], StopReason::stagnation) << to_string(solved.reasons[s]);
            EXPECT_LT(solved.iterations[s], 1000);
            EXPECT_LT(solved.relative[s], 1e-13);
          }
        }
  }
}

}  // namespace
}  // namespace prekond::testing
