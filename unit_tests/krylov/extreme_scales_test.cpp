// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// Systems whose norms and inner products leave the range of a double, though the solution does not; and what
/// a success is.
#include "testing/krylov_solves.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>
#include "core/norm.hpp"

#include <limits>

namespace prekond::testing {
namespace {

std::vector<Variant> all_variants() {
  std::vector<Variant> all = general_variants();
  all.push_back({"cg", {}});
  all.push_back({"cg", {{"single_reduction", OptionValue(true)}}});
  return all;
}

std::vector<double> times(std::vector<double> x, int power) {
  for (double& value : x) value = std::ldexp(value, power);
  return x;
}
HostMatrix<double> times(HostMatrix<double> a, int power) {
  a.values = times(a.values, power);
  return a;
}

/// ||v|| in long double, whose exponents are enough for all of these.
long double long_norm(const std::vector<long double>& v) {
  long double sum = 0;
  for (const long double value : v) sum += value * value;
  return std::sqrt(sum);
}
long double relative_residual(const HostMatrix<double>& a, const std::vector<double>& b,
                              const std::vector<double>& x) {
  std::vector<long double> r(b.begin(), b.end());
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
      r[i] -= static_cast<long double>(a.values[k]) * x[a.col_idxs[k]];
  return long_norm(r) / long_norm({b.begin(), b.end()});
}

// -------------------------------------------------------------------------------------------------------------
// the norm

template <class Space>
class ExtremeScalesTest : public ::testing::Test {};
TYPED_TEST_SUITE(ExtremeScalesTest, TestSpaces, SpaceNames);

template <class Scalar, class Space>
ExtendedNumber norm_of(const std::vector<Scalar>& v) {
  const auto device = to_device<Space>(v);
  return prekond::norm<Scalar, Space>(Space(), device);
}

TYPED_TEST(ExtremeScalesTest, NormsNeitherOverflowNorUnderflow) {
  for (const int n : {1, 2, 511, 513, 1500}) {
    const std::vector<double> v = random_vector(n);
    const long double plain = long_norm({v.begin(), v.end()});
    for (const int power : {-1060, -1022, -700, -537, -511, -400, 0, 400, 480, 486, 538, 700, 1021}) {
      const std::vector<double> scaled = times(v, power);
      const ExtendedNumber found = norm_of<double, TypeParam>(scaled);
      const long double truth = long_norm({scaled.begin(), scaled.end()});
      EXPECT_NEAR(double(std::ldexp(static_cast<long double>(found.fraction), found.exponent) / truth), 1,
                  1e-14)
          << n << ' ' << power;
      if (power > -900 && power < 900) {
        EXPECT_NEAR(found.times_power(-power).value() / double(plain), 1, 1e-14);
      }
    }
  }
  // Parts of different sizes: the larger one counts, and both do where they are alike.
  const auto expect = [](const std::vector<double>& v, double fraction, int exponent) {
    const ExtendedNumber found = norm_of<double, TypeParam>(v);
    const ExtendedNumber wanted = ExtendedNumber::of(fraction, exponent);
    EXPECT_NEAR(ratio(found, wanted), 1, 1e-15) << found.fraction << " 2^" << found.exponent;
  };
  expect({3e200, 4e200}, 5e200, 0);
  expect({3e200, 4e200, 1e100, 1e-300}, 5e200, 0);
  expect({0x3p-600, 0x4p-600}, 5, -600);
  expect({0x3p-600, 0x4p-600, 1}, 1, 0);
  expect({0x3p-511, 0x1p-512, 0x1p-512}, std::sqrt(9.5), -511);
  expect({0x3p486, 0x1p485, 0x1p487}, std::sqrt(13.25), 486);
  expect({std::numeric_limits<double>::max(), std::numeric_limits<double>::max()}, std::sqrt(2.0), 1024);
  expect({std::numeric_limits<double>::denorm_min()}, 1, -1074);
  EXPECT_TRUE((norm_of<double, TypeParam>({0, -0.0}).is_zero()));
  EXPECT_TRUE((norm_of<double, TypeParam>({}).is_zero()));
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()})
    EXPECT_FALSE((norm_of<double, TypeParam>({1, bad, 1e300}).is_finite()));
  EXPECT_NEAR((norm_of<float, TypeParam>({3e-40f, 4e-40f}).value()) / 5e-40, 1, 1e-4);
  EXPECT_NEAR((norm_of<float, TypeParam>({3e37f, 4e37f}).value()) / 5e37, 1, 1e-6);
  EXPECT_EQ((norm_of<float, TypeParam>({std::numeric_limits<float>::denorm_min()}).value()), 0x1p-149);
  using Complex = Kokkos::complex<double>;
  EXPECT_NEAR((norm_of<Complex, TypeParam>({Complex(3e200, 1e-200), Complex(0, -4e200)}).value()) / 5e200, 1,
              1e-15);
}

