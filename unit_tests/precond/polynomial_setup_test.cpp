// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How polynomial preconditioners find their intervals, and what they do with matrices that are not for them.
#include "testing/general_matrices.hpp"
#include "testing/krylov_problems.hpp"
#include "testing/reference_eigenvalues.hpp"
#include "testing/reference_polynomial.hpp"
#include "testing/spaces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/krylov/bicgstab.hpp>
#include <prekond/krylov/cg.hpp>
#include <prekond/precond/polynomial.hpp>
#include <prekond/precond/registry.hpp>

#include <cmath>
#include <cstdio>
#include <limits>

namespace prekond::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

template <class Space>
std::vector<double> applied(const Preconditioner<double, Space>& m, const std::vector<double>& x) {
  const Space space;
  const auto from = to_device<Space>(x);
  const Vector<double, Space> to("to", x.size());
  Kokkos::deep_copy(to, std::nan(""));
  m.apply(space, as_multivector(VectorView<const double, Space>(from)), as_multivector(to),
          *m.make_workspace(space, 1));
  space.fence();
  return to_vector(to);
}

template <class Method, class Space>
Method made(const typename Method::options_type& options, const HostMatrix<double>& a) {
  Method m(options);
  m.numeric(Space(), to_device<Space>(a));
  return m;
}

template <class Space>
std::int64_t cg_iterations(const HostMatrix<double>& a, const Preconditioner<double, Space>* m,
                           double rtol = 1e-8) {
  const auto b = to_device<Space>(random_vector(a.num_rows));
  const Vector<double, Space> x("x", a.num_rows);
  const auto result = Cg<double, Space>().solve(Space(), operator_of<Space>(a), m, b, x, stop_at(rtol, 5000));
  EXPECT_TRUE(result.converged) << to_string(result.reason);
  return result.iterations;
}

template <class Space>
using Made = PolynomialPreconditioner<double, Space>;

template <class Space>
class PolynomialSetupTest : public ::testing::Test {};
TYPED_TEST_SUITE(PolynomialSetupTest, TestSpaces, SpaceNames);

// ---------------------------------------------------------------------------------------------- the interval

TYPED_TEST(PolynomialSetupTest, LanczosFindsTheUpperEnd) {
  for (const char* spec : {"poisson2d:9", "poisson3d:4", "elasticity3d:3", "anisotropic2d:8", "circuit:8"}) {
    SCOPED_TRACE(spec);
    const HostMatrix<double> a = generated(spec);
    const auto eigenvalues = symmetric_eigenvalues(a, true);
    const auto m = made<Made<TypeParam>, TypeParam>({}, a);
    const Spectrum& found = m.spectrum();
    EXPECT_LE(found.max, eigenvalues.back() * (1 + 1e-12));
    EXPECT_GE(found.max + found.max_bound, eigenvalues.back() * (1 - 1e-12));
    EXPECT_LE(found.max + found.max_bound, eigenvalues.back() * 1.1);
    // With few steps Gershgorin's discs bound it.
    const auto few = made<Made<TypeParam>, TypeParam>({.lanczos_steps = 2}, a).spectrum();
    EXPECT_GE(few.max + few.max_bound, eigenvalues.back() * (1 - 1e-12));
    const auto discs = made<Made<TypeParam>, TypeParam>({.bounds = SpectrumBounds::gershgorin}, a).spectrum();
    EXPECT_DOUBLE_EQ(few.max + few.max_bound, discs.max);
    EXPECT_GE(found.min, eigenvalues.front() * (1 - 1e-10));
    EXPECT_THAT(m.report().notes, Contains(HasSubstr("Lanczos steps")));
  }
}

TYPED_TEST(PolynomialSetupTest, IterationsFallWithTheDegree) {
  const HostMatrix<double> a = generated("poisson2d:40");
  const std::int64_t alone = cg_iterations<TypeParam>(a, nullptr);
  std::int64_t before = alone;
  for (const int k : {2, 5, 10, 20}) {
    const auto m = made<Made<TypeParam>, TypeParam>({.degree = k}, a);
    const std::int64_t iterations = cg_iterations<TypeParam>(a, &m);
    EXPECT_LT(iterations, before);
    EXPECT_LE(double(iterations * (k + 1)), 1.8 * double(alone) + k);
    before = iterations;
  }
  for (const auto kind : {PolynomialKind::first, PolynomialKind::fourth, PolynomialKind::fourth_optimized}) {
    const auto m = made<Made<TypeParam>, TypeParam>({.kind = kind, .degree = 4}, a);
    EXPECT_LT(cg_iterations<TypeParam>(a, &m), alone / 2);
  }
  const auto neumann = made<Made<TypeParam>, TypeParam>({.kind = PolynomialKind::neumann, .degree = 4}, a);
  EXPECT_LT(cg_iterations<TypeParam>(a, &neumann), alone / 2 + 3);
}

