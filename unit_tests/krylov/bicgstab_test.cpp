// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/krylov_solves.hpp"
#include "testing/reference_bicgstab.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>
#include <prekond/krylov/bicgstab.hpp>

namespace prekond::testing {
namespace {

template <class Space>
class BicgstabTest : public ::testing::Test {};
TYPED_TEST_SUITE(BicgstabTest, TestSpaces, SpaceNames);

TYPED_TEST(BicgstabTest, MatchesTheReference) {
  for (const HostMatrix<double>& a :
       {uneven_matrix(1), uneven_matrix(2), uneven_matrix(61), uneven_matrix(259),
        problem("convection_diffusion3d:7"), problem("poisson2d:23")}) {
    const std::vector<double> b = random_vector(a.num_rows);
    for (const bool scaled : {false, true}) {
      SCOPED_TRACE(std::to_string(a.num_rows) + (scaled ? ", jacobi" : ""));
      const auto reference = reference_bicgstab(a, b, sequential_jacobi(a, scaled), 1e-9, 500);
      ASSERT_TRUE(reference.converged);
      const auto m = scaled ? preconditioner_of<TypeParam>("jacobi", a) : nullptr;
      const auto solved = solve_with<double, TypeParam>({"bicgstab", {}}, operator_of<TypeParam>(a), m.get(),
                                                        b, stop_at(1e-9));
      EXPECT_LE(std::abs(solved.result.iterations - reference.iterations), 1 + reference.iterations / 10);
      for (std::size_t k = 0; k < std::min<std::size_t>({8, solved.history.size(), reference.history.size()});
           ++k)
        EXPECT_NEAR(solved.history[k], reference.history[k], 1e-7 * reference.history[k] + 1e-11 * norm(b))
            << k;
      for (std::size_t i = 0; i < b.size(); ++i) ASSERT_NEAR(solved.x[i], reference.x[i], 1e-6);
      // Two products an iteration, the first residual and the true one.
      EXPECT_EQ(solved.result.matrix_products, 2 * solved.result.iterations + 2);
    }
  }
}

TYPED_TEST(BicgstabTest, LeftPreconditioningIsRightPreconditioningOfTheScaledSystem) {
  // With a constant diagonal both are the same iteration.
  const HostMatrix<double> a = problem("convection_diffusion3d:7");
  const std::vector<double> b = random_vector(a.num_rows);
  const Scale<double, TypeParam> m(a.num_rows, 0.125);
  const auto right =
      solve_with<double, TypeParam>({"bicgstab", {}}, operator_of<TypeParam>(a), &m, b, stop_at(1e-9));
  const auto left = solve_with<double, TypeParam>({"bicgstab", {{"side", std::string("left")}}},
                                                  operator_of<TypeParam>(a), &m, b, stop_at(1e-9));
  EXPECT_EQ(left.result.iterations, right.result.iterations);
  for (std::size_t k = 0; k < left.history.size(); ++k)
    EXPECT_NEAR(left.history[k], right.history[k], 1e-10 * norm(b));
}

TYPED_TEST(BicgstabTest, TheHalfStepMayConverge) {
  // With A = I the first half step is the solution; a second product of zero must not spoil it.
  const auto solved =
      solve_with<double, TypeParam>({"bicgstab", {}}, operator_of<TypeParam>(diagonal_matrix({2, 2, 2, 2})),
                                    nullptr, {1, 2, 3, 4}, stop_at(1e-10));
  EXPECT_EQ(solved.result.reason, StopReason::rtol);
  EXPECT_EQ(solved.result.iterations, 1);
  EXPECT_EQ(solved.x, (std::vector<double>{0.5, 1, 1.5, 2}));
  // n = 2: s = 0 only after the second half step.
  const auto two = solve_with<double, TypeParam>({"bicgstab", {}},
                                                 operator_of<TypeParam>(sparse<double>({{2, 1}, {0, 1}})),
                                                 nullptr, {1, 1}, stop_at(1e-12));
  EXPECT_TRUE(two.result.converged);
  EXPECT_LE(two.result.iterations, 3);
}

TYPED_TEST(BicgstabTest, BreakdownsAreRestartedOnceThenReported) {
  // (r^, A r) = 0 in the first step: another shadow residual does.
  const HostMatrix<double> swap = sparse<double>({{0, 1}, {1, 0}});
  const auto pivot = solve_with<double, TypeParam>({"bicgstab", {}}, operator_of<TypeParam>(swap), nullptr,
                                                   {1, 0}, stop_at(1e-10));
  EXPECT_EQ(pivot.result.reason, StopReason::rtol) << to_string(pivot.result.reason);
  EXPECT_NEAR(pivot.x[1], 1, 1e-9);
  const auto unsaved = solve_with<double, TypeParam>({"bicgstab", {}}, operator_of<TypeParam>(swap), nullptr,
                                                     {1, 0}, stop_at(1e-10, 1));
  EXPECT_EQ(unsaved.result.reason, StopReason::max_iters) << "no iteration is left for another start";
  EXPECT_EQ(unsaved.x, (std::vector<double>{0, 0}));

  // (r^, r) = 0 after one step, in exact arithmetic and in this one.
  const HostMatrix<double> rho = sparse<double>({{-2, 2, 0}, {0, 0, -2}, {2, 1, 2}});
  const auto stopped = solve_with<double, TypeParam>({"bicgstab", {}}, operator_of<TypeParam>(rho), nullptr,
                                                     {1, 0, 0}, stop_at(1e-10, 1));
  EXPECT_EQ(stopped.result.reason, StopReason::max_iters) << to_string(stopped.result.reason);
  const auto saved = solve_with<double, TypeParam>({"bicgstab", {}}, operator_of<TypeParam>(rho), nullptr,
                                                   {1, 0, 0}, stop_at(1e-10));
  EXPECT_EQ(saved.result.reason, StopReason::rtol) << to_string(saved.result.reason);
  EXPECT_LE(residual_norm(rho, {1, 0, 0}, saved.x), 1e-9);

  // A skew-symmetric matrix has (A s, s) = 0 for any shadow residual.
  std::vector<std::vector<double>> dense(20, std::vector<double>(20, 0.0));
  const std::vector<double> entries = random_vector(400);
  for (int i = 0; i < 20; ++i)
    for (int j = 0; j < i; ++j) dense[j][i] = -(dense[i][j] = entries[20 * i + j]);
  const std::vector<double> b = random_vector(20, 3);
  const auto skew = solve_with<double, TypeParam>({"bicgstab", {}}, operator_of<TypeParam>(sparse(dense)),
                                                  nullptr, b, stop_at(1e-10));
  EXPECT_EQ(skew.result.reason, StopReason::breakdown_omega) << to_string(skew.result.reason);
  EXPECT_EQ(skew.result.iterations, 2);
  EXPECT_TRUE(all_finite(skew.x));

  // A p = 0.
  const HostMatrix<double> singular = sparse<double>({{0, 0}, {0, 1}});
  const auto null = solve_with<double, TypeParam>({"bicgstab", {}}, operator_of<TypeParam>(singular), nullptr,
                                                  {1, 0}, stop_at(1e-10));
  EXPECT_EQ(null.result.reason, StopReason::breakdown_pivot) << to_string(null.result.reason);
  EXPECT_EQ(null.x, (std::vector<double>{0, 0}));
}

}  // namespace
}  // namespace prekond::testing