// ----------------------------------------------------------------------------------------------------------
// the solvers

TYPED_TEST(ExtremeScalesTest, ScalingTheRightHandSideByAPowerOfTwoScalesTheSolution) {
  for (const HostMatrix<double>& a : {problem("poisson2d:9"), uneven_matrix(70)}) {
    const std::vector<double> b = random_vector(a.num_rows), guess = random_vector(a.num_rows, 4);
    const auto jacobi = preconditioner_of<TypeParam>("jacobi", a);
    for (const Variant& variant : all_variants()) {
      if (variant.solver == "cg" && a.num_rows == 70) continue;
      for (const auto* m : {static_cast<decltype(jacobi.get())>(nullptr), jacobi.get()}) {
        const auto plain =
            solve_with<double, TypeParam>(variant, operator_of<TypeParam>(a), m, b, stop_at(1e-10), guess);
        ASSERT_TRUE(plain.result.converged) << variant.name();
        for (const int power : {-950, -566, -565, -193, -3, 5, 256, 257, 520, 1000}) {
          SCOPED_TRACE(variant.name() + ", 2^" + std::to_string(power));
          const auto scaled = solve_with<double, TypeParam>(
              variant, operator_of<TypeParam>(a), m, times(b, power), stop_at(1e-10), times(guess, power));
          EXPECT_EQ(scaled.result.reason, StopReason::rtol) << to_string(scaled.result.reason);
          EXPECT_EQ(scaled.x, times(plain.x, power));
          EXPECT_EQ(scaled.seen, plain.seen);
          EXPECT_EQ(scaled.history, times(plain.history, power));
          EXPECT_EQ(scaled.result.true_relative_residual, plain.result.true_relative_residual);
          EXPECT_EQ(scaled.result.relative_residual, plain.result.relative_residual);
        }
      }
    }
  }
}

TYPED_TEST(ExtremeScalesTest, MatricesOfAnyScale) {
  for (const HostMatrix<double>& a : {problem("poisson2d:9"), uneven_matrix(70)}) {
    const std::vector<double> b = random_vector(a.num_rows);
    for (const Variant& variant : all_variants()) {
      if (variant.solver == "cg" && a.num_rows == 70) continue;
      for (const bool preconditioned : {false, true}) {
        const auto run = [&](int a_power, int b_power) {
          // The inverse of a diagonal, of any size.
          const Scale<double, TypeParam> m(a.num_rows, std::ldexp(0.25, -a_power));
          const HostMatrix<double> scaled = times(a, a_power);
          const std::vector<double> rhs = times(b, b_power);
          const auto solved = solve_with<double, TypeParam>(
              variant, operator_of<TypeParam>(scaled), preconditioned ? &m : nullptr, rhs, stop_at(1e-10));
          EXPECT_EQ(solved.result.converged, solved.result.reason == StopReason::rtol);
          if (solved.result.converged) {
            EXPECT_LE(double(relative_residual(scaled, rhs, solved.x)), 1.001e-10);
          }
          return solved;
        };
        const auto plain = run(0, 0);
        ASSERT_TRUE(plain.result.converged);
        for (const auto& [a_power, b_power] :
             {std::pair(-1000, -1000), std::pair(-565, 0), std::pair(-565, -565), std::pair(-1000, -100),
              std::pair(-520, 300), std::pair(-300, -900), std::pair(300, 0), std::pair(565, 0),
              std::pair(565, 565), std::pair(1000, 1000), std::pair(1000, 200), std::pair(512, -300)}) {
          SCOPED_TRACE(variant.name() + (preconditioned ? ", scaled" : "") + ", A 2^" +
                       std::to_string(a_power) + ", b 2^" + std::to_string(b_power));
          const auto scaled = run(a_power, b_power);
          EXPECT_EQ(scaled.result.reason, StopReason::rtol) << to_string(scaled.result.reason);
          // Other powers of two cost some wasted steps, and IDR has another Krylov space.
          EXPECT_LE(scaled.result.iterations,
                    (variant.solver == "idr" ? 2 : 1) * plain.result.iterations + 12);
        }
      }
    }
  }
}

