// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/krylov_problems.hpp"
#include "testing/reference_adaptive_fsai.hpp"
#include "testing/reference_cg.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/krylov/cg.hpp>
#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/precond/adaptive_fsai.hpp>
#include <prekond/precond/jacobi.hpp>
#include <prekond/precond/registry.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace prekond::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::vector<CgOptions> all_forms() {
  std::vector<CgOptions> forms(3);
  forms[1].single_reduction = true;
  forms[2].flexible = true;
  return forms;
}

std::string form_name(const CgOptions& options) {
  if (options.flexible) return "flexible";
  return options.single_reduction ? "one reduction" : "two reductions";
}

template <class Scalar, class Space>
Solved<Scalar> solve(const Operator<Scalar, Space>& a, const Preconditioner<Scalar, Space>* m,
                     const std::vector<Scalar>& b, const CgOptions& options, const StoppingOptions& stopping,
                     std::vector<Scalar> x0 = {}, const Reducer<Scalar, Space>& reducer = {}) {
  const Space space;
  if (x0.empty()) x0.assign(b.size(), 0);
  const auto x = to_device<Space>(x0);
  const auto b_device = to_device<Space>(b);
  Solved<Scalar> solved;
  const Cg<Scalar, Space> cg(options);
  solved.result = cg.solve(
      space, a, m, b_device, x, stopping,
      [&](std::int64_t iteration, double norm_r) {
        solved.seen.push_back(iteration);
        solved.history.push_back(norm_r);
      },
      reducer);
  space.fence();
  solved.x = to_vector(x);
  const auto b_after = to_vector(b_device);
  EXPECT_TRUE(b.empty() || std::memcmp(b_after.data(), b.data(), b.size() * sizeof(Scalar)) == 0)
      << "b changed";
  return solved;
}

/// The same preconditioner, applied one entry after the other.
template <class Space>
std::function<std::vector<double>(const std::vector<double>&)> sequential(
    const MatrixPreconditioner<double, Space>& m, const HostMatrix<double>& a) {
  if (const auto* fsai = dynamic_cast<const AdaptiveFsai<double, Space>*>(&m)) {
    return [g = to_host(fsai->factor())](const std::vector<double>& r) {
      return multiply_transposed(g, multiply(g, r));
    };
  }
  const bool scaled = m.name() == "jacobi";
  return [scaled, &a](std::vector<double> r) {
    for (std::size_t i = 0; scaled && i < r.size(); ++i) r[i] /= a(i, i);
    return r;
  };
}

// --------------------------------------------------------------------------------------------------------------
// tests

template <class Space>
class CgTest : public ::testing::Test {};
TYPED_TEST_SUITE(CgTest, TestSpaces, SpaceNames);

struct Problem {
  std::string spec;
  bool gentle;  ///< rounding does not yet separate two ways of summing
};
const std::vector<Problem> problems = {
    {"tridiagonal:1", true},   {"tridiagonal:2", true},   {"tridiagonal:63", true},
    {"poisson2d:7", true},     {"poisson2d:13", true},    {"anisotropic2d:9,epsilon=0.1", true},
    {"elasticity3d:3", false}, {"elasticity3d:4", false}, {"elasticity3d:4,contrast=1", true},
    {"circuit:11", false}};

TYPED_TEST(CgTest, SolutionIterationsAndHistoryMatchTheReference) {
  for (const auto& [spec, gentle] : problems) {
    const HostMatrix<double> a = problem(spec);
    const std::vector<double> b = random_vector(a.num_rows);
    const std::vector<double> exact = dense_solution(a, b);
    const double rtol = gentle ? 1e-10 : 1e-7;
    for (const char* name : {"none", "jacobi", "adaptive_fsai"}) {
      const auto m = preconditioner_of<TypeParam>(name, a);
      const ReferenceCg reference = reference_cg(a, b, sequential(*m, a), rtol, 0, 1000);
      ASSERT_TRUE(reference.converged);
      for (const CgOptions& form : all_forms()) {
        SCOPED_TRACE(spec + ", " + name + ", " + form_name(form));
        const auto solved =
            solve<double, TypeParam>(operator_of<TypeParam>(a), m.get(), b, form, stop_at(rtol));
        const SolveResult& result = solved.result;
        EXPECT_EQ(result.reason, StopReason::rtol);
        EXPECT_TRUE(result.converged);
        EXPECT_LE(std::abs(result.iterations - reference.iterations),
                  gentle ? 1 : 1 + reference.iterations / 5);
        const double truth = residual_norm(a, b, solved.x) / norm(b);
        EXPECT_LE(truth, 1.2 * rtol);
        EXPECT_NEAR(result.true_relative_residual, truth, 1e-3 * rtol);
        EXPECT_NEAR(result.relative_residual, truth, 0.1 * rtol);
        double largest = 0;
        for (double value : exact) largest = std::max(largest, std::abs(value));
        for (std::size_t i = 0; gentle && i < b.size(); ++i)
          ASSERT_NEAR(solved.x[i], exact[i], 1e-7 * largest);
        // Rounding separates the two in the end: compare what comes before.
        for (std::size_t k = 0;
             k < std::min<std::size_t>({solved.history.size(), reference.history.size(), gentle ? 15u : 6u});
             ++k)
          ASSERT_NEAR(solved.history[k], reference.history[k], 1e-6 * reference.history[k] + 1e-11 * norm(b))
              << "iteration " << k;
      }
    }
  }
}

