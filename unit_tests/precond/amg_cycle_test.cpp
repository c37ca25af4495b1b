// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/amg_cases.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/krylov/lanczos.hpp>

#include <cmath>
#include <limits>
#include <string>

namespace prekond::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace impl::amg;

template <class Space>
class AmgCycleTest : public ::testing::Test {};
TYPED_TEST_SUITE(AmgCycleTest, TestSpaces, SpaceNames);

/// Compares a cycle for three vectors with the textbook's, to a relative error.
template <class Space>
void expect_near_textbook(const HostMatrix<double>& host, const AmgOptions& options, bool exact,
                          double error) {
  const Space space;
  const auto a = to_device<Space>(host);
  Report report;
  const Hierarchy<double, Space> hierarchy(space, options, MatrixSource<double, Space>(a), nullptr, report);
  EXPECT_EQ(hierarchy.levels().back().is_exact, exact);
  ReferenceCycle cycle = reference_of(hierarchy, options);
  cycle.by_energy = options.is_for_spd();
  std::vector<std::vector<double>> b;
  for (int c = 0; c < 3; ++c) b.push_back(random_vector(a.num_rows, 3 + c));
  const auto from = to_columns<Space>(b);
  const MultiVector<double, Space> to("y", a.num_rows, 3);
  Kokkos::deep_copy(to, std::nan(""));
  const auto workspace = hierarchy.make_workspace(space, 4);
  hierarchy.apply(space, from, to, dynamic_cast<CycleWorkspace<double, Space>&>(*workspace));
  for (int c = 0; c < 3; ++c) {
    const auto expected = cycle.run(0, b[c]);
    const auto found = column_of(to, c);
    double largest = 0;
    for (const double value : expected) largest = std::max(largest, std::abs(value));
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], error * largest);
  }
}

/// Stored in full, and in single.
template <class Space>
void expect_textbook(const HostMatrix<double>& host, AmgOptions options, bool exact) {
  options.storage = AmgStorage::full;
  expect_near_textbook<Space>(host, options, exact, is_host_space<Space> ? 1e-11 : 1e-10);
  options.storage = AmgStorage::single_precision;
  expect_near_textbook<Space>(host, options, exact, 1e-5);
}

TYPED_TEST(AmgCycleTest, ACycleEqualsTheReferenceCycle) {
  for (const char* smoother : {"jacobi", "fsai", "chebyshev", "multicolor_ssor"})
    for (const auto& [pre, post] : {std::pair(1, 1), std::pair(2, 2), std::pair(0, 1), std::pair(3, 0)})
      for (const AmgCycle kind : {AmgCycle::v, AmgCycle::w, AmgCycle::k})
        for (const int most : {1, 2, 10}) {
          SCOPED_TRACE(std::string(smoother) + ", " + std::to_string(pre) + " and " + std::to_string(post) +
                       " sweeps, levels " + std::to_string(most) + ", cycle " + std::to_string(int(kind)));
          AmgOptions options;
          options.smoother = {smoother, {}};
          options.pre_sweeps = pre;
          options.post_sweeps = post;
          options.cycle = kind;
          options.coarse_size = 10;
          options.max_levels = most;
          EXPECT_EQ(options.is_for_spd(), pre == post);
          expect_textbook<TypeParam>(problem("anisotropic2d:17,epsilon=0.2"), options, most == 10);
        }
}

TYPED_TEST(AmgCycleTest, MinimalResidualsWhereMIsNotForPositiveDefiniteMatrices) {
  for (const char* smoother : {"multicolor_gs", "jacobi"})
    for (const int most : {2, 10}) {
      SCOPED_TRACE(std::string(smoother) + std::to_string(most));
      AmgOptions options;
      options.prolongator = AmgProlongator::unsmoothed;
      options.smoother = {smoother, {}};
      options.smoother_damping = 0.9;
      options.cycle = AmgCycle::k;
      options.coarse_size = 10;
      options.max_levels = most;
      EXPECT_FALSE(options.is_for_spd());
      expect_textbook<TypeParam>(problem("convection_diffusion3d:8"), options, most == 10);
    }
}

/// Options of a K-cycle by unsmoothed aggregation with many levels.
OptionMap k_cycle() {
  return {{"cycle", std::string("k")},
          {"prolongator", std::string("unsmoothed")},
          {"coarse_size", std::int64_t(10)}};
}

