// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Inputs of multigrid: awkward matrices, systems whose nodes nobody described, free bodies.
#include "testing/amg_cases.hpp"
#include "testing/one_thread.hpp"
#include "testing/spaces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/core/report.hpp>
#include <prekond/precond/amg.hpp>

#include <cmath>
#include <map>

namespace prekond::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

template <class Space>
class AmgInputsTest : public ::testing::Test {};
TYPED_TEST_SUITE(AmgInputsTest, TestSpaces, SpaceNames);

OptionValue number(std::int64_t value) {
  return OptionValue(value);
}
OptionValue text(const char* value) {
  return OptionValue(std::string(value));
}

template <class Space>
std::unique_ptr<MatrixPreconditioner<double, Space>> amg_of(const HostMatrix<double>& a,
                                                            const OptionMap& options) {
  auto m = create_preconditioner<double, Space>("amg", options);
  m->numeric(Space(), to_device<Space>(a));
  return m;
}

template <class Space>
std::int64_t iterations_of(const Variant& solver, const MatrixPreconditioner<double, Space>& m,
                           const HostMatrix<double>& a, const std::vector<double>& b) {
  const auto solved = solve_with<double, Space>(solver, operator_of<Space>(a), &m, b, stop_at(1e-8, 300));
  EXPECT_EQ(solved.result.reason, StopReason::rtol) << to_string(solved.result.reason);
  return solved.result.iterations;
}

/// Pure Neumann problems: complete graphs with weights from 1e-4 to 1e4, several of them side by side.
HostMatrix<double> complete_graphs(int graphs, int nodes, unsigned seed) {
  const int n = graphs * nodes;
  std::vector<std::vector<double>> a(n, std::vector<double>(n, 0.0));
  std::mt19937 random(seed);
  for (int g = 0; g < graphs; ++g)
    for (int i = 0; i < nodes; ++i)
      for (int j = 0; j < i; ++j) {
        const double weight = std::pow(10.0, 8 * (double(random()) / 0x1p32) - 4);
        const int p = g * nodes + i, q = g * nodes + j;
        a[p][q] = a[q][p] = -weight;
        a[p][p] += weight;
        a[q][q] += weight;
      }
  return sparse(a);
}

/// The Laplacian of a star, its middle row 0, with 1e-3 added to the diagonal.
HostMatrix<double> star(int leaves) {
  std::vector<std::vector<double>> a(leaves + 1, std::vector<double>(leaves + 1, 0.0));
  a[0][0] = leaves + 1e-3;
  for (int i = 1; i <= leaves; ++i) {
    a[0][i] = a[i][0] = -1;
    a[i][i] = 1 + 1e-3;
  }
  return sparse(a);
}

TYPED_TEST(AmgInputsTest, AllNodesInOneAggregate) {
  for (const char* coarsening : {"aggregation", "classical"})
    for (const int leaves : {1, 2, 40, 700}) {
      SCOPED_TRACE(std::string(coarsening) + ", " + std::to_string(leaves));
      const HostMatrix<double> a = star(leaves);
      const auto m = amg_of<TypeParam>(
          a, {{"coarse_size", number(1)}, {"coarsening", text(coarsening)}, {"theta", OptionValue(0.0)}});
      ASSERT_EQ(m->report().levels.size(), 2u);
      EXPECT_EQ(m->report().levels[1].num_rows, 1);
      EXPECT_LE(iterations_of<TypeParam>({"cg", {}}, *m, a, random_vector(a.num_rows)), 12);
    }
}

/// Rows that are zero, stored or not, and rows without connections.
HostMatrix<double> with_zero_rows(HostMatrix<double> a, bool stored) {
  HostMatrix<double> result;
  result.num_rows = result.num_cols = a.num_rows;
  const auto is_zero = [](std::int64_t i) { return i % 17 == 5; };
  const auto is_alone = [](std::int64_t i) { return i % 17 == 11; };
  for (std::int64_t i = 0; i < a.num_rows; ++i) {
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
      const int j = a.col_idxs[k];
      const bool zero = is_zero(i) || is_zero(j) || (i != j && (is_alone(i) || is_alone(j)));
      if (zero && !stored) continue;
      result.col_idxs.push_back(j);
      result.values.push_back(zero ? 0 : a.values[k]);
    }
    result.row_ptrs.push_back(result.nnz());
  }
  return result;
}

