// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// Diagonal entries that are zeros but for rounding, and zeros that are stored in one triangle only.
#include "precond/scaling/weak_diagonal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/krylov/gmres.hpp>
#include <prekond/matrix/bcsr_matrix.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/precond/registry.hpp>

#include "testing/general_matrices.hpp"
#include "testing/matrices.hpp"
#include "testing/multicolor_cases.hpp"
#include "testing/spaces.hpp"

#include <cmath>
#include <functional>

namespace prekond::testing {
namespace {

using ::testing::HasSubstr;

template <class Space>
class WeakDiagonalTest : public ::testing::Test {};
TYPED_TEST_SUITE(WeakDiagonalTest, TestSpaces, SpaceNames);

using Dense = std::vector<std::vector<double>>;

/// [epsilon I, B^T; B, -10 I], with entries of B from 1 to 3; zeros are stored. Its condition is about 40.
HostMatrix<double> saddle(double epsilon, double strong = -10, int weak = 4, int others = 6) {
  const int n = weak + others;
  const double entries[] = {1, 2, -1, 3, 1, -2, 1};
  Dense dense(n, std::vector<double>(n, 0));
  for (int i = 0; i < n; ++i) dense[i][i] = i < weak ? 1 : strong;
  for (int i = 0; i < weak; ++i)
    for (int j = 0; j < others; ++j)
      if ((i + 2 * j) % 3 != 1) dense[i][weak + j] = dense[weak + j][i] = entries[(2 * i + 3 * j) % 7];
  auto a = sparse(dense);
  for (int i = 0; i < weak; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
      if (a.col_idxs[k] == i) a.values[k] = epsilon;
  return a;
}

HostMatrix<double> reversed(const HostMatrix<double>& a) {
  const int n = static_cast<int>(a.num_rows);
  Dense dense(n, std::vector<double>(n, 0));
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) dense[i][j] = a(n - 1 - i, n - 1 - j);
  return sparse(dense);
}

HostMatrix<double> scaled(HostMatrix<double> a, const std::function<double(int)>& row,
                          const std::function<double(int)>& column) {
  for (int i = 0; i < static_cast<int>(a.num_rows); ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
      a.values[k] *= row(i) * column(a.col_idxs[k]);
  return a;
}

template <class Space, class Scalar>
std::int64_t num_weak(const HostMatrix<Scalar>& a, int block_size = 1) {
  const auto device = to_device<Space>(a);
  return impl::zero_weak_diagonal<Scalar, Space>(Space(), CsrView<Scalar, Space>(device), block_size)
      .num_weak;
}

TYPED_TEST(WeakDiagonalTest, EntriesOfRoundingSizeAreFound) {
  for (int k = 6; k <= 16; ++k) {
    SCOPED_TRACE(k);
    const auto a = saddle(std::pow(10.0, -k));
    EXPECT_EQ((num_weak<TypeParam>(a)), 4);
    EXPECT_EQ((num_weak<TypeParam>(reversed(a))), 4) << "in any order";
    const auto one = [](int) { return 1.0; };
    for (const double factor : {0x1p-200, 0x1p200})
      EXPECT_EQ((num_weak<TypeParam>(scaled(
                    a, [&](int) { return factor; }, one))),
                4)
          << "of any size";
    if (k < 8) continue;
    const auto units = [](int i) { return std::pow(10.0, i % 3 - 1); };
    EXPECT_EQ((num_weak<TypeParam>(scaled(a, units, one))), 4) << "rows of other units";
    EXPECT_EQ((num_weak<TypeParam>(scaled(a, one, units))), 4) << "columns of other units";
  }
  EXPECT_EQ((num_weak<TypeParam>(saddle(1e-4))), 0) << "small, but it leaves digits enough";
  EXPECT_EQ((num_weak<TypeParam>(saddle(0))), 0) << "zeros need not be found";
  const auto cycle = [](double epsilon) {
    return sparse<double>({{epsilon, 1, 0}, {0, epsilon, 1}, {1, 0, epsilon}});
  };
  EXPECT_EQ((num_weak<TypeParam>(cycle(1e-15))), 3) << "without pairs of entries";
}

TYPED_TEST(WeakDiagonalTest, OnlyTheseBecomeZero) {
  const auto host = saddle(1e-12);
  const auto a = to_device<TypeParam>(host);
  const CsrView<double, TypeParam> view(a);
  const auto strong = impl::zero_weak_diagonal<double, TypeParam>(TypeParam(), view);
  EXPECT_EQ(to_vector(strong.values), saddle(0).values);
  EXPECT_EQ(to_vector(a.values), host.values) << "A stays";
}

TYPED_TEST(WeakDiagonalTest, ARowThatItsBlockGivesAPivotIsNotWeak) {
  const auto pairs = sparse<double>({{1e-12, 1, 2, 0}, {1, 1, 0, 1}, {2, 0, 1e-12, 0}, {0, 1, 0, 1e-12}});
  EXPECT_EQ((num_weak<TypeParam>(pairs)), 3);
  EXPECT_EQ((num_weak<TypeParam>(pairs, 2)), 2);
  EXPECT_EQ((num_weak<TypeParam>(pairs, 4)), 0);
}

TYPED_TEST(WeakDiagonalTest, BlocksHaveTheSameRule) {
  auto host = saddle(1e-12);
  const auto a = to_device<TypeParam>(host);
  const auto blocks = to_bcsr<double, TypeParam>(TypeParam(), CsrView<double, TypeParam>(a), 3);  // padded
  const impl::BlockEntries<double, TypeParam> entries(blocks);
  const auto strong = impl::zero_weak_diagonal<double, TypeParam>(TypeParam(), entries, 3);
  EXPECT_EQ(strong.num_weak, 3) << "row 4 is in one block with strong ones";
}

TYPED_TEST(WeakDiagonalTest, SmallButLegitimateEntriesStay) {
  const auto never = [](const HostMatrix<double>& a, const std::string& name) {
    EXPECT_EQ((num_weak<TypeParam>(a)), 0) << name;
  };
  const auto one = [](int) { return 1.0; };
  const auto units = [](int i) { return std::pow(10.0, (i * 37) % 25 - 12); };
  const auto spd = random_spd(60, 0.3, 3);
  never(scaled(spd, units, units), "definite, of any units");
  const auto general = random_general(60, 0.2, 6);
  never(scaled(general, units, one), "rows of any units");
  never(scaled(general, one, units), "columns of any units");
  never(generated("convection_diffusion3d:6,peclet=1000"), "convection");
  auto penalty = generated("poisson2d:6");
  for (std::size_t k = penalty.row_ptrs[7]; k < penalty.row_ptrs[8]; ++k)
    if (penalty.col_idxs[k] == 7) penalty.values[k] = 1e20;
  never(penalty, "a penalty row");
  // Central differences of a cell Peclet number of 2000; a triangle that grows.
  Dense skew(30, std::vector<double>(30, 0)), triangle = skew;
  for (int i = 0; i < 30; ++i) {
    skew[i][i] = 2, triangle[i][i] = 1;
    if (i > 0) skew[i][i - 1] = -1001, skew[i - 1][i] = 999, triangle[i - 1][i] = 1e7;
  }
  never(sparse(skew), "central differences");
  never(sparse(triangle), "a triangle");
  // Saddle points of small viscosity, without and with a stabilisation.
  for (const double last : {0.0, -1e-4}) {
    Dense flow(12, std::vector<double>(12, 0));
    for (int i = 0; i < 8; ++i) {
      flow[i][i] = 2e-10;
      if (i > 0) flow[i][i - 1] = flow[i - 1][i] = -1e-10;
      flow[i][8 + i / 2] = flow[8 + i / 2][i] = i % 2 ? -1 : 1;
    }
    for (int i = 8; i < 12; ++i) flow[i][i] = last;
    EXPECT_EQ((num_weak<TypeParam>(sparse(flow))), 0) << last;
  }
}

TYPED_TEST(WeakDiagonalTest, ComplexAndSingle) {
  using Complex = Kokkos::complex<double>;
  const auto host = saddle(1e-12);
  HostMatrix<Complex> a{host.num_rows, host.num_cols, host.row_ptrs, host.col_idxs, {}};
  for (std::size_t k = 0; k < host.values.size(); ++k) a.values.push_back(Complex(0, host.values[k]));
  EXPECT_EQ((num_weak<TypeParam, Complex>(a)), 4);
  EXPECT_EQ((num_weak<TypeParam, float>(convert<float>(host))), 4);
  EXPECT_EQ((num_weak<TypeParam, float>(convert<float>(saddle(0.5)))), 0);
}

/// The settings under test: names, with options.
std::vector<std::pair<std::string, OptionMap>> dividing_methods() {
  return {{"ilu0", {}},
          {"iluk", {{"level", std::int64_t(2)}}},
          {"ilut", {}},
          {"par_ilu", {}},
          {"par_ilut", {}},
          {"block_ilu0", {{"block_size", std::int64_t(1)}}},
          {"multicolor_ilu0", {}},
          {"multicolor_gs", {}},
          {"nonsymmetric_fsai", {}},
          {"jacobi", {}}};
}

TYPED_TEST(WeakDiagonalTest, MethodsTreatThemAsZeros) {
  const TypeParam space;
  const std::vector<double> x = waves_of(10);
  for (const auto& [name, options] : dividing_methods())
    for (const double epsilon : {1e-16, 1e-12, -1e-9, 1e-6}) {
      SCOPED_TRACE(name);
      const auto zero = create_preconditioner<double, TypeParam>(name, options);
      const auto weak = create_preconditioner<double, TypeParam>(name, options);
      zero->numeric(space, to_device<TypeParam>(saddle(0)));
      weak->numeric(space, to_device<TypeParam>(saddle(epsilon)));
      EXPECT_GE(weak->report().breakdowns.count, 4);
      EXPECT_EQ(weak->report().breakdowns.count, zero->report().breakdowns.count);
      EXPECT_EQ((applied_to<double, TypeParam>(*weak, x)), (applied_to<double, TypeParam>(*zero, x)));
    }
}

TYPED_TEST(WeakDiagonalTest, GmresSolvesSuchSystems) {
  const TypeParam space;
  for (const auto& [name, options] : dividing_methods())
    for (const double epsilon : {1e-16, 1e-12, 1e-9, 1e-6}) {
      SCOPED_TRACE(name + ", " + std::to_string(-std::log10(epsilon)));
      const auto a = to_device<TypeParam>(saddle(epsilon));
      const auto m = create_preconditioner<double, TypeParam>(name, options);
      m->numeric(space, a);
      const auto b = to_device<TypeParam>(waves_of(10));
      const Vector<double, TypeParam> solution("x", 10);
      StoppingOptions stopping;
      stopping.rtol = 1e-8;
      const SolveResult result = Gmres<double, TypeParam>().solve(space, CsrOperator<double, TypeParam>(a),
                                                                  m.get(), b, solution, stopping);
      EXPECT_TRUE(result.converged) << to_string(result.reason);
      EXPECT_LE(result.iterations, 10);
    }
}

/// Rows in pairs [epsilon, p; q, epsilon] whose partners are `distance` apart; with `every` = 2 every other
/// row has a diagonal of its own. Rows are coupled to `weak` others.
HostMatrix<double> distant_pairs(int n, double epsilon, int every, double coupling) {
  Dense dense(n, std::vector<double>(n, 0));
  std::vector<int> rows;
  for (int i = 0; i < n; i += every) rows.push_back(i);
  for (int i = 0; i < n; ++i)
    for (const int step : {3, 7, 11}) dense[i][(i + step) % n] = coupling * std::sin(1.7 * i + step);
  for (int i = 0; i < n; ++i) dense[i][i] = 2 + 0.1 * (i % 5);
  const int half = static_cast<int>(rows.size()) / 2;
  for (int p = 0; p < half; ++p) {
    const int i = rows[p], j = rows[p + half];
    dense[i][j] = 1 + 0.05 * (p % 7);
    dense[j][i] = 1.3 - 0.04 * (p % 5);
    dense[i][i] = dense[j][j] = 1;
  }
  auto a = sparse(dense);
  for (int p = 0; p < 2 * half; ++p)
    for (std::size_t k = a.row_ptrs[rows[p]]; k < a.row_ptrs[rows[p] + 1]; ++k)
      if (a.col_idxs[k] == rows[p]) a.values[k] = epsilon;
  return a;
}

TYPED_TEST(WeakDiagonalTest, PairsOfRowsThatAreFarApart) {
  const TypeParam space;
  for (const char* name : {"ilu0", "ilut", "par_ilu", "multicolor_ilu0", "nonsymmetric_fsai"})
    for (const int every : {1, 2})
      for (const double epsilon : {0.0, 1e-15, 1e-9})
        for (const int n : {24, 80, 200}) {
          SCOPED_TRACE(std::string(name) + ", " + std::to_string(n) + " rows, every " +
                       std::to_string(every));
          const auto host = distant_pairs(n, epsilon, every, 0.1);
          const auto a = to_device<TypeParam>(host);
          const auto m = create_preconditioner<double, TypeParam>(name, {});
          m->numeric(space, a);
          const auto b = to_device<TypeParam>(waves_of(n));
          const Vector<double, TypeParam> solution("x", n);
          StoppingOptions stopping;
          stopping.rtol = 1e-8;
          stopping.max_iters = 200;
          const SolveResult result = Gmres<double, TypeParam>().solve(
              space, CsrOperator<double, TypeParam>(a), m.get(), b, solution, stopping);
          EXPECT_TRUE(result.converged) << to_string(result.reason) << " " << result.true_relative_residual;
          EXPECT_LE(result.iterations, 60);
        }
}

/// The same factors where the zeros are not stored.
TYPED_TEST(WeakDiagonalTest, NonsymmetricFsaiTakesStandInsForMissingEntriesToo) {
  const TypeParam space;
  const auto stored = distant_pairs(40, 0, 2, 0.1);
  Dense dense(40, std::vector<double>(40, 0));
  for (int i = 0; i < 40; ++i)
    for (int j = 0; j < 40; ++j) dense[i][j] = stored(i, j);
  const auto x = waves_of(40);
  const auto expected = create_preconditioner<double, TypeParam>("nonsymmetric_fsai", {});
  const auto found = create_preconditioner<double, TypeParam>("nonsymmetric_fsai", {});
  expected->numeric(space, to_device<TypeParam>(stored));
  found->numeric(space, to_device<TypeParam>(sparse(dense)));
  EXPECT_THAT(found->report().breakdowns.action, HasSubstr("20 rows without a usable diagonal entry"));
  EXPECT_EQ((applied_to<double, TypeParam>(*found, x)), (applied_to<double, TypeParam>(*expected, x)));
}

/// The stand-in of a zero has the sign of the other rows' updates: nothing cancels.
TYPED_TEST(WeakDiagonalTest, ZerosOfASaddlePointGetPivots) {
  const TypeParam space;
  Dense dense(9, std::vector<double>(9, 0));
  for (int i = 0; i < 6; ++i) {
    dense[i][i] = 1;
    if (i % 2 == 0) dense[i][6 + i / 2] = dense[6 + i / 2][i] = 1;
  }
  // 1 - 1 would cancel: the row's largest entry, and its update by row 0.
  const auto m = create_preconditioner<double, TypeParam>("ilu0", {{"shift", 0.0}});
  m->numeric(space, to_device<TypeParam>(sparse(dense)));
  EXPECT_EQ(m->report().breakdowns.count, 3) << m->report().breakdowns.action;
}

// ------------------------------------------------------------------------------------------- one triangle

/// A zero that the upper or the lower triangle has and the other has not; in both, with `mirrored`.
HostMatrix<double> with_zero(bool upper, bool mirrored, double value = 0) {
  Dense dense = {{4, -1, 0, 0}, {-1, 4, -1, 0}, {0, -1, 4, -1}, {0, 0, -1, 4}};
  const double mark = 7;
  if (upper || mirrored) dense[0][2] = mark;
  if (!upper || mirrored) dense[2][0] = mark;
  auto a = sparse(dense);
  for (double& entry : a.values)
    if (entry == mark) entry = value;
  return a;
}

TYPED_TEST(WeakDiagonalTest, AZeroOfOneTriangleIsMirrored) {
  const TypeParam space;
  const std::vector<std::pair<std::string, OptionMap>> methods = {
      {"ic0", {}},
      {"ick", {}},
      {"mic_gustafsson", {}},
      {"mic_robert", {}},
      {"par_ic", {}},
      {"ict", {}},
      {"multicolor_ilu0", {{"kind", std::string("ic")}}}};
  for (const auto& [name, options] : methods)
    for (const bool upper : {true, false}) {
      SCOPED_TRACE(name + (upper ? ", upper" : ", lower"));
      const auto expected = create_preconditioner<double, TypeParam>(name, options);
      const auto m = create_preconditioner<double, TypeParam>(name, options);
      expected->numeric(space, to_device<TypeParam>(with_zero(upper, true)));
      const auto a = to_device<TypeParam>(with_zero(upper, false));
      m->symbolic(space, a);
      for (int times = 0; times < 2; ++times) {
        m->numeric(space, a);
        EXPECT_EQ(m->report().breakdowns.count, 0);
        EXPECT_EQ((applied_to<double, TypeParam>(*m, waves_of(4))),
                  (applied_to<double, TypeParam>(*expected, waves_of(4))));
      }
      // Another value there is refused, also after a symbolic phase with a zero.
      const auto wrong = to_device<TypeParam>(with_zero(upper, false, 0.5));
      const std::string place = upper ? "entry (1, 3)" : "entry (3, 1)";
      EXPECT_THAT(message_of<InputError>([&] { m->numeric(space, wrong); }), HasSubstr(place));
      EXPECT_THAT(message_of<InputError>([&] {
                    create_preconditioner<double, TypeParam>(name, options)->numeric(space, wrong);
                  }),
                  HasSubstr("the pattern is not symmetric: " + place));
    }
}

}  // namespace
}  // namespace prekond::testing
