// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/krylov_solves.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"

#include <gtest/gtest.h>

namespace prekond::testing {
namespace {

template <class Space>
class RichardsonTest : public ::testing::Test {};
TYPED_TEST_SUITE(RichardsonTest, TestSpaces, SpaceNames);

TYPED_TEST(RichardsonTest, MatchesTheReference) {
  for (int n : {1, 2, 63, 300}) {
    const HostMatrix<double> a = uneven_matrix(n);
    const std::vector<double> b = random_vector(n);
    const auto m = preconditioner_of<TypeParam>("jacobi", a);
    for (const double omega : {1.0, 0.8}) {
      const auto solved = solve_with<double, TypeParam>({"richardson", {{"omega", omega}}},
                                                        operator_of<TypeParam>(a), m.get(), b, stop_at(1e-8));
      EXPECT_EQ(solved.result.reason, StopReason::rtol) << to_string(solved.result.reason);
      std::vector<double> x(n, 0.0);
      for (std::size_t k = 0; k < solved.history.size(); ++k) {
        const std::vector<double> ax = multiply(a, x);
        ASSERT_NEAR(solved.history[k], residual_norm(a, b, x), 1e-12 * norm(b)) << k;
        for (int i = 0; i < n && k + 1 < solved.history.size(); ++i) x[i] += omega * (b[i] - ax[i]) / a(i, i);
      }
      for (int i = 0; i < n; ++i) ASSERT_NEAR(solved.x[i], x[i], 1e-12);
      EXPECT_EQ(solved.result.matrix_products, solved.result.iterations + 2);
    }
  }
}

TYPED_TEST(RichardsonTest, WithoutAPreconditionerAndWhereItDiverges) {
  const HostMatrix<double> a = diagonal_matrix({1, 0.5, 1.5});
  const auto solved = solve_with<double, TypeParam>({"richardson", {}}, operator_of<TypeParam>(a), nullptr,
                                                    {1, 1, 1}, stop_at(1e-9));
  EXPECT_TRUE(solved.result.converged);
  EXPECT_EQ(solved.result.iterations, 30);  // 0.5^30 sqrt(2/3) is below 1e-9
  const HostMatrix<double> large = problem("poisson2d:5");
  const auto some = solve_with<double, TypeParam>({"richardson", {}}, operator_of<TypeParam>(large), nullptr,
                                                  random_vector(25), stop_at(1e-9, 10));
  EXPECT_EQ(some.result.reason, StopReason::max_iters);
  const auto many = solve_with<double, TypeParam>({"richardson", {}}, operator_of<TypeParam>(large), nullptr,
                                                  random_vector(25), stop_at(1e-9, 5000));
  EXPECT_EQ(many.result.reason, StopReason::divergence) << to_string(many.result.reason);
  EXPECT_EQ(many.x, std::vector<double>(25, 0.0));
  EXPECT_TRUE(many.result.went_back);
  EXPECT_GT(many.result.relative_residual, 1e15);
  EXPECT_DOUBLE_EQ(many.result.true_relative_residual, 1);
  EXPECT_FALSE(many.result.converged);
}

// The recursive residual says 2 A, and ends just below its target: half of the true one and half of the
// target are left each time, which with the tolerance itself as the target would never be within it.
TYPED_TEST(RichardsonTest, HalvesTheTargetAfterAFalseConvergence) {
  const HostMatrix<double> a = diagonal_matrix({1, 1, 1});
  const Liar<TypeParam> liar(a, 2);
  const auto solved = solve_with<double, TypeParam>({"richardson", {{"omega", 0.01}}}, liar, nullptr,
                                                    {1, 2, 2}, stop_at(1e-6, 100000));
  EXPECT_EQ(solved.result.reason, StopReason::rtol) << to_string(solved.result.reason);
  EXPECT_LE(residual_norm(a, {1, 2, 2}, solved.x), 3e-6);
}

TYPED_TEST(RichardsonTest, OneMessageAnIterationAndNoAllocation) {
  const TypeParam space;
  const HostMatrix<double> a = problem("poisson2d:30");
  const auto m = preconditioner_of<TypeParam>("jacobi", a);
  const auto op = operator_of<TypeParam>(a);
  const auto b = to_device<TypeParam>(random_vector(a.num_rows));
  std::vector<std::size_t> fences, allocations;
  std::vector<int> messages;
  for (const std::int64_t iterations : {10, 20}) {
    const Vector<double, TypeParam> x("x", a.num_rows);
    const CountingReducer<TypeParam> reducer(1);
    const auto solver = create_solver<double, TypeParam>("richardson");
    space.fence();
    const ToolEvents events;
    EXPECT_EQ(solver->solve(space, op, m.get(), b, x, stop_at(1e-30, iterations), {}, reducer).iterations,
              iterations);
    fences.push_back(events.fences().size());
    allocations.push_back(events.allocations().size());
    messages.push_back(reducer.calls);
  }
  EXPECT_EQ(messages[1] - messages[0], 10);
  EXPECT_LE(fences[1] - fences[0], 10u);
  EXPECT_EQ(allocations[1], allocations[0]);
}

}  // namespace
}  // namespace prekond::testing