TYPED_TEST(CgTest, AllFormsNeedTheSameIterations) {
  for (const char* spec : {"poisson2d:31", "elasticity3d:6", "tridiagonal:401"}) {
    const HostMatrix<double> a = problem(spec);
    const std::vector<double> b = random_vector(a.num_rows);
    const auto m = preconditioner_of<TypeParam>("adaptive_fsai", a);
    std::vector<std::int64_t> iterations;
    for (const CgOptions& form : all_forms()) {
      const auto solved =
          solve<double, TypeParam>(operator_of<TypeParam>(a), m.get(), b, form, stop_at(1e-8));
      EXPECT_TRUE(solved.result.converged) << spec << ", " << form_name(form);
      iterations.push_back(solved.result.iterations);
      EXPECT_LE(std::abs(iterations.back() - iterations.front()), 2) << spec << ", " << form_name(form);
      EXPECT_GT(iterations.back(), 5) << spec;
    }
  }
}

TYPED_TEST(CgTest, NoPreconditionerIsTheIdentity) {
  const HostMatrix<double> a = problem("poisson2d:11");
  const std::vector<double> b = random_vector(a.num_rows);
  const auto none = preconditioner_of<TypeParam>("none", a);
  for (const CgOptions& form : all_forms()) {
    const auto with = solve<double, TypeParam>(operator_of<TypeParam>(a), none.get(), b, form, stop_at(1e-9));
    const auto without = solve<double, TypeParam>(operator_of<TypeParam>(a), nullptr, b, form, stop_at(1e-9));
    EXPECT_EQ(with.result.iterations, without.result.iterations);
    EXPECT_EQ(with.x, without.x) << form_name(form);
  }
}

TYPED_TEST(CgTest, ConvergenceIsTheLargerOfRtolAndAtol) {
  const HostMatrix<double> a = problem("poisson2d:15");
  std::vector<double> b = random_vector(a.num_rows);
  for (double& value : b) value *= 100;
  const double norm_b = norm(b);
  for (const CgOptions& form : all_forms()) {
    const auto run = [&](double rtol, double atol) {
      return solve<double, TypeParam>(operator_of<TypeParam>(a), nullptr, b, form, stop_at(rtol, 1000, atol));
    };
    for (const auto& [rtol, atol, reason] :
         {std::tuple(1e-6, 0.0, StopReason::rtol), std::tuple(1e-6, 1e-12, StopReason::rtol),
          std::tuple(1e-9, 1e-3, StopReason::atol), std::tuple(0.0, 1e-5, StopReason::atol)}) {
      const auto solved = run(rtol, atol);
      const double threshold = std::max(rtol * norm_b, atol);
      EXPECT_EQ(solved.result.reason, reason) << form_name(form) << ' ' << rtol << ' ' << atol;
      EXPECT_TRUE(solved.result.converged);
      EXPECT_LE(residual_norm(a, b, solved.x), 1.0001 * threshold);
      // Not one iteration more than that.
      ASSERT_GE(solved.history.size(), 2u);
      EXPECT_GT(solved.history[solved.history.size() - 2], threshold);
      EXPECT_LE(solved.history.back(), threshold);
      EXPECT_NEAR(solved.result.relative_residual, solved.history.back() / norm_b, 1e-15);
    }
    // Two kernels sum up (b, b) and (r, r), and agree to rounding.
    EXPECT_EQ(run(0, (1 + 1e-14) * norm_b).result.iterations, 0) << "x = 0 is good enough";
    EXPECT_EQ(run(0, 2 * norm_b).result.reason, StopReason::atol);
  }
}

TYPED_TEST(CgTest, AZeroRightHandSideGivesZero) {
  const HostMatrix<double> a = problem("poisson2d:6");
  const std::vector<double> zero(a.num_rows, 0.0);
  const auto m = preconditioner_of<TypeParam>("jacobi", a);
  for (const CgOptions& form : all_forms()) {
    const auto solved = solve<double, TypeParam>(operator_of<TypeParam>(a), m.get(), zero, form,
                                                 stop_at(1e-8), random_vector(a.num_rows));
    EXPECT_EQ(solved.result.reason, StopReason::zero_rhs);
    EXPECT_TRUE(solved.result.converged);
    EXPECT_EQ(solved.result.iterations, 0);
    EXPECT_EQ(solved.x, zero);
  }
}

TYPED_TEST(CgTest, TheExactSolutionTakesNoIteration) {
  const HostMatrix<double> a = problem("poisson2d:9");
  std::vector<double> exact(a.num_rows);
  for (std::size_t i = 0; i < exact.size(); ++i) exact[i] = double(i % 7) - 3;  // A x has no rounding
  const std::vector<double> b = multiply(a, exact);
  for (const CgOptions& form : all_forms()) {
    for (double rtol : {1e-8, 0.0}) {
      const auto solved =
          solve<double, TypeParam>(operator_of<TypeParam>(a), nullptr, b, form, stop_at(rtol), exact);
      EXPECT_TRUE(solved.result.converged);
      EXPECT_EQ(solved.result.iterations, 0);
      EXPECT_EQ(solved.result.true_relative_residual, 0);
      EXPECT_EQ(solved.x, exact);
      EXPECT_EQ(solved.seen, std::vector<std::int64_t>{0});
    }
  }
}