TYPED_TEST(PolynomialSetupTest, AKnownSmallestEigenvalueIsUsed) {
  // Lanczos ends with all three eigenvalues of D^-1 A: the interval is theirs, and one CG iteration is
  // enough.
  HostMatrix<double> a = generated("tridiagonal:3");
  const auto eigenvalues = symmetric_eigenvalues(a, true);
  const auto m = made<Made<TypeParam>, TypeParam>({.degree = 40}, a);
  EXPECT_NEAR(m.spectrum().min, eigenvalues.front(), 1e-12);
  EXPECT_EQ(m.spectrum().min_bound, 0);
  EXPECT_LE(cg_iterations<TypeParam>(a, &m), 1);
}

TYPED_TEST(PolynomialSetupTest, BoundsMayBeGiven) {
  const HostMatrix<double> a = generated("poisson2d:9");
  const auto m = made<Made<TypeParam>, TypeParam>(
      {.kind = PolynomialKind::first, .degree = 2, .lambda_min = 0.25, .lambda_max = 2.0}, a);
  EXPECT_TRUE(m.spectrum().min_given && m.spectrum().max_given);
  for (const double t : {0.1, 0.7, 1.9}) {
    EXPECT_NEAR(t * m.polynomial()(t), double(1 - first_kind_residual(3, 0.25, 2, t)), 1e-14);
  }
  const auto by_ratio = made<Made<TypeParam>, TypeParam>(
      {.kind = PolynomialKind::first, .degree = 2, .lambda_max = 2.0, .eigenvalue_ratio = 8}, a);
  EXPECT_NEAR(by_ratio.polynomial()(0.7), m.polynomial()(0.7), 1e-14);
  EXPECT_THAT(m.report().notes,
              Contains(HasSubstr("the interval is [0.25, 2], by lambda_max and lambda_min")));
  const auto found = made<Made<TypeParam>, TypeParam>({.kind = PolynomialKind::fourth, .degree = 0}, a);
  EXPECT_NEAR(found.polynomial().constant, 4 / (3 * (found.spectrum().max + found.spectrum().max_bound)),
              1e-15);
  // One that is above the spectrum is not taken.
  const auto odd = made<Made<TypeParam>, TypeParam>({.lambda_min = 50}, a);
  EXPECT_GT(odd.polynomial()(1.0), 0);
  EXPECT_THAT(odd.report().notes, Contains(HasSubstr("lambda_min is not below")));
}

TYPED_TEST(PolynomialSetupTest, GershgorinBoundsOfNonsymmetricMatrices) {
  const HostMatrix<double> a = generated("convection_diffusion3d:8,peclet=1");
  const auto m = made<Made<TypeParam>, TypeParam>(
      {.kind = PolynomialKind::first, .degree = 3, .bounds = SpectrumBounds::gershgorin}, a);
  double low = 1e300, high = 0;
  for (std::int64_t i = 0; i < a.num_rows; ++i) {
    double radius = 0;
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
      if (a.col_idxs[k] != i) radius += std::abs(a.values[k]);
    low = std::min(low, 1 - radius / a(i, i));
    high = std::max(high, 1 + radius / a(i, i));
  }
  EXPECT_NEAR(m.spectrum().max, high, 1e-14);
  EXPECT_NEAR(m.spectrum().min, low, 1e-14);
  EXPECT_FALSE(m.is_symmetric());
  const auto b = to_device<TypeParam>(random_vector(a.num_rows));
  std::vector<std::int64_t> iterations;
  for (const Preconditioner<double, TypeParam>* inverse :
       {static_cast<const Preconditioner<double, TypeParam>*>(nullptr),
        static_cast<const Preconditioner<double, TypeParam>*>(&m)}) {
    const Vector<double, TypeParam> x("x", a.num_rows);
    iterations.push_back(Bicgstab<double, TypeParam>()
                             .solve(TypeParam(), operator_of<TypeParam>(a), inverse, b, x, stop_at(1e-8))
                             .iterations);
  }
  EXPECT_LT(iterations[1], iterations[0]);
}