TYPED_TEST(AmgInputsTest, ZeroRowsWithSeveralLevels) {
  for (const char* coarsening : {"aggregation", "classical"})
    for (const bool stored : {true, false})
      for (const char* smoother : {"chebyshev", "jacobi"}) {
        SCOPED_TRACE(std::string(coarsening) + ", " + smoother + (stored ? ", stored" : ""));
        const HostMatrix<double> a = with_zero_rows(problem("poisson2d:30"), stored);
        const auto m = create_preconditioner<double, TypeParam>(
            "amg",
            {{"coarse_size", number(10)}, {"coarsening", text(coarsening)}, {"smoother", text(smoother)}});
        m->numeric(TypeParam(), to_device<TypeParam>(a));
        EXPECT_GE(m->report().levels.size(), 3u);
        std::vector<double> solution = random_vector(a.num_rows);
        for (std::int64_t i = 5; i < a.num_rows; i += 17) solution[i] = 0;
        EXPECT_LE(iterations_of<TypeParam>({"cg", {}}, *m, a, multiply(a, solution)), 30);
      }
}

TYPED_TEST(AmgInputsTest, ASmootherThatRefusesZeroRowsNamesTheFirst) {
  const auto a = to_device<TypeParam>(with_zero_rows(problem("poisson2d:30"), true));
  for (const char* smoother : {"fsai", "adaptive_fsai"}) {
    const auto m = create_preconditioner<double, TypeParam>("amg", {{"smoother", text(smoother)}});
    EXPECT_THAT(message_of<InputError>([&] { m->numeric(TypeParam(), a); }),
                HasSubstr(std::string(smoother) + ": the diagonal entry of row"));
  }
}

TYPED_TEST(AmgInputsTest, VAndWCyclesConvergeWithoutASolver) {
  const HostMatrix<double> a = problem("poisson2d:60");
  for (const char* coarsening : {"aggregation", "classical"})
    for (const char* smoother : {"chebyshev", "jacobi"}) {
      std::map<std::string, std::int64_t> found;
      for (const char* cycle : {"v", "w"}) {
        SCOPED_TRACE(std::string(coarsening) + ", " + cycle + ", " + smoother);
        const auto m = amg_of<TypeParam>(a, {{"coarse_size", number(10)},
                                             {"coarsening", text(coarsening)},
                                             {"cycle", text(cycle)},
                                             {"smoother", text(smoother)}});
        EXPECT_GE(m->report().levels.size(), 4u);
        found[cycle] = iterations_of<TypeParam>({"richardson", {}}, *m, a, random_vector(a.num_rows));
        EXPECT_LE(found[cycle], 60);
      }
      EXPECT_LE(found["w"], found["v"]) << coarsening << ", " << smoother;
    }
}

TYPED_TEST(AmgInputsTest, SmoothersHaveTheirOwnOptions) {
  const HostMatrix<double> a = problem("poisson3d:12");
  const OptionMap options = {{"smoother", text("adaptive_fsai")},
                             {"smoother.max_steps", number(3)},
                             {"smoother.step_size", number(4)}};
  const auto strong = amg_of<TypeParam>(a, options);
  EXPECT_LE(iterations_of<TypeParam>({"cg", {}}, *strong, a, random_vector(a.num_rows)), 15);
  OptionMap one_step = options;
  one_step["smoother.max_steps"] = number(1);
  const auto weak = amg_of<TypeParam>(a, one_step);
  EXPECT_EQ(strong->report().levels[0].method, "adaptive_fsai");
  EXPECT_GT(strong->report().levels[0].method_nnz, weak->report().levels[0].method_nnz);
}

