// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/krylov_solves.hpp"
#include "testing/reference_idr.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>

namespace prekond::testing {
namespace {

Variant idr(int s, double kappa = 0.7) {
  return {"idr", {{"s", std::int64_t(s)}, {"kappa", kappa}}};
}

template <class Space>
class IdrTest : public ::testing::Test {};
TYPED_TEST_SUITE(IdrTest, TestSpaces, SpaceNames);

TYPED_TEST(IdrTest, MatchesTheReference) {
  for (const HostMatrix<double>& a : {uneven_matrix(61), uneven_matrix(259),
                                      problem("convection_diffusion3d:7"), problem("poisson2d:23")}) {
    const std::vector<double> b = random_vector(a.num_rows);
    for (const int s : {1, 2, 4, 9}) {
      for (const double kappa : {0.0, 0.7}) {
        for (const bool scaled : {false, true}) {
          SCOPED_TRACE(std::to_string(a.num_rows) + ", s = " + std::to_string(s) +
                       (scaled ? ", jacobi" : ""));
          const auto reference = reference_idr(a, b, sequential_jacobi(a, scaled), s, kappa, 1e-8, 500);
          ASSERT_TRUE(reference.converged);
          const auto m = scaled ? preconditioner_of<TypeParam>("jacobi", a) : nullptr;
          const auto solved = solve_with<double, TypeParam>(idr(s, kappa), operator_of<TypeParam>(a), m.get(),
                                                            b, stop_at(1e-8));
          EXPECT_TRUE(solved.result.converged);
          EXPECT_LE(std::abs(solved.result.iterations - reference.products), 2 + reference.products / 10);
          for (std::size_t k = 0;
               k < std::min<std::size_t>({12, solved.history.size(), reference.history.size()}); ++k)
            ASSERT_NEAR(solved.history[k], reference.history[k],
                        1e-6 * reference.history[k] + 1e-10 * norm(b))
                << k;
          for (std::size_t i = 0; i < b.size(); ++i) ASSERT_NEAR(solved.x[i], reference.x[i], 1e-5);
          EXPECT_EQ(solved.result.matrix_products, solved.result.iterations + 2);
        }
      }
    }
  }
}

TYPED_TEST(IdrTest, EndsAfterNPlusNOverSProducts) {
  // In exact arithmetic; a well-conditioned matrix is near to it.
  const HostMatrix<double> a = uneven_matrix(24);
  const std::vector<double> b = random_vector(24);
  for (const int s : {1, 3, 8}) {
    const auto solved =
        solve_with<double, TypeParam>(idr(s), operator_of<TypeParam>(a), nullptr, b, stop_at(1e-10));
    EXPECT_TRUE(solved.result.converged);
    EXPECT_LE(solved.result.iterations, 24 + 24 / s + 3) << s;
  }
}

TYPED_TEST(IdrTest, FewerRowsThanShadowVectors) {
  for (int n : {1, 2, 3, 4, 5}) {
    const HostMatrix<double> a = uneven_matrix(n);
    const std::vector<double> b = random_vector(n);
    const auto solved =
        solve_with<double, TypeParam>(idr(4), operator_of<TypeParam>(a), nullptr, b, stop_at(1e-10));
    EXPECT_EQ(solved.result.reason, StopReason::rtol) << n << ' ' << to_string(solved.result.reason);
    EXPECT_LE(solved.result.iterations, n + 2);
  }
}

TYPED_TEST(IdrTest, MaintainsTheConvergenceOnSkewSymmetricMatrices) {
  // (A r, r) = 0 but for rounding: omega without its lower bound is noise.
  std::vector<std::vector<double>> dense(40, std::vector<double>(40, 0.0));
  const std::vector<double> entries = random_vector(1600);
  for (int i = 0; i < 40; ++i)
    for (int j = 0; j < i; ++j) dense[j][i] = -(dense[i][j] = entries[40 * i + j]);
  const HostMatrix<double> a = sparse(dense);
  const std::vector<double> b = random_vector(40, 3);
  const auto solved =
      solve_with<double, TypeParam>(idr(8), operator_of<TypeParam>(a), nullptr, b, stop_at(1e-7, 2000));
  EXPECT_TRUE(solved.result.converged) << to_string(solved.result.reason);
}

/// A x, but zero for the second of three vectors other than a residual's. With one shadow vector that is t,
/// and (t, r) is zero however a compiler rounds; the third is the one that looks into the breakdown.
template <class Space>
class LosesOneProductOfThree : public Operator<double, Space> {
 public:
  explicit LosesOneProductOfThree(const HostMatrix<double>& a) : m_inner(operator_of<Space>(a)) {}
  std::int64_t num_rows() const override { return m_inner.num_rows(); }
  std::int64_t num_cols() const override { return m_inner.num_cols(); }
  void apply(const Space& space, MultiVectorView<const double, Space> x, MultiVectorView<double, Space> y,
             double alpha, double beta) const override {
    const bool lost = beta == 0 && m_products++ % 3 == 1;
    m_inner.apply(space, x, y, lost ? 0 : alpha, beta);
  }

 private:
  CsrOperator<double, Space> m_inner;
  mutable int m_products = 0;
};

TYPED_TEST(IdrTest, BreakdownsAreReportedAfterAnotherStart) {
  const auto null = solve_with<double, TypeParam>(
      idr(2), operator_of<TypeParam>(sparse<double>({{0, 0}, {0, 0}})), nullptr, {1, 2}, stop_at(1e-10));
  EXPECT_EQ(null.result.reason, StopReason::breakdown_pivot) << to_string(null.result.reason);
  EXPECT_EQ(null.result.iterations, 2) << "one in each start";
  EXPECT_EQ(null.x, (std::vector<double>{0, 0}));
  const auto rotation = sparse<double>({{0, 1}, {-1, 0}});
  const auto turn = solve_with<double, TypeParam>(idr(1, 0.0), LosesOneProductOfThree<TypeParam>(rotation),
                                                  nullptr, {1, 2}, stop_at(1e-10));
  EXPECT_EQ(turn.result.reason, StopReason::breakdown_omega) << to_string(turn.result.reason);
  EXPECT_TRUE(all_finite(turn.x));
  EXPECT_EQ(turn.result.iterations, 4);
  // A r is orthogonal to r: to rounding, and from (1, 0) in the first step to the last bit, for then r is (1,
  // p).
  for (const double b2 : {2, 0}) {
    const auto kept = solve_with<double, TypeParam>(idr(1), operator_of<TypeParam>(rotation), nullptr,
                                                    {1, b2}, stop_at(1e-10));
    EXPECT_EQ(kept.result.reason, StopReason::rtol) << to_string(kept.result.reason);
    EXPECT_NEAR(kept.x[0], -b2, 1e-9);
    EXPECT_NEAR(kept.x[1], 1, 1e-9);
  }
}

}  // namespace
}  // namespace prekond::testing