TYPED_TEST(ExtremeScalesTest, RichardsonsOmegaIsForThePreconditionedMatrix) {
  const HostMatrix<double> a = uneven_matrix(70);
  const std::vector<double> b = random_vector(70);
  const auto run = [&](int a_power, int b_power, double factor) {
    const Scale<double, TypeParam> m(70, std::ldexp(factor, -a_power));
    return solve_with<double, TypeParam>({"richardson", {}}, operator_of<TypeParam>(times(a, a_power)), &m,
                                         times(b, b_power), stop_at(1e-9));
  };
  for (const double factor : {0.4, 0.05}) {
    const auto plain = run(0, 0, factor);
    ASSERT_TRUE(plain.result.converged);
    for (const auto& [a_power, b_power] : {std::pair(-1000, -1000), std::pair(-1020, -900),
                                           std::pair(-565, 0), std::pair(1000, 900), std::pair(1000, 1000)}) {
      const auto scaled = run(a_power, b_power, factor);
      EXPECT_EQ(scaled.result.reason, StopReason::rtol) << to_string(scaled.result.reason);
      EXPECT_EQ(scaled.result.iterations, plain.result.iterations) << a_power;
      // A factor that is too large by a power of two is no matter of ranges.
      EXPECT_EQ(run(a_power, b_power, factor * 0x1p300).result.converged, false);
    }
  }
}

TYPED_TEST(ExtremeScalesTest, ASolutionOutOfRangeEndsAsOutOfRange) {
  const HostMatrix<double> a = problem("poisson2d:5");
  const std::vector<double> b = random_vector(a.num_rows);
  for (const Variant& variant : all_variants())
    for (const auto& [a_power, b_power] :
         {std::pair(600, -600), std::pair(-600, 600), std::pair(1000, -900), std::pair(-900, 900)}) {
      SCOPED_TRACE(variant.name() + ", A 2^" + std::to_string(a_power) + ", b 2^" + std::to_string(b_power));
      const auto solved = solve_with<double, TypeParam>(variant, operator_of<TypeParam>(times(a, a_power)),
                                                        nullptr, times(b, b_power), stop_at(1e-8));
      EXPECT_EQ(solved.result.reason, StopReason::out_of_range) << to_string(solved.result.reason);
      EXPECT_FALSE(solved.result.converged);
      EXPECT_TRUE(all_finite(solved.x));
    }
}

// The second row asks for x_1 = 0, the first one then for an x_2 that no double holds. With x_1 = 1/8 the
// residual of the second row is a subnormal number, which a product with a smaller multiple of x loses.
TYPED_TEST(ExtremeScalesTest, AResidualThatScalingLosesIsNoSuccess) {
  const HostMatrix<double> a = sparse<double>({{1, 1e-310, 0}, {1e-310, 0, 0}, {0, 0, 1}});
  for (const char* name : {"gmres", "fgmres", "bicgstab", "idr"}) {
    SCOPED_TRACE(name);
    const auto solved = solve_with<double, TypeParam>({name, {}}, operator_of<TypeParam>(a), nullptr,
                                                      {0.125, 0, -120}, stop_at(0));
    EXPECT_FALSE(solved.result.converged) << to_string(solved.result.reason);
    EXPECT_TRUE(all_finite(solved.x));
  }
}

