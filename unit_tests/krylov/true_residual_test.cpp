// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// The end of a solve: the exact residual, the x that is returned, and the reason.
#include "testing/krylov_solves.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>
#include <prekond/matrix/matrix_format.hpp>

#include <cmath>
#include <limits>

namespace prekond::testing {
namespace {

template <class Space>
class TrueResidualTest : public ::testing::Test {};
TYPED_TEST_SUITE(TrueResidualTest, TestSpaces, SpaceNames);

/// With sums of long doubles and of their rounding errors, because the entries cancel.
double exact_residual(const HostMatrix<double>& a, const std::vector<double>& b,
                      const std::vector<double>& x) {
  long double squares = 0;
  for (std::int64_t i = 0; i < a.num_rows; ++i) {
    long double sum = b[i], errors = 0;
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
      const long double value = -a.values[k], other = x[a.col_idxs[k]];
      const long double product = value * other, next = sum + product, part = next - sum;
      errors += std::fma(value, other, -product) + ((sum - (next - part)) + (product - part));
      sum = next;
    }
    squares += (sum + errors) * (sum + errors);
  }
  return static_cast<double>(std::sqrt(squares));
}

/// A diagonal matrix, but for every tenth row, which has many large entries of either sign.
HostMatrix<double> canceling_matrix(int n, double size) {
  std::vector<std::vector<double>> dense(n, std::vector<double>(n, 0.0));
  std::mt19937 random(3);
  for (int i = 0; i < n; ++i) {
    if (i % 10 == 0)
      for (int j = 0; j < n; ++j)
        if (j % 10 != 0) dense[i][j] = size * (j % 2 == 0 ? 1 : -1) * (1 + double(random()) / 0x1p33);
    dense[i][i] = 2 + i % 3;
  }
  return sparse(dense);
}

TYPED_TEST(TrueResidualTest, ASuccessIsOneOfTheExactResidual) {
  const HostMatrix<double> a = canceling_matrix(400, 1e5);
  const auto b = random_vector(400);
  // The exact solution, rounded to doubles, has a residual of 1.06e-11 ||b||: below that the last bits
  // decide.
  for (const MatrixFormat format : {MatrixFormat::csr, MatrixFormat::sell, MatrixFormat::jad}) {
    const auto op = make_operator<double, TypeParam>(TypeParam(), to_device<TypeParam>(a), format);
    const auto jacobi = preconditioner_of<TypeParam>("jacobi", a);
    for (const Variant& variant : general_variants())
      for (const double rtol : {1e-6, 1e-9, 1e-11, 1e-12, 1e-13}) {
        SCOPED_TRACE(variant.name() + ", rtol " + std::to_string(rtol));
        const auto solved = solve_with<double, TypeParam>(variant, *op, jacobi.get(), b, stop_at(rtol));
        const double exact = exact_residual(a, b, solved.x) / norm(b);
        if (!solved.result.went_back) {
          EXPECT_NEAR(solved.result.true_relative_residual / exact, 1, 1e-6);
        }
        if (solved.result.converged) {
          EXPECT_LE(exact, rtol * (1 + 1e-12));
        }
        if (rtol >= 1e-9) {
          EXPECT_TRUE(solved.result.converged) << to_string(solved.result.reason);
        }
      }
  }
}

TYPED_TEST(TrueResidualTest, XIsNeverWorseThanTheInitialOne) {
  const HostMatrix<double> a = problem("convection_diffusion3d:5,peclet=100");
  const auto n = a.num_rows;
  const auto b = random_vector(n), x0 = random_vector(n, 3);
  const auto op = operator_of<TypeParam>(a);
  auto variants = general_variants();
  variants.push_back({"richardson", {}});
  for (const Variant& variant : variants)
    // Applications from some number on are useless, and enormous: what x gets from them makes it worse.
    for (const int late : {0, 1, 2, 5, 9})
      for (const double factor : {-1e8, std::numeric_limits<double>::quiet_NaN()}) {
        SCOPED_TRACE(variant.name() + ", from application " + std::to_string(late));
        const Scale<double, TypeParam> m(n, 0.1, late, factor);
        const auto solved = solve_with<double, TypeParam>(variant, op, &m, b, stop_at(1e-10, 12), x0);
        EXPECT_LE(exact_residual(a, b, solved.x), exact_residual(a, b, x0) * (1 + 1e-14));
        EXPECT_NEAR(solved.result.true_relative_residual, exact_residual(a, b, solved.x) / norm(b), 1e-12);
        EXPECT_FALSE(solved.result.went_back && solved.result.converged);
      }
}

TYPED_TEST(TrueResidualTest, ADivergingIterationReturnsTheInitialX) {
  const HostMatrix<double> a = problem("poisson2d:6");
  const auto b = random_vector(36), x0 = random_vector(36, 3);
  const auto solved = solve_with<double, TypeParam>({"richardson", {}}, operator_of<TypeParam>(a), nullptr, b,
                                                    stop_at(1e-8, 30), x0);
  EXPECT_TRUE(solved.result.went_back);
  EXPECT_EQ(solved.x, x0);
  const Variant damped{"richardson", {{"omega", OptionValue(0.2)}}};
  const auto better =
      solve_with<double, TypeParam>(damped, operator_of<TypeParam>(a), nullptr, b, stop_at(1e-8, 30), x0);
  EXPECT_FALSE(better.result.went_back);
  EXPECT_NE(better.x, x0);
}

TYPED_TEST(TrueResidualTest, GmresReturnsTheBestOfItsRestarts) {
  // Restarts of four steps; the third correction of x is made with a useless application of M.
  const HostMatrix<double> a = shifted(problem("poisson2d:8"), -1.0);
  const auto b = random_vector(64);
  const Variant variant{"gmres", {{"restart", std::int64_t(4)}}};
  const Scale<double, TypeParam> sound(64, 1.0), late(64, 1.0, 14, -1e6);
  const auto op = operator_of<TypeParam>(a);
  const auto eight = solve_with<double, TypeParam>(variant, op, &sound, b, stop_at(1e-12, 8));
  const auto twelve = solve_with<double, TypeParam>(variant, op, &late, b, stop_at(1e-12, 12));
  EXPECT_TRUE(twelve.result.went_back);
  EXPECT_EQ(twelve.x, eight.x);
  EXPECT_NEAR(twelve.result.true_relative_residual, eight.result.true_relative_residual, 1e-14);
}

TYPED_TEST(TrueResidualTest, TheLastIterationHasRunOutOfThem) {
  // U = bidiag(1, 1) and b = 1: the shadow residual is orthogonal to the residual after two iterations.
  std::vector<std::vector<double>> dense(30, std::vector<double>(30, 0.0));
  for (int i = 0; i < 30; ++i) {
    dense[i][i] = 10;
    if (i + 1 < 30) dense[i][i + 1] = 10;
  }
  const HostMatrix<double> a = sparse(dense);
  const auto jacobi = preconditioner_of<TypeParam>("jacobi", a);
  const std::vector<double> b(30, 1.0);
  for (const int iterations : {1, 2, 3}) {
    const auto solved = solve_with<double, TypeParam>({"bicgstab", {}}, operator_of<TypeParam>(a),
                                                      jacobi.get(), b, stop_at(1e-6, iterations));
    EXPECT_EQ(solved.result.reason, StopReason::max_iters) << iterations;
  }
}

TYPED_TEST(TrueResidualTest, RoundingEndsGmresAlsoWhereTheTargetIsZero) {
  for (const char* spec : {"poisson2d:12", "convection_diffusion3d:6"}) {
    const HostMatrix<double> a = problem(spec);
    const auto b = random_vector(a.num_rows);
    for (const Variant& variant : general_variants())
      for (const double rtol : {0.0, 1e-30}) {
        SCOPED_TRACE(variant.name());
        const auto solved = solve_with<double, TypeParam>(variant, operator_of<TypeParam>(a), nullptr, b,
                                                          stop_at(rtol, 5000));
        EXPECT_EQ(solved.result.reason, StopReason::stagnation) << to_string(solved.result.reason);
        EXPECT_LT(solved.result.iterations, 2000);
        EXPECT_LT(solved.result.true_relative_residual, 1e-14);
      }
  }
}

}  // namespace
}  // namespace prekond::testing
