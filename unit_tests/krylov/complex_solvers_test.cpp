// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/hermitian_matrices.hpp"
#include "testing/krylov_solves.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace prekond::testing {
namespace {

/// A complex matrix without any symmetry, with a dominant diagonal of all phases.
HostMatrix<Complex> complex_matrix(int n) {
  const HostMatrix<double> a = uneven_matrix(n);
  HostMatrix<Complex> c{n, n, a.row_ptrs, a.col_idxs, {a.values.begin(), a.values.end()}};
  const std::vector<Complex> phases = random_phases(a.nnz(), 12), diagonal = random_phases(n, 3);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
      c.values[k] *= a.col_idxs[k] == i ? Complex(1.5, 0.4 * diagonal[i].imag()) : phases[k];
  return c;
}

double residual_of(const HostMatrix<Complex>& a, const std::vector<Complex>& b,
                   const std::vector<Complex>& x) {
  double squares = 0, of_b = 0;
  for (std::int64_t i = 0; i < a.num_rows; ++i) {
    Complex r = b[i];
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) r -= a.values[k] * x[a.col_idxs[k]];
    squares += abs2(r);
    of_b += abs2(b[i]);
  }
  return std::sqrt(squares / of_b);
}

template <class Space>
std::unique_ptr<MatrixPreconditioner<Complex, Space>> complex_jacobi(const HostMatrix<Complex>& a) {
  auto m = create_preconditioner<Complex, Space>("jacobi");
  const auto device = to_device<Space>(a);
  m->symbolic(Space(), device);
  m->numeric(Space(), device);
  return m;
}

template <class Space>
class ComplexSolversTest : public ::testing::Test {};
TYPED_TEST_SUITE(ComplexSolversTest, TestSpaces, SpaceNames);

TYPED_TEST(ComplexSolversTest, SolveTheirClassOfMatrices) {
  for (int n : {1, 2, 3, 65, 300}) {
    const HostMatrix<Complex> a = complex_matrix(n);
    const std::vector<Complex> b = random_complex(n, 9);
    const CsrOperator<Complex, TypeParam> op(to_device<TypeParam>(a));
    const auto m = complex_jacobi<TypeParam>(a);
    for (const Variant& variant : general_variants()) {
      for (const bool preconditioned : {false, true}) {
        SCOPED_TRACE(variant.name() + ", size " + std::to_string(n));
        const auto solved =
            solve_with<Complex, TypeParam>(variant, op, preconditioned ? m.get() : nullptr, b, stop_at(1e-9));
        EXPECT_EQ(solved.result.reason, StopReason::rtol) << to_string(solved.result.reason);
        const double truth = residual_of(a, b, solved.x);
        EXPECT_LE(truth, 2e-9);
        EXPECT_NEAR(solved.result.true_relative_residual, truth, 1e-13);
        const auto again =
            solve_with<Complex, TypeParam>(variant, op, preconditioned ? m.get() : nullptr, b, stop_at(1e-9));
        EXPECT_TRUE(again.history == solved.history) << "bits";
      }
    }
  }
}

TYPED_TEST(ComplexSolversTest, TheLeastSquaresResidualIsTheTrueOne) {
  const HostMatrix<Complex> a = complex_matrix(200);
  const std::vector<Complex> b = random_complex(200, 4);
  const CsrOperator<Complex, TypeParam> op(to_device<TypeParam>(a));
  for (const char* form : {"cgs2", "dcgs2"}) {
    const Variant variant{"gmres", {{"orthogonalization", std::string(form)}, {"restart", std::int64_t(40)}}};
    for (const std::int64_t iterations : {1, 2, 5, 11}) {
      const auto solved = solve_with<Complex, TypeParam>(variant, op, nullptr, b, stop_at(1e-14, iterations));
      EXPECT_NEAR(solved.result.relative_residual, residual_of(a, b, solved.x), 1e-12)
          << form << ' ' << iterations;
    }
  }
}