TYPED_TEST(PolynomialSetupTest, WithoutScalingTheBoundsAreThoseOfA) {
  const HostMatrix<double> a = generated("poisson2d:9");  // a diagonal of 4
  for (const double factor : {1.0, 0x1p600, 0x1p-600}) {
    HostMatrix<double> scaled = a;
    for (double& value : scaled.values) value *= factor;
    const auto none = made<Made<TypeParam>, TypeParam>({.degree = 6,
                                                        .scaling = PolynomialScaling::none,
                                                        .lambda_min = 0.4 * factor,
                                                        .lambda_max = 8 * factor},
                                                       scaled);
    const auto diagonal =
        made<Made<TypeParam>, TypeParam>({.degree = 6, .lambda_min = 0.1, .lambda_max = 2.0}, scaled);
    char interval[96];
    std::snprintf(interval, sizeof(interval), "the interval is [%.4g, %.4g], by", 0.4 * factor, 8 * factor);
    EXPECT_THAT(none.report().notes, Contains(HasSubstr(interval)));
    const std::vector<double> x = random_vector(81), y = applied<TypeParam>(none, x),
                              z = applied<TypeParam>(diagonal, x);
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(y[i] * factor, z[i] * factor, 1e-12);
  }
  const auto neumann = made<Made<TypeParam>, TypeParam>(
      {.kind = PolynomialKind::neumann, .degree = 0, .scaling = PolynomialScaling::none, .lambda_max = 5}, a);
  EXPECT_NEAR(applied<TypeParam>(neumann, std::vector<double>(81, 1.0))[5], 0.3, 1e-15);
  const auto automatic = made<Made<TypeParam>, TypeParam>({.scaling = PolynomialScaling::none}, a);
  EXPECT_LT(cg_iterations<TypeParam>(a, &automatic), 15);
  // Notes have the numbers of A.
  const auto damped = made<Made<TypeParam>, TypeParam>(
      {.kind = PolynomialKind::neumann, .degree = 2, .scaling = PolynomialScaling::none, .lambda_max = 8}, a);
  EXPECT_THAT(damped.report().notes, Contains(HasSubstr("omega is 0.1875, by")));
  const auto indefinite = made<Made<TypeParam>, TypeParam>(
      {.scaling = PolynomialScaling::none, .lanczos_steps = 60}, shifted(a, 1.0));
  const double least = symmetric_eigenvalues(a).front() - 1;
  EXPECT_NEAR(indefinite.spectrum().as_given(indefinite.spectrum().min), least, 1e-6);
  char ritz[64];
  std::snprintf(ritz, sizeof(ritz), "the Ritz value %.4f", least);
  EXPECT_THAT(indefinite.report().notes, Contains(HasSubstr(ritz)));
}

TYPED_TEST(PolynomialSetupTest, IntervalOfZeroLength) {
  const HostMatrix<double> a = diagonal_matrix({2, 5, 1e-9, 4e8});  // D^-1 A = I
  const std::vector<double> x = {1, 2, 3, 4};
  const auto check = [&](const Preconditioner<double, TypeParam>& m, double tolerance) {
    const auto y = applied<TypeParam>(m, x);
    for (int i = 0; i < 4; ++i) EXPECT_NEAR(y[i] * a.values[i] / x[i], 1, tolerance);
  };
  check(made<Made<TypeParam>, TypeParam>({.degree = 12}, a), 1e-12);
  check(made<Made<TypeParam>, TypeParam>(
            {.kind = PolynomialKind::first, .degree = 14, .eigenvalue_ratio = 1.001}, a),
        1e-12);
  check(made<Made<TypeParam>, TypeParam>({.degree = 100}, diagonal_matrix({2, 5, 1e-9, 4e8})), 1e-12);
  const auto one = made<Made<TypeParam>, TypeParam>({}, diagonal_matrix({8}));
  EXPECT_NEAR(applied<TypeParam>(one, {1})[0], 0.125, 1e-9);
}

// ----------------------------------------------------------------------------------------------- breakdowns

