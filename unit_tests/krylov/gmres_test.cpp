// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/krylov_solves.hpp"
#include "testing/reference_gmres.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>
#include <prekond/matrix/matrix_format.hpp>

#include <cmath>
#include <vector>

namespace prekond::testing {
namespace {

/// `form`: an orthogonalization, or "S steps".
Variant gmres(int restart, const std::string& form, const std::string& solver = "gmres") {
  Variant variant{solver, {{"restart", std::int64_t(restart)}}};
  if (form.find("steps") != std::string::npos)
    variant.options["step_size"] = std::int64_t(std::stoi(form));
  else
    variant.options["orthogonalization"] = form;
  return variant;
}
const char* const forms[] = {"cgs2", "dcgs2"};
const char* const all_forms[] = {"cgs2", "dcgs2", "2 steps", "4 steps", "7 steps", "16 steps"};
bool has_blocks(const std::string& form) {
  return form.find("steps") != std::string::npos;
}

template <class Space>
class GmresTest : public ::testing::Test {};
TYPED_TEST_SUITE(GmresTest, TestSpaces, SpaceNames);

TYPED_TEST(GmresTest, MatchesTheReference) {
  for (const HostMatrix<double>& a :
       {uneven_matrix(1), uneven_matrix(2), uneven_matrix(61), uneven_matrix(259),
        problem("convection_diffusion3d:7"), problem("poisson2d:23")}) {
    const std::vector<double> b = random_vector(a.num_rows);
    for (const int restart : {1, 5, 30, 70}) {
      const auto reference =
          reference_gmres(a, b, sequential_jacobi(a, true), std::size_t(restart), 1e-8, 300);
      const auto m = preconditioner_of<TypeParam>("jacobi", a);
      for (const char* form : all_forms) {
        for (const char* solver : {"gmres", "fgmres"}) {
          if (has_blocks(form) && std::string(solver) == "fgmres") continue;
          SCOPED_TRACE(std::to_string(a.num_rows) + ", restart " + std::to_string(restart) + ' ' + form +
                       ' ' + solver);
          const auto solved = solve_with<double, TypeParam>(
              gmres(restart, form, solver), operator_of<TypeParam>(a), m.get(), b, stop_at(1e-8, 300));
          EXPECT_EQ(solved.result.converged, reference.converged);
          EXPECT_LE(std::abs(solved.result.iterations - reference.iterations), 1);
          for (std::size_t k = 0; k < std::min(solved.history.size(), reference.history.size()); ++k)
            ASSERT_NEAR(solved.history[k], reference.history[k],
                        1e-6 * reference.history[k] + 1e-10 * norm(b))
                << k;
          for (std::size_t i = 0; i < b.size(); ++i) ASSERT_NEAR(solved.x[i], reference.x[i], 1e-6);
        }
      }
    }
  }
}

TYPED_TEST(GmresTest, TheResidualNeverGrowsAndProductsAreCounted) {
  const HostMatrix<double> a = problem("convection_diffusion3d:8,peclet=1000");
  const std::vector<double> b = random_vector(a.num_rows);
  for (const char* form : all_forms) {
    const auto solved =
        solve_with<double, TypeParam>(gmres(10, form), operator_of<TypeParam>(a), nullptr, b, stop_at(1e-9));
    EXPECT_TRUE(solved.result.converged);
    for (std::size_t k = 1; k < solved.history.size(); ++k)
      EXPECT_LE(solved.history[k], solved.history[k - 1] * (1 + 1e-12)) << k;
    // One an iteration, one residual a cycle, the true one; the delayed form has one more where a cycle does
    // not end with its last step.
    const std::int64_t cycles = (solved.result.iterations + 9) / 10;
    const bool early = std::string(form) == "dcgs2" && solved.result.iterations % 10 != 0;
    const std::int64_t least = solved.result.iterations + cycles + 1 + (early ? 1 : 0);
    // On a device the next product may have been started; a block may be longer than the steps it is left
    // with.
    std::int64_t most = least + (is_host_space<TypeParam> ? 0 : cycles);
    if (has_blocks(form)) most += cycles * (std::stoi(form) - 1);
    EXPECT_GE(solved.result.matrix_products, least) << form;
    EXPECT_LE(solved.result.matrix_products, most) << form;
  }
}

TYPED_TEST(GmresTest, ConvergesAtTheEndOfTheKrylovSpace) {
  // Four distinct eigenvalues: four steps, and the last vector is zero.
  std::vector<double> entries;
  for (int i = 0; i < 50; ++i) entries.push_back(1 + i % 4);
  const HostMatrix<double> a = diagonal_matrix(entries);
  const std::vector<double> b = random_vector(50);
  for (const char* form : all_forms) {
    const auto solved =
        solve_with<double, TypeParam>(gmres(30, form), operator_of<TypeParam>(a), nullptr, b, stop_at(1e-13));
    EXPECT_EQ(solved.result.reason, StopReason::rtol) << to_string(solved.result.reason);
    EXPECT_EQ(solved.result.iterations, 4) << form;
    // More than the precision has is no success, and no crash either.
    const auto too_much = solve_with<double, TypeParam>(gmres(30, form), operator_of<TypeParam>(a), nullptr,
                                                        b, stop_at(1e-18, 300));
    EXPECT_LE(too_much.result.true_relative_residual, 1e-14);
    EXPECT_TRUE(all_finite(too_much.x));
    const auto one =
        solve_with<double, TypeParam>(gmres(30, form), operator_of<TypeParam>(diagonal_matrix({4, 4, 4})),
                                      nullptr, {1, 2, 3}, stop_at(1e-12));
    EXPECT_EQ(one.result.iterations, 1) << "a multiple of the identity";
    EXPECT_NEAR(one.x[2], 0.75, 1e-15);
  }
}

TYPED_TEST(GmresTest, BreaksDownOnASingularMatrix) {
  // A r = 0; and a chain e_3 -> e_2 -> e_1 -> 0 from which e_1 cannot be reached.
  const HostMatrix<double> nilpotent = sparse<double>({{0, 1, 0}, {0, 0, 1}, {0, 0, 0}});
  for (const char* form : all_forms) {
    for (const char* solver : {"gmres", "fgmres"}) {
      if (has_blocks(form) && std::string(solver) == "fgmres") continue;
      for (const std::vector<double>& b : {std::vector<double>{1, 0, 0}, std::vector<double>{0, 0, 1}}) {
        const auto solved = solve_with<double, TypeParam>(
            gmres(10, form, solver), operator_of<TypeParam>(nilpotent), nullptr, b, stop_at(1e-10));
        EXPECT_EQ(solved.result.reason, StopReason::breakdown_arnoldi)
            << form << ' ' << to_string(solved.result.reason);
        EXPECT_TRUE(all_finite(solved.x));
        EXPECT_NEAR(solved.result.true_relative_residual, residual_norm(nilpotent, b, solved.x), 1e-15);
      }
    }
    // A singular matrix with a solution in the Krylov space.
    const HostMatrix<double> consistent = sparse<double>({{1, 1, 0}, {0, 2, 0}, {0, 0, 0}});
    const auto solved = solve_with<double, TypeParam>(gmres(10, form), operator_of<TypeParam>(consistent),
                                                      nullptr, {1, 2, 0}, stop_at(1e-10));
    EXPECT_EQ(solved.result.reason, StopReason::rtol) << to_string(solved.result.reason);
  }
}

TYPED_TEST(GmresTest, BreaksDownOnASingularMatrixDespiteRounding) {
  // A = Q T Q with a reflection Q and T = [1 2; 2 4] next to 3 I: Q e_1 and Q e_2 are mapped to one
  // direction, which is not that of b = Q e_1. Products leave the span of both only by rounding errors: other
  // ones for each reflection, and for each format, which add a row's entries in different orders.
  constexpr int n = 5;
  const auto t = [](int i, int j) {
    return i < 2 && j < 2 ? double((i + 1) * (j + 1)) : (i == j ? 3.0 : 0.0);
  };
  for (int shift = 0; shift < 30; ++shift) {
    const auto u = [&](int i) { return 1.0 + (i + shift * (i % 2 + 1)) % 11; };
    double square = 0;
    for (int i = 0; i < n; ++i) square += u(i) * u(i);
    const auto q = [&](int i, int j) { return (i == j ? 1.0 : 0.0) - 2 * u(i) * u(j) / square; };
    std::vector<std::vector<double>> rows(n, std::vector<double>(n, 0));
    std::vector<double> b(n);
    for (int i = 0; i < n; ++i) {
      b[i] = q(i, 0);
      for (int j = 0; j < n; ++j)
        for (int k = 0; k < n; ++k)
          for (int l = 0; l < n; ++l) rows[i][j] += q(i, k) * t(k, l) * q(l, j);
    }
    const auto device = to_device<TypeParam>(sparse<double>(rows));
    for (const MatrixFormat format : {MatrixFormat::csr, MatrixFormat::jad})
      for (const char* form : all_forms) {
        SCOPED_TRACE(form + (" by " + to_string(format)) + ", reflection " + std::to_string(shift));
        const auto op = make_operator<double, TypeParam>(TypeParam(), device, format);
        const auto solved = solve_with<double, TypeParam>(gmres(10, form), *op, nullptr, b, stop_at(1e-10));
        EXPECT_EQ(solved.result.reason, StopReason::breakdown_arnoldi) << to_string(solved.result.reason);
        for (const double x : solved.x) EXPECT_LT(std::abs(x), 10);
      }
  }
}

TYPED_TEST(GmresTest, BreaksDownOnASingularMatrixWithinABlock) {
  // b has a part in the null space, and the space ends within a block: its last columns are of rounding
  // errors.
  for (const int distinct : {5, 7, 9}) {
    for (const int n : {20, 33}) {
      std::vector<double> entries;
      for (int i = 0; i < n; ++i) entries.push_back(i % distinct);
      const HostMatrix<double> a = diagonal_matrix(entries);
      const std::vector<double> b = random_vector(n, 8);
      for (const char* form : all_forms) {
        const auto solved = solve_with<double, TypeParam>(gmres(40, form), operator_of<TypeParam>(a), nullptr,
                                                          b, stop_at(1e-10, 200));
        EXPECT_TRUE(all_finite(solved.x));
        EXPECT_TRUE(solved.result.reason == StopReason::breakdown_arnoldi ||
                    solved.result.reason == StopReason::breakdown_singular)
            << distinct << " of " << n << ", " << form << ": " << to_string(solved.result.reason);
      }
    }
  }
}

TYPED_TEST(GmresTest, BlocksOfLargeMatricesHaveFullLength) {
  // Without scales the vectors of a block would leave the range, and each block be cut.
  HostMatrix<double> a = problem("convection_diffusion3d:7");
  const std::vector<double> b = random_vector(a.num_rows);
  const auto ordinary = solve_with<double, TypeParam>(gmres(30, "8 steps"), operator_of<TypeParam>(a),
                                                      nullptr, b, stop_at(1e-9, 500));
  EXPECT_LE(ordinary.result.matrix_products, ordinary.result.iterations + 30);
  for (const int power : {-40, 40}) {
    HostMatrix<double> scaled = a;
    for (double& value : scaled.values) value = std::ldexp(value, power);
    const auto solved = solve_with<double, TypeParam>(gmres(30, "8 steps"), operator_of<TypeParam>(scaled),
                                                      nullptr, b, stop_at(1e-9, 500));
    EXPECT_EQ(solved.result.iterations, ordinary.result.iterations) << power;
    EXPECT_EQ(solved.result.matrix_products, ordinary.result.matrix_products) << power;
  }
}

TYPED_TEST(GmresTest, SkewSymmetricMatricesAreNoBreakdown) {
  std::vector<std::vector<double>> dense(20, std::vector<double>(20, 0.0));
  const std::vector<double> entries = random_vector(400);
  for (int i = 0; i < 20; ++i)
    for (int j = 0; j < i; ++j) dense[j][i] = -(dense[i][j] = entries[20 * i + j]);
  const std::vector<double> b = random_vector(20, 3);
  for (const char* form : all_forms) {
    const auto solved = solve_with<double, TypeParam>(gmres(30, form), operator_of<TypeParam>(sparse(dense)),
                                                      nullptr, b, stop_at(1e-8));
    EXPECT_EQ(solved.result.reason, StopReason::rtol) << to_string(solved.result.reason);
    EXPECT_LE(solved.result.iterations, 20);
  }
}

TYPED_TEST(GmresTest, AllFormsKeepTheBasisOrthogonal) {
  // Columns that differ by little: one projection would lose the orthogonality, and the iteration with it.
  const HostMatrix<double> a = problem("tridiagonal:150");
  const std::vector<double> b = random_vector(150);
  const auto reference = reference_gmres(a, b, sequential_jacobi(a, false), 150, 1e-9, 150);
  for (const char* form : all_forms) {
    const auto solved = solve_with<double, TypeParam>(gmres(150, form), operator_of<TypeParam>(a), nullptr, b,
                                                      stop_at(1e-9, 160));
    EXPECT_TRUE(solved.result.converged) << form << ' ' << to_string(solved.result.reason);
    EXPECT_LE(std::abs(solved.result.iterations - reference.iterations), 1);
    EXPECT_NEAR(solved.result.relative_residual, solved.result.true_relative_residual, 1e-11);
  }
}

TYPED_TEST(GmresTest, LeftPreconditioningConvergesByTheTrueResidual) {
  // A preconditioner that hides most of the residual: M^-1 (b - A x) is small where b - A x is not.
  const HostMatrix<double> a = uneven_matrix(120);
  const std::vector<double> b = random_vector(120);
  HostMatrix<double> weights = diagonal_matrix(std::vector<double>(120, 1.0));
  for (int i = 0; i < 60; ++i) weights.values[i] = 1e5;
  const auto m = preconditioner_of<TypeParam>("jacobi", weights);
  for (const char* form : all_forms) {
    for (const int restart : {10, 60}) {
      Variant left = gmres(restart, form);
      left.options["side"] = std::string("left");
      const auto solved =
          solve_with<double, TypeParam>(left, operator_of<TypeParam>(a), m.get(), b, stop_at(1e-8));
      const double truth = residual_norm(a, b, solved.x) / norm(b);
      EXPECT_NEAR(solved.result.true_relative_residual, truth, 1e-13);
      EXPECT_EQ(solved.result.converged, truth <= 1e-8)
          << form << ' ' << restart << ' ' << to_string(solved.result.reason);
    }
  }
}

// ---------------------------------------------------------------------------------------------- flexible
// GMRES

/// M_j^-1 = another diagonal in each application: what flexible GMRES is for.
template <class Space>
class Changing : public Preconditioner<double, Space> {
 public:
  explicit Changing(std::int64_t n) : m_n(n) {}
  std::string name() const override { return "changing"; }
  std::int64_t num_rows() const override { return m_n; }
  void apply(const Space& space, MultiVectorView<const double, Space> x, MultiVectorView<double, Space> y,
             Workspace&) const override {
    const double factor = 0.2 + 0.1 * double(m_calls++ % 5);
    Kokkos::parallel_for("prekond::testing::changing", Kokkos::RangePolicy<Space>(space, 0, int(m_n)),
                         ScaleKernel<double, Space>{x, y, factor});
  }