TYPED_TEST(CgTest, StartsFromTheInitialVector) {
  const HostMatrix<double> a = problem("poisson2d:20");
  const std::vector<double> b = random_vector(a.num_rows);
  for (const CgOptions& form : all_forms()) {
    const auto rough = solve<double, TypeParam>(operator_of<TypeParam>(a), nullptr, b, form, stop_at(1e-4));
    const auto cold = solve<double, TypeParam>(operator_of<TypeParam>(a), nullptr, b, form, stop_at(1e-8));
    const auto warm =
        solve<double, TypeParam>(operator_of<TypeParam>(a), nullptr, b, form, stop_at(1e-8), rough.x);
    EXPECT_LT(warm.result.iterations, cold.result.iterations);
    EXPECT_LE(residual_norm(a, b, warm.x), 1.01e-8 * norm(b));
  }
}

TYPED_TEST(CgTest, StopsAfterMaxIters) {
  const HostMatrix<double> a = problem("poisson2d:15");
  const std::vector<double> b = random_vector(a.num_rows), guess = random_vector(a.num_rows, 3);
  const auto identity = [](const std::vector<double>& r) { return r; };
  for (const CgOptions& form : all_forms()) {
    const auto none =
        solve<double, TypeParam>(operator_of<TypeParam>(a), nullptr, b, form, stop_at(1e-10, 0), guess);
    EXPECT_EQ(none.result.reason, StopReason::max_iters);
    EXPECT_FALSE(none.result.converged);
    EXPECT_EQ(none.result.iterations, 0);
    EXPECT_EQ(none.x, guess);
    EXPECT_NEAR(none.result.true_relative_residual, residual_norm(a, b, guess) / norm(b), 1e-13);
    const auto five =
        solve<double, TypeParam>(operator_of<TypeParam>(a), nullptr, b, form, stop_at(1e-10, 5));
    EXPECT_EQ(five.result.reason, StopReason::max_iters);
    EXPECT_FALSE(five.result.converged);
    EXPECT_EQ(five.result.iterations, 5);
    EXPECT_EQ(five.seen, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5}));
    const ReferenceCg reference = reference_cg(a, b, identity, 1e-10, 0, 5);
    for (std::size_t i = 0; i < b.size(); ++i) ASSERT_NEAR(five.x[i], reference.x[i], 1e-12);
    EXPECT_NEAR(five.result.relative_residual, reference.history[5] / norm(b), 1e-12);
  }
}

TYPED_TEST(CgTest, TheMonitorSeesEveryIteration) {
  const HostMatrix<double> a = problem("elasticity3d:4");
  const std::vector<double> b = random_vector(a.num_rows);
  for (const CgOptions& form : all_forms()) {
    const auto solved = solve<double, TypeParam>(operator_of<TypeParam>(a), nullptr, b, form, stop_at(1e-8));
    ASSERT_EQ(solved.seen.size(), std::size_t(solved.result.iterations) + 1);
    for (std::size_t k = 0; k < solved.seen.size(); ++k) EXPECT_EQ(solved.seen[k], std::int64_t(k));
    EXPECT_NEAR(solved.history[0], norm(b), 1e-13 * norm(b));
    // One product an iteration, and those for the first residual, the true one, and the form's own first.
    const std::int64_t others = solved.result.matrix_products - solved.result.iterations - 2;
    EXPECT_EQ(others, form.single_reduction ? 1 : 0);
    EXPECT_GT(solved.result.seconds, 0);
  }
}

TYPED_TEST(CgTest, AnIndefiniteMatrixIsABreakdownAtTheLastGoodIterate) {
  // Eigenvalues below zero that the first directions do not meet, that the first one meets, and everything
  // negative.
  const HostMatrix<double> poisson = problem("poisson2d:12");
  const std::vector<HostMatrix<double>> matrices = {shifted(poisson, 0.5),
                                                    shifted(poisson, 2.0),
                                                    shifted(poisson, 3.999),
                                                    shifted(poisson, 9.0),
                                                    shifted(problem("tridiagonal:101"), 0.01),
                                                    diagonal_matrix({1, -1}),
                                                    diagonal_matrix({-1}),
                                                    diagonal_matrix({3, 2, 1, 0.5, -1e-3})};
  for (std::size_t k = 0; k < matrices.size(); ++k) {
    const HostMatrix<double>& a = matrices[k];
    const std::vector<double> b = random_vector(a.num_rows);
    for (const CgOptions& form : all_forms()) {
      for (const bool preconditioned : {false, true}) {
        SCOPED_TRACE("matrix " + std::to_string(k) + ", " + form_name(form) +
                     (preconditioned ? ", scaled" : ""));
        const Scale<double, TypeParam> m(a.num_rows, 0.3);
        const auto run = [&](std::int64_t max_iters) {
          return solve<double, TypeParam>(operator_of<TypeParam>(a), preconditioned ? &m : nullptr, b, form,
                                          stop_at(1e-10, max_iters));
        };
        const auto solved = run(2000);
        EXPECT_EQ(solved.result.reason, StopReason::breakdown_not_spd) << to_string(solved.result.reason);
        EXPECT_FALSE(solved.result.converged);
        EXPECT_LT(solved.result.iterations, 2 * a.num_rows);
        ASSERT_TRUE(all_finite(solved.x));
        EXPECT_NEAR(solved.result.true_relative_residual, residual_norm(a, b, solved.x) / norm(b), 1e-9);
        // The step that failed left x where it was. (With one reduction (A z, z) <= 0 may show it a step
        // earlier.)
        if (!form.single_reduction) {
          EXPECT_EQ(solved.x, run(solved.result.iterations - 1).x);
        }
      }
    }
  }
}