TYPED_TEST(PolynomialSetupTest, RowsWithoutAUsableDiagonalAreCounted) {
  for (const double unusable : {0.0, -3.0, std::nan(""), std::numeric_limits<double>::infinity(), 1e-320}) {
    HostMatrix<double> a = generated("poisson2d:8");
    for (const int row : {13, 40})
      for (std::size_t k = a.row_ptrs[row]; k < a.row_ptrs[row + 1]; ++k)
        if (a.col_idxs[k] == row) a.values[k] = unusable;
    const auto m = made<Made<TypeParam>, TypeParam>(PolynomialOptions::chebyshev(), a);
    EXPECT_EQ(m.report().breakdowns.count, 2) << unusable;
    EXPECT_EQ(m.report().breakdowns.first_row, 13);
    EXPECT_THAT(m.report().breakdowns.action, HasSubstr("largest magnitude"));
    EXPECT_TRUE(all_finite(applied<TypeParam>(m, random_vector(64)))) << unusable;
  }
  // Not stored, and a row without entries.
  const HostMatrix<double> missing = sparse<double>({{0, 3, 1, 0}, {0, 0, 0, 0}, {1, 1, 4, 0}, {1, 1, 1, 0}});
  const auto m = made<Made<TypeParam>, TypeParam>(
      {.kind = PolynomialKind::neumann, .degree = 1, .lambda_max = 3}, missing);
  EXPECT_EQ(m.report().breakdowns.count, 3);
  EXPECT_EQ(m.report().breakdowns.first_row, 0);
  EXPECT_EQ(m.report().breakdowns.first_pivot, 0);
  const auto y = applied<TypeParam>(m, {4, 1, 4, 3});  // D = (4, 1, 4, 3)
  EXPECT_NEAR(y[1], 0.75 + 0.25, 1e-15);
}

TYPED_TEST(PolynomialSetupTest, NanOffTheDiagonal) {
  for (const Storage storage : {Storage::full, Storage::half}) {
    HostMatrix<double> a = generated("poisson2d:8");
    a.values[a.row_ptrs[20]] = std::nan("");
    for (const auto scaling : {PolynomialScaling::diagonal, PolynomialScaling::none}) {
      const auto m = made<Made<TypeParam>, TypeParam>({.scaling = scaling, .storage = storage}, a);
      EXPECT_EQ(m.report().breakdowns.count, 1);
      EXPECT_EQ(m.report().breakdowns.first_row, 20);
      EXPECT_TRUE(all_finite(applied<TypeParam>(m, random_vector(64))));
    }
  }
}

TYPED_TEST(PolynomialSetupTest, ReplacedRowsDoNotDependOnTheScaleOfA) {
  const std::vector<double> x = random_vector(64);
  for (const double factor : {1.0, 0x1p600, 0x1p-600}) {
    HostMatrix<double> a = generated("poisson2d:8");
    for (double& value : a.values) value *= factor;
    a.values[a.row_ptrs[20]] = std::nan("");
    for (const auto scaling : {PolynomialScaling::diagonal, PolynomialScaling::none}) {
      SCOPED_TRACE(factor);
      const auto m = made<Made<TypeParam>, TypeParam>({.scaling = scaling}, a);
      // B has a row of the identity, which adds no large eigenvalue; A one of 4 factor times that.
      EXPECT_LT(m.spectrum().max, 3);
      EXPECT_NEAR(applied<TypeParam>(m, x)[20] * 4 * factor / (m.polynomial()(1) * x[20]), 1, 1e-10);
    }
  }
}

TYPED_TEST(PolynomialSetupTest, IndefiniteAndNegativeMatrices) {
  const HostMatrix<double> indefinite = shifted(generated("poisson2d:9"), 1.0);
  const auto m = made<Made<TypeParam>, TypeParam>({}, indefinite);
  EXPECT_THAT(m.report().notes, Contains(HasSubstr("not positive definite: Lanczos found the Ritz value -")));
  EXPECT_TRUE(all_finite(applied<TypeParam>(m, random_vector(81))));
  HostMatrix<double> negative = generated("poisson2d:9");
  for (std::int64_t i = 0; i < 81; ++i)
    for (std::size_t k = negative.row_ptrs[i]; k < negative.row_ptrs[i + 1]; ++k)
      negative.values[k] = negative.col_idxs[k] == i ? -negative.values[k] : 0;
  const auto none = made<Made<TypeParam>, TypeParam>({}, negative);
  EXPECT_EQ(none.report().breakdowns.count, 81);
  EXPECT_THAT(none.report().notes, Contains(HasSubstr("what is left is the diagonal")));
  EXPECT_EQ(none.polynomial().degree(), 0);
  EXPECT_EQ(applied<TypeParam>(none, std::vector<double>(81, 1.0))[3], 0.25);
}