TYPED_TEST(ComplexSolversTest, PhasesOfTheUnknownsChangeNothing) {
  const HostMatrix<double> a = problem("convection_diffusion3d:6");
  const std::vector<Complex> d = random_phases(a.num_rows, 5);
  const std::vector<double> b(a.num_rows, 1);
  std::vector<Complex> rotated_b;
  for (const Complex& phase : d) rotated_b.push_back(Kokkos::conj(phase));
  const CsrOperator<Complex, TypeParam> op(to_device<TypeParam>(rotated(a, d)));
  for (const Variant& variant : general_variants()) {
    if (variant.solver == "idr") continue;  // its shadow vectors are not rotated
    SCOPED_TRACE(variant.name());
    const auto real =
        solve_with<double, TypeParam>(variant, operator_of<TypeParam>(a), nullptr, b, stop_at(1e-8));
    const auto complex = solve_with<Complex, TypeParam>(variant, op, nullptr, rotated_b, stop_at(1e-8));
    ASSERT_TRUE(complex.result.converged);
    EXPECT_LE(std::abs(complex.result.iterations - real.result.iterations), 1);
    for (std::size_t k = 0; k < std::min<std::size_t>({10, real.history.size(), complex.history.size()}); ++k)
      EXPECT_NEAR(complex.history[k], real.history[k], 1e-9 * real.history[0]) << k;
    for (std::int64_t i = 0; i < a.num_rows; ++i)
      ASSERT_LE(Kokkos::abs(d[i] * complex.x[i] - real.x[i]), 1e-5);
  }
}

TYPED_TEST(ComplexSolversTest, SinglePrecision) {
  const HostMatrix<Complex> a = complex_matrix(150);
  const HostMatrix<Kokkos::complex<float>> single{
      a.num_rows, a.num_cols, a.row_ptrs, a.col_idxs, {a.values.begin(), a.values.end()}};
  const std::vector<Complex> b = random_complex(150, 2);
  const CsrOperator<Kokkos::complex<float>, TypeParam> op(to_device<TypeParam>(single));
  for (const Variant& variant : general_variants()) {
    SCOPED_TRACE(variant.name());
    const auto solved = solve_with<Kokkos::complex<float>, TypeParam>(variant, op, nullptr,
                                                                      {b.begin(), b.end()}, stop_at(1e-5));
    EXPECT_TRUE(solved.result.converged) << to_string(solved.result.reason);
    EXPECT_LE(solved.result.true_relative_residual, 1e-4);
  }
}

TYPED_TEST(ComplexSolversTest, SetTheReasonOfTheEnd) {
  const Complex i(0, 1);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto sound = sparse<Complex>({{2, i}, {i, 3}});
  const CsrOperator<Complex, TypeParam> op(to_device<TypeParam>(sound));
  const CsrOperator<Complex, TypeParam> bad(
      to_device<TypeParam>(sparse<Complex>({{2, Complex(0, nan)}, {i, 3}})));
  // A = i I is skew-Hermitian, (A s, s) is imaginary: no breakdown for a complex omega.
  const CsrOperator<Complex, TypeParam> turn(to_device<TypeParam>(sparse<Complex>({{i, 0}, {0, 2.0 * i}})));
  for (const Variant& variant : general_variants()) {
    SCOPED_TRACE(variant.name());
    EXPECT_EQ((solve_with<Complex, TypeParam>(variant, op, nullptr, {1, i}, stop_at(1e-9)).result.reason),
              StopReason::rtol);
    EXPECT_EQ((solve_with<Complex, TypeParam>(variant, turn, nullptr, {1, i}, stop_at(1e-9)).result.reason),
              StopReason::rtol);
    EXPECT_EQ((solve_with<Complex, TypeParam>(variant, bad, nullptr, {1, i}, stop_at(1e-9)).result.reason),
              StopReason::nan);
    EXPECT_EQ((solve_with<Complex, TypeParam>(variant, op, nullptr, {1, Complex(0, nan)}, stop_at(1e-9))
                   .result.reason),
              StopReason::nan);
    EXPECT_EQ((solve_with<Complex, TypeParam>(variant, op, nullptr, {0, 0}, stop_at(1e-9)).result.reason),
              StopReason::zero_rhs);
  }
}

}  // namespace
}  // namespace prekond::testing