TYPED_TEST(ExtremeScalesTest, AFailureLeavesNoWorseVectorThanTheInitialOne) {
  const HostMatrix<double> a = problem("poisson2d:5");
  const std::vector<double> b = random_vector(a.num_rows);
  std::vector<Variant> variants = all_variants();
  for (const char* name : {"gmres", "fgmres"})
    variants.push_back({name, {{"restart", OptionValue(std::int64_t(2))}}});
  for (const Variant& variant : variants)
    for (const std::int64_t iterations : {1, 4, 9, 1000}) {
      SCOPED_TRACE(variant.name() + ", iterations " + std::to_string(iterations));
      const HostMatrix<double> small = times(a, -600);
      const std::vector<double> large = times(b, 600);
      const auto solved = solve_with<double, TypeParam>(variant, operator_of<TypeParam>(small), nullptr,
                                                        large, stop_at(1e-8, iterations));
      EXPECT_TRUE(all_finite(solved.x));
      EXPECT_LE(double(relative_residual(small, large, solved.x)), 1.000001);
    }
}

TYPED_TEST(ExtremeScalesTest, ASolveThatGoesBackHasTheBitsOfTheInitialVector) {
  // Richardson's x leaves the range, and is scaled by large powers of two.
  for (const int a_power : {-900, -300, 0, 300, 900}) {
    const HostMatrix<double> a = times(problem("poisson2d:5"), a_power);
    const std::vector<double> b = random_vector(a.num_rows),
                              guess = times(random_vector(a.num_rows, 4), -a_power - 8);
    for (const double factor : {-0x1p20, 0x1p300, 0x1p900}) {
      SCOPED_TRACE(std::to_string(a_power) + ", " + std::to_string(std::log2(std::abs(factor))));
      const Scale<double, TypeParam> m(a.num_rows, factor);
      const auto solved = solve_with<double, TypeParam>({"richardson", {}}, operator_of<TypeParam>(a), &m, b,
                                                        stop_at(1e-8, 300), guess);
      if (solved.result.converged || !solved.result.went_back) continue;
      EXPECT_EQ(solved.x, guess);
      EXPECT_NEAR(solved.result.true_relative_residual, double(relative_residual(a, b, guess)), 1e-12);
    }
  }
}

TYPED_TEST(ExtremeScalesTest, ARightHandSideThatIsNothingAgainstTheResidual) {
  // Scaled by the residual after the first steps, b would be zero, and x = 0 its solution.
  std::vector<Variant> variants = all_variants();
  variants.push_back({"richardson", {}});
  const std::vector<double> b = {0.3, -0.7, 0.5, 0.2};
  for (const double tiny : {1e-124, 1e-60, 1e-10})
    for (const double huge : {1.7e308, 1e250})
      for (const char* name : {"fsai", "jacobi", "multicolor_ssor"}) {
        const HostMatrix<double> a = sparse({{tiny, huge, 0, 0},
                                             {huge, tiny * 1e7, 0, 1e-119},
                                             {0, 0, 1e-117, 0.125},
                                             {0, 1e-119, 0.125, 1e-105}});
        const auto m = preconditioner_of<TypeParam>(name, a);
        for (const Variant& variant : variants) {
          SCOPED_TRACE(variant.name() + ", " + name + ", " + std::to_string(std::log10(tiny)));
          const auto solved = solve_with<double, TypeParam>(variant, operator_of<TypeParam>(a), m.get(), b,
                                                            stop_at(1e-10, 300));
          EXPECT_TRUE(all_finite(solved.x));
          const auto found = double(relative_residual(a, b, solved.x));
          EXPECT_LE(found, solved.result.converged ? 1.001e-10 : 1.000001);
        }
      }
}