TYPED_TEST(PolynomialSetupTest, AWorkspaceServesLaterNumerics) {
  const HostMatrix<double> a = generated("poisson2d:9");
  Made<TypeParam> m;
  m.numeric(TypeParam(), to_device<TypeParam>(shifted(a, 100.0)));  // negative definite: p = 1
  ASSERT_EQ(m.polynomial().degree(), 0);
  const auto workspace = m.make_workspace(TypeParam(), 1);
  m.numeric(TypeParam(), to_device<TypeParam>(a));
  ASSERT_EQ(m.polynomial().degree(), 10);
  const std::vector<double> x = random_vector(81);
  const auto from = to_device<TypeParam>(x);
  const Vector<double, TypeParam> to("to", 81);
  m.apply(TypeParam(), as_multivector(VectorView<const double, TypeParam>(from)), as_multivector(to),
          *workspace);
  EXPECT_EQ(to_vector(to), applied<TypeParam>(m, x));
}

// ---------------------------------------------------------------------------------------- phases and options

TYPED_TEST(PolynomialSetupTest, ASecondNumericTakesTheNewValues) {
  const HostMatrix<double> a = generated("poisson2d:9"), b = with_larger_diagonal(a, 3);
  const std::vector<double> x = random_vector(81);
  Made<TypeParam> m;
  m.symbolic(TypeParam(), to_device<TypeParam>(a));
  m.numeric(TypeParam(), to_device<TypeParam>(a));
  const auto first = applied<TypeParam>(m, x);
  m.numeric(TypeParam(), to_device<TypeParam>(b));
  EXPECT_EQ(applied<TypeParam>(m, x), (applied<TypeParam>(made<Made<TypeParam>, TypeParam>({}, b), x)));
  m.numeric(TypeParam(), to_device<TypeParam>(a));
  EXPECT_EQ(applied<TypeParam>(m, x), first);
  EXPECT_EQ(m.report().nnz, std::int64_t(a.nnz()));
  EXPECT_GT(m.report().bytes, std::int64_t(12 * a.nnz()));
  EXPECT_EQ(m.report().apply_flops, 81 + 10 * (2.0 * double(a.nnz()) + 6 * 81));
  // The weights of this kind are kept; what is made with them is not.
  const PolynomialOptions optimized{.kind = PolynomialKind::fourth_optimized, .degree = 4};
  Made<TypeParam> fourth(optimized);
  fourth.numeric(TypeParam(), to_device<TypeParam>(a));
  fourth.numeric(TypeParam(), to_device<TypeParam>(b));
  EXPECT_EQ(applied<TypeParam>(fourth, x),
            (applied<TypeParam>(made<Made<TypeParam>, TypeParam>(optimized, b), x)));
}

TYPED_TEST(PolynomialSetupTest, AStoredMatrixIsSharedForOneNumericPhase) {
  using Method = Made<TypeParam>;
  const HostMatrix<double> a = generated("poisson2d:9");
  const std::vector<double> x = random_vector(81);
  const auto device = to_device<TypeParam>(a);
  for (const auto format : {MatrixFormat::csr, MatrixFormat::dia, MatrixFormat::sell}) {
    const StoredMatrix<double, TypeParam> stored(TypeParam(), device, {Storage::full, format});
    Method m(PolynomialOptions::chebyshev());
    m.set_known({stored, 0});
    m.numeric(TypeParam(), device);
    EXPECT_EQ(m.report().bytes, 8 * 81) << "1 / d_i alone";
    EXPECT_EQ(m.report().nnz, std::int64_t(a.nnz()));
    EXPECT_EQ(to_vector(device.values), a.values);
    const auto own = made<Method, TypeParam>(PolynomialOptions::chebyshev(), a);
    EXPECT_EQ(m.spectrum().max, own.spectrum().max);
    const auto y = applied<TypeParam>(m, x), expected = applied<TypeParam>(own, x);
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], expected[i], 1e-14);
    m.numeric(TypeParam(), device);  // nothing is known any more
    EXPECT_EQ(m.report().bytes, own.report().bytes);
    EXPECT_EQ(applied<TypeParam>(m, x), expected);
  }
}