TYPED_TEST(AmgCycleTest, EachColumnHasItsOwnCoefficients) {
  const TypeParam space;
  const HostMatrix<double> a = problem("poisson2d:40");
  const auto m = create_preconditioner<double, TypeParam>("amg", k_cycle());
  m->numeric(space, to_device<TypeParam>(a));
  std::vector<std::vector<double>> b = {random_vector(a.num_rows, 1), std::vector<double>(a.num_rows, 0.0),
                                        random_vector(a.num_rows, 2), std::vector<double>(a.num_rows, 1.0)};
  const auto from = to_columns<TypeParam>(b);
  const MultiVector<double, TypeParam> to("y", a.num_rows, 4);
  Kokkos::deep_copy(to, std::nan(""));
  const auto workspace = m->make_workspace(space, 5);
  m->apply(space, from, to, *workspace);
  EXPECT_EQ(column_of(to, 1), b[1]) << "of zero it makes zero, not a number of 0 / 0";
  for (int c = 0; c < 4; ++c) {
    const auto alone = applied_to<TypeParam>(*m, b[c]), found = column_of(to, c);
    for (std::size_t i = 0; i < found.size(); ++i)
      ASSERT_NEAR(found[i], alone[i], 1e-12 * (1 + std::abs(alone[i])));
  }
  m->apply(space, from, to, *workspace);
  const auto twice = column_of(to, 2);
  m->apply(space, from, to, *workspace);
  EXPECT_EQ(twice, column_of(to, 2)) << "the same bits";
}

TYPED_TEST(AmgCycleTest, AnApplicationNeitherAllocatesNorWaits) {
  const TypeParam space;
  const HostMatrix<double> a = problem("poisson2d:40");
  const auto m = create_preconditioner<double, TypeParam>("amg", k_cycle());
  m->numeric(space, to_device<TypeParam>(a));
  const auto from = to_columns<TypeParam>({random_vector(a.num_rows, 1), random_vector(a.num_rows, 2)});
  const MultiVector<double, TypeParam> to("y", a.num_rows, 2);
  const auto workspace = m->make_workspace(space, 2);
  m->apply(space, from, to, *workspace);
  space.fence();
  const ToolEvents events;
  m->apply(space, from, to, *workspace);
  EXPECT_EQ(events.allocations(), std::vector<std::string>{});
  EXPECT_EQ(events.fences(), std::vector<std::string>{});
  const auto count = [&](const char* kernel) {
    return std::count(events.kernels().begin(), events.kernels().end(), kernel);
  };
  // Levels: 1600 rows, about 200, 30 and an exact one, which has no steps: twice two columns on the third.
  ASSERT_GE(m->report().levels.size(), 4u);
  std::int64_t steps = 0;
  for (std::size_t l = 1; l + 1 < m->report().levels.size(); ++l) steps += std::int64_t(1) << (l - 1);
  EXPECT_EQ(count("prekond::amg::take_both_steps"), steps);
  EXPECT_EQ(count("prekond::amg::first_dots"), 2 * steps);
}

TEST(AmgKSteps, ZeroAndNonfiniteStepsAreLeftOut) {
  const double none = std::nan(""), large = std::numeric_limits<double>::infinity();
  const auto both = [](double rho1, double alpha1, double gamma, double beta, double alpha2) {
    const double s[] = {rho1, alpha1, gamma, beta, alpha2};
    const auto factors = both_steps(s);
    return std::pair(factors.of_c, factors.of_d);
  };
  // rho2 = 5 - 2 2 / 2 = 3: d's factor is 6 / 3 = 2, c's 4 / 2 - (2 / 2) 2 = 0.
  EXPECT_EQ(both(2, 4, 2, 5, 6), std::pair(0.0, 2.0));
  EXPECT_EQ(both(2, 8, 1, 5, 9), std::pair(3.0, 2.0));
  for (const double rho1 : {0.0, -1.0, none, large})
    EXPECT_EQ(both(rho1, rho1 == large ? none : 4, 1, 5, 9), std::pair(0.0, 0.0)) << rho1;
  for (const double alpha1 : {none, large}) EXPECT_EQ(both(2, alpha1, 1, 5, 9), std::pair(0.0, 0.0));
  for (const double bad : {none, large, -large}) {
    EXPECT_EQ(both(2, 8, bad, 5, 9), std::pair(4.0, 0.0));
    EXPECT_EQ(both(2, 8, 1, 5, bad), std::pair(4.0, 0.0));
  }
  EXPECT_EQ(both(2, 8, 1, none, 9), std::pair(4.0, 0.0));
  EXPECT_EQ(both(2, 8, 1, -5, 9), std::pair(4.0, 0.0)) << "d has no positive square";
  EXPECT_EQ(both(2, 8, 2, 2, 1e-16), std::pair(4.0, 0.0)) << "d is c";
  EXPECT_EQ(both(2, 8, 2, 2 * (1 + 4e-16), 1e-16), std::pair(4.0, 0.0)) << "but for rounding";
  EXPECT_EQ(both(0, 0, 0, 0, 0), std::pair(0.0, 0.0));
}

TYPED_TEST(AmgCycleTest, AVectorThatIsNoStepIsNotRead) {
  const TypeParam space;
  const double none = std::nan("");
  // Columns: no step, only the first, both.
  const auto scalars = to_columns<TypeParam>({{0, 0, 0, 0, 0}, {2, 8, 1, none, 9}, {2, 8, 1, 5, 9}});
  const auto c = to_columns<TypeParam>({{none}, {1}, {1}}), x = to_columns<TypeParam>({{none}, {none}, {10}}),
             b = to_columns<TypeParam>({{7}, {7}, {7}});
  Kokkos::parallel_for("test", Kokkos::RangePolicy<TypeParam>(space, 0, 1),
                       TakeFirstStep<double, TypeParam>{scalars, c, b});
  Kokkos::parallel_for("test", Kokkos::RangePolicy<TypeParam>(space, 0, 1),
                       TakeBothSteps<double, TypeParam>{scalars, c, x});
  space.fence();
  const std::vector<double> of_x = {0, 4, 3 + 2 * 10}, of_b = {7, 7 - 4, 7 - 4};
  for (int k = 0; k < 3; ++k) {
    EXPECT_EQ(column_of(x, k), std::vector<double>{of_x[k]});
    EXPECT_EQ(column_of(b, k), std::vector<double>{of_b[k]});
  }
}