TYPED_TEST(ExtremeScalesTest, AResidualOnTheLeftThatIsOutOfRange) {
  // ||b - A x|| / ||M^-1 (b - A x)|| is out of range after the first cycle.
  HostMatrix<double> a = uneven_matrix(9);
  std::vector<std::vector<double>> dense(9, std::vector<double>(9, 0.0));
  for (std::int64_t i = 0; i < 9; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) dense[i][a.col_idxs[k]] = a.values[k];
  dense[5][3] = 1e300;
  a = sparse(dense);
  const std::vector<double> b = random_vector(9);
  const auto m = preconditioner_of<TypeParam>("multicolor_ssor", a);
  for (const Variant& variant : general_variants()) {
    SCOPED_TRACE(variant.name());
    const auto solved =
        solve_with<double, TypeParam>(variant, operator_of<TypeParam>(a), m.get(), b, stop_at(1e-10, 300));
    EXPECT_TRUE(all_finite(solved.x));
    const auto found = double(relative_residual(a, b, solved.x));
    EXPECT_LE(found, solved.result.converged ? 1.001e-10 : 1.000001);
  }
}

TYPED_TEST(ExtremeScalesTest, AZeroRightHandSideHasOnlyZeroEntries) {
  const HostMatrix<double> identity = diagonal_matrix({1, 1, 1});
  for (const Variant& variant : all_variants()) {
    SCOPED_TRACE(variant.name());
    for (const double tiny : {1e-170, 1e-300, std::numeric_limits<double>::denorm_min()}) {
      const auto solved = solve_with<double, TypeParam>(variant, operator_of<TypeParam>(identity), nullptr,
                                                        {0, tiny, 0}, stop_at(1e-10));
      EXPECT_EQ(solved.result.reason, StopReason::rtol) << to_string(solved.result.reason);
      EXPECT_NEAR(solved.x[1] / tiny, 1, 1e-15);
      EXPECT_EQ(solved.x[0], 0);
      EXPECT_EQ(solved.x[2], 0);
    }
    const auto zero = solve_with<double, TypeParam>(variant, operator_of<TypeParam>(identity), nullptr,
                                                    {0, -0.0, 0}, stop_at(1e-10), {1, 2, 1e300});
    EXPECT_EQ(zero.result.reason, StopReason::zero_rhs);
    EXPECT_EQ(zero.x, (std::vector<double>{0, 0, 0}));
  }
}

TYPED_TEST(ExtremeScalesTest, AbsoluteTolerancesOfScaledSystems) {
  const HostMatrix<double> a = problem("poisson2d:7");
  for (const int power : {-900, 700}) {
    const std::vector<double> b = times(random_vector(a.num_rows), power);
    const double norm_b = ExtendedNumber::of(norm(times(b, -power)), power).value();
    for (const Variant& variant : all_variants()) {
      SCOPED_TRACE(variant.name());
      const auto absolute = solve_with<double, TypeParam>(variant, operator_of<TypeParam>(a), nullptr, b,
                                                          stop_at(1e-12, 1000, 1e-5 * norm_b));
      EXPECT_EQ(absolute.result.reason, StopReason::atol) << to_string(absolute.result.reason);
      EXPECT_LE(absolute.result.true_relative_residual, 1.0000001e-5);
      EXPECT_GT(absolute.result.true_relative_residual, 1e-9);
      const auto at_once = solve_with<double, TypeParam>(variant, operator_of<TypeParam>(a), nullptr, b,
                                                         stop_at(0, 1000, 2 * norm_b));
      EXPECT_EQ(at_once.result.iterations, 0);
      EXPECT_EQ(at_once.result.reason, StopReason::atol);
    }
  }
}

TYPED_TEST(ExtremeScalesTest, InitialVectorsOfExtremeSize) {
  const HostMatrix<double> a = problem("poisson2d:6");
  const std::vector<double> b = random_vector(a.num_rows);
  for (const Variant& variant : all_variants())
    for (const int power : {100, 400, 900}) {
      SCOPED_TRACE(variant.name() + ", 2^" + std::to_string(power));
      const auto solved =
          solve_with<double, TypeParam>(variant, operator_of<TypeParam>(a), nullptr, b, stop_at(1e-8, 20000),
                                        times(random_vector(a.num_rows, 9), power));
      EXPECT_EQ(solved.result.reason, StopReason::rtol) << to_string(solved.result.reason);
      EXPECT_LE(double(relative_residual(a, b, solved.x)), 1.001e-8);
    }
}