TYPED_TEST(CgTest, APreconditionerThatIsNotDefiniteIsABreakdown) {
  const HostMatrix<double> a = problem("poisson2d:12");
  const std::vector<double> b = random_vector(a.num_rows), guess = random_vector(a.num_rows, 2);
  for (const CgOptions& form : all_forms()) {
    const Scale<double, TypeParam> negative(a.num_rows, -1), zero(a.num_rows, 0), late(a.num_rows, 1, 4, -1);
    for (const auto* m : {&negative, &zero}) {
      const auto solved =
          solve<double, TypeParam>(operator_of<TypeParam>(a), m, b, form, stop_at(1e-8), guess);
      EXPECT_EQ(solved.result.reason, StopReason::breakdown_preconditioner_not_spd)
          << to_string(solved.result.reason);
      EXPECT_FALSE(solved.result.converged);
      EXPECT_EQ(solved.result.iterations, 0);
      EXPECT_EQ(solved.x, guess);
    }
    const auto solved = solve<double, TypeParam>(operator_of<TypeParam>(a), &late, b, form, stop_at(1e-8));
    EXPECT_EQ(solved.result.reason, StopReason::breakdown_preconditioner_not_spd);
    EXPECT_EQ(solved.result.iterations, 4);
    EXPECT_EQ(solved.x,
              (solve<double, TypeParam>(operator_of<TypeParam>(a), nullptr, b, form, stop_at(1e-8, 4)).x));
  }
}

TYPED_TEST(CgTest, NonFiniteValuesEndAsNan) {
  const HostMatrix<double> a = problem("poisson2d:12");
  const std::vector<double> b = random_vector(a.num_rows), guess = random_vector(a.num_rows, 2);
  const double not_a_number = std::nan("");
  for (const CgOptions& form : all_forms()) {
    SCOPED_TRACE(form_name(form));
    const auto expect_nan = [](const Solved<>& solved) {
      EXPECT_EQ(solved.result.reason, StopReason::nan) << to_string(solved.result.reason);
      EXPECT_FALSE(solved.result.converged);
    };
    for (const double bad : {not_a_number, std::numeric_limits<double>::infinity()}) {
      std::vector<double> bad_b = b, bad_guess = guess;
      bad_b[77] = bad;
      bad_guess[3] = bad;
      const auto from_b =
          solve<double, TypeParam>(operator_of<TypeParam>(a), nullptr, bad_b, form, stop_at(1e-8), guess);
      expect_nan(from_b);
      EXPECT_EQ(from_b.x, guess);
      expect_nan(
          solve<double, TypeParam>(operator_of<TypeParam>(a), nullptr, b, form, stop_at(1e-8), bad_guess));
      HostMatrix<double> bad_a = a;
      bad_a.values[100] = bad;
      const auto from_a =
          solve<double, TypeParam>(operator_of<TypeParam>(bad_a), nullptr, b, form, stop_at(1e-8), guess);
      expect_nan(from_a);
      EXPECT_EQ(from_a.x, guess);
      for (int late : {1, 2, 3, 7}) {
        const auto from_product =
            solve<double, TypeParam>(Late<TypeParam>(a, late, bad), nullptr, b, form, stop_at(1e-8), guess);
        expect_nan(from_product);
        EXPECT_TRUE(all_finite(from_product.x)) << "product " << late;
      }
      for (int late : {0, 1, 4}) {
        const Scale<double, TypeParam> m(a.num_rows, 1, late, bad);
        const auto from_m =
            solve<double, TypeParam>(operator_of<TypeParam>(a), &m, b, form, stop_at(1e-8), guess);
        expect_nan(from_m);
        EXPECT_EQ(from_m.result.iterations, late);
        EXPECT_TRUE(all_finite(from_m.x)) << "application " << late;
      }
    }
  }
}

TYPED_TEST(CgTest, RestartsWhereTheTrueResidualContradictsTheRecursiveOne) {
  const HostMatrix<double> a = problem("poisson2d:12");
  const std::vector<double> b = random_vector(a.num_rows);
  const auto restarts = [](const Solved<>& solved) {
    int count = 0;
    for (std::size_t k = 1; k < solved.seen.size(); ++k)
      count += solved.seen[k] == solved.seen[k - 1] ? 1 : 0;
    return count;
  };
  for (const CgOptions& form : all_forms()) {
    SCOPED_TRACE(form_name(form));
    // x is 2 A^-1 b at first: the residual is -b, and b after another start.
    const Liar<TypeParam> always(a, 0.5);
    const auto lied = solve<double, TypeParam>(always, nullptr, b, form, stop_at(1e-8));
    EXPECT_EQ(lied.result.reason, StopReason::stagnation) << to_string(lied.result.reason);
    EXPECT_FALSE(lied.result.converged);
    EXPECT_LE(lied.result.relative_residual, 1e-8);
    EXPECT_NEAR(lied.result.true_relative_residual, 1, 1e-6);
    EXPECT_NEAR(residual_norm(a, b, lied.x) / norm(b), 1, 1e-6);
    EXPECT_EQ(restarts(lied), 1);
    EXPECT_EQ(always.residuals, 4) << "two first residuals and two true ones";

    // Half the residual is left each time, until a claim is true.
    const auto falling =
        solve<double, TypeParam>(Liar<TypeParam>(a, 2), nullptr, b, form, stop_at(1e-8, 20000));
    EXPECT_EQ(falling.result.reason, StopReason::rtol) << to_string(falling.result.reason);
    EXPECT_LE(residual_norm(a, b, falling.x), 1e-8 * norm(b));
    EXPECT_EQ(restarts(falling), 26);

    const Liar<TypeParam> once(a, 2, 2);
    const auto repented = solve<double, TypeParam>(once, nullptr, b, form, stop_at(1e-8));
    EXPECT_EQ(repented.result.reason, StopReason::rtol);
    EXPECT_LE(residual_norm(a, b, repented.x), 1e-8 * norm(b));
    EXPECT_EQ(restarts(repented), 1);

    // A hair too much is too much; far less is not noticed.
    for (const auto& [lie, count] : {std::pair(1e-8, 1), std::pair(1e-12, 0)}) {
      const Liar<TypeParam> hardly(a, 1 + lie);
      const auto close = solve<double, TypeParam>(hardly, nullptr, b, form, stop_at(1e-8));
      EXPECT_EQ(close.result.reason, StopReason::rtol);
      EXPECT_LE(close.result.true_relative_residual, 1e-8);
      EXPECT_EQ(restarts(close), count) << lie;
    }

    for (const std::int64_t few :
         {lied.result.iterations / 2 - 1, lied.result.iterations / 2, falling.result.iterations / 2}) {
      const auto limited =
          solve<double, TypeParam>(Liar<TypeParam>(a, 2), nullptr, b, form, stop_at(1e-8, few));
      EXPECT_EQ(limited.result.reason, StopReason::max_iters) << few;
      EXPECT_EQ(limited.result.iterations, few);
    }
  }
}

