// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The interpolation of classical multigrid, and its levels.
#include "testing/krylov_solves.hpp"
#include "testing/one_thread.hpp"
#include "testing/reference_classical.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>
#include <prekond/precond/amg.hpp>
#include "precond/multigrid/strength.hpp"

#include "precond/multigrid/hierarchy.hpp"

#include <cmath>
#include <numeric>

namespace prekond::testing {
namespace {

using namespace impl::amg;

template <class Space>
class AmgInterpolationTest : public ::testing::Test {};
TYPED_TEST_SUITE(AmgInterpolationTest, TestSpaces, SpaceNames);

// --------------------------------------------------------------------------------------- interpolation

/// P is W with the `most` largest entries of each row, scaled to the row's sum.
void expect_cut(const DenseMatrix& w, const HostMatrix<double>& p, int most) {
  ASSERT_EQ(p.num_rows, std::int64_t(w.size()));
  for (std::int64_t i = 0; i < p.num_rows; ++i) {
    const auto nonzeros = std::count_if(w[i].begin(), w[i].end(), [](double x) { return x != 0; });
    ASSERT_EQ(p.row_ptrs[i + 1] - p.row_ptrs[i], std::min<std::size_t>(nonzeros, most)) << "row " << i;
    const double all = std::accumulate(w[i].begin(), w[i].end(), 0.0);
    double kept = 0, least = 1e300, largest_cut = 0;
    std::vector<char> is_kept(w[i].size(), 0);
    for (std::size_t k = p.row_ptrs[i]; k < p.row_ptrs[i + 1]; ++k) {
      is_kept[p.col_idxs[k]] = 1;
      kept += w[i][p.col_idxs[k]];
      least = std::min(least, std::abs(w[i][p.col_idxs[k]]));
    }
    for (std::size_t j = 0; j < w[i].size(); ++j)
      if (!is_kept[j]) largest_cut = std::max(largest_cut, std::abs(w[i][j]));
    ASSERT_GE(least, largest_cut * (1 - 1e-12)) << "row " << i;
    const double factor = all / kept > 0 && std::isfinite(all / kept) ? all / kept : 1;
    for (std::size_t k = p.row_ptrs[i]; k < p.row_ptrs[i + 1]; ++k) {
      const double expected = factor * w[i][p.col_idxs[k]];
      ASSERT_NEAR(p.values[k], expected, 1e-12 * (1 + std::abs(expected))) << i << ", " << p.col_idxs[k];
    }
  }
}

struct Problem {
  std::string name;
  HostMatrix<double> a;
  int unknowns = 1;
};

std::vector<Problem> problems() {
  std::vector<Problem> all;
  for (const char* name : {"poisson2d:9", "poisson3d:5", "anisotropic2d:9,epsilon=0.01", "tridiagonal:31",
                           "convection_diffusion3d:5", "circuit:9"})
    all.push_back({name, problem(name)});
  all.push_back({"elasticity3d:4", problem("elasticity3d:4"), 3});
  all.push_back({"elasticity3d:4, one unknown", problem("elasticity3d:4")});
  HostMatrix<double> any = random_entries<double>(150, 150, 0.04, 9);
  all.push_back({"random", any});
  for (double& value : any.values) value = -std::abs(value);
  for (std::int64_t i = 0; i < any.num_rows; ++i)  // some diagonals are missing, zero or negative
    for (std::size_t k = any.row_ptrs[i]; k < any.row_ptrs[i + 1]; ++k)
      if (any.col_idxs[k] == i && i % 3 == 0) any.values[k] = 0.8;
  all.push_back({"random, negative", any});
  return all;
}

std::vector<int> unknowns_modulo(std::int64_t n, int unknowns) {
  std::vector<int> result;
  for (int i = 0; unknowns > 1 && i < n; ++i) result.push_back(i % unknowns);
  return result;
}

/// Checks all rows, with every cut. \returns the rows that nothing interpolates
template <class Space>
int check_interpolation(const Problem& of, const CsrGraph<Space>& strong, const CoarseFine<Space>& points) {
  const Space space;
  const auto unknown_of = unknowns_of_rows<Space>(space, of.a.num_rows, of.unknowns);
  const auto modulo = unknowns_modulo(of.a.num_rows, of.unknowns);
  EXPECT_EQ(to_vector(unknown_of), modulo);
  const auto of_a = impl::amg::influences<double, Space>(space, to_device<Space>(of.a), strong, unknown_of);
  const DenseMatrix expected =
      sequential_interpolation(of.a, to_host(strong), to_vector(points.number), modulo);
  for (const int most : {1, 4, 1000}) {
    InterpolationPatterns<Space> patterns;
    const auto p = to_host(interpolation<double, Space>(space, of_a, {.points = points}, most, patterns));
    EXPECT_EQ(p.num_cols, points.count);
    expect_cut(expected, p, most);
  }
  int empty = 0;
  for (const auto& row : expected)
    empty += std::all_of(row.begin(), row.end(), [](double x) { return x == 0; });
  return empty;
}

TYPED_TEST(AmgInterpolationTest, InterpolationEqualsItsDefinition) {
  const TypeParam space;
  int empty = 0;
  for (const Problem& of : problems())
    for (const double theta : {0.0, 0.25, 0.6}) {
      SCOPED_TRACE(of.name + ", theta " + std::to_string(theta));
      const auto unknown_of = unknowns_of_rows<TypeParam>(space, of.a.num_rows, of.unknowns);
      const auto strong = strong_influences<double, TypeParam>(
          space, to_device<TypeParam>(of.a), {.theta = theta, .max_row_sum = 1, .unknown_of = unknown_of});
      const auto points = pmis<TypeParam>(space, strong);
      empty += check_interpolation<TypeParam>(of, strong, points);
      // These have fine rows that are influenced by no coarse one.
      empty += check_interpolation<TypeParam>(of, strong, pmis_of_coarse<TypeParam>(space, strong, points));
    }
  EXPECT_GT(empty, 100);
}

TYPED_TEST(AmgInterpolationTest, ConstantsAreInterpolatedWhereRowsSumToZero) {
  const HostMatrix<double> a = problem("poisson2d:16");
  AmgOptions options;
  options.coarsening = AmgCoarsening::classical;
  for (const int aggressive : {0, 1}) {
    const auto device = to_device<TypeParam>(a);
    auto transfer = find_classical<double, TypeParam>(TypeParam(), device, {}, options, aggressive > 0);
    const auto p = to_host(classical_prolongator<double, TypeParam>(TypeParam(), device, options, transfer));
    int inner = 0;
    for (std::int64_t i = 0; i < a.num_rows; ++i) {
      double sum = 0;
      for (std::size_t k = p.row_ptrs[i]; k < p.row_ptrs[i + 1]; ++k) sum += p.values[k];
      const int x = int(i) % 16, y = int(i) / 16;
      if (aggressive == 0 && x > 1 && x < 14 && y > 1 && y < 14) {
        EXPECT_NEAR(sum, 1, 1e-12) << i;
        ++inner;
      }
      EXPECT_LE(sum, 1 + 1e-12);
      EXPECT_GT(sum, 0);
    }
    EXPECT_EQ(inner, aggressive ? 0 : 144);
  }
}

TYPED_TEST(AmgInterpolationTest, EqualEntriesAreKeptFromTheFirst) {
  HostMatrix<double> w =
      sparse<double>({{1, 2, 2, 2, 1}, {-3, 1, 0, 3, 3}, {1, -1, 0, 0, 0}, {8, 8, 0, 0, 5}});
  w.values[w.row_ptrs[3]] = w.values[w.row_ptrs[3] + 1] = 0;  // stored zeros are cut
  CsrGraph<TypeParam> pattern;
  const auto p = to_host(cut_rows<double, TypeParam>(TypeParam(), to_device<TypeParam>(w), 2, pattern));
  EXPECT_EQ(pattern_of(p), (HostGraph{{1, 2}, {0, 3}, {0, 1}, {4}}));
  EXPECT_EQ(p.values,
            (std::vector<double>{4, 4, -3, 3, 1, -1, 5}));  // no factor where what is kept sums to 0
}

TYPED_TEST(AmgInterpolationTest, OtherValuesOnThePatternsThatAreKept) {
  const TypeParam space;
  const HostMatrix<double> a = problem("poisson3d:6");
  HostMatrix<double> other = a;
  for (std::size_t k = 0; k < other.nnz(); ++k) other.values[k] *= 1 + 0.3 * std::sin(double(k));
  AmgOptions options;
  options.coarsening = AmgCoarsening::classical;
  auto transfer = find_classical<double, TypeParam>(space, to_device<TypeParam>(a), {}, options, false);
  const auto first =
      to_host(classical_prolongator<double, TypeParam>(space, to_device<TypeParam>(a), options, transfer));
  const auto second = to_host(
      classical_prolongator<double, TypeParam>(space, to_device<TypeParam>(other), options, transfer));
  EXPECT_EQ(pattern_of(first), pattern_of(second));
  const DenseMatrix w =
      sequential_interpolation(other, to_host(transfer.strong), to_vector(transfer.points.number));
  for (std::int64_t i = 0; i < second.num_rows; ++i) {
    double all = std::accumulate(w[i].begin(), w[i].end(), 0.0), kept = 0;
    for (std::size_t k = second.row_ptrs[i]; k < second.row_ptrs[i + 1]; ++k)
      kept += w[i][second.col_idxs[k]];
    for (std::size_t k = second.row_ptrs[i]; k < second.row_ptrs[i + 1]; ++k)
      ASSERT_NEAR(second.values[k], all / kept * w[i][second.col_idxs[k]], 1e-12) << i;
  }
}

TYPED_TEST(AmgInterpolationTest, AggressiveInterpolationIsDoneInTwoSteps) {
  const TypeParam space;
  for (const char* name : {"poisson3d:8", "anisotropic2d:15,epsilon=0.3", "circuit:11"}) {
    SCOPED_TRACE(name);
    const auto a = to_device<TypeParam>(problem(name));
    AmgOptions options;
    options.coarsening = AmgCoarsening::classical;
    auto transfer = find_classical<double, TypeParam>(space, a, {}, options, true);
    const auto p = to_host(classical_prolongator<double, TypeParam>(space, a, options, transfer));
    const auto of_a = impl::amg::influences<double, TypeParam>(space, a, transfer.strong, {});
    InterpolationPatterns<TypeParam> one, two;
    const auto to_first = dense(to_host(interpolation<double, TypeParam>(
        space, of_a, {.points = transfer.first}, options.interpolation_limit(), one)));
    const auto to_points = dense(to_host(interpolation<double, TypeParam>(
        space, of_a, {.points = transfer.points}, options.interpolation_limit(), two)));
    DenseMatrix second;
    for (const int i : to_vector(transfer.first.coarse)) second.push_back(to_points[i]);
    ASSERT_LT(transfer.points.count, transfer.first.count);
    expect_cut(dense_product(to_first, second, false), p, options.interpolation_limit());
  }
}

// -------------------------------------------------------------------------------- the hierarchy

AmgOptions classical_options(int aggressive = 0, int unknowns = 0) {
  AmgOptions options;
  options.coarsening = AmgCoarsening::classical;
  options.coarse_size = 8;
  options.aggressive_levels = aggressive;
  options.unknowns_per_node = unknowns;
  return options;
}

TYPED_TEST(AmgInterpolationTest, CoarseMatricesAreGalerkinProducts) {
  for (const auto& [a, unknowns] :
       {std::pair(problem("poisson2d:20"), 1), std::pair(problem("elasticity3d:5"), 3),
        std::pair(problem("convection_diffusion3d:7"), 1)})
    for (const int aggressive : {0, 1}) {
      SCOPED_TRACE(a.num_rows);
      const auto device = to_device<TypeParam>(a);
      Report report;
      const Hierarchy<double, TypeParam> found(TypeParam(), classical_options(aggressive, unknowns),
                                               MatrixSource<double, TypeParam>(device), nullptr, report);
      ASSERT_GT(found.levels().size(), 2u);
      std::vector<int> unknown_of = unknowns_modulo(a.num_rows, unknowns);
      for (std::size_t l = 0; l + 1 < found.levels().size(); ++l) {
        const auto& transfer = found.levels()[l].transfer;
        EXPECT_EQ(transfer.classical.is_aggressive(), int(l) < aggressive);
        const DenseMatrix fine = dense(to_host(found.levels()[l].matrix));
        const HostMatrix<double> p = to_host(transfer.prolongator);
        const DenseMatrix expected = dense_product(dense(p), dense_product(fine, dense(p), false), true);
        const HostMatrix<double> coarse = to_host(found.levels()[l + 1].matrix);
        for (std::size_t i = 0; i < expected.size(); ++i)
          for (std::size_t j = 0; j < expected.size(); ++j)
            ASSERT_NEAR(coarse(i, j), expected[i][j], 1e-12 * fine[0][0]) << l << ": " << i << ", " << j;
        const auto points = to_vector(transfer.classical.points.coarse);
        std::vector<int> of_coarse;
        for (std::size_t c = 0; c < points.size(); ++c) {
          ASSERT_EQ(p(points[c], c), 1);
          if (unknowns > 1) of_coarse.push_back(unknown_of[points[c]]);
        }
        for (std::int64_t i = 0; unknowns > 1 && i < p.num_rows; ++i)
          for (std::size_t k = p.row_ptrs[i]; k < p.row_ptrs[i + 1]; ++k)
            ASSERT_EQ(unknown_of[i], of_coarse[p.col_idxs[k]]);
        unknown_of = of_coarse;
      }
    }
}

TYPED_TEST(AmgInterpolationTest, TheSameBitsForAnyNumberOfThreads) {
  if constexpr (is_host_space<TypeParam>)
    for (const auto& [a, unknowns] :
         {std::pair(problem("elasticity3d:8"), 3), std::pair(problem("circuit:40"), 1)}) {
      const auto device = to_device<TypeParam>(a);
      const AmgOptions options = classical_options(1, unknowns);
      Report report;
      const Hierarchy<double, TypeParam> all(TypeParam(), options, device, nullptr, report);
      const Hierarchy<double, TypeParam> one(of_one_thread<TypeParam>(), options, device, nullptr, report);
      ASSERT_EQ(all.levels().size(), one.levels().size());
      for (std::size_t l = 0; l < all.levels().size(); ++l) {
        EXPECT_TRUE(to_host(all.levels()[l].matrix) == to_host(one.levels()[l].matrix)) << l;
        EXPECT_TRUE(to_host(all.levels()[l].transfer.prolongator) ==
                    to_host(one.levels()[l].transfer.prolongator))
            << l;
      }
    }
}

}  // namespace
}  // namespace prekond::testing