TYPED_TEST(ExtremeScalesTest, GradedMatricesOverTheWholeRange) {
  // A diagonal matrix whose solution needs all exponents there are: with the diagonal's inverse it is found
  // at once.
  const HostMatrix<double> a = diagonal_matrix({1e300, 1e150, 1, 1e-150, 1e-300});
  const std::vector<double> b(5, 1.0), exact = {1e-300, 1e-150, 1, 1e150, 1e300};
  const auto jacobi = preconditioner_of<TypeParam>("jacobi", a);
  for (const Variant& variant : all_variants()) {
    SCOPED_TRACE(variant.name());
    if (variant.options.count("side") > 0) continue;  // M^-1 r on the left has no norm in this range
    const auto solved = solve_with<double, TypeParam>(variant, operator_of<TypeParam>(a), jacobi.get(), b,
                                                      stop_at(1e-12, 200));
    EXPECT_TRUE(solved.result.converged) << to_string(solved.result.reason);
    for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(solved.x[i] / exact[i], 1, 1e-11);
  }
  // D A D of the Laplacian, D = 2^(-500 .. 500), b = D A D 1: no claim of success is false.
  HostMatrix<double> graded = problem("tridiagonal:21");
  for (int i = 0; i < 21; ++i)
    for (std::size_t k = graded.row_ptrs[i]; k < graded.row_ptrs[i + 1]; ++k)
      graded.values[k] = std::ldexp(graded.values[k], 50 * (i - 10) + 50 * (graded.col_idxs[k] - 10));
  const std::vector<double> rhs = multiply(graded, std::vector<double>(21, 1.0));
  const auto scaled = preconditioner_of<TypeParam>("jacobi", graded);
  for (const Variant& variant : all_variants()) {
    SCOPED_TRACE(variant.name());
    const auto solved = solve_with<double, TypeParam>(variant, operator_of<TypeParam>(graded), scaled.get(),
                                                      rhs, stop_at(1e-8, 300));
    if (solved.result.converged) {
      EXPECT_LE(double(relative_residual(graded, rhs, solved.x)), 1.001e-8);
    }
  }
}

TYPED_TEST(ExtremeScalesTest, SeveralColumnsOfDifferentScales) {
  const HostMatrix<double> a = problem("poisson2d:8");
  const TypeParam space;
  const std::vector<int> powers = {-900, 0, 700, -300, 990};
  const std::vector<double> b = random_vector(a.num_rows);
  std::vector<std::vector<double>> columns;
  for (int power : powers) columns.push_back(times(b, power));
  for (const Variant& variant : all_variants()) {
    SCOPED_TRACE(variant.name());
    const auto alone =
        solve_with<double, TypeParam>(variant, operator_of<TypeParam>(a), nullptr, b, stop_at(1e-9));
    const auto rhs = to_columns<TypeParam>(columns);
    MultiVector<double, TypeParam> x("x", a.num_rows, powers.size());
    const auto results = create_solver<double, TypeParam>(variant.solver, variant.options)
                             ->solve(space, operator_of<TypeParam>(a), nullptr, rhs, x, stop_at(1e-9));
    for (std::size_t c = 0; c < powers.size(); ++c) {
      EXPECT_EQ(results[c].reason, StopReason::rtol) << c;
      const std::vector<double> found = times(column_of(x, int(c)), -powers[c]);
      for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], alone.x[i], 1e-7) << c;
    }
    const auto wide = times(a, 600);
    MultiVector<double, TypeParam> y("y", a.num_rows, 2);
    const auto two = create_solver<double, TypeParam>(variant.solver, variant.options)
                         ->solve(space, operator_of<TypeParam>(wide), nullptr,
                                 to_columns<TypeParam>({times(b, 600), times(b, 300)}), y, stop_at(1e-9));
    for (int c : {0, 1}) EXPECT_EQ(two[c].reason, StopReason::rtol) << c << ' ' << to_string(two[c].reason);
  }
}

