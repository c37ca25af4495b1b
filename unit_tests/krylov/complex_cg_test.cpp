// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/hermitian_matrices.hpp"
#include "testing/spaces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/krylov/cg.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/precond/registry.hpp>

#include <cstring>
#include <limits>

namespace prekond::testing {
namespace {

template <class Scalar>
struct Solved {
  SolveResult result;
  std::vector<Scalar> x;
  std::vector<double> history;
};

std::vector<OptionMap> all_forms() {
  return {{}, {{"single_reduction", true}}};
}

template <class Space, class Scalar>
Solved<Scalar> solve(const HostMatrix<Scalar>& a, const std::vector<Scalar>& b, const std::string& precond,
                     const OptionMap& form, StoppingOptions stopping = {}) {
  const Space space;
  const auto device = to_device<Space>(a);
  std::unique_ptr<MatrixPreconditioner<Scalar, Space>> m;
  if (!precond.empty()) {
    m = create_preconditioner<Scalar, Space>(precond);
    m->symbolic(space, device);
    m->numeric(space, device);
  }
  const auto cg = create_solver<Scalar, Space>("cg", form);
  const auto x = to_device<Space>(std::vector<Scalar>(b.size()));
  Solved<Scalar> solved;
  solved.result = cg->solve(space, CsrOperator<Scalar, Space>(device), m.get(), to_device<Space>(b), x,
                            stopping, [&](std::int64_t, double norm_r) { solved.history.push_back(norm_r); });
  space.fence();
  solved.x = to_vector(x);
  return solved;
}

StoppingOptions to_rtol(double rtol) {
  StoppingOptions stopping;
  stopping.rtol = rtol;
  return stopping;
}

template <class Space>
class ComplexCgTest : public ::testing::Test {};
TYPED_TEST_SUITE(ComplexCgTest, TestSpaces, SpaceNames);

TYPED_TEST(ComplexCgTest, MatchesTheEquivalentRealProblem) {
  for (int n : {1, 2, 33, 150, 257}) {
    // Well conditioned: hundreds of iterations would differ by rounding.
    const HostMatrix<Complex> a = random_hermitian(n, 0.1, 3u + unsigned(n), 0.1);
    const std::vector<Complex> b = random_complex(a.num_rows, 9);
    for (const std::string precond : {"", "none", "jacobi"}) {
      for (const OptionMap& form : all_forms()) {
        SCOPED_TRACE(precond + ", size " + std::to_string(n) + ", " +
                     (form.empty() ? "classic" : form.begin()->first));
        const auto complex = solve<TypeParam>(a, b, precond, form, to_rtol(1e-7));
        const auto real = solve<TypeParam>(as_real(a), as_real(b), precond, form, to_rtol(1e-7));
        ASSERT_TRUE(complex.result.converged) << to_string(complex.result.reason);
        EXPECT_LE(complex.result.true_relative_residual, 2e-7);
        EXPECT_EQ(complex.result.iterations, real.result.iterations);
        EXPECT_EQ(complex.result.matrix_products, real.result.matrix_products);
        // The residual of the first steps agrees to rounding, which later steps amplify.
        for (std::size_t k = 0; k < std::min<std::size_t>(6, complex.history.size()); ++k)
          EXPECT_NEAR(complex.history[k] / real.history[0], real.history[k] / real.history[0], 1e-10) << k;
        const ComplexDense dense = to_dense(a);
        const auto expected = dense_solve(dense, std::vector<LongComplex>(b.begin(), b.end()));
        double norm = 0, error = 0;
        for (int i = 0; i < n; ++i) {
          const Complex e(static_cast<double>(expected[i].real()), static_cast<double>(expected[i].imag()));
          norm += abs2(e);
          error += abs2(e - complex.x[i]);
        }
        EXPECT_LE(error, 1e-10 * norm);
      }
    }
  }
}

TYPED_TEST(ComplexCgTest, PhasesOfTheUnknownsChangeNothing) {
  const HostMatrix<double> a = to_host(generate<double>(Kokkos::DefaultHostExecutionSpace(), "poisson3d:9"));
  const std::vector<Complex> d = random_phases(a.num_rows, 5);
  std::vector<double> b(a.num_rows, 1);
  std::vector<Complex> rotated_b;
  for (const Complex& phase : d) rotated_b.push_back(Kokkos::conj(phase));
  for (const std::string precond : {"", "jacobi"}) {
    const auto real = solve<TypeParam>(a, b, precond, {});
    const auto complex = solve<TypeParam>(rotated(a, d), rotated_b, precond, {});
    ASSERT_TRUE(complex.result.converged);
    EXPECT_EQ(complex.result.iterations, real.result.iterations);
    for (std::int64_t i = 0; i < a.num_rows; ++i)
      ASSERT_LE(Kokkos::abs(d[i] * complex.x[i] - real.x[i]), 1e-4 * std::abs(real.x[i]) + 1e-12);
  }
}

TYPED_TEST(ComplexCgTest, SinglePrecision) {
  const auto a = to_single(random_hermitian(300, 0.05, 8));
  const std::vector<Complex> b = random_complex(300, 2);
  for (const OptionMap& form : all_forms()) {
    const auto solved = solve<TypeParam>(a, std::vector<Kokkos::complex<float>>(b.begin(), b.end()), "jacobi",
                                         form, to_rtol(1e-5));
    EXPECT_TRUE(solved.result.converged);
    EXPECT_LE(solved.result.true_relative_residual, 1e-4);
  }
}

TYPED_TEST(ComplexCgTest, SameBitsTwice) {
  const HostMatrix<Complex> a = random_hermitian(3000, 0.002, 4);
  const std::vector<Complex> b = random_complex(3000, 1);
  for (const OptionMap& form : all_forms()) {
    const auto once = solve<TypeParam>(a, b, "jacobi", form), twice = solve<TypeParam>(a, b, "jacobi", form);
    EXPECT_EQ(once.history, twice.history);
    EXPECT_EQ(std::memcmp(once.x.data(), twice.x.data(), once.x.size() * sizeof(Complex)), 0);
  }
}

TYPED_TEST(ComplexCgTest, SetsTheReasonOfTheEnd) {
  const Complex i(0, 1);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Complex> b = {1, i};
  // Hermitian with eigenvalues 3 and -1.
  const auto indefinite = sparse<Complex>({{1, 2.0 * i}, {-2.0 * i, 1}});
  const std::vector<Complex> of_minus_one = {1, i};
  for (const OptionMap& form : all_forms()) {
    EXPECT_EQ(solve<TypeParam>(indefinite, of_minus_one, "", form).result.reason,
              StopReason::breakdown_not_spd);
    EXPECT_EQ(solve<TypeParam>(indefinite, {0, 0}, "", form).result.reason, StopReason::zero_rhs);
    const auto negative = sparse<Complex>({{-1, 0}, {0, 4}});
    EXPECT_EQ(solve<TypeParam>(negative, {1, 0}, "jacobi", form).result.reason,
              StopReason::breakdown_preconditioner_not_spd);
    const auto sound = sparse<Complex>({{2, i}, {-i, 2}});
    EXPECT_EQ(solve<TypeParam>(sound, b, "", form).result.reason, StopReason::rtol);
    EXPECT_EQ(solve<TypeParam>(sound, {1, Complex(0, 1e308)}, "", form).result.reason, StopReason::rtol)
        << "its norm has a square that is no double";
    for (const Complex bad : {Complex(nan, 0), Complex(0, nan)}) {
      EXPECT_EQ(solve<TypeParam>(sound, {1, bad}, "", form).result.reason, StopReason::nan);
      const auto unsound = sparse<Complex>({{2, bad}, {-i, 2}});
      const auto solved = solve<TypeParam>(unsound, b, "", form);
      EXPECT_FALSE(solved.result.converged);
    }
    StoppingOptions stopping;
    stopping.max_iters = 1;
    const auto stopped =
        solve<TypeParam>(random_hermitian(50, 0.3, 1), random_complex(50, 1), "", form, stopping);
    EXPECT_EQ(stopped.result.reason, StopReason::max_iters);
  }
}

}  // namespace
}  // namespace prekond::testing