TYPED_TEST(CgTest, AnOperatorThatChangesEndsWithItsTrueResidual) {
  const HostMatrix<double> a = problem("poisson2d:12");
  const std::vector<double> b = random_vector(a.num_rows);
  for (const CgOptions& form : all_forms()) {
    const auto solved = solve<double, TypeParam>(Late<TypeParam>(a, 9, 1.5), nullptr, b, form, stop_at(1e-8));
    EXPECT_LE(solved.result.relative_residual, 1e-8);
    HostMatrix<double> changed = a;
    for (double& value : changed.values) value *= 1.5;
    EXPECT_NEAR(solved.result.true_relative_residual, residual_norm(changed, b, solved.x) / norm(b), 1e-12);
    EXPECT_EQ(solved.result.converged, solved.result.true_relative_residual <= 1e-8) << form_name(form);
  }
}

TYPED_TEST(CgTest, AToleranceBelowRoundingIsNotSuccess) {
  const std::int64_t n = 300;
  const StencilOperator<float, TypeParam> a(n, 2.001f);
  const auto b_double = random_vector(n);
  const std::vector<float> b(b_double.begin(), b_double.end());
  for (const CgOptions& form : all_forms()) {
    const auto possible = solve<float, TypeParam>(a, nullptr, b, form, stop_at(1e-4, 5000));
    EXPECT_EQ(possible.result.reason, StopReason::rtol) << form_name(form);
    const auto solved = solve<float, TypeParam>(a, nullptr, b, form, stop_at(1e-12, 20000));
    EXPECT_FALSE(solved.result.converged);
    EXPECT_GT(solved.result.true_relative_residual, 1e-9);
    EXPECT_TRUE(solved.result.reason == StopReason::stagnation ||
                solved.result.reason == StopReason::max_iters)
        << form_name(form) << ": " << to_string(solved.result.reason);
    for (float value : solved.x) ASSERT_TRUE(std::isfinite(value));
  }
}

TYPED_TEST(CgTest, OperatorsAndPreconditionersOfUsers) {
  for (const std::int64_t n : {1, 2, 3, 511, 1025}) {
    HostMatrix<double> a = problem("tridiagonal:" + std::to_string(n));
    a = shifted(a, -0.01);
    const std::vector<double> b = random_vector(n);
    const StencilOperator<double, TypeParam> stencil(n, 2.01);
    const Scale<double, TypeParam> m(n, 1 / 2.01);
    for (const CgOptions& form : all_forms()) {
      SCOPED_TRACE(std::to_string(n) + ", " + form_name(form));
      const auto mine = solve<double, TypeParam>(stencil, &m, b, form, stop_at(1e-10));
      const auto stored = solve<double, TypeParam>(operator_of<TypeParam>(a), &m, b, form, stop_at(1e-10));
      EXPECT_EQ(mine.result.reason, StopReason::rtol);
      EXPECT_LE(std::abs(mine.result.iterations - stored.result.iterations), 1);
      EXPECT_LE(residual_norm(a, b, mine.x), 1.001e-10 * norm(b));
      EXPECT_LE(residual_norm(a, b, stored.x), 1.001e-10 * norm(b));
    }
  }
}

TYPED_TEST(CgTest, Float) {
  const HostMatrix<double> a = problem("poisson2d:17");
  const HostMatrix<float> single{
      a.num_rows, a.num_cols, a.row_ptrs, a.col_idxs, {a.values.begin(), a.values.end()}};
  const auto b_double = random_vector(a.num_rows);
  const std::vector<float> b(b_double.begin(), b_double.end());
  Jacobi<float, TypeParam> jacobi;
  jacobi.numeric(TypeParam(), to_device<TypeParam>(single));
  for (const CgOptions& form : all_forms()) {
    const auto solved = solve<float, TypeParam>(CsrOperator<float, TypeParam>(to_device<TypeParam>(single)),
                                                &jacobi, b, form, stop_at(1e-5));
    EXPECT_EQ(solved.result.reason, StopReason::rtol);
    const std::vector<double> x(solved.x.begin(), solved.x.end());
    EXPECT_LE(residual_norm(a, b_double, x), 1e-4 * norm(b_double));
    const auto in_double =
        solve<double, TypeParam>(operator_of<TypeParam>(a), nullptr, b_double, form, stop_at(1e-5));
    EXPECT_LE(std::abs(solved.result.iterations - in_double.result.iterations), 2);
  }
}