TYPED_TEST(ExtremeScalesTest, SinglePrecision) {
  const HostMatrix<double> a = problem("poisson2d:8");
  const std::vector<double> b = random_vector(a.num_rows);
  for (const Variant& variant : all_variants())
    for (const auto& [a_power, b_power] : {std::pair(0, -90), std::pair(0, 100), std::pair(-100, -90),
                                           std::pair(100, 80), std::pair(-60, 0), std::pair(60, 0)}) {
      SCOPED_TRACE(variant.name() + ", A 2^" + std::to_string(a_power) + ", b 2^" + std::to_string(b_power));
      HostMatrix<float> single{a.num_rows, a.num_cols, a.row_ptrs, a.col_idxs, {}};
      for (double value : a.values) single.values.push_back(std::ldexp(float(value), a_power));
      std::vector<float> rhs;
      for (double value : b) rhs.push_back(std::ldexp(float(value), b_power));
      const auto solved = solve_with<float, TypeParam>(
          variant, CsrOperator<float, TypeParam>(to_device<TypeParam>(single)), nullptr, rhs, stop_at(1e-4));
      EXPECT_EQ(solved.result.reason, StopReason::rtol) << to_string(solved.result.reason);
      HostMatrix<double> scaled = times(a, a_power);
      for (std::size_t k = 0; k < scaled.values.size(); ++k) scaled.values[k] = double(single.values[k]);
      EXPECT_LE(
          double(relative_residual(scaled, {rhs.begin(), rhs.end()}, {solved.x.begin(), solved.x.end()})),
          1.01e-4);
    }
}

// ------------------------------------------------------------------------------------------------- a success
// is a success

TYPED_TEST(ExtremeScalesTest, ASuccessIsWithinTheTolerance) {
  int converged = 0, stagnated = 0;
  for (const HostMatrix<double>& a :
       {problem("poisson2d:16"), problem("anisotropic2d:12"), problem("elasticity3d:4")}) {
    const std::vector<double> b = random_vector(a.num_rows);
    const auto jacobi = preconditioner_of<TypeParam>("jacobi", a);
    for (const Variant& variant : all_variants())
      for (const double rtol : {1e-10, 1e-12, 1e-13, 1e-14, 3e-15, 1e-15}) {
        SCOPED_TRACE(variant.name() + ", rtol " + std::to_string(-std::log10(rtol)));
        const auto solved = solve_with<double, TypeParam>(variant, operator_of<TypeParam>(a), jacobi.get(), b,
                                                          stop_at(rtol, 3000));
        EXPECT_EQ(solved.result.converged, solved.result.true_relative_residual <= rtol);
        EXPECT_NEAR(solved.result.true_relative_residual, double(relative_residual(a, b, solved.x)), 1e-14);
        EXPECT_FALSE(solved.result.looks_singular);
        converged += solved.result.converged ? 1 : 0;
        stagnated += solved.result.reason == StopReason::stagnation ? 1 : 0;
      }
  }
  EXPECT_GT(converged, 100);
  EXPECT_GT(stagnated, 10);
}

TYPED_TEST(ExtremeScalesTest, RestartsAsLongAsTheTrueResidualFalls) {
  const HostMatrix<double> a = problem("poisson2d:12");
  const std::vector<double> b = random_vector(a.num_rows);
  for (const Variant& variant : all_variants()) {
    if (variant.solver == "gmres" || variant.solver == "fgmres")
      continue;  // each of their restarts looks at the truth
    if (variant.options.count("side") > 0) continue;
    SCOPED_TRACE(variant.name());
    // The recursive residual says 2 A: a half of the true one is left each time.
    const auto halves =
        solve_with<double, TypeParam>(variant, Liar<TypeParam>(a, 2), nullptr, b, stop_at(1e-6, 20000));
    EXPECT_EQ(halves.result.reason, StopReason::rtol) << to_string(halves.result.reason);
    EXPECT_LE(residual_norm(a, b, halves.x), 1e-6 * norm(b));
    // ... a twentieth too little to go on, and more than before.
    for (const double factor : {1 / 1.95, 1 / 2.5}) {
      const Liar<TypeParam> liar(a, factor);
      const auto stuck = solve_with<double, TypeParam>(variant, liar, nullptr, b, stop_at(1e-6, 20000));
      EXPECT_EQ(stuck.result.reason, StopReason::stagnation) << to_string(stuck.result.reason);
      EXPECT_FALSE(stuck.result.looks_singular);
      EXPECT_EQ(liar.residuals, 4) << "two cycles";
    }
  }
}

