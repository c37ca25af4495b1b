// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/multigrid/relaxed_candidates.hpp"

#include "testing/amg_cases.hpp"
#include "testing/spaces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include "matrix/counter_hash.hpp"

#include <cmath>
#include <string>

namespace prekond::testing {
namespace {

using ::testing::HasSubstr;
using namespace impl::amg;
using Vectors = std::vector<std::vector<double>>;

template <class Space>
class AmgCandidatesTest : public ::testing::Test {};
TYPED_TEST_SUITE(AmgCandidatesTest, TestSpaces, SpaceNames);

template <class Space>
Vectors candidates(const HostMatrix<double>& a, int count, int sweeps, double omega = 0.8) {
  const Space space;
  const auto device = to_device<Space>(a);
  const auto jacobi = create_preconditioner<double, Space>("jacobi", {});
  jacobi->numeric(space, device);
  const auto found = relaxed_candidates<double, Space>(space, device, *jacobi, omega, count, sweeps);
  Vectors columns;
  for (int c = 0; c < count; ++c) columns.push_back(column_of(found, c));
  return columns;
}

std::vector<double> diagonal_of(const HostMatrix<double>& a) {
  std::vector<double> diagonal(a.num_rows);
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
      if (a.col_idxs[k] == i) diagonal[i] = a.values[k];
  return diagonal;
}

/// (x, y) = sum a_ii x_i y_i
double product(const std::vector<double>& diagonal, const std::vector<double>& x,
               const std::vector<double>& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += diagonal[i] * x[i] * y[i];
  return sum;
}

Vectors reference(const HostMatrix<double>& a, int count, int sweeps, double omega) {
  const auto diagonal = diagonal_of(a);
  Vectors all;
  for (int c = 0; c < count; ++c) {
    std::vector<double> x(a.num_rows);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double u = prekond::impl::unit_interval(prekond::impl::counter_hash(c, i));
      x[i] = (c == 0 ? u : 2 * u - 1) / std::sqrt(diagonal[i]);
    }
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      const auto ax = multiply(a, x);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] -= omega * ax[i] / diagonal[i];
    }
    for (const auto& other : all) {
      const double part = product(diagonal, x, other);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] -= part * other[i];
    }
    const double length = std::sqrt(product(diagonal, x, x));
    for (double& value : x) value /= length;
    all.push_back(x);
  }
  return all;
}

TYPED_TEST(AmgCandidatesTest, CandidatesAreRandomVectorsAfterSweeps) {
  const HostMatrix<double> a = problem("anisotropic2d:13,epsilon=0.1");
  for (const auto& [count, sweeps] : {std::pair(1, 1), std::pair(3, 7)}) {
    const auto found = candidates<TypeParam>(a, count, sweeps), expected = reference(a, count, sweeps, 0.8);
    for (int c = 0; c < count; ++c)
      for (std::size_t i = 0; i < found[c].size(); ++i)
        ASSERT_NEAR(found[c][i], expected[c][i], 1e-12) << c << ", " << i;
    EXPECT_EQ(found, candidates<TypeParam>(a, count, sweeps)) << "the same bits";
  }
}

TYPED_TEST(AmgCandidatesTest, CandidatesAreOrthonormalInTheDiagonal) {
  const HostMatrix<double> a = problem("poisson2d:20");
  const auto diagonal = diagonal_of(a);
  const auto found = candidates<TypeParam>(a, 4, 40);  // nearly parallel before
  for (int c = 0; c < 4; ++c)
    for (int other = 0; other <= c; ++other)
      EXPECT_NEAR(product(diagonal, found[c], found[other]), c == other, 1e-13);
}

TYPED_TEST(AmgCandidatesTest, DependentCandidatesAreZero) {
  const auto found = candidates<TypeParam>(problem("tridiagonal:2"), 3, 1);
  EXPECT_EQ(found[2], std::vector<double>(2, 0.0));
  EXPECT_NE(found[1], std::vector<double>(2, 0.0));
  // Jacobi solves this one: nothing is left.
  const auto none = candidates<TypeParam>(diagonal_matrix({2.0, 4.0, 8.0}), 2, 1, 1.0);
  EXPECT_EQ(none, Vectors(2, std::vector<double>(3, 0.0)));
}

TYPED_TEST(AmgCandidatesTest, ADivergingSmootherIsNoted) {
  try {
    candidates<TypeParam>(problem("poisson2d:10"), 1, 3, 1e200);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("numbers that are not finite"));
  }
}

/// S A S, with s_i between 1e-3 and 1e3.
HostMatrix<double> badly_scaled(HostMatrix<double> a) {
  const auto s = [](std::int64_t i) { return std::pow(10.0, 3 * std::sin(12.9898 * double(i + 1))); };
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) a.values[k] *= s(i) * s(a.col_idxs[k]);
  return a;
}

template <class Space>
std::int64_t iterations(const HostMatrix<double>& a, int count, const OptionMap& more = {}) {
  OptionMap options = {{"candidates", std::int64_t(count)}};
  for (const auto& [key, value] : more) options[key] = value;
  const auto m = create_preconditioner<double, Space>("amg", options);
  m->numeric(Space(), to_device<Space>(a));
  const auto solved = solve_with<double, Space>({"cg", {}}, operator_of<Space>(a), m.get(),
                                                multiply(a, random_vector(a.num_rows)), stop_at(1e-8, 1000));
  return solved.result.reason == StopReason::rtol ? solved.result.iterations : 1000;
}

TYPED_TEST(AmgCandidatesTest, CandidatesServeABadlyScaledMatrix) {
  const HostMatrix<double> a = badly_scaled(problem("poisson2d:50"));
  const auto constants = iterations<TypeParam>(a, 0), one = iterations<TypeParam>(a, 1),
             two = iterations<TypeParam>(a, 2);
  EXPECT_LE(3 * one, constants);
  EXPECT_LE(3 * two, constants);
  EXPECT_LE(one, 40);
  for (const char* smoother : {"jacobi", "fsai", "multicolor_ssor"})
    EXPECT_LE(2 * iterations<TypeParam>(a, 1, {{"smoother", std::string(smoother)}}), constants) << smoother;
}

TYPED_TEST(AmgCandidatesTest, CandidatesAreOnlyForAMissingNearNullSpace) {
  const TypeParam space;
  const HostMatrix<double> host = problem("poisson2d:30");
  const auto a = to_device<TypeParam>(host);
  const auto b = random_vector(host.num_rows);
  const auto applied = [&](int count, bool given) {
    MatrixSource<double, TypeParam> source(a);
    const auto ones = to_columns<TypeParam>({std::vector<double>(host.num_rows, 1.0)});
    if (given) source.set_near_null_space(ones);
    const auto m = create_preconditioner<double, TypeParam>("amg", {{"candidates", std::int64_t(count)}});
    m->numeric(space, source);
    const auto once = applied_to<TypeParam>(*m, b);
    m->numeric(space, source);  // keeps what was found
    EXPECT_EQ(applied_to<TypeParam>(*m, b), once);
    return once;
  };
  EXPECT_EQ(applied(3, true), applied(0, false));
  EXPECT_NE(applied(3, false), applied(0, false));
  EXPECT_NE(applied(3, false), applied(1, false));
}

}  // namespace
}  // namespace prekond::testing
