// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "krylov/tridiagonal.hpp"
#include "testing/hermitian_matrices.hpp"
#include "testing/krylov_problems.hpp"
#include "testing/one_thread.hpp"
#include "testing/reference_eigenvalues.hpp"
#include "testing/spaces.hpp"
#include "testing/spd_matrices.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/krylov/lanczos.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace prekond::testing {
namespace {

using ::testing::HasSubstr;
constexpr double pi = 3.14159265358979323846;
constexpr Reorthogonalization full = Reorthogonalization::full;

template <class Scalar, class Space>
LanczosResult run(const HostMatrix<Scalar>& a, const LanczosOptions& options,
                  const Preconditioner<Scalar, Space>* m = nullptr) {
  return lanczos<Scalar, Space>(Space(), CsrOperator<Scalar, Space>(to_device<Space>(a)), m, options);
}

/// Is there an eigenvalue within each extreme Ritz value's bound?
void expect_bounds(const LanczosResult& result, const std::vector<double>& eigenvalues, double rounding) {
  for (const RitzValue& ritz : {result.smallest, result.largest}) {
    double nearest = std::numeric_limits<double>::infinity();
    for (const double value : eigenvalues) nearest = std::min(nearest, std::abs(value - ritz.value));
    EXPECT_LE(nearest, ritz.bound + rounding * eigenvalues.back());
  }
  EXPECT_GE(result.smallest.value, eigenvalues.front() - rounding * eigenvalues.back());
  EXPECT_LE(result.largest.value, eigenvalues.back() * (1 + rounding));
}

// ------------------------------------------------------------------------------------- the tridiagonal
// matrix

TEST(TridiagonalTest, EigenvaluesOfTheSecondDifference) {
  for (const int n : {1, 2, 3, 10, 101, 400}) {
    const auto found =
        krylov::tridiagonal_eigenvalues(std::vector<double>(n, 2.0), std::vector<double>(n - 1, -1.0));
    ASSERT_EQ(found.values.size(), std::size_t(n));
    for (int k = 1; k <= n; ++k) {
      EXPECT_NEAR(found.values[k - 1], 2 - 2 * std::cos(k * pi / (n + 1)), 1e-14);
      EXPECT_NEAR(found.last[k - 1], std::sqrt(2.0 / (n + 1)) * std::abs(std::sin(n * k * pi / (n + 1))),
                  1e-11);
    }
  }
}

TEST(TridiagonalTest, EigenvaluesOfWilkinsonsMatrix) {
  std::vector<double> alpha;
  for (int i = -10; i <= 10; ++i) alpha.push_back(std::abs(i));
  const auto found = krylov::tridiagonal_eigenvalues(alpha, std::vector<double>(20, 1.0));
  EXPECT_NEAR(found.values[20], 10.746194182903393, 1e-13);
  EXPECT_NEAR(found.values[19], 10.746194182903322, 1e-13);
  EXPECT_NEAR(found.values[0], -1.125441522119984, 1e-13);
}

TEST(TridiagonalTest, SplitZeroEmptyAndScaledMatrices) {
  EXPECT_TRUE(krylov::tridiagonal_eigenvalues({}, {}).values.empty());
  EXPECT_EQ(krylov::tridiagonal_eigenvalues({0, 0, 0}, {0, 0}).values, (std::vector<double>{0, 0, 0}));
  const auto split = krylov::tridiagonal_eigenvalues({3, 1, 2}, {0, 0});
  EXPECT_EQ(split.values, (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(split.last, (std::vector<double>{0, 1, 0}));
  for (const double scale : {0x1p1000, 0x1p-1000}) {
    const auto found = krylov::tridiagonal_eigenvalues({2 * scale, 2 * scale}, {-scale});
    EXPECT_DOUBLE_EQ(found.values[0], scale);
    EXPECT_DOUBLE_EQ(found.values[1], 3 * scale);
  }
  const auto negative = krylov::tridiagonal_eigenvalues({-5, 4}, {2});
  EXPECT_NEAR(negative.values[0], -0.5 - std::sqrt(24.25), 1e-14);
}

// ------------------------------------------------------------------------------------------------ the method

template <class Space>
class LanczosTest : public ::testing::Test {};
TYPED_TEST_SUITE(LanczosTest, TestSpaces, SpaceNames);

TYPED_TEST(LanczosTest, AllStepsGiveAllEigenvalues) {
  for (const Case& test : small_matrices()) {
    if (test.matrix.num_rows > 100 || test.name == "scaled:65" || test.name == "diagonal:19")
      continue;  // their smallest is lost to rounding of the largest
    SCOPED_TRACE(test.name);
    const auto expected = symmetric_eigenvalues(test.matrix);
    const int n = int(test.matrix.num_rows);
    const auto result = run<double, TypeParam>(test.matrix, {.steps = n + 5, .reorthogonalization = full});
    ASSERT_GE(result.steps, 1);
    ASSERT_LE(result.steps, n);
    EXPECT_EQ(result.reason, LanczosEnd::invariant_subspace);
    EXPECT_TRUE(result.positive_definite);
    EXPECT_NEAR(result.smallest.value, expected.front(), 1e-12 * expected.back());
    EXPECT_NEAR(result.largest.value / expected.back(), 1, 1e-12);
    EXPECT_EQ(result.condition, result.ritz_values.back() / result.ritz_values.front());
    EXPECT_EQ(result.smallest.bound, 0);
    for (const double value : result.ritz_values) {
      double nearest = 1e300;
      for (const double other : expected) nearest = std::min(nearest, std::abs(value - other));
      EXPECT_LE(nearest, 1e-11 * expected.back());
    }
  }
}

TYPED_TEST(LanczosTest, BoundsHoldAtEveryStep) {
  const HostMatrix<double> a = problem("poisson2d:9");
  const auto expected = symmetric_eigenvalues(a);
  for (const auto kind : {Reorthogonalization::local, full}) {
    double before = 1e300;
    for (const int steps : {1, 2, 3, 5, 10, 15, 20}) {
      const auto result = run<double, TypeParam>(a, {.steps = steps, .reorthogonalization = kind});
      EXPECT_EQ(result.steps, steps);
      EXPECT_EQ(result.reason, LanczosEnd::steps);
      EXPECT_EQ(result.ritz_values.size(), std::size_t(steps));
      expect_bounds(result, expected, 1e-14);
      EXPECT_LE(result.smallest.value, before);
      before = result.smallest.value;
      EXPECT_GT(result.smallest.bound, 0);
    }
  }
}

TYPED_TEST(LanczosTest, NoEigenvalueIsAboveTheUpperBound) {
  // Eigenvalues in [0, 0.88], and 1, which ten steps miss by more than a tenth.
  std::vector<double> eigenvalues(1000000);
  for (std::size_t i = 0; i < eigenvalues.size(); ++i) eigenvalues[i] = 0.88 * double(i % 9973) / 9973;
  eigenvalues[4711] = 1;
  const HostMatrix<double> a = diagonal_matrix(eigenvalues);
  const auto ten = run<double, TypeParam>(a, {.steps = 10});
  EXPECT_LT(1.1 * ten.largest.value, 1);
  EXPECT_LT(ten.largest.value + ten.largest.bound, 1);
  for (const int steps : {10, 12, 15, 20, 30}) {
    const auto result = run<double, TypeParam>(a, {.steps = steps});
    const double root = std::log(1.648 * 1000 / 1e-3) / (2 * steps - 1);
    EXPECT_NEAR(result.upper_bound, result.largest.value / (1 - root * root), 1e-12);
    EXPECT_GE(result.upper_bound, 1);
  }
  EXPECT_LT((run<double, TypeParam>(a, {.steps = 30}).upper_bound), 1.1);
  EXPECT_EQ((run<double, TypeParam>(a, {.steps = 7}).upper_bound), std::numeric_limits<double>::infinity());
  EXPECT_DOUBLE_EQ((run<double, TypeParam>(diagonal_matrix({3, 3, 3}), {}).upper_bound), 3);
  const auto nan = run<double, TypeParam>(diagonal_matrix({1, std::nan(""), 2}), {});
  EXPECT_FALSE(nan.upper_bound > 0);
  for (const Case& test : small_matrices())
    EXPECT_GE((run<double, TypeParam>(test.matrix, {.steps = 12}).upper_bound),
              symmetric_eigenvalues(test.matrix).back() * (1 - 1e-12))
        << test.name;
}

TYPED_TEST(LanczosTest, EigenvaluesOfAPreconditionedMatrix) {
  const HostMatrix<double> a = random_spd(65, 0.2, 4, 12);
  const auto expected = symmetric_eigenvalues(a, true);
  const auto jacobi = preconditioner_of<TypeParam>("jacobi", a);
  const auto all = run<double, TypeParam>(a, {.steps = 80, .reorthogonalization = full}, jacobi.get());
  EXPECT_NEAR(all.smallest.value / expected.front(), 1, 1e-9);
  EXPECT_NEAR(all.largest.value / expected.back(), 1, 1e-11);
  EXPECT_NEAR(all.condition / (expected.back() / expected.front()), 1, 1e-9);
  for (const int steps : {4, 12}) {
    const auto some = run<double, TypeParam>(a, {.steps = steps}, jacobi.get());
    expect_bounds(some, expected, 1e-12);
  }
  // M = A: one step says that there is one eigenvalue, 1.
  const HostMatrix<double> diagonal = diagonal_matrix({3, 1e-5, 7e9, 1});
  const auto exact = preconditioner_of<TypeParam>("jacobi", diagonal);
  const auto one = run<double, TypeParam>(diagonal, {}, exact.get());
  EXPECT_EQ(one.reason, LanczosEnd::invariant_subspace);
  EXPECT_EQ(one.steps, 1);
  EXPECT_NEAR(one.condition, 1, 1e-14);
}

TYPED_TEST(LanczosTest, HermitianMatricesAndSinglePrecision) {
  const HostMatrix<double> a = problem("poisson2d:8");
  const auto expected = symmetric_eigenvalues(a);
  const LanczosOptions options{.steps = 70, .reorthogonalization = full};
  const auto hermitian = rotated(a, random_phases(64, 5));
  const auto complex = run<Complex, TypeParam>(hermitian, options);
  EXPECT_NEAR(complex.smallest.value, expected.front(), 1e-12);
  EXPECT_NEAR(complex.largest.value, expected.back(), 1e-12);
  const auto single = run<float, TypeParam>(convert<float>(a), options);
  EXPECT_NEAR(single.smallest.value, expected.front(), 2e-5);
  EXPECT_NEAR(single.largest.value, expected.back(), 2e-5);
  EXPECT_EQ(single.reason, LanczosEnd::invariant_subspace);
  const auto single_complex = run<Kokkos::complex<float>, TypeParam>(to_single(hermitian), options);
  EXPECT_NEAR(single_complex.condition / (expected.back() / expected.front()), 1, 1e-4);
}

template <class Scalar, class Space>
void check_scales(const HostMatrix<Scalar>& a, int exponent) {
  const LanczosOptions options{.steps = 12};
  const auto ordinary = run<Scalar, Space>(a, options);
  for (const int sign : {1, -1}) {
    HostMatrix<Scalar> scaled = a;
    for (Scalar& value : scaled.values) value = std::ldexp(value, sign * exponent);
    const auto result = run<Scalar, Space>(scaled, options);
    EXPECT_EQ(result.reason, LanczosEnd::steps);
    EXPECT_NEAR(std::ldexp(result.largest.value, -sign * exponent) / ordinary.largest.value, 1, 1e-5);
    EXPECT_NEAR(result.condition / ordinary.condition, 1, 1e-4);
    // M^-1 brings it back.
    const Scale<Scalar, Space> inverse(a.num_rows, std::ldexp(Scalar(1), -sign * exponent));
    const auto balanced = run<Scalar, Space>(scaled, options, &inverse);
    EXPECT_NEAR(balanced.largest.value / ordinary.largest.value, 1, 1e-5);
    EXPECT_NEAR(balanced.condition / ordinary.condition, 1, 1e-4);
  }
}

TYPED_TEST(LanczosTest, MatricesOfAnyScale) {
  const HostMatrix<double> a = problem("poisson2d:7");
  check_scales<double, TypeParam>(a, 1000);
  check_scales<double, TypeParam>(a, 600);
  check_scales<float, TypeParam>(convert<float>(a), 110);
}

TYPED_TEST(LanczosTest, StopsAtTheTolerance) {
  const HostMatrix<double> a = problem("poisson2d:10");
  const auto expected = symmetric_eigenvalues(a);
  for (const double tolerance : {1e-1, 1e-3, 1e-6}) {
    const auto result =
        run<double, TypeParam>(a, {.steps = 100, .tolerance = tolerance, .reorthogonalization = full});
    EXPECT_EQ(result.reason, LanczosEnd::tolerance);
    EXPECT_LT(result.steps, 80);
    EXPECT_LE(result.smallest.bound, tolerance * result.smallest.value);
    EXPECT_LE(result.largest.bound, tolerance * result.largest.value);
    EXPECT_NEAR(result.smallest.value / expected.front(), 1, tolerance);
  }
}

TYPED_TEST(LanczosTest, ARitzValueNearAnEigenvalueIsNotTheExtremeOne) {
  constexpr int n = 20000;
  const LanczosOptions options{.steps = 500, .tolerance = 1e-2};
  for (const double outlier : {-1.0, -1e-3, 3.0, 1.02, 1e-4})
    for (const auto kind : {Reorthogonalization::local, full})
      for (const bool has_gap : {true, false}) {
        SCOPED_TRACE(outlier);
        std::vector<double> eigenvalues(n, 1.0);
        for (int i = 0; i < n && !has_gap; ++i) eigenvalues[i] = 0.5 + 0.5 * i / n;
        eigenvalues[n / 3] = outlier;
        LanczosOptions own = options;
        own.reorthogonalization = kind;
        const auto result = run<double, TypeParam>(diagonal_matrix(eigenvalues), own);
        const double least = *std::min_element(eigenvalues.begin(), eigenvalues.end()),
                     most = *std::max_element(eigenvalues.begin(), eigenvalues.end());
        EXPECT_NEAR(result.smallest.value, least, 1e-2 * std::abs(least));
        EXPECT_NEAR(result.largest.value, most, 1e-2 * most);
        EXPECT_EQ(result.positive_definite, outlier > 0);
        EXPECT_LT(result.steps, 200);
      }
  // A star with jacobi: D^-1/2 A D^-1/2 has the eigenvalue 1, and 1 - m and 1 + m once each.
  std::vector<std::vector<double>> dense(401, std::vector<double>(401, 0.0));
  for (int i = 1; i <= 400; ++i) {
    dense[i][i] = 2;
    dense[0][i] = dense[i][0] = -1;
  }
  dense[0][0] = 400;
  const HostMatrix<double> star = sparse(dense);
  const auto jacobi = preconditioner_of<TypeParam>("jacobi", star);
  const double m = std::sqrt(0.5);
  const auto result = run<double, TypeParam>(star, options, jacobi.get());
  EXPECT_NEAR(result.condition, (1 + m) / (1 - m), 1e-6);
}

TYPED_TEST(LanczosTest, SingularMatricesHaveNoCondition) {
  // A ring, by itself and with inverses that know its null vector.
  constexpr int n = 40;
  std::vector<std::vector<double>> dense(n, std::vector<double>(n, 0.0));
  for (int i = 0; i < n; ++i) {
    dense[i][i] = 2;
    dense[i][(i + 1) % n] = dense[(i + 1) % n][i] = -1;
  }
  const HostMatrix<double> ring = sparse(dense);
  const LanczosOptions options{.steps = 100, .tolerance = 1e-2, .reorthogonalization = full};
  const auto plain = run<double, TypeParam>(ring, options);
  EXPECT_FALSE(plain.positive_definite);
  EXPECT_TRUE(std::isinf(plain.condition));
  EXPECT_LE(std::abs(plain.smallest.value), plain.rounding);
  EXPECT_GT(plain.rounding, 0);
  for (const char* name : {"jacobi", "fsai", "adaptive_fsai", "chebyshev"}) {
    const auto m = preconditioner_of<TypeParam>(name, ring);
    EXPECT_FALSE((run<double, TypeParam>(ring, options, m.get()).positive_definite)) << name;
  }
  // The inverse of a nearly singular matrix: the image of any vector is the null vector.
  const HostMatrix<double> path = [&] {
    dense[0][0] = 1;
    dense[n - 1][n - 1] = 1;
    dense[0][n - 1] = dense[n - 1][0] = 0;
    return sparse(dense);
  }();
  dense[0][0] += 1e-14;
  const auto exact = create_preconditioner<double, TypeParam>("ick", {{"level", std::int64_t(2)}});
  exact->numeric(TypeParam(), to_device<TypeParam>(sparse(dense)));
  const auto image = run<double, TypeParam>(path, options, exact.get());
  EXPECT_FALSE(image.positive_definite);
  EXPECT_FALSE(image.condition < 1e12);
}

TYPED_TEST(LanczosTest, DetectsIndefiniteMatricesAndPreconditioners) {
  const HostMatrix<double> indefinite = shifted(problem("poisson2d:8"), 1.0);
  const auto result = run<double, TypeParam>(indefinite, {.steps = 40});
  EXPECT_LT(result.smallest.value, 0);
  EXPECT_FALSE(result.positive_definite);
  EXPECT_TRUE(std::isinf(result.condition));
  expect_bounds(result, symmetric_eigenvalues(indefinite), 1e-13);

  const HostMatrix<double> a = problem("poisson2d:8");
  const Scale<double, TypeParam> negative(64, -1.0);
  const auto wrong = run<double, TypeParam>(a, {}, &negative);
  EXPECT_EQ(wrong.reason, LanczosEnd::preconditioner_not_spd);
  EXPECT_EQ(wrong.steps, 0);
  EXPECT_FALSE(wrong.positive_definite);
  // Applications: the size, (r, z), and after each step; the fourth ends it after the second step.
  const Scale<double, TypeParam> late(64, 1.0, 3, -1.0);
  const auto later = run<double, TypeParam>(a, {}, &late);
  EXPECT_EQ(later.reason, LanczosEnd::preconditioner_not_spd);
  EXPECT_EQ(later.steps, 2);
  EXPECT_GT(later.largest.value, 0);
  EXPECT_TRUE(std::isnan(later.largest.bound));
  EXPECT_TRUE(std::isnan(later.condition));
  EXPECT_FALSE(later.positive_definite);
}

TYPED_TEST(LanczosTest, DegenerateMatrices) {
  const auto one = run<double, TypeParam>(diagonal_matrix({-4}), {});
  EXPECT_EQ(one.reason, LanczosEnd::invariant_subspace);
  EXPECT_EQ(one.steps, 1);
  EXPECT_DOUBLE_EQ(one.smallest.value, -4);
  const auto zero = run<double, TypeParam>(diagonal_matrix({0, 0, 0}), {});
  EXPECT_EQ(zero.reason, LanczosEnd::invariant_subspace);
  EXPECT_EQ(zero.largest.value, 0);
  EXPECT_FALSE(zero.positive_definite);
  const auto empty = run<double, TypeParam>(HostMatrix<double>{}, {});
  EXPECT_EQ(empty.steps, 0);
  EXPECT_EQ(empty.reason, LanczosEnd::invariant_subspace);
  const auto broken = run<double, TypeParam>(diagonal_matrix({1, std::nan(""), 2}), {});
  EXPECT_EQ(broken.reason, LanczosEnd::nan);
  EXPECT_EQ(broken.steps, 0);
  const Late<TypeParam> late(problem("poisson2d:8"), 4, std::nan(""));
  const auto later = lanczos<double, TypeParam>(TypeParam(), late);
  EXPECT_EQ(later.reason, LanczosEnd::nan);
  EXPECT_EQ(later.steps, 3);  // the first product is for the scale
  EXPECT_GT(later.largest.value, 0);
  EXPECT_TRUE(std::isnan(later.condition));
  EXPECT_FALSE(later.positive_definite);
}

TYPED_TEST(LanczosTest, SumsOverProcesses) {
  // As if two processes had the same rows each: sums are doubled, and nothing else changes.
  const HostMatrix<double> a = problem("poisson2d:9");
  for (const auto kind : {Reorthogonalization::local, full}) {
    const LanczosOptions options{.steps = 9, .reorthogonalization = kind};
    const CountingReducer<TypeParam> two(2.0);
    const auto alone = run<double, TypeParam>(a, options);
    const auto both =
        lanczos<double, TypeParam>(TypeParam(), operator_of<TypeParam>(a), nullptr, options, two);
    EXPECT_NEAR(both.largest.value, alone.largest.value, 1e-12);
    EXPECT_NEAR(both.smallest.value, alone.smallest.value, 1e-12);
    const CountingReducer<TypeParam> more(2.0);
    LanczosOptions longer = options;
    longer.steps = 14;
    lanczos<double, TypeParam>(TypeParam(), operator_of<TypeParam>(a), nullptr, longer, more);
    EXPECT_EQ(more.calls - two.calls, 5 * (kind == full ? 4 : 2));
  }
}

TYPED_TEST(LanczosTest, AStepWaitsOnceAndAllocatesNothing) {
  const HostMatrix<double> a = problem("poisson2d:20");
  const auto device = operator_of<TypeParam>(a);
  const auto jacobi = preconditioner_of<TypeParam>("jacobi", a);
  std::vector<std::size_t> fences, allocations;
  for (const int steps : {10, 17}) {
    const ToolEvents events;
    lanczos<double, TypeParam>(TypeParam(), device, jacobi.get(), {.steps = steps});
    fences.push_back(events.fences().size());
    allocations.push_back(events.allocations().size());
  }
  if (is_host_space<TypeParam>)
    EXPECT_EQ(fences[1] - fences[0], 7u);
  else
    EXPECT_LE(fences[1] - fences[0], 7u);  // scalars are awaited as they arrive
  EXPECT_EQ(allocations[0], allocations[1]);
}

TYPED_TEST(LanczosTest, TheSameBitsForAnyNumberOfThreads) {
  if constexpr (is_host_space<TypeParam>) {
    const HostMatrix<double> a = problem("poisson2d:60");
    const TypeParam one_thread = of_one_thread<TypeParam>();
    const auto device = operator_of<TypeParam>(a);
    for (const auto kind : {Reorthogonalization::local, full}) {
      const LanczosOptions options{.steps = 25, .reorthogonalization = kind};
      EXPECT_EQ((lanczos<double, TypeParam>(TypeParam(), device, nullptr, options).ritz_values),
                (lanczos<double, TypeParam>(one_thread, device, nullptr, options).ritz_values));
    }
    EXPECT_NE((lanczos<double, TypeParam>(one_thread, device, nullptr, {.seed = 2}).ritz_values),
              (lanczos<double, TypeParam>(one_thread, device, nullptr, {.seed = 1}).ritz_values));
  }
}

TYPED_TEST(LanczosTest, RefusesWrongInput) {
  const HostMatrix<double> a = problem("poisson2d:4");
  HostMatrix<double> wide = a;
  wide.num_cols += 3;
  EXPECT_THAT(message_of<InputError>([&] { run<double, TypeParam>(wide, {}); }), HasSubstr("16 x 19"));
  const Scale<double, TypeParam> other(15, 1.0);
  EXPECT_THAT(message_of<InputError>([&] { run<double, TypeParam>(a, {}, &other); }), HasSubstr("15 rows"));
  const auto isai = preconditioner_of<TypeParam>("isai", a);
  EXPECT_THAT(message_of<InputError>([&] { run<double, TypeParam>(a, {}, isai.get()); }),
              HasSubstr("isai is not symmetric"));
  EXPECT_THAT(message_of<OptionError>([&] { run<double, TypeParam>(a, {.steps = 0}); }), HasSubstr("steps"));
  EXPECT_THAT(message_of<OptionError>([&] { run<double, TypeParam>(a, {.tolerance = -1}); }),
              HasSubstr("tolerance"));
}

TEST(LanczosEndTest, HasNames) {
  EXPECT_EQ(to_string(LanczosEnd::steps), "steps");
  EXPECT_EQ(to_string(LanczosEnd::tolerance), "tolerance");
  EXPECT_EQ(to_string(LanczosEnd::invariant_subspace), "invariant_subspace");
  EXPECT_EQ(to_string(LanczosEnd::preconditioner_not_spd), "preconditioner_not_spd");
  EXPECT_EQ(to_string(LanczosEnd::nan), "nan");
}

}  // namespace
}  // namespace prekond::testing