TYPED_TEST(ExtremeScalesTest, SingularSystemsEndAsBreakdownSingular) {
  // Graph Laplacians (constant vectors are the null space) and a diagonal with a zero, b with a part out of
  // the range.
  HostMatrix<double> ring = problem("tridiagonal:40");
  for (const int i : {0, 39})
    for (std::size_t k = ring.row_ptrs[i]; k < ring.row_ptrs[i + 1]; ++k)
      if (ring.col_idxs[k] == i) ring.values[k] = 1;
  HostMatrix<double> grid = problem("poisson2d:13");
  for (std::int64_t i = 0; i < grid.num_rows; ++i)
    for (std::size_t k = grid.row_ptrs[i]; k < grid.row_ptrs[i + 1]; ++k)
      if (grid.col_idxs[k] == i) grid.values[k] = double(grid.row_ptrs[i + 1] - grid.row_ptrs[i] - 1);
  std::vector<double> entries(30);
  for (std::size_t i = 0; i < entries.size(); ++i) entries[i] = double(i % 7);
  int named = 0, ends = 0;
  for (const HostMatrix<double>& a : {ring, grid, diagonal_matrix(entries)}) {
    std::vector<double> b = random_vector(a.num_rows);
    for (double& value : b) value += 0.3;
    const std::vector<double> fitting = multiply(a, random_vector(a.num_rows, 8));
    for (const Variant& variant : all_variants()) {
      SCOPED_TRACE(variant.name() + ", " + std::to_string(a.num_rows));
      const auto solved =
          solve_with<double, TypeParam>(variant, operator_of<TypeParam>(a), nullptr, b, stop_at(1e-8, 5000));
      EXPECT_FALSE(solved.result.converged);
      EXPECT_NE(solved.result.reason, StopReason::stagnation) << "of a singular matrix";
      named += solved.result.looks_singular ? 1 : 0;
      ++ends;
      if (variant.solver == "cg") {
        // With one reduction, (A z, z) may be negative before that; a singular matrix is not positive
        // definite either.
        if (variant.options.empty() || solved.result.reason != StopReason::breakdown_not_spd) {
          EXPECT_EQ(solved.result.reason, StopReason::breakdown_singular) << to_string(solved.result.reason);
        }
        const auto consistent = solve_with<double, TypeParam>(variant, operator_of<TypeParam>(a), nullptr,
                                                              fitting, stop_at(1e-8, 5000));
        EXPECT_TRUE(consistent.result.converged) << "the right-hand side is in the range";
        EXPECT_FALSE(consistent.result.looks_singular);
      }
    }
  }
  EXPECT_GE(10 * named, 8 * ends);
}

/// A regular matrix with entries of 10^20: most of A x is nothing against these, which says nothing of x.
TYPED_TEST(ExtremeScalesTest, LargeEntriesMakeNoMatrixSingular) {
  HostMatrix<double> a = problem("poisson2d:20");
  for (const int i : {3, 200, 377})
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
      if (a.col_idxs[k] == i) a.values[k] = 1e20;
  std::vector<double> b = random_vector(a.num_rows);
  for (const int i : {3, 200, 377}) b[i] = 0;
  int ends = 0;
  for (const Variant& variant : all_variants()) {
    SCOPED_TRACE(variant.name());
    const auto solved =
        solve_with<double, TypeParam>(variant, operator_of<TypeParam>(a), nullptr, b, stop_at(1e-15, 1500));
    EXPECT_FALSE(solved.result.looks_singular);
    EXPECT_NE(solved.result.reason, StopReason::breakdown_singular);
    ends += solved.result.converged ? 0 : 1;
  }
  EXPECT_GT(ends, 3);
}

}  // namespace
}  // namespace prekond::testing
