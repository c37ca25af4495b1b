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
                                                           {BatchedMethod::richardson, "richardson"}};

/// Each system by the solver for one.
template <class Space>
void expect_as_alone(const std::vector<HostMatrix<double>>& systems, BatchedMethod method,
                     BatchedInverse inverse, double rtol = 1e-10, double bound = 1e-9) {
  const std::size_t n = static_cast<std::size_t>(systems.front().num_rows);
  SCOPED_TRACE(method_names.at(method) + (inverse == BatchedInverse::none ? "" : ", jacobi") + ", rows " +
               std::to_string(n) + ", systems " + std::to_string(systems.size()));
  const auto b = random_columns(n, systems.size());
  BatchedOptions options = options_of(method, inverse, rtol);
  options.history = 6;
  const DeviceBatch<double, Space> batch(systems);
  const auto solved = solve_batch<double>(batch.matrix, b, options);
  ASSERT_EQ(solved.report.num_converged, std::int64_t(systems.size())) << solved.report.text();
  for (std::size_t s = 0; s < systems.size(); s += 1 + systems.size() / 5) {
    const auto m = inverse == BatchedInverse::none ? nullptr : preconditioner_of<Space>("jacobi", systems[s]);
    const auto alone = solve_with<double, Space>(
        {method_names.at(method), {}}, operator_of<Space>(systems[s]), m.get(), b[s], stop_at(rtol, 500));
    EXPECT_LE(std::abs(solved.iterations[s] - int(alone.result.iterations)), 1) << "system " << s;
    EXPECT_EQ(solved.reasons[s], alone.result.reason);
    EXPECT_LE(solved.relative[s], rtol);
    for (std::size_t k = 0; k < std::min<std::size_t>(6, alone.history.size()); ++k)
      EXPECT_NEAR(solved.history[s][k], alone.history[k], 1e-8 * alone.history[0]) << k;
    for (std::size_t i = 0; i < n; ++i) ASSERT_NEAR(solved.x[s][i], alone.x[i], bound) << "system " << s;
  }
}

TYPED_TEST(BatchedSolversTest, EachSystemGoesAsAlone) {
  for (const int n : {1, 2, 7, 8, 9, 31, 32, 33, 64, 65, 257, 512})
    for (const int count : {1, 2, 33}) {
      const auto general = perturbed(uneven_matrix(n), count, 0.1);
      const auto spd = perturbed(shifted(problem("tridiagonal:" + std::to_string(n)), -1), count, 0.1, true);
      for (const auto inverse : {BatchedInverse::none, BatchedInverse::jacobi}) {
        expect_as_alone<TypeParam>(general, BatchedMethod::bicgstab, inverse);
        expect_as_alone<TypeParam>(spd, BatchedMethod::cg, inverse);
      }
      expect_as_alone<TypeParam>(spd, BatchedMethod::richardson, BatchedInverse::jacobi);
    }
}

TYPED_TEST(BatchedSolversTest, SolutionsAreThoseOfTheSolverForOne) {
  for (const int n : {7, 33, 64, 257}) {
    const auto general = perturbed(uneven_matrix(n), 5, 0.1);
    const auto spd = perturbed(shifted(problem("tridiagonal:" + std::to_string(n)), -1), 5, 0.1, true);
    for (const auto inverse : {BatchedInverse::none, BatchedInverse::jacobi}) {
      expect_as_alone<TypeParam>(general, BatchedMethod::bicgstab, inverse, 1e-14, 1e-12);
      expect_as_alone<TypeParam>(spd, BatchedMethod::cg, inverse, 1e-14, 1e-12);
    }
    expect_as_alone<TypeParam>(spd, BatchedMethod::richardson, BatchedInverse::jacobi, 1e-14, 1e-12);
  }
}

TYPED_TEST(BatchedSolversTest, AThousandSystems) {
  expect_as_alone<TypeParam>(perturbed(uneven_matrix(19), 1000, 0.1), BatchedMethod::bicgstab,
                             BatchedInverse::jacobi);
}

TYPED_TEST(BatchedSolversTest, PlacesOfVectorsDoNotChangeResults) {
  const auto systems = perturbed(uneven_matrix(65), 9, 0.1);
  const auto b = random_columns(65, 9);
  const DeviceBatch<double, TypeParam> batch(systems);
  for (const auto method : {BatchedMethod::bicgstab, BatchedMethod::richardson, BatchedMethod::cg}) {
    BatchedOptions options = options_of(method, BatchedInverse::jacobi, 1e-10, 40);
    const auto all = solve_batch<double>(batch.matrix, b, options);
    for (const int scratch : {0, 600, 1200, 2500, 3300}) {
      options.scratch = scratch;
      const auto some = solve_batch<double>(batch.matrix, b, options);
      for (int s = 0; s < 9; ++s) EXPECT_TRUE(some.same(s, all, s)) << scratch << ", system " << s;
    }
    options.spill_budget = 1000000;
    options.stored = true;
    const auto stored = solve_batch<double>(batch.matrix, b, options);
    for (int s = 0; s < 9; ++s) EXPECT_TRUE(stored.same(s, all, s)) << "stored, system " << s;
  }
}

TYPED_TEST(BatchedSolversTest, BadSystemsLeaveTheOthersAlone) {
  auto systems = perturbed(uneven_matrix(33), 8, 0.1);
  auto b = random_columns(33, 8);
  const auto options = options_of(BatchedMethod::bicgstab, BatchedInverse::jacobi);
  const auto good = solve_batch<double>(DeviceBatch<double, TypeParam>(systems).matrix, b, options);
  systems[1].values[5] = std::numeric_limits<double>::quiet_NaN();
  std::fill(systems[3].values.begin(), systems[3].values.end(), 0.0);
  b[4].assign(33, 0.0);
  b[5][7] = std::numeric_limits<double>::infinity();
  b[6].assign(33, 1e-200);
  const auto bad = solve_batch<double>(DeviceBatch<double, TypeParam>(systems).matrix, b, options);
  for (const int s : {0, 2, 7}) EXPECT_TRUE(bad.same(s, good, s)) << "system " << s;
  EXPECT_EQ(bad.reasons[1], StopReason::nan);
  EXPECT_EQ(bad.reasons[3], StopReason::breakdown_pivot);
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
  EXPECT_NE(bad.report.text().find("system 3: breakdown_pivot"), std::string::npos) << bad.report.text();
}

TYPED_TEST(BatchedSolversTest, InitialGuessesAndTolerancesOfSystems) {
  const auto systems = perturbed(uneven_matrix(33), 4, 0.1);
  auto b = random_columns(33, 4);
  const DeviceBatch<double, TypeParam> batch(systems);
  auto options = options_of(BatchedMethod::bicgstab, BatchedInverse::jacobi, 1e-12);
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
  EXPECT_EQ(again.x[3], std::vector<double>(33, 0.0)) << "b = 0, whatever the guess";
}

}  // namespace
}  // namespace prekond::testing
