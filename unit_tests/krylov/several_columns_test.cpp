// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// Several right-hand sides at once, each as in a solve of its own.
#include "testing/krylov_solves.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace prekond::testing {
namespace {

using Columns = std::vector<std::vector<double>>;

struct SolvedColumns {
  std::vector<SolveResult> results;
  Columns x;
  Columns histories;
};

template <class Space>
SolvedColumns solve_columns(const Variant& variant, const Operator<double, Space>& a,
                            const Preconditioner<double, Space>* m, const Columns& b,
                            const StoppingOptions& stopping, const Columns& x0,
                            const Reducer<double, Space>& reducer = {}) {
  const Space space;
  const auto x = to_columns<Space>(x0), b_device = to_columns<Space>(b);
  SolvedColumns solved;
  solved.histories.resize(b.size());
  solved.results = create_solver<double, Space>(variant.solver, variant.options)
                       ->solve(
                           space, a, m, b_device, x, stopping,
                           [&](int c, std::int64_t iteration, double norm_r) {
                             // A start from the true residual passes its iteration once more.
                             EXPECT_LE(std::size_t(iteration), solved.histories[c].size());
                             solved.histories[c].push_back(norm_r);
                           },
                           reducer);
  space.fence();
  for (std::size_t c = 0; c < b.size(); ++c) solved.x.push_back(column_of(x, int(c)));
  return solved;
}

std::vector<Variant> all_variants() {
  std::vector<Variant> variants = general_variants();
  variants.push_back({"cg", {}});
  variants.push_back({"cg", {{"single_reduction", true}}});
  variants.push_back({"richardson", {{"omega", 0.9}}});
  return variants;
}

/// A matrix for the method, with a scaling that makes Richardson's iteration converge.
HostMatrix<double> matrix_for(const Variant& variant) {
  const bool symmetric = variant.solver == "cg";
  return symmetric ? shifted(problem("poisson2d:13"), -1.0) : uneven_matrix(167);
}

template <class Space>
class SeveralColumnsTest : public ::testing::Test {};
TYPED_TEST_SUITE(SeveralColumnsTest, TestSpaces, SpaceNames);

TYPED_TEST(SeveralColumnsTest, EachColumnMatchesItsOwnSolve) {
  for (const Variant& variant : all_variants()) {
    const HostMatrix<double> a = matrix_for(variant);
    const std::size_t n = a.num_rows;
    const auto op = operator_of<TypeParam>(a);
    for (const char* name : {"", "jacobi"}) {
      SCOPED_TRACE(variant.name() + ", " + name);
      const auto m = name[0] != 0 || variant.solver == "richardson"
                         ? preconditioner_of<TypeParam>("jacobi", a)
                         : nullptr;
      // One that is as good as solved, one that is zero, one that is solved, hard and easy ones; more than a
      // product takes at once.
      std::vector<double> near = random_vector(n, 4);
      const std::vector<double> exact = random_vector(n, 5);
      const Columns b = {random_vector(n, 1), multiply(a, near),   std::vector<double>(n, 0.0),
                         multiply(a, exact),  random_vector(n, 2), random_vector(n, 3)};
      for (std::size_t i = 0; i < n; ++i) near[i] *= 1 + 1e-5;
      const Columns x0 = {std::vector<double>(n, 0.0), near, random_vector(n, 9), exact, random_vector(n, 8),
                          std::vector<double>(n, 0.0)};
      const auto together = solve_columns<TypeParam>(variant, op, m.get(), b, stop_at(1e-8), x0);
      ASSERT_EQ(together.results.size(), b.size());
      for (std::size_t c = 0; c < b.size(); ++c) {
        SCOPED_TRACE(c);
        const auto alone = solve_with<double, TypeParam>(variant, op, m.get(), b[c], stop_at(1e-8), x0[c]);
        EXPECT_TRUE(together.results[c].converged);
        EXPECT_EQ(together.results[c].reason, alone.result.reason);
        EXPECT_LE(std::abs(together.results[c].iterations - alone.result.iterations), 1);
        EXPECT_LE(std::abs(together.results[c].matrix_products - alone.result.matrix_products), 2);
        EXPECT_LE(residual_norm(a, b[c], together.x[c]), 1e-7 * norm(b[c]));
        for (std::size_t i = 0; i < n; ++i) ASSERT_NEAR(together.x[c][i], alone.x[i], 1e-9);
        // Classic CG's product for one column comes with its inner product, which rounds in another way.
        if (is_host_space<TypeParam> && variant.solver != "cg") {
          EXPECT_TRUE(together.x[c] == alone.x) << "bits";
          EXPECT_TRUE(together.histories[c] == alone.history) << "bits";
        }
      }
      EXPECT_EQ(together.x[2], std::vector<double>(n, 0.0));
      EXPECT_EQ(together.results[2].reason, StopReason::zero_rhs);
      EXPECT_EQ(together.results[3].iterations, 0);
      EXPECT_EQ(together.x[3], exact);
    }
  }
}

TYPED_TEST(SeveralColumnsTest, AColumnThatBreaksDownDoesNotChangeTheOthers) {
  // Two blocks: the columns live in one each, and the first block is singular, or not a number.
  HostMatrix<double> a = uneven_matrix(60);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<std::vector<double>> dense(62, std::vector<double>(62, 0.0));
  for (int i = 0; i < 60; ++i)
    for (int j = 0; j < 60; ++j) dense[i][j] = a(i, j);
  dense[60][61] = 1;  // nilpotent: A e_61 = e_60, A e_60 = 0
  dense[61][61] = 0;
  a = sparse(dense);
  std::vector<double> broken(62, 0.0), sound = random_vector(62), bad = random_vector(62);
  broken[60] = 1;
  sound[60] = sound[61] = 0;
  bad[5] = nan;
  const Columns b = {broken, sound, bad, broken, sound};
  const Columns x0(5, std::vector<double>(62, 0.0));
  const auto op = operator_of<TypeParam>(a);
  for (const Variant& variant : general_variants()) {
    SCOPED_TRACE(variant.name());
    const auto together = solve_columns<TypeParam>(variant, op, nullptr, b, stop_at(1e-8, 300), x0);
    const auto alone = solve_with<double, TypeParam>(variant, op, nullptr, sound, stop_at(1e-8, 300));
    EXPECT_TRUE(alone.result.converged);
    for (int c : {1, 4}) {
      EXPECT_TRUE(together.results[c].converged);
      EXPECT_EQ(together.results[c].iterations, alone.result.iterations);
      for (std::size_t i = 0; i < sound.size(); ++i) ASSERT_NEAR(together.x[c][i], alone.x[i], 1e-10);
    }
    for (int c : {0, 3}) {
      EXPECT_FALSE(together.results[c].converged && residual_norm(a, b[c], together.x[c]) > 1e-7);
      EXPECT_TRUE(all_finite(together.x[c]) || together.results[c].reason == StopReason::nan);
    }
    EXPECT_EQ(together.results[2].reason, StopReason::nan);
    EXPECT_EQ(together.x[2], x0[2]);
  }
}

TYPED_TEST(SeveralColumnsTest, AColumnThatHasEndedDoesNotChange) {
  for (const Variant& variant : all_variants()) {
    SCOPED_TRACE(variant.name());
    const HostMatrix<double> a = matrix_for(variant);
    const auto m = preconditioner_of<TypeParam>("jacobi", a);
    const std::size_t rows = a.num_rows;
    std::vector<double> near = random_vector(rows, 4);
    const Columns b = {multiply(a, near), random_vector(rows, 1)};
    for (double& value : near) value *= 1 + 1e-4;
    const Columns x0 = {near, std::vector<double>(rows, 0.0)};
    const auto solved =
        solve_columns<TypeParam>(variant, operator_of<TypeParam>(a), m.get(), b, stop_at(1e-7), x0);
    EXPECT_TRUE(solved.results[0].converged && solved.results[1].converged);
    EXPECT_LT(solved.results[0].iterations, solved.results[1].iterations);
    EXPECT_GE(solved.histories[0].size(), std::size_t(solved.results[0].iterations) + 1);
    // Iterating on would have gone far below the tolerance.
    EXPECT_GE(residual_norm(a, b[0], solved.x[0]), 1e-13 * norm(b[0]));
  }
}

TYPED_TEST(SeveralColumnsTest, OneMessageForAllColumns) {
  for (const Variant& variant : all_variants()) {
    SCOPED_TRACE(variant.name());
    const HostMatrix<double> a = matrix_for(variant);
    const auto m = preconditioner_of<TypeParam>("jacobi", a);
    const auto op = operator_of<TypeParam>(a);
    const Columns b = {random_vector(a.num_rows, 1), random_vector(a.num_rows, 1),
                       random_vector(a.num_rows, 1)};
    const Columns x0(3, std::vector<double>(a.num_rows, 0.0));
    const CountingReducer<TypeParam> of_three(1), of_one(1);
    const auto together = solve_columns<TypeParam>(variant, op, m.get(), b, stop_at(1e-6), x0, of_three);
    const auto alone =
        solve_with<double, TypeParam>(variant, op, m.get(), b[0], stop_at(1e-6), x0[0], of_one);
    EXPECT_TRUE(alone.result.converged);
    EXPECT_EQ(together.x[0], together.x[2]);
    if (together.results[0].iterations == alone.result.iterations) {
      EXPECT_EQ(of_three.calls, of_one.calls);
    }
    EXPECT_GE(of_three.most_values, of_one.most_values);
  }
}

TYPED_TEST(SeveralColumnsTest, OneProductOneApplicationAndNoAllocationAnIteration) {
  const TypeParam space;
  for (const Variant& variant : all_variants()) {
    if (variant.options.count("restart") != 0) continue;
    SCOPED_TRACE(variant.name());
    const HostMatrix<double> a =
        variant.solver == "cg" ? problem("poisson2d:20") : problem("convection_diffusion3d:9");
    const auto m = preconditioner_of<TypeParam>("jacobi", a);
    const auto op = operator_of<TypeParam>(a);
    const auto b = to_columns<TypeParam>(
        {random_vector(a.num_rows, 1), random_vector(a.num_rows, 2), random_vector(a.num_rows, 3)});
    struct Counts {
      std::size_t products = 0, applications = 0, fences = 0, allocations = 0;
    };
    const auto run = [&](std::int64_t iterations) {
      const MultiVector<double, TypeParam> x("x", a.num_rows, 3);
      const auto solver = create_solver<double, TypeParam>(variant.solver, variant.options);
      space.fence();
      const ToolEvents events;
      const auto results = solver->solve(space, op, m.get(), b, x, stop_at(1e-30, iterations));
      for (const auto& result : results) EXPECT_EQ(result.iterations, iterations);
      Counts counts;
      for (const auto& label : events.kernels()) {
        counts.products += label == "prekond::spmv::apply" ? 1 : 0;
        counts.applications += label.find("jacobi") != std::string::npos ? 1 : 0;
      }
      counts.fences = events.fences().size();
      counts.allocations = events.allocations().size();
      return counts;
    };
    const Counts few = run(10), many = run(20);
    const std::size_t products = variant.solver == "bicgstab" ? 20 : 10;
    EXPECT_EQ(many.products - few.products, products);
    EXPECT_EQ(many.applications - few.applications, products);
    EXPECT_LE(many.fences - few.fences, 10u);
    EXPECT_EQ(many.allocations, few.allocations);
  }
}

}  // namespace
}  // namespace prekond::testing