TYPED_TEST(PolynomialSetupTest, AStoredMatrixIsNotSharedWhereRowsChange) {
  using Method = Made<TypeParam>;
  HostMatrix<double> not_finite = generated("poisson2d:9"), no_diagonal = not_finite, huge = not_finite;
  not_finite.values[not_finite.row_ptrs[20]] = std::numeric_limits<double>::infinity();
  for (std::size_t k = no_diagonal.row_ptrs[13]; k < no_diagonal.row_ptrs[14]; ++k)
    if (no_diagonal.col_idxs[k] == 13) no_diagonal.values[k] = 0;
  for (double& value : huge.values) value *= 0x1p600;
  const std::vector<double> x = random_vector(81);
  for (const HostMatrix<double>& a : {not_finite, no_diagonal, huge}) {
    const auto device = to_device<TypeParam>(a);
    Method m(PolynomialOptions::chebyshev());
    const StoredMatrix<double, TypeParam> stored(TypeParam(), device, Storage::full);
    m.set_known({stored, 0});
    m.numeric(TypeParam(), device);
    const auto own = made<Method, TypeParam>(PolynomialOptions::chebyshev(), a);
    EXPECT_EQ(m.report().breakdowns.count, own.report().breakdowns.count);
    EXPECT_EQ(m.report().bytes, stored.bytes() + 8 * 81) << "a copy in its format";
    const auto y = applied<TypeParam>(m, x), expected = applied<TypeParam>(own, x);
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i] / expected[i], 1, 1e-12);
    EXPECT_EQ(to_vector(device.values), a.values) << "the caller's";
  }
}

/// A times a power of two, whose rows are scaled first: the same bits as of A.
TYPED_TEST(PolynomialSetupTest, AStoredMatrixsPrecisionIsKeptWhereRowsChange) {
  using Method = Made<TypeParam>;
  HostMatrix<double> a = generated("anisotropic2d:9,epsilon=0.3"), huge = a;
  for (double& value : huge.values) value *= 0x1p600;
  const std::vector<double> x = random_vector(81);
  for (const Storage storage : {Storage::full, Storage::single_precision, Storage::half}) {
    const auto result_of = [&](const HostMatrix<double>& matrix) {
      const auto device = to_device<TypeParam>(matrix);
      Method m(PolynomialOptions::chebyshev());
      m.set_known({StoredMatrix<double, TypeParam>(TypeParam(), device, storage), 0});
      m.numeric(TypeParam(), device);
      return applied<TypeParam>(m, x);
    };
    std::vector<double> expected = result_of(a);
    for (double& value : expected) value *= 0x1p-600;
    EXPECT_EQ(result_of(huge), expected) << static_cast<int>(storage);
  }
}

TYPED_TEST(PolynomialSetupTest, AKnownEigenvalueIsUsedWhereTheOptionsHaveNone) {
  using Method = Made<TypeParam>;
  const HostMatrix<double> a = generated("poisson2d:9");
  const auto device = to_device<TypeParam>(a);
  PolynomialOptions options = PolynomialOptions::chebyshev();
  options.lambda_max = 2;
  Method m(PolynomialOptions::chebyshev()), with_option(options);
  m.set_known({{}, 3});
  m.numeric(TypeParam(), device);
  EXPECT_EQ(m.spectrum().max, 3);
  options.lambda_max = 3;
  EXPECT_EQ(applied<TypeParam>(m, random_vector(81)),
            (applied<TypeParam>(made<Method, TypeParam>(options, a), random_vector(81))));
  m.numeric(TypeParam(), device);
  EXPECT_LT(m.spectrum().max, 3);
  with_option.set_known({{}, 3});
  with_option.numeric(TypeParam(), device);
  EXPECT_EQ(with_option.spectrum().max, 2);
}

