// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Multigrid by classical coarsening, the whole method.
#include "testing/krylov_solves.hpp"
#include "testing/spaces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/precond/amg.hpp>

#include <string>

namespace prekond::testing {
namespace {

using ::testing::HasSubstr;

template <class Space>
class AmgClassicalTest : public ::testing::Test {};
TYPED_TEST_SUITE(AmgClassicalTest, TestSpaces, SpaceNames);

template <class Scalar, class Space>
std::unique_ptr<MatrixPreconditioner<Scalar, Space>> classical(OptionMap options = {}) {
  options["coarsening"] = std::string("classical");
  return create_preconditioner<Scalar, Space>("amg", options);
}

template <class Space>
std::int64_t iterations_with(const MatrixPreconditioner<double, Space>& m, const HostMatrix<double>& a,
                             const std::string& solver = "cg") {
  const auto solved = solve_with<double, Space>({solver, {}}, operator_of<Space>(a), &m,
                                                multiply(a, random_vector(a.num_rows)), stop_at(1e-8, 300));
  EXPECT_EQ(solved.result.reason, StopReason::rtol) << to_string(solved.result.reason);
  return solved.result.iterations;
}
template <class Space>
std::int64_t iterations(const HostMatrix<double>& a, const OptionMap& options = {},
                        const std::string& solver = "cg") {
  const auto m = classical<double, Space>(options);
  m->numeric(Space(), to_device<Space>(a));
  return iterations_with<Space>(*m, a, solver);
}

/// -div(k grad u) on n^2 nodes, k = 1 or `jump`, in squares of 5 nodes.
HostMatrix<double> with_jumps(int n, double jump) {
  const auto k = [&](int x, int y) { return (x / 5 + y / 5) % 2 == 0 ? 1.0 : jump; };
  HostMatrix<double> a = problem("poisson2d:" + std::to_string(n));
  for (int i = 0; i < n * n; ++i) {
    double sum = 0;
    std::size_t diagonal = 0;
    for (std::size_t e = a.row_ptrs[i]; e < a.row_ptrs[i + 1]; ++e) {
      const int j = a.col_idxs[e];
      if (j == i) diagonal = e;
      const double one = k(i % n, i / n), other = k(j % n, j / n);
      if (j != i) sum -= a.values[e] = -2 * one * other / (one + other);
    }
    const int inside = int(a.row_ptrs[i + 1] - a.row_ptrs[i]) - 1;
    a.values[diagonal] = sum + (4 - inside) * k(i % n, i / n);
  }
  return a;
}

TYPED_TEST(AmgClassicalTest, IterationsHardlyGrowWithTheProblem) {
  const auto few = iterations<TypeParam>(problem("poisson2d:25")),
             many = iterations<TypeParam>(problem("poisson2d:100"));
  EXPECT_LE(few, 12);
  EXPECT_LE(many, 1.5 * double(few));
  EXPECT_LE(iterations<TypeParam>(problem("poisson3d:24")), 12);
  EXPECT_LE(iterations<TypeParam>(problem("anisotropic2d:60,epsilon=0.001")), 15);
  EXPECT_LE(iterations<TypeParam>(with_jumps(60, 1e6)), 15);
  EXPECT_LE(iterations<TypeParam>(problem("circuit:50")), 40);
}

TYPED_TEST(AmgClassicalTest, AggressiveLevelsHaveFarFewerRows) {
  const HostMatrix<double> a = problem("poisson3d:24");
  const auto complexity = [&](std::int64_t aggressive) {
    const auto m = classical<double, TypeParam>({{"aggressive_levels", aggressive}});
    m->numeric(TypeParam(), to_device<TypeParam>(a));
    EXPECT_LE(iterations_with<TypeParam>(*m, a), 20);
    double entries = 0;
    for (const LevelReport& level : m->report().levels) entries += double(level.nnz);
    return entries / double(a.nnz());
  };
  EXPECT_GT(complexity(0), 2.0);
  EXPECT_LT(complexity(1), 1.5);
}

TYPED_TEST(AmgClassicalTest, MaxInterpolationBoundsTheRowsOfProlongators) {
  const HostMatrix<double> a = problem("poisson3d:12");
  std::int64_t before = 0;
  for (const std::int64_t most : {1, 2, 4, 100}) {
    const auto m = classical<double, TypeParam>({{"max_interpolation", most}});
    m->numeric(TypeParam(), to_device<TypeParam>(a));
    const std::int64_t entries = m->report().levels.at(0).prolongator_nnz;
    EXPECT_LE(entries, most * a.num_rows);
    EXPECT_GT(entries, before);
    before = entries;
  }
}

TYPED_TEST(AmgClassicalTest, NonsymmetricMatrices) {
  const HostMatrix<double> a = problem("convection_diffusion3d:12");
  const auto m = classical<double, TypeParam>({{"smoother", std::string("multicolor_gs")}});
  EXPECT_FALSE(m->properties().needs_spd);
  m->numeric(TypeParam(), to_device<TypeParam>(a));
  EXPECT_LE(iterations_with<TypeParam>(*m, a, "fgmres"), 15);
}

TYPED_TEST(AmgClassicalTest, UnknownsOfSystemsAreCoarsenedSeparately) {
  const HostMatrix<double> a = problem("elasticity3d:8,contrast=1");
  const auto apart = iterations<TypeParam>(a, {{"unknowns_per_node", std::int64_t(3)}});
  EXPECT_LE(apart, 60);
  EXPECT_LE(apart, iterations<TypeParam>(a));
}

TYPED_TEST(AmgClassicalTest, NumericAgainKeepsCoarseRowsAndPatterns) {
  const TypeParam space;
  const HostMatrix<double> a = problem("anisotropic2d:20,epsilon=0.1");
  HostMatrix<double> other = a;
  for (double& value : other.values) value *= 2;
  for (const char* reuse : {"pattern", "none"})
    for (const std::int64_t aggressive : {0, 1}) {
      const OptionMap options = {{"reuse", std::string(reuse)},
                                 {"coarse_size", std::int64_t(10)},
                                 {"aggressive_levels", aggressive}};
      const auto m = classical<double, TypeParam>(options);
      m->numeric(space, to_device<TypeParam>(a));
      m->numeric(space, to_device<TypeParam>(other));
      EXPECT_EQ(m->report().pattern_kept, std::string(reuse) == "pattern");
      const auto anew = classical<double, TypeParam>(options);
      anew->numeric(space, to_device<TypeParam>(other));
      ASSERT_GT(anew->report().levels.size(), 2u);
      const auto solution = [&](const auto& method) {
        return solve_with<double, TypeParam>({"cg", {}}, operator_of<TypeParam>(other), method.get(),
                                             random_vector(a.num_rows), stop_at(1e-8, 100))
            .x;
      };
      EXPECT_EQ(solution(m), solution(anew));
    }
}

TYPED_TEST(AmgClassicalTest, SmallDiagonalAndSingularMatricesAreSolved) {
  HostMatrix<double> decoupled = problem("poisson2d:30");  // rows without connections, one of them zero
  for (std::int64_t i = 0; i < decoupled.num_rows; ++i)
    for (std::size_t k = decoupled.row_ptrs[i]; k < decoupled.row_ptrs[i + 1]; ++k)
      if (decoupled.col_idxs[k] != i && (i % 7 == 3 || decoupled.col_idxs[k] % 7 == 3))
        decoupled.values[k] = 0;
      else if (i == 17)
        decoupled.values[k] = 0;
  for (const HostMatrix<double>& a :
       {problem("tridiagonal:1"), problem("tridiagonal:2"), problem("tridiagonal:200"),
        diagonal_matrix(std::vector<double>(1000, 3.0)), diagonal_matrix({2.0}), decoupled}) {
    SCOPED_TRACE(a.num_rows);
    EXPECT_LE(iterations<TypeParam>(a), a.num_rows == 900 ? 10 : 2);
  }
  HostMatrix<double> ring = problem("tridiagonal:900");  // with the constants for its null space
  ring.values.front() = ring.values.back() = 1;
  EXPECT_LE(iterations<TypeParam>(ring), 20);
}

TYPED_TEST(AmgClassicalTest, AnUnreadNearNullSpaceIsNoted) {
  const auto a = to_device<TypeParam>(problem("poisson2d:20"));
  MatrixSource<double, TypeParam> source(a);
  const auto vectors = to_columns<TypeParam>({std::vector<double>(a.num_rows, 1.0)});
  source.set_near_null_space(vectors);
  const auto m = classical<double, TypeParam>();
  m->numeric(TypeParam(), source);
  ASSERT_EQ(m->report().notes.size(), 1u);
  EXPECT_THAT(m->report().notes[0], HasSubstr("does not read the near null space"));
}

TYPED_TEST(AmgClassicalTest, SinglePrecision) {
  const HostMatrix<double> a = problem("poisson2d:60");
  HostMatrix<float> single;
  single.num_rows = single.num_cols = a.num_rows;
  single.row_ptrs = a.row_ptrs;
  single.col_idxs = a.col_idxs;
  single.values.assign(a.values.begin(), a.values.end());
  const auto m = classical<float, TypeParam>();
  m->numeric(TypeParam(), to_device<TypeParam>(single));
  const std::vector<float> b(a.num_rows, 1.0f);
  const auto solved =
      solve_with<float, TypeParam>({"cg", {}}, CsrOperator<float, TypeParam>(to_device<TypeParam>(single)),
                                   m.get(), b, stop_at(1e-4, 100));
  EXPECT_EQ(solved.result.reason, StopReason::rtol);
  EXPECT_LE(solved.result.iterations, 8);
}

TYPED_TEST(AmgClassicalTest, DefaultsOfThetaFollowTheCoarsening) {
  AmgOptions options;
  EXPECT_EQ(options.strong_limit(true), 0.02);
  EXPECT_EQ(options.strong_limit(false), 0.05);
  options.coarsening = AmgCoarsening::classical;
  EXPECT_EQ(options.strong_limit(false), 0.25);
  options.theta = 0.5;
  EXPECT_EQ(options.strong_limit(false), 0.5);
  AmgOptions of_systems;
  of_systems.theta = 0.3;
  EXPECT_EQ(of_systems.strong_limit(true), 0.3) << "what is given is meant for both";
  EXPECT_EQ(of_systems.strong_limit(false), 0.3);
  // Strong influences decide which rows are coarse.
  const HostMatrix<double> a = problem("anisotropic2d:30,epsilon=0.3");
  const auto rows = [&](const OptionMap& more) {
    const auto m = classical<double, TypeParam>(more);
    m->numeric(TypeParam(), to_device<TypeParam>(a));
    return m->report().levels.at(1).num_rows;
  };
  EXPECT_EQ(rows({}), rows({{"theta", 0.25}}));
  EXPECT_GT(rows({{"theta", 0.5}}), rows({}));
}

}  // namespace
}  // namespace prekond::testing