TYPED_TEST(CgTest, TwoReductionsAnIterationOrOne) {
  const HostMatrix<double> a = problem("poisson2d:30");
  const std::vector<double> b = random_vector(a.num_rows);
  for (const CgOptions& form : all_forms()) {
    const auto calls = [&](std::int64_t iterations) {
      const CountingReducer<TypeParam> reducer(1);
      const auto solved = solve<double, TypeParam>(operator_of<TypeParam>(a), nullptr, b, form,
                                                   stop_at(1e-12, iterations), {}, reducer);
      EXPECT_EQ(solved.result.iterations, iterations);
      return std::pair(reducer.calls, int(reducer.all_values));
    };
    const int each = form.single_reduction ? 1 : 2;
    EXPECT_EQ(calls(10).first - calls(5).first, 5 * each) << form_name(form);
    EXPECT_EQ(calls(10).second - calls(5).second, 5 * (form.flexible ? 5 : 3)) << form_name(form);
    EXPECT_EQ(calls(0).first, 3) << "||b||, the first residual's and the true one's with ||x||";
  }
}

TYPED_TEST(CgTest, SumsOverManyRanksGiveTheSameIteration) {
  const HostMatrix<double> a = problem("poisson2d:14");
  const std::vector<double> b = random_vector(a.num_rows);
  for (const CgOptions& form : all_forms()) {
    const auto run = [&](double ranks) {
      return solve<double, TypeParam>(operator_of<TypeParam>(a), nullptr, b, form, stop_at(1e-9), {},
                                      CountingReducer<TypeParam>(ranks));
    };
    const auto one = run(1), four = run(4), three = run(3);
    EXPECT_TRUE(one.result.converged);
    EXPECT_EQ(one.x, four.x) << form_name(form) << ": a sum escaped the reducer";
    EXPECT_EQ(one.result.iterations, four.result.iterations);
    EXPECT_EQ(one.result.relative_residual, four.result.relative_residual);
    EXPECT_EQ(one.result.true_relative_residual, four.result.true_relative_residual);
    EXPECT_EQ(2 * one.history.back(), four.history.back());
    EXPECT_LE(std::abs(one.result.iterations - three.result.iterations), 1);
    EXPECT_LE(residual_norm(a, b, three.x), 2e-9 * norm(b));
  }
}

TYPED_TEST(CgTest, ARankWithoutRowsMakesTheSameMessages) {
  for (const HostMatrix<double>& a : {problem("poisson2d:10"), shifted(problem("poisson2d:10"), 2.0)}) {
    const std::vector<double> b = random_vector(a.num_rows);
    for (const CgOptions& form : all_forms()) {
      Tape<TypeParam> tape;
      const auto others =
          solve<double, TypeParam>(operator_of<TypeParam>(a), nullptr, b, form, stop_at(1e-9, 60), {}, tape);
      EXPECT_TRUE(others.result.reason == StopReason::rtol ||
                  others.result.reason == StopReason::breakdown_not_spd);
      tape.replay();
      const auto empty = solve<double, TypeParam>(StencilOperator<double, TypeParam>(0, 2), nullptr, {}, form,
                                                  stop_at(1e-9, 60), {}, tape);
      EXPECT_EQ(empty.result.reason, others.result.reason) << form_name(form);
      EXPECT_EQ(empty.result.iterations, others.result.iterations);
      EXPECT_EQ(empty.history, others.history);
      EXPECT_EQ(tape.next(), tape.filed.size()) << "the ranks wait for each other forever";
    }
  }
}

TYPED_TEST(CgTest, KernelsFencesAndAllocationsOfAnIteration) {
  const TypeParam space;
  const HostMatrix<double> a = problem("poisson2d:30");
  const auto b = to_device<TypeParam>(random_vector(a.num_rows));
  const auto op = operator_of<TypeParam>(a);
  for (const char* name : {"none", "jacobi", "adaptive_fsai"}) {
    const auto m = preconditioner_of<TypeParam>(name, a);
    const std::size_t applications =
        std::string(name) == "adaptive_fsai" ? 2 : 1;  // kernels of the preconditioner
    for (const CgOptions& form : all_forms()) {
      struct Counts {
        std::size_t own = 0, kernels = 0, fences = 0, allocations = 0;
      };
      const auto run = [&](std::int64_t iterations) {
        const Vector<double, TypeParam> x("x", a.num_rows);
        const Cg<double, TypeParam> cg(form);
        space.fence();
        Counts counts;
        const ToolEvents events;
        const auto result = cg.solve(space, op, m.get(), b, x, stop_at(1e-14, iterations));
        counts.kernels = events.kernels().size();
        counts.fences = events.fences().size();
        counts.allocations = events.allocations().size();
        for (const auto& label : events.kernels()) counts.own += label.rfind("prekond::cg::", 0) == 0 ? 1 : 0;
        EXPECT_EQ(result.iterations, iterations);
        for (const auto& label : events.kernels())
          EXPECT_THAT(
              label, ::testing::AnyOf(::testing::StartsWith("prekond::"), ::testing::StartsWith("Kokkos::")));
        for (const auto& label : events.allocations())
          EXPECT_THAT(
              label, ::testing::AnyOf(::testing::StartsWith("prekond::"), ::testing::StartsWith("Kokkos::")));
        return counts;
      };
      run(1);  // Kokkos makes its threads' scratch memory larger once in a process, for the first sums
      const Counts five = run(5), ten = run(10);
      SCOPED_TRACE(std::string(name) + ", " + form_name(form));
      const std::size_t sends = is_host_space<TypeParam> ? 0 : 1;  // scalars to a device's host
      const std::size_t own = form.single_reduction ? 2 : form.flexible ? 4 : 3;
      EXPECT_EQ(ten.own - five.own, 5u * (own + sends));
      // A device's product with an inner product is two kernels.
      const int products = is_host_space<TypeParam> || own != 3 ? 1 : 2;
      EXPECT_EQ(ten.kernels - five.kernels, 5u * (own + sends + products + applications));
      EXPECT_LE(ten.fences - five.fences, 5u);
      EXPECT_EQ(ten.allocations, five.allocations);
      EXPECT_GT(five.allocations, 0u) << "nothing was recorded";
    }
  }
}