TYPED_TEST(AmgInputsTest, UnknownsOfANodeAreFoundInThePattern) {
  const HostMatrix<double> a = problem("elasticity3d:8,contrast=1");
  const auto b = random_vector(a.num_rows);
  for (const char* coarsening : {"aggregation", "classical"}) {
    SCOPED_TRACE(coarsening);
    const OptionMap options = {{"coarsening", text(coarsening)}};
    const auto with_unknowns = [&](std::int64_t unknowns) {
      OptionMap all = options;
      all["unknowns_per_node"] = number(unknowns);
      return amg_of<TypeParam>(a, all);
    };
    const auto found = amg_of<TypeParam>(a, options), three = with_unknowns(3), one = with_unknowns(1);
    EXPECT_EQ(applied_to<TypeParam>(*found, b), applied_to<TypeParam>(*three, b));
    EXPECT_NE(applied_to<TypeParam>(*found, b), applied_to<TypeParam>(*one, b));
    EXPECT_LT(iterations_of<TypeParam>({"cg", {}}, *found, a, b),
              iterations_of<TypeParam>({"cg", {}}, *one, a, b));
    const auto says_so = Contains(HasSubstr("nodes have 3 unknowns each"));
    EXPECT_THAT(found->report().notes, says_so);
    EXPECT_THAT(three->report().notes, Not(says_so));
    found->numeric(TypeParam(), to_device<TypeParam>(a));
    EXPECT_TRUE(found->report().pattern_kept);
    EXPECT_THAT(found->report().notes, says_so);
    EXPECT_EQ(applied_to<TypeParam>(*found, b), applied_to<TypeParam>(*three, b));
  }
}

TYPED_TEST(AmgInputsTest, FoundUnknownsStayWithThePattern) {
  // The user says what was found, and then nothing again.
  const HostMatrix<double> a = problem("elasticity3d:8,contrast=1");
  const auto device = to_device<TypeParam>(a);
  const auto m = amg_of<TypeParam>(a, {{"smoother", text("fsai")}});
  const auto b = random_vector(a.num_rows);
  const auto expected = applied_to<TypeParam>(*m, b);
  MatrixSource<double, TypeParam> said(device);
  said.set_unknowns_per_node(3);
  m->numeric(TypeParam(), said);
  EXPECT_THAT(m->report().notes, Not(Contains(HasSubstr("unknowns each"))));
  EXPECT_EQ(applied_to<TypeParam>(*m, b), expected);
  m->numeric(TypeParam(), device);
  EXPECT_TRUE(m->report().pattern_kept);
  EXPECT_THAT(m->report().notes, Contains(HasSubstr("nodes have 3 unknowns each")));
  EXPECT_EQ(applied_to<TypeParam>(*m, b), expected);
}

TYPED_TEST(AmgInputsTest, TooManyVectorsAreRefused) {
  const HostMatrix<double> a = problem("poisson2d:30");
  const auto device = to_device<TypeParam>(a);
  MatrixSource<double, TypeParam> source(device);
  std::vector<std::vector<double>> columns;
  for (int c = 0; c < 33; ++c) columns.push_back(random_vector(a.num_rows, 40 + c));
  const auto vectors = to_columns<TypeParam>(columns);
  source.set_near_null_space(vectors);
  const auto m = create_preconditioner<double, TypeParam>("amg", {{"max_levels", number(2)}});
  EXPECT_THAT(message_of<InputError>([&] { m->numeric(TypeParam(), source); }),
              HasSubstr("the near null space has 33 vectors; there may be 32"));
}

TYPED_TEST(AmgInputsTest, UnknownsFromTheUserAreNotSearched) {
  const HostMatrix<double> a = problem("elasticity3d:8,contrast=1");
  const auto device = to_device<TypeParam>(a);
  MatrixSource<double, TypeParam> source(device);
  source.set_unknowns_per_node(3);
  const auto m = create_preconditioner<double, TypeParam>("amg", {});
  m->numeric(TypeParam(), source);
  EXPECT_THAT(m->report().notes, Not(Contains(HasSubstr("unknowns each"))));
}