 private:
  std::int64_t m_n;
  mutable int m_calls = 0;
};

TYPED_TEST(GmresTest, FgmresTakesAVariablePreconditioner) {
  const HostMatrix<double> a = problem("convection_diffusion3d:7");
  const std::vector<double> b = random_vector(a.num_rows);
  const auto plain =
      solve_with<double, TypeParam>(gmres(20, "cgs2"), operator_of<TypeParam>(a), nullptr, b, stop_at(1e-9));
  for (const char* form : forms) {
    const Changing<TypeParam> m(a.num_rows);
    const auto solved = solve_with<double, TypeParam>(gmres(20, form, "fgmres"), operator_of<TypeParam>(a),
                                                      &m, b, stop_at(1e-9));
    // Factors change nothing in the space: the iteration is GMRES's.
    EXPECT_TRUE(solved.result.converged) << form;
    EXPECT_EQ(solved.result.iterations, plain.result.iterations);
    EXPECT_LE(residual_norm(a, b, solved.x), 1.1e-9 * norm(b));
    const Changing<TypeParam> again(a.num_rows);
    const auto rigid = solve_with<double, TypeParam>(gmres(20, form), operator_of<TypeParam>(a), &again, b,
                                                     stop_at(1e-9, 500));
    EXPECT_FALSE(rigid.result.converged && rigid.result.iterations <= plain.result.iterations)
        << "GMRES takes the preconditioner for a fixed one";
  }
}

}  // namespace
}  // namespace prekond::testing