TYPED_TEST(CgTest, SizesThatDoNotFitAreRefused) {
  const HostMatrix<double> a = problem("poisson2d:3");
  const auto jacobi = preconditioner_of<TypeParam>("jacobi", problem("poisson2d:4"));
  const auto refuse = [&](const HostMatrix<double>& matrix, const Preconditioner<double, TypeParam>* m,
                          int b_size, int x_size) {
    const TypeParam space;
    const Vector<double, TypeParam> b("b", b_size), x("x", x_size);
    const auto op = operator_of<TypeParam>(matrix);
    return message_of<InputError>([&] { Cg<double, TypeParam>().solve(space, op, m, b, x, {}); });
  };
  EXPECT_THAT(refuse(a, nullptr, 8, 9), HasSubstr("A has 9 rows, b 8 entries, x 9"));
  EXPECT_THAT(refuse(a, nullptr, 9, 10), HasSubstr("A has 9 rows, b 9 entries, x 10"));
  EXPECT_THAT(refuse(a, jacobi.get(), 9, 9), HasSubstr("the preconditioner has 16 rows, A has 9"));
  HostMatrix<double> wide = a;
  wide.num_cols = 12;
  EXPECT_THAT(refuse(wide, nullptr, 9, 9), HasSubstr("A is 9 x 12"));
}

/// A preconditioner that knows that it is not symmetric.
template <class Space>
class Nonsymmetric : public Scale<double, Space> {
 public:
  using Scale<double, Space>::Scale;
  std::string name() const override { return "skew"; }
  bool is_nonsymmetric() const override { return true; }
};

TYPED_TEST(CgTest, APreconditionerThatIsKnownNotToBeSymmetricIsRefused) {
  const TypeParam space;
  const auto op = operator_of<TypeParam>(problem("poisson2d:3"));
  const Vector<double, TypeParam> b("b", 9), x("x", 9);
  Kokkos::deep_copy(b, 1.0);
  Kokkos::deep_copy(x, 0.5);
  const Nonsymmetric<TypeParam> known(9, 1.0);
  EXPECT_THAT(message_of<InputError>([&] { Cg<double, TypeParam>().solve(space, op, &known, b, x, {}); }),
              AllOf(HasSubstr("cg: the preconditioner skew is not symmetric"), HasSubstr("gmres")));
  EXPECT_EQ(to_vector(x), std::vector<double>(9, 0.5)) << "x is as it was";
  const Scale<double, TypeParam> unknown(9, 1.0);  // says nothing, as most of the users' own
  EXPECT_FALSE(unknown.is_symmetric() || unknown.is_nonsymmetric());
  EXPECT_TRUE((Cg<double, TypeParam>().solve(space, op, &unknown, b, x, {}).converged));
}

/// D^-1 scaled by another number for each application, as an inner iteration would.
template <class Space>
class Changing : public Scale<double, Space> {
 public:
  Changing(const HostMatrix<double>& a, const Preconditioner<double, Space>& jacobi)
      : Scale<double, Space>(a.num_rows, 1.0), m_jacobi(jacobi) {}
  bool is_variable() const override { return true; }
  void apply(const Space& space, MultiVectorView<const double, Space> x, MultiVectorView<double, Space> y,
             Workspace& workspace) const override {
    m_jacobi.apply(space, x, y, workspace);
    const double sum = 1.5 + std::sin(double(++m_count));
    Kokkos::parallel_for(
        "test", Kokkos::RangePolicy<Space>(space, 0, y.extent(0)), KOKKOS_LAMBDA(int i) { y(i, 0) *= sum; });
  }

 private:
  const Preconditioner<double, Space>& m_jacobi;
  mutable int m_count = 0;
};

TYPED_TEST(CgTest, TheFlexibleFormTakesAVariablePreconditioner) {
  const HostMatrix<double> a = problem("poisson2d:30");
  const auto jacobi = preconditioner_of<TypeParam>("jacobi", a);
  const std::vector<double> b = random_vector(a.num_rows);
  const auto fixed =
      solve<double, TypeParam>(operator_of<TypeParam>(a), jacobi.get(), b, CgOptions{}, stop_at(1e-8));
  CgOptions options;
  options.flexible = true;
  const Changing<TypeParam> changing(a, *jacobi);
  const auto flexible =
      solve<double, TypeParam>(operator_of<TypeParam>(a), &changing, b, options, stop_at(1e-8));
  EXPECT_EQ(flexible.result.reason, StopReason::rtol);
  // Directions are the same ones but for their lengths.
  EXPECT_LE(std::abs(flexible.result.iterations - fixed.result.iterations), 1);
  EXPECT_THAT(message_of<InputError>([&] {
                solve<double, TypeParam>(operator_of<TypeParam>(a), &changing, b, CgOptions{}, stop_at(1e-8));
              }),
              HasSubstr("changes between applications; that needs a flexible solver"));
}