template <class Space>
std::int64_t iterations(const std::string& spec, const Variant& solver, OptionMap options,
                        const char* cycle) {
  options["cycle"] = std::string(cycle);
  const HostMatrix<double> a = problem(spec);
  const auto m = create_preconditioner<double, Space>("amg", options);
  m->numeric(Space(), to_device<Space>(a));
  const auto solved = solve_with<double, Space>(solver, operator_of<Space>(a), m.get(),
                                                random_vector(a.num_rows), stop_at(1e-8, 300));
  EXPECT_EQ(solved.result.reason, StopReason::rtol) << to_string(solved.result.reason);
  return solved.result.iterations;
}

TYPED_TEST(AmgCycleTest, UnsmoothedAggregationNeedsAKCycle) {
  const Variant flexible{"cg", {{"flexible", true}}};
  OptionMap options = k_cycle();
  const auto few = iterations<TypeParam>("poisson2d:30", flexible, options, "k"),
             many = iterations<TypeParam>("poisson2d:120", flexible, options, "k");
  EXPECT_LE(many, 1.6 * double(few)) << few;
  EXPECT_LT(1.5 * double(many), iterations<TypeParam>("poisson2d:120", flexible, options, "v"));
  options["smoother"] = std::string("multicolor_gs");
  const auto gcr = iterations<TypeParam>("convection_diffusion3d:16", {"fgmres", {}}, options, "k");
  EXPECT_LT(gcr, iterations<TypeParam>("convection_diffusion3d:16", {"fgmres", {}}, options, "v"));
}

TYPED_TEST(AmgCycleTest, OnlyFlexibleSolversTakeAVariableM) {
  const TypeParam space;
  const HostMatrix<double> a = problem("poisson2d:20");
  const auto b = to_device<TypeParam>(random_vector(a.num_rows));
  const Vector<double, TypeParam> x("x", a.num_rows);
  const auto op = operator_of<TypeParam>(a);
  const auto m = create_preconditioner<double, TypeParam>("amg", {{"cycle", std::string("k")}});
  m->numeric(space, to_device<TypeParam>(a));
  EXPECT_TRUE(m->is_variable());
  EXPECT_FALSE(m->is_symmetric() || m->is_nonsymmetric());
  for (const auto& line : solver_registry<double, TypeParam>()) {
    SCOPED_TRACE(line.name);
    const auto solver = create_solver<double, TypeParam>(line.name);
    EXPECT_EQ(solver->is_flexible(), line.properties.is_flexible);
    EXPECT_EQ(solver->is_flexible(), line.name == "fgmres" || line.name == "richardson");
    Kokkos::deep_copy(x, 0.0);
    try {
      EXPECT_TRUE(solver->solve(space, op, m.get(), b, x, stop_at(1e-8, 200)).converged);
      EXPECT_TRUE(solver->is_flexible());
    } catch (const InputError& error) {
      EXPECT_FALSE(solver->is_flexible());
      EXPECT_THAT(error.what(),
                  AllOf(HasSubstr(line.name + ": the preconditioner amg changes between applications"),
                        HasSubstr("fgmres"), HasSubstr("cg with flexible = true")));
    }
  }
  EXPECT_THROW((lanczos<double, TypeParam>(space, op, m.get(), {})), InputError);
}

TEST(AmgCycleProperties, AVariableMIsPassedOn) {
  using Space = Kokkos::DefaultExecutionSpace;
  const auto of = [](const char* name, const OptionMap& options) {
    return create_preconditioner<double, Space>(name, options)->properties();
  };
  const OptionValue amg = std::string("amg"), k = std::string("k");
  EXPECT_FALSE(of("amg", {}).is_variable);
  EXPECT_TRUE(of("amg", {{"cycle", k}}).is_variable);
  EXPECT_TRUE(of("amg", {{"smoother", amg}, {"smoother.cycle", k}}).is_variable);
  EXPECT_EQ(of("amg", {{"cycle", k}, {"pre_sweeps", std::int64_t(0)}}).symmetry, Symmetry::nonsymmetric);
  EXPECT_FALSE(of("matched", {}).is_variable);
  EXPECT_TRUE(of("matched", {{"inner", amg},
                             {"inner.prolongator", std::string("unsmoothed")},
                             {"inner.smoother", std::string("multicolor_gs")},
                             {"inner.cycle", k}})
                  .is_variable);
}

}  // namespace
}  // namespace prekond::testing