/// Springs between all nodes that are near each other, held by nothing: K_IJ = -e e^T, e the direction.
HostMatrix<double> free_body(const std::vector<std::vector<double>>& coordinates) {
  const std::size_t n = coordinates.size(), d = coordinates[0].size();
  std::vector<std::vector<double>> a(n * d, std::vector<double>(n * d, 0.0));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + 1; j < n; ++j) {
      double square = 0;
      std::vector<double> e(d);
      for (std::size_t c = 0; c < d; ++c) e[c] = coordinates[j][c] - coordinates[i][c];
      for (const double part : e) square += part * part;
      for (std::size_t r = 0; r < d; ++r)
        for (std::size_t c = 0; c < d; ++c) {
          const double entry = e[r] * e[c] / square;
          a[i * d + r][i * d + c] += entry;
          a[j * d + r][j * d + c] += entry;
          a[i * d + r][j * d + c] -= entry;
          a[j * d + r][i * d + c] -= entry;
        }
    }
  return sparse(a);
}

TYPED_TEST(AmgInputsTest, RigidBodyModesDeformNothing) {
  for (const int d : {2, 3}) {
    SCOPED_TRACE(d);
    std::vector<std::vector<double>> coordinates, columns;
    for (int c = 0; c < d; ++c) {
      columns.push_back(random_vector(12, 30 + c));
      for (double& x : columns.back()) x = 100 + 7 * x;  // far from the origin
    }
    for (int i = 0; i < 12; ++i) {
      coordinates.emplace_back();
      for (int c = 0; c < d; ++c) coordinates[i].push_back(columns[c][i]);
    }
    const auto modes = rigid_body_modes<double, TypeParam>(
        TypeParam(), MultiVectorView<const double, TypeParam>(to_columns<TypeParam>(columns)));
    const int count = d * (d + 1) / 2;
    ASSERT_EQ(static_cast<int>(modes.extent(1)), count);
    ASSERT_EQ(static_cast<int>(modes.extent(0)), 12 * d);
    const HostMatrix<double> a = free_body(coordinates);
    for (int mode = 0; mode < count; ++mode) {
      const std::vector<double> v = column_of(modes, mode);
      for (const double value : multiply(a, v)) ASSERT_NEAR(value, 0, 1e-12) << "mode " << mode;
      double largest = 0;
      for (const double value : v) largest = std::max(largest, std::abs(value));
      EXPECT_LE(largest, 1);
      EXPECT_GE(largest, 0.3) << "columns of one size";
      if (mode < d) continue;
      double others = 0;  // a rotation, and not a sum of the modes before
      for (int before = 0; before < d; ++before) {
        const std::vector<double> u = column_of(modes, before);
        double along = 0;
        for (std::size_t i = 0; i < u.size(); ++i) along += u[i] * v[i] / 12;
        others += 12 * along * along;
      }
      double all = 0;
      for (const double value : v) all += value * value;
      EXPECT_LT(others, 0.9 * all);
    }
    const MultiVector<double, TypeParam> one("coordinates", 5, 1);
    EXPECT_THROW((rigid_body_modes<double, TypeParam>(TypeParam(), one)), InputError);
  }
}

TYPED_TEST(AmgInputsTest, RigidBodyModesOfNodesAtOnePointAreTranslations) {
  const MultiVector<double, TypeParam> place("coordinates", 4, 3);
  Kokkos::deep_copy(place, 2.5);
  const auto modes = rigid_body_modes<double, TypeParam>(TypeParam(), place);
  for (int mode = 0; mode < 6; ++mode) {
    const std::vector<double> v = column_of(modes, mode);
    for (int i = 0; i < 12; ++i) EXPECT_EQ(v[i], mode < 3 && i % 3 == mode ? 1.0 : 0.0);
  }
}

template <class Space>
Space of_threads(int threads) {
#ifdef KOKKOS_ENABLE_OPENMP
  if constexpr (std::is_same_v<Space, Kokkos::OpenMP>) return Space(threads);
#endif
  return Space();
}