/// Directions that are nothing but rounding, since the one before has solved the system.
TYPED_TEST(CgTest, StepsAlongDirectionsThatCancelStaySmall) {
  HostMatrix<double> large;
  large.num_rows = large.num_cols = 1;
  large.row_ptrs = {0, 1};
  large.col_idxs = {0};
  large.values = {1.7293822569102705e18};
  for (const CgOptions& form : all_forms()) {
    SCOPED_TRACE(form_name(form));
    const auto of_two = sparse(std::vector<std::vector<double>>{{1.1, 0.625}, {0.625, 1.1}});
    const auto two =
        solve<double, TypeParam>(operator_of<TypeParam>(of_two), nullptr, {1, 1}, form, stop_at(0, 30));
    EXPECT_NE(two.result.reason, StopReason::breakdown_not_spd);
    for (const double x : two.x) EXPECT_NEAR(x, 1 / 1.725, 1e-15);
    const auto one = solve<double, TypeParam>(operator_of<TypeParam>(large), nullptr, {1}, form,
                                              stop_at(1e-15, 300), {0.8171678651124239});
    EXPECT_EQ(one.result.reason, StopReason::rtol) << to_string(one.result.reason);
    EXPECT_NEAR(one.x[0] * large.values[0], 1, 1e-15);
  }
}

TYPED_TEST(CgTest, SameBitsTwice) {
  const HostMatrix<double> a = problem("elasticity3d:5");
  const std::vector<double> b = random_vector(a.num_rows);
  for (const char* name : {"jacobi", "adaptive_fsai"}) {
    const auto m = preconditioner_of<TypeParam>(name, a);
    for (const CgOptions& form : all_forms()) {
      const auto first = solve<double, TypeParam>(operator_of<TypeParam>(a), m.get(), b, form, stop_at(1e-8));
      const auto second =
          solve<double, TypeParam>(operator_of<TypeParam>(a), m.get(), b, form, stop_at(1e-8));
      EXPECT_TRUE(first.result.converged);
      EXPECT_EQ(first.x, second.x) << name << ", " << form_name(form);
      EXPECT_EQ(first.history, second.history);
    }
  }
}

TYPED_TEST(CgTest, TheRegistryBuildsIt) {
  const TypeParam space;
  const HostMatrix<double> a = problem("poisson2d:8");
  const auto b = to_device<TypeParam>(random_vector(a.num_rows));
  const auto op = operator_of<TypeParam>(a);
  const std::string kernels[] = {"prekond::cg::update_direction", "prekond::cg::fused_update",
                                 "prekond::cg::flexible_dots"};
  const OptionMap forms[] = {{}, {{"single_reduction", std::string("true")}}, {{"flexible", true}}};
  for (int k = 0; k < 3; ++k) {
    const auto cg = create_solver<double, TypeParam>("cg", forms[k]);
    EXPECT_EQ(cg->name(), "cg");
    const Vector<double, TypeParam> x("x", a.num_rows);
    const ToolEvents events;
    EXPECT_TRUE(cg->solve(space, op, nullptr, b, x, stop_at(1e-8)).converged);
    for (int other = 0; other < 3; ++other)
      EXPECT_EQ(std::count(events.kernels().begin(), events.kernels().end(), kernels[other]) > 0, k == other);
  }
  const auto refused = [&](const OptionMap& options) {
    return message_of<OptionError>([&] { create_solver<double, TypeParam>("cg", options); });
  };
  EXPECT_THAT(refused({{"single_reduction", true}, {"flexible", true}}),
              HasSubstr("cg: flexible needs two reductions an iteration"));
  EXPECT_THAT(refused({{"variant", std::string("pipelined")}}), HasSubstr("variant"));
}

TEST(StopReasonTest, EachHasItsName) {
  EXPECT_EQ(to_string(StopReason::rtol), "rtol");
  EXPECT_EQ(to_string(StopReason::atol), "atol");
  EXPECT_EQ(to_string(StopReason::zero_rhs), "zero_rhs");
  EXPECT_EQ(to_string(StopReason::max_iters), "max_iters");
  EXPECT_EQ(to_string(StopReason::breakdown_not_spd), "breakdown_not_spd");
  EXPECT_EQ(to_string(StopReason::breakdown_preconditioner_not_spd), "breakdown_preconditioner_not_spd");
  EXPECT_EQ(to_string(StopReason::breakdown_rho), "breakdown_rho");
  EXPECT_EQ(to_string(StopReason::breakdown_pivot), "breakdown_pivot");
  EXPECT_EQ(to_string(StopReason::breakdown_omega), "breakdown_omega");
  EXPECT_EQ(to_string(StopReason::breakdown_arnoldi), "breakdown_arnoldi");
  EXPECT_EQ(to_string(StopReason::stagnation), "stagnation");
  EXPECT_EQ(to_string(StopReason::nan), "nan");
}

}  // namespace
}  // namespace prekond::testing