TYPED_TEST(PolynomialSetupTest, NoRowsAndTooSmallWorkspaces) {
  Made<TypeParam> m(PolynomialOptions::chebyshev());
  m.numeric(TypeParam(), to_device<TypeParam>(HostMatrix<double>{}));
  EXPECT_EQ(m.num_rows(), 0);
  EXPECT_TRUE(applied<TypeParam>(m, {}).empty());
  m.symbolic(TypeParam(), to_device<TypeParam>(generated("poisson2d:5")));
  m.numeric(TypeParam(), to_device<TypeParam>(generated("poisson2d:5")));
  const MultiVector<double, TypeParam> x("x", 25, 2), y("y", 25, 2);
  const auto small = m.make_workspace(TypeParam(), 1);
  EXPECT_THAT(message_of<std::logic_error>([&] { m.apply(TypeParam(), x, y, *small); }),
              HasSubstr("fewer vectors"));
  const auto other =
      made<Made<TypeParam>, TypeParam>(PolynomialOptions::chebyshev(), generated("poisson2d:6"))
          .make_workspace(TypeParam(), 2);
  EXPECT_THAT(message_of<std::logic_error>([&] { m.apply(TypeParam(), x, y, *other); }),
              HasSubstr("for 36 rows"));
}

TYPED_TEST(PolynomialSetupTest, OptionsByName) {
  const auto ls =
      create_preconditioner<double, TypeParam>("ls_polynomial", {{"degree", std::int64_t(4)},
                                                                 {"bounds", std::string("gershgorin")},
                                                                 {"scaling", std::string("none")},
                                                                 {"lanczos_steps", std::int64_t(3)},
                                                                 {"lambda_min", 0.5},
                                                                 {"storage", std::string("single")}});
  ls->numeric(TypeParam(), to_device<TypeParam>(generated("poisson2d:5")));
  EXPECT_FALSE(ls->is_symmetric());
  EXPECT_FALSE(ls->is_nonsymmetric());
  const auto fourth =
      create_preconditioner<float, TypeParam>("chebyshev", {{"kind", std::string("fourth_optimized")}});
  EXPECT_TRUE(fourth->is_symmetric());
  EXPECT_TRUE(PolynomialOptions::neumann().properties().needs_spd);
  EXPECT_FALSE((PolynomialOptions{.kind = PolynomialKind::neumann, .lambda_max = 1}).properties().needs_spd);
  EXPECT_FALSE((PolynomialOptions{.kind = PolynomialKind::first, .lambda_max = 1}).properties().needs_spd);
  // An alias is the class with its preset options, and takes all of its kinds.
  const auto least_squares = create_preconditioner<double, TypeParam>(
      "chebyshev", {{"kind", std::string("least_squares")}, {"degree", std::int64_t(4)}});
  EXPECT_EQ(fourth->name(), "chebyshev");
  EXPECT_EQ(least_squares->name(), "ls_polynomial");
  EXPECT_EQ((create_preconditioner<double, TypeParam>("polynomial", {})->name()), "ls_polynomial");
  EXPECT_EQ((create_preconditioner<double, TypeParam>("neumann", {})->name()), "neumann");
  const auto refused = [](const std::string& name, const OptionMap& options) {
    return message_of<OptionError>([&] { create_preconditioner<double, TypeParam>(name, options); });
  };
  for (const char* name : {"ls_polynomial", "chebyshev"})
    EXPECT_THAT(refused(name, {{"lambda_min", 2.0}, {"lambda_max", 2.0}}),
                HasSubstr(std::string(name) + ": lambda_min = 2 is not below lambda_max = 2"));
  for (const char* name : {"ls_polynomial", "chebyshev", "neumann"}) {
    EXPECT_THAT(refused(name, {{"degree", std::int64_t(101)}}), HasSubstr("degree"));
    EXPECT_THAT(refused(name, {{"lanczos_steps", std::int64_t(0)}}), HasSubstr("lanczos_steps"));
  }
  EXPECT_THAT(refused("ls_polynomial", {{"degree", std::int64_t(0)}}), HasSubstr("degree"));
  EXPECT_THAT(refused("chebyshev", {{"eigenvalue_ratio", 1.0}}), HasSubstr("eigenvalue_ratio"));
  // None without an effect.
  EXPECT_THAT(refused("neumann", {{"lambda_min", 1.0}}), HasSubstr("neumann: lambda_min is for kind"));
  for (const char* kind : {"fourth", "fourth_optimized"}) {
    EXPECT_THAT(refused("chebyshev", {{"kind", std::string(kind)}, {"lambda_min", 0.5}}),
                HasSubstr("chebyshev: lambda_min is for kind = least_squares and kind = first"));
    EXPECT_THAT(refused("chebyshev", {{"kind", std::string(kind)}, {"eigenvalue_ratio", 10.0}}),
                HasSubstr("chebyshev: eigenvalue_ratio is for kind = first"));
  }
}

}  // namespace
}  // namespace prekond::testing