TYPED_TEST(AmgInputsTest, AnApplicationHasTheSameBitsForAnyNumberOfThreads) {
  if constexpr (is_host_space<TypeParam>) {
    struct Case {
      const char* matrix;
      OptionMap options;
    };
    const OptionMap small = {{"coarse_size", number(20)}};
    for (const Case& test :
         {Case{"elasticity3d:7", {{"smoother", text("fsai")}}},
          Case{"elasticity3d:7", {{"smoother", text("adaptive_fsai")}, {"max_interpolation", number(2)}}},
          Case{"circuit:40", {{"smoother", text("multicolor_gs")}}},
          Case{"poisson3d:14", {{"smoother", text("multicolor_ssor")}}},
          Case{"poisson3d:14", {{"cycle", text("k")}}},
          Case{"anisotropic2d:40,epsilon=0.01",
               {{"coarsening", text("classical")}, {"smoother", text("isai")}}}}) {
      SCOPED_TRACE(test.matrix);
      const HostMatrix<double> host = problem(test.matrix);
      const auto a = to_device<TypeParam>(host);
      const auto x = to_columns<TypeParam>({random_vector(host.num_rows)});
      OptionMap options = small;
      for (const auto& [key, value] : test.options) options[key] = value;
      std::vector<double> expected;
      for (int threads = 1; threads <= std::min(3, TypeParam().concurrency()); ++threads) {
        const TypeParam space = of_threads<TypeParam>(threads);
        const auto m = create_preconditioner<double, TypeParam>("amg", options);
        m->numeric(space, a);
        EXPECT_GE(m->report().levels.size(), 3u);
        const MultiVector<double, TypeParam> y("y", host.num_rows, 1);
        m->apply(space, x, y, *m->make_workspace(space, 1));
        space.fence();
        if (threads == 1) expected = column_of(y, 0);
        EXPECT_EQ(column_of(y, 0), expected) << threads << " threads";
      }
    }
  }
}

TEST(Complexity, IsOfAllLevelsOverTheFinest) {
  std::vector<LevelReport> levels(3);
  EXPECT_EQ(operator_complexity({}), 0);
  EXPECT_EQ(grid_complexity({}), 0);
  EXPECT_EQ(operator_complexity(levels), 0) << "without entries";
  levels[0].num_rows = 100;
  levels[0].nnz = 400;
  levels[1].num_rows = 20;
  levels[1].nnz = 100;
  levels[2].num_rows = 5;
  levels[2].nnz = 20;
  EXPECT_EQ(operator_complexity(levels), 1.3);
  EXPECT_EQ(grid_complexity(levels), 1.25);
}

/// Parts of the matrix shrink to a row each, whose diagonal entry is zero but for rounding errors.
TYPED_TEST(AmgInputsTest, SingularPartsThatShrinkToOneRow) {
  for (const char* coarsening : {"aggregation", "classical"})
    for (const int graphs : {1, 2, 3})
      for (unsigned seed = 1; seed <= 12; ++seed) {
        SCOPED_TRACE(std::string(coarsening) + ", graphs " + std::to_string(graphs) + ", seed " +
                     std::to_string(seed));
        const int nodes = 10 + 3 * static_cast<int>(seed);
        const HostMatrix<double> a = complete_graphs(graphs, nodes, seed);
        const auto m = amg_of<TypeParam>(a, {{"coarse_size", number(graphs == 1 || seed % 2 == 0 ? 1 : 4)},
                                             {"coarsening", text(coarsening)}});
        // b in the range of A: the differences of x times the weights.
        const auto x = random_vector(a.num_rows, seed);
        std::vector<double> b(a.num_rows);
        for (std::int64_t i = 0; i < a.num_rows; ++i)
          for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
            b[i] += a.values[k] * (x[a.col_idxs[k]] - x[i]);
        const auto solved = solve_with<double, TypeParam>({"cg", {}}, operator_of<TypeParam>(a), m.get(), b,
                                                          stop_at(1e-7, 200));
        EXPECT_EQ(solved.result.reason, StopReason::rtol)
            << to_string(solved.result.reason) << " " << solved.result.true_relative_residual;
      }
}

}  // namespace
}  // namespace prekond::testing
