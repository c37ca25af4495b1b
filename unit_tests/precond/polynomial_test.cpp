// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The polynomials, and their application to vectors.
#include "precond/polynomial/polynomials.hpp"
#include "testing/general_matrices.hpp"
#include "testing/hermitian_matrices.hpp"
#include "testing/krylov_problems.hpp"
#include "testing/one_thread.hpp"
#include "testing/reference_eigenvalues.hpp"
#include "testing/reference_polynomial.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/precond/polynomial.hpp>

#include <cmath>

namespace prekond::testing {
namespace {

using ::testing::IsEmpty;
namespace polynomials = impl::polynomial;

// ------------------------------------------------------------------------------------------- the polynomials

/// Points of (0, u], on both scales.
std::vector<double> points(double u) {
  std::vector<double> t;
  for (int i = 1; i <= 60; ++i) t.push_back(u * i / 60);
  for (int i = 1; i <= 30; ++i) t.push_back(u * std::pow(10.0, -0.3 * i));
  return t;
}

/// t p(t) = 1 - r(t), where a p of size `bound` has errors of rounding.
void expect_residual(const Polynomial& p, double u, const std::function<long double(long double)>& r,
                     double tolerance) {
  for (const double t : points(u))
    ASSERT_NEAR(t * p(t), static_cast<double>(1 - r(t)), tolerance) << "t = " << t;
}

const std::vector<int> degrees = {0, 1, 2, 3, 4, 7, 10, 33, 100};

TEST(PolynomialsTest, LeastSquaresIsTheKernelPolynomial) {
  for (const int k : degrees)
    for (const double ratio : {1.2, 30.0, 1e3, 1e6, 1e12})
      for (const double u : {1.0, 7.5, 1e-30, 1e30}) {
        SCOPED_TRACE("degree " + std::to_string(k) + ", ratio " + std::to_string(ratio));
        const double l = u / ratio;
        const Polynomial p = polynomials::least_squares(l, u, k);
        EXPECT_EQ(p.degree(), k);
        expect_residual(
            p, u, [&](long double t) { return kernel_residual(k + 1, l, u, t); }, 2e-15 * (k + 1) * (k + 1));
      }
}

TEST(PolynomialsTest, LeastSquaresIsPositive) {
  for (const int k : {1, 2, 5, 10, 61})
    for (const double l : {1e-9, 1e-3, 0.3}) {
      const Polynomial p = polynomials::least_squares(l, 1, k);
      for (const double t : points(1 + l)) ASSERT_GT(p(t), 0) << t;
      if (k % 2 != 0) continue;
      for (double t = 1; t < 10; t += 0.37) ASSERT_GT(p(t), 0) << t;
    }
  EXPECT_LT(polynomials::least_squares(0.1, 1, 5)(2.0), 0);
}

TEST(PolynomialsTest, ChebyshevOfTheFirstKind) {
  for (const int k : degrees)
    for (const double ratio : {1.2, 30.0, 1e6}) {
      const double u = 3, l = u / ratio;
      const Polynomial p = polynomials::chebyshev_first(l, u, k);
      EXPECT_EQ(p.degree(), k);
      expect_residual(
          p, u, [&](long double t) { return first_kind_residual(k + 1, l, u, t); },
          1e-15 * (k + 2) * (k + 2));
    }
}

TEST(PolynomialsTest, ChebyshevOfTheFourthKind) {
  for (const int k : degrees)
    for (const double u : {1.0, 1e-150, 12.0}) {
      const Polynomial p = polynomials::chebyshev_fourth(u, k);
      EXPECT_EQ(p.degree(), k);
      expect_residual(
          p, u, [&](long double t) { return fourth_kind_residual(k + 1, u, t); }, 1e-15 * (k + 2) * (k + 2));
      for (const double t : points(u)) ASSERT_GT(p(t), 0);
    }
}

TEST(PolynomialsTest, TheOptimalWeightsAreThoseOfTheTable) {
  // Lottes (2023), table 1.
  const std::vector<std::vector<double>> table = {
      {1.12500000000000},
      {1.02387287570313, 1.26408905371085},
      {1.00842544782028, 1.08867839208730, 1.33753125909618},
      {1.00391310427285, 1.04035811188593, 1.14863498546254, 1.38268869241000},
      {1.00212930146164, 1.02173711549260, 1.07872433192603, 1.19810065292663, 1.41322542791682}};
  for (const auto& expected : table) {
    const auto weights = polynomials::optimal_weights(int(expected.size()));
    ASSERT_EQ(weights.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(weights[i], expected[i], 5e-14);
  }
  for (const int n : {1, 9, 30, 64}) EXPECT_EQ(polynomials::optimal_weights(n).size(), std::size_t(n));
}

/// The bound of a V-cycle, the maximum of t r^2 / (1 - r^2) on (0, 1].
double cycle_bound(const Polynomial& p) {
  double bound = 0;
  for (int i = 1; i <= 4000; ++i) {
    const double t = std::pow(std::sin(i * 3.14159265358979 / 8000), 2), r = 1 - t * p(t);
    bound = std::max(bound, t * r * r / (1 - r * r));
  }
  return bound;
}

TEST(PolynomialsTest, TheOptimalWeightsLowerTheBoundOfACycle) {
  for (const int k : {0, 1, 2, 5, 11}) {
    const Polynomial p = polynomials::chebyshev_fourth_optimized(1, polynomials::optimal_weights(k + 1));
    EXPECT_EQ(p.degree(), k);
    EXPECT_LT(cycle_bound(p), 0.95 * cycle_bound(polynomials::chebyshev_fourth(1, k)));
    for (const double t : points(1)) ASSERT_GT(p(t), 0);
  }
  const Polynomial one = polynomials::chebyshev_fourth_optimized(1, polynomials::optimal_weights(1));
  EXPECT_NEAR(cycle_bound(one), 1.0 / 3, 1e-3);
}

// --------------------------------------------------------------------------------------------- applications

using Long = std::vector<long double>;

template <class Scalar, class Space>
std::vector<std::vector<Scalar>> applied(const Preconditioner<Scalar, Space>& m,
                                         const std::vector<std::vector<Scalar>>& x, int room = 0) {
  const Space space;
  const auto n = static_cast<std::size_t>(m.num_rows());
  const MultiVector<Scalar, Space> from("x", n, x.size()), to("y", n, x.size());
  const auto host = Kokkos::create_mirror_view(from);
  for (std::size_t k = 0; k < x.size(); ++k)
    for (std::size_t i = 0; i < n; ++i) host(i, k) = x[k][i];
  Kokkos::deep_copy(from, host);
  Kokkos::deep_copy(to, Scalar(std::nan("")));
  m.apply(space, from, to, *m.make_workspace(space, std::max(room, int(x.size()))));
  space.fence();
  std::vector<std::vector<Scalar>> y(x.size());
  for (std::size_t k = 0; k < x.size(); ++k) y[k] = to_vector(column(to, k));
  return y;
}

template <class Scalar>
void expect_near(const std::vector<Scalar>& y, const Long& expected, double tolerance) {
  long double error = 0, size = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    error += std::pow(static_cast<long double>(y[i]) - expected[i], 2);
    size += expected[i] * expected[i];
  }
  EXPECT_LE(std::sqrt(static_cast<double>(error / size)), tolerance);
}

/// A method of the family with an interval of its own, and what it does by the textbook.
template <class Scalar, class Space>
struct Method {
  std::string name;
  std::unique_ptr<PolynomialPreconditioner<Scalar, Space>> made;
  std::function<Long(const ReferenceScaled&, const Long&)> reference;
};

template <class Scalar, class Space>
std::vector<Method<Scalar, Space>> methods(int k, double l, double u, Storage storage = Storage::full) {
  std::vector<Method<Scalar, Space>> list;
  if (k > 0) {
    const PolynomialOptions options{.degree = k, .lambda_min = l, .lambda_max = u, .storage = storage};
    list.push_back(
        {"ls_polynomial", std::make_unique<PolynomialPreconditioner<Scalar, Space>>(options),
         [=](const ReferenceScaled& b, const Long& r) { return reference_least_squares(b, r, l, u, k); }});
  }
  for (const auto kind : {PolynomialKind::fourth, PolynomialKind::fourth_optimized}) {
    const PolynomialOptions options{.kind = kind, .degree = k, .lambda_max = u, .storage = storage};
    const auto weights = kind == PolynomialKind::fourth ? std::vector<double>(k + 1, 1.0)
                                                        : polynomials::optimal_weights(k + 1);
    list.push_back({"fourth", std::make_unique<PolynomialPreconditioner<Scalar, Space>>(options),
                    [=](const ReferenceScaled& b, const Long& r) {
                      return reference_fourth_kind([&](const Long& x) { return b(x); }, r, u, weights);
                    }});
  }
  const double omega = 1.3 / u;
  list.push_back(
      {"neumann",
       std::make_unique<PolynomialPreconditioner<Scalar, Space>>(PolynomialOptions{
           .kind = PolynomialKind::neumann, .degree = k, .lambda_max = 1.5 / omega, .storage = storage}),
       [=](const ReferenceScaled& b, const Long& r) { return reference_neumann(b, r, omega, k); }});
  return list;
}

template <class Scalar, class Space>
void check_applications(const Case& test, const std::vector<int>& all_degrees, double tolerance,
                        Storage storage = Storage::full, bool shared = false) {
  const auto device = to_device<Space>(convert<Scalar>(test.matrix));
  const ReferenceScaled b(test.matrix);
  const auto n = std::size_t(test.matrix.num_rows);
  for (const int k : all_degrees) {
    for (auto& method : methods<Scalar, Space>(k, 0.02, 2.5, storage)) {
      SCOPED_TRACE(test.name + ", " + method.name + ", degree " + std::to_string(k));
      if (shared) method.made->set_known({StoredMatrix<Scalar, Space>(Space(), device, storage)});
      method.made->numeric(Space(), device);
      EXPECT_EQ(method.made->polynomial().degree(), k);
      for (const int columns : {1, 3}) {
        std::vector<std::vector<Scalar>> x(columns, std::vector<Scalar>(n));
        for (int c = 0; c < columns; ++c)
          for (std::size_t i = 0; i < n; ++i) x[c][i] = Scalar(std::sin(1.0 + 3.0 * double(i) + 5.0 * c));
        const auto y = applied(*method.made, x, columns + 1);
        for (int c = 0; c < columns; ++c)
          expect_near(y[c], method.reference(b, b.inverse({x[c].begin(), x[c].end()})), tolerance * (k + 1));
      }
    }
  }
}

template <class Space>
class PolynomialTest : public ::testing::Test {};
TYPED_TEST_SUITE(PolynomialTest, TestSpaces, SpaceNames);

TYPED_TEST(PolynomialTest, ApplicationsEqualTheReferenceRecurrences) {
  for (const Case& test : small_matrices())
    check_applications<double, TypeParam>(test, {0, 1, 2, 3, 8}, 1e-14);
  for (const Case& test :
       {Case{"poisson2d:9", generated("poisson2d:9")}, Case{"random", random_spd(67, 0.15, 3)}}) {
    check_applications<double, TypeParam>(test, {30, 100}, 1e-14);
    check_applications<float, TypeParam>(test, {1, 2, 5, 12}, 1e-6);
  }
}

TYPED_TEST(PolynomialTest, ApplicationsWithASharedStoredMatrix) {
  for (const Case& test : small_matrices())
    check_applications<double, TypeParam>(test, {0, 1, 3}, 1e-14, Storage::full, true);
  const Case random{"random", random_spd(67, 0.15, 3)};
  check_applications<double, TypeParam>(random, {0, 1, 2, 8}, 1e-14, Storage::full, true);
  check_applications<float, TypeParam>(random, {2, 8}, 1e-5, Storage::full, true);
  check_applications<double, TypeParam>(random, {2, 8}, 1e-6, Storage::single_precision, true);
}

TYPED_TEST(PolynomialTest, NonsymmetricMatrices) {
  const Case test{"convection", generated("convection_diffusion3d:5")};
  check_applications<double, TypeParam>(test, {1, 2, 6, 15}, 1e-14);
}

TYPED_TEST(PolynomialTest, ColumnsOfOtherRanksAreLeftOut) {
  const Case test{"wide", with_columns_of_other_ranks(generated("poisson2d:9"))};
  check_applications<double, TypeParam>(test, {1, 2, 7}, 1e-14);
}

TYPED_TEST(PolynomialTest, LowerStoragePrecisions) {
  const Case test{"poisson2d:9", generated("poisson2d:9")};  // whose entries any precision has
  for (const Storage storage : {Storage::single_precision, Storage::half, Storage::bfloat16})
    check_applications<double, TypeParam>(test, {1, 2, 9}, 1e-14, storage);
  const Case rough{"random", random_spd(67, 0.15, 3)};
  check_applications<double, TypeParam>(rough, {1, 4}, 1e-6, Storage::single_precision);
  check_applications<double, TypeParam>(rough, {1, 4}, 1e-2, Storage::half);
  check_applications<double, TypeParam>(rough, {1, 4}, 1e-1, Storage::bfloat16);
  check_applications<float, TypeParam>(rough, {1, 4}, 1e-6, Storage::single_precision);
}

/// M^-1 entry by entry.
template <class Space>
std::vector<std::vector<double>> dense(const Preconditioner<double, Space>& m) {
  const std::size_t n = m.num_rows();
  std::vector<std::vector<double>> unit(n, std::vector<double>(n, 0.0));
  for (std::size_t i = 0; i < n; ++i) unit[i][i] = 1;
  return applied(m, unit);
}

TYPED_TEST(PolynomialTest, SymmetryInEveryStoragePrecision) {
  const HostMatrix<double> a = random_spd(45, 0.2, 8, 6);  // of a diagonal that varies
  for (const Storage storage : {Storage::full, Storage::half, Storage::bfloat16}) {
    for (auto& method : methods<double, TypeParam>(6, 0.02, 2.5, storage)) {
      method.made->numeric(TypeParam(), to_device<TypeParam>(a));
      const auto m = dense(*method.made);
      for (std::size_t i = 0; i < m.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
          ASSERT_NEAR(m[i][j], m[j][i], 1e-13 * std::sqrt(std::abs(m[i][i] * m[j][j]))) << method.name;
    }
  }
}

TYPED_TEST(PolynomialTest, HermitianMatrices) {
  // A = Q^H R Q with a unitary diagonal Q: M^-1 likewise.
  const HostMatrix<double> real = random_spd(49, 0.2, 8, 6);  // of a diagonal that varies
  const auto phases = random_phases(49, 4);
  const auto rotated_real = to_device<TypeParam>(rotated(real, phases));
  const std::vector<double> x = random_vector(49);
  std::vector<Complex> turned(49);
  for (int i = 0; i < 49; ++i) turned[i] = Kokkos::conj(phases[i]) * x[i];
  for (const int k : {1, 2, 5}) {
    auto of_real = methods<double, TypeParam>(k, 0.02, 2.5);
    auto of_complex = methods<Complex, TypeParam>(k, 0.02, 2.5);
    ASSERT_EQ(of_real.size(), of_complex.size());
    for (std::size_t m = 0; m < of_real.size(); ++m) {
      SCOPED_TRACE(of_real[m].name + ", degree " + std::to_string(k));
      of_real[m].made->numeric(TypeParam(), to_device<TypeParam>(real));
      of_complex[m].made->numeric(TypeParam(), rotated_real);
      const auto y = applied<double, TypeParam>(*of_real[m].made, {x})[0];
      const auto z = applied<Complex, TypeParam>(*of_complex[m].made, {turned})[0];
      for (int i = 0; i < 49; ++i)
        EXPECT_NEAR(Kokkos::abs(z[i] * phases[i] - y[i]), 0, 1e-12 * (1 + std::abs(y[i])));
    }
  }
  // Both ways to the spectrum's ends: the modulus of an entry, and a Hermitian product.
  const std::vector<double> eigenvalues = symmetric_eigenvalues(real, true);
  PolynomialPreconditioner<double, TypeParam> real_discs({.bounds = SpectrumBounds::gershgorin});
  PolynomialPreconditioner<Complex, TypeParam> discs({.bounds = SpectrumBounds::gershgorin});
  PolynomialPreconditioner<Complex, TypeParam> by_lanczos({.lanczos_steps = 49});
  real_discs.numeric(TypeParam(), to_device<TypeParam>(real));
  discs.numeric(TypeParam(), rotated_real);
  by_lanczos.numeric(TypeParam(), rotated_real);
  EXPECT_NEAR(discs.spectrum().max / real_discs.spectrum().max, 1, 1e-13);
  EXPECT_NEAR(discs.spectrum().min / real_discs.spectrum().min, 1, 1e-13);
  EXPECT_NEAR(by_lanczos.spectrum().max / eigenvalues.back(), 1, 1e-6);
}

TYPED_TEST(PolynomialTest, AStepIsOneKernelWithoutFenceOrAllocation) {
  const HostMatrix<double> a = generated("poisson2d:20");
  const TypeParam space;
  for (const int k : {0, 1, 2, 7}) {
    for (auto& method : methods<double, TypeParam>(k, 0.02, 2.5)) {
      method.made->numeric(space, to_device<TypeParam>(a));
      const MultiVector<double, TypeParam> x("x", 400, 1), y("y", 400, 1);
      const auto workspace = method.made->make_workspace(space, 1);
      space.fence();
      const ToolEvents events;
      method.made->apply(space, x, y, *workspace);
      EXPECT_EQ(events.kernels().size(), std::size_t(k + 1));
      EXPECT_THAT(events.fences(), IsEmpty());
      EXPECT_THAT(events.allocations(), IsEmpty());
    }
  }
}

TYPED_TEST(PolynomialTest, TheSameBitsForAnyNumberOfThreads) {
  if constexpr (is_host_space<TypeParam>) {
    const auto a = to_device<TypeParam>(generated("elasticity3d:12"));
    const TypeParam one_thread = of_one_thread<TypeParam>();
    const std::vector<double> x = random_vector(a.num_rows);
    for (const Storage storage : {Storage::full, Storage::half}) {
      PolynomialPreconditioner<double, TypeParam> one({.storage = storage}), two({.storage = storage});
      one.numeric(one_thread, a);
      two.numeric(TypeParam(), a);
      EXPECT_EQ(one.spectrum().max, two.spectrum().max);
      EXPECT_EQ((applied<double, TypeParam>(one, {x})), (applied<double, TypeParam>(two, {x})));
    }
  }
}

}  // namespace
}  // namespace prekond::testing
