// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// The choice of a method by the matrix, and the change to another one while it solves.
#include "testing/krylov_problems.hpp"
#include "testing/matrices.hpp"
#include "testing/spaces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/precond/auto_solver.hpp>
#include <prekond/precond/registry.hpp>

#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <thread>

namespace prekond::testing {
namespace {

using ::testing::HasSubstr;

template <class Space>
class AutoSolverTest : public ::testing::Test {
 public:
  struct System {
    explicit System(const CsrMatrix<double, int, std::size_t, typename Space::memory_space>& matrix)
        : a(matrix), b("b", a.num_rows), x("x", a.num_rows) {
      Kokkos::deep_copy(b, 1.0);
    }
    explicit System(const std::string& problem) : System(generate<double, Space>(Space(), problem)) {}

    /// In a wider type, as the rounding errors of A x in double may be larger than a small residual.
    double residual() const {
      const HostMatrix<double> matrix = to_host(a);
      const std::vector<double> solution = to_vector(x), side = to_vector(b);
      long double squares = 0, of_b = 0;
      for (std::int64_t i = 0; i < matrix.num_rows; ++i) {
        long double r = side[i];
        for (std::size_t k = matrix.row_ptrs[i]; k < matrix.row_ptrs[i + 1]; ++k)
          r -= static_cast<long double>(matrix.values[k]) * solution[matrix.col_idxs[k]];
        squares += r * r;
        of_b += static_cast<long double>(side[i]) * side[i];
      }
      return static_cast<double>(std::sqrt(squares / of_b));
    }

    CsrMatrix<double, int, std::size_t, typename Space::memory_space> a;
    Vector<double, Space> b, x;
  };

  static Candidate candidate(const std::string& precond, const std::string& solver, double setup,
                             double iteration, double of_jacobis) {
    Candidate made;
    made.preconditioner = {precond, {}};
    made.solver = {solver, {}};
    made.needs_spd = solver == "cg";
    made.setup = setup;
    made.iteration = iteration;
    made.of_jacobis = of_jacobis;
    return made;
  }

  /// Solves with candidates of the test's, by the registry.
  static SolveResult solve(System& system, AutoSolver<double, Space>& chooser,
                           const StoppingOptions& stopping, const Monitor& monitor = {}) {
    return chooser.solve(Space(), CsrOperator<double, Space>(system.a), system.b, system.x, stopping,
                         monitor);
  }

  static typename AutoSolver<double, Space>::Setup setup_of(const System& system,
                                                            std::vector<std::string>& names) {
    return [&, kept = std::make_shared<std::unique_ptr<MatrixPreconditioner<double, Space>>>()](
               const Candidate& chosen) -> const Preconditioner<double, Space>* {
      names.push_back(chosen.preconditioner.name);
      if (chosen.preconditioner.name == "refused") throw InputError("no such thing");
      *kept = create_preconditioner<double, Space>(chosen.preconditioner.name);
      (*kept)->numeric(Space(), system.a);
      return kept->get();
    };
  }

  /// One that has these candidates and notes in `names` what it sets up.
  static AutoSolver<double, Space> chooser_of(const std::vector<Candidate>& candidates, const System& system,
                                              std::vector<std::string>& names,
                                              const AutoSolverOptions& options = {}) {
    return AutoSolver<double, Space>(candidates, system.a.num_rows, static_cast<std::int64_t>(system.a.nnz()),
                                     setup_of(system, names), options);
  }
};
TYPED_TEST_SUITE(AutoSolverTest, TestSpaces, SpaceNames);

// ------------------------------------------------------------------------------------------------- the
// forecast

TEST(IterationsLeft, FollowTheRateOfTheLastHalf) {
  std::vector<double> norms;
  for (int k = 0; k < 20; ++k) norms.push_back(k < 10 ? 1.0 : std::pow(0.5, k - 9));
  // From 1 to 2^-10 in ten iterations: to 2^-20 it takes ten more.
  EXPECT_NEAR(iterations_left(norms, std::pow(0.5, 20)), 10, 1e-9);
  EXPECT_EQ(iterations_left(norms, 0.1), 0);
}

TEST(IterationsLeft, AreWithoutEndWhereNothingFalls) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(iterations_left({}, 1e-3), infinity);
  EXPECT_EQ(iterations_left({1}, 1e-3), infinity);
  EXPECT_EQ(iterations_left({1, 2, 4, 8}, 1e-3), infinity);
  EXPECT_EQ(iterations_left({1, 1, 1, 1}, 1e-3), infinity);
}

TEST(IterationsLeft, DoNotCountAResidualThatHasRisenAgain) {
  // The least so far is 1/16, in each half of the history of a method whose residual jumps.
  EXPECT_NEAR(iterations_left({1, 1, 1.0 / 16, 8}, 1.0 / 256), 2, 1e-9);
}

TEST(IterationsLeft, AreBelievedAsFarAsWasExpectedOrFourTimesThoseDone) {
  std::vector<double> norms(11, 1.0);
  norms.back() = 0.999;
  EXPECT_EQ(believed_iterations_left(norms, 1e-8, 20), 40);
  EXPECT_EQ(believed_iterations_left(norms, 1e-8, 200), 190);
  norms.back() = 1e-4;  // in the last six
  EXPECT_NEAR(believed_iterations_left(norms, 1e-8, 200), 6, 1e-9);
  EXPECT_EQ(believed_iterations_left({}, 1e-8, 1), 4);
}

// ------------------------------------------------------------------------------------------------ the
// candidates

std::vector<std::string> first_of(const MatrixStatistics& facts, bool on_device) {
  std::vector<std::string> names;
  for (const Candidate& candidate : candidates_for(facts, on_device, false))
    if (!candidate.is_out) names.push_back(candidate.preconditioner.name + " " + candidate.solver.name);
  return names;
}

TYPED_TEST(AutoSolverTest, SymmetricMatricesHaveMethodsForThem) {
  const auto a = generate<double, TypeParam>(TypeParam(), "poisson2d:10");
  const auto names = first_of(statistics<double, TypeParam>(TypeParam(), a), false);
  EXPECT_THAT(names, ::testing::Contains("amg cg"));
  EXPECT_THAT(names, ::testing::Contains("jacobi cg"));
  EXPECT_THAT(names, ::testing::Each(::testing::EndsWith(" cg")));
}

TYPED_TEST(AutoSolverTest, GeneralMatricesHaveMethodsForThem) {
  const auto a = generate<double, TypeParam>(TypeParam(), "convection_diffusion3d:5");
  const auto names = first_of(statistics<double, TypeParam>(TypeParam(), a), false);
  EXPECT_THAT(names, ::testing::Contains("ilu0 bicgstab"));
  EXPECT_THAT(names, ::testing::Not(::testing::Contains(::testing::EndsWith(" cg"))));
}

TYPED_TEST(AutoSolverTest, AMissingDiagonalEntryRulesJacobiOut) {
  const HostMatrix<double> a = sparse<double>({{1, 2}, {3, 0}});
  for (const auto& candidate :
       candidates_for(statistics<double, TypeParam>(TypeParam(), to_device<TypeParam>(a)), false, false))
    if (candidate.preconditioner.name == "jacobi" && !candidate.needs_spd) {
      EXPECT_TRUE(candidate.is_out);
      EXPECT_THAT(candidate.outcome, HasSubstr("1 diagonal entries"));
    }
}

TEST(Candidates, TriangularSolvesAreNotTheFirstOnADevice) {
  MatrixStatistics facts;
  facts.num_rows = facts.num_cols = facts.diagonal_positive = facts.m_matrix_rows = 1000000;
  facts.nnz = 5000000;
  facts.row_length_mean = 5;
  facts.lower_bandwidth = facts.upper_bandwidth = 1000;
  facts.symmetric_values = true;
  double amg = 0, ic0 = 0;
  for (const bool on_device : {false, true}) {
    for (const Candidate& candidate : candidates_for(facts, on_device, false)) {
      if (candidate.preconditioner.name == "amg") amg = candidate.iteration;
      if (candidate.preconditioner.name == "ic0") ic0 = candidate.iteration;
    }
    EXPECT_EQ(ic0 > amg, on_device);
  }
}

// ------------------------------------------------------------------------------------------------------- the
/// Facts of a matrix of 1000 rows with 5 entries each.
MatrixStatistics facts_of_rows() {
  MatrixStatistics facts;
  facts.num_rows = facts.num_cols = facts.diagonal_positive = facts.m_matrix_rows = 1000;
  facts.nnz = 5000;
  facts.row_length_max = 5;
  facts.row_length_mean = 5;
  facts.lower_bandwidth = facts.upper_bandwidth = 100;
  facts.symmetric_pattern = true;
  return facts;
}

/// The first one with the name that is not out.
Candidate found_in(const std::vector<Candidate>& candidates, const std::string& name) {
  for (const Candidate& candidate : candidates)
    if (candidate.preconditioner.name == name && !candidate.is_out) return candidate;
  ADD_FAILURE() << "no " << name;
  return {};
}

TEST(Candidates, IdrIsForComplexMatrices) {
  const MatrixStatistics facts = facts_of_rows();
  const auto steps = [&](const std::vector<Candidate>& candidates, const std::string& solver) {
    for (const Candidate& candidate : candidates)
      if (candidate.preconditioner.name == "jacobi" && candidate.solver.name == solver)
        return candidate.of_jacobis;
    return 0.0;
  };
  EXPECT_EQ(steps(candidates_for(facts, false, false), "idr"), 0);
  const auto list = candidates_for(facts, false, true);
  EXPECT_DOUBLE_EQ(steps(list, "idr"), 1.1 * steps(list, "bicgstab"));
  const auto named = with_named(list, {"jacobi", {}}, {"auto", {}});
  EXPECT_DOUBLE_EQ(steps(named, "idr"), 1.1 * steps(named, "bicgstab"));
  EXPECT_GT(steps(named, "idr"), 0);
}

TEST(Candidates, ZerosOnTheDiagonalAskForAMatchingButThoseOfASaddlePoint) {
  MatrixStatistics facts = facts_of_rows();
  const double usual = found_in(candidates_for(facts, false, false), "ilu0").of_jacobis;
  facts.diagonal_missing = 300;
  EXPECT_EQ(found_in(candidates_for(facts, false, false), "ilu0").of_jacobis, usual);
  facts.diagonal_missing = 500;  // more than a saddle point has
  EXPECT_GT(found_in(candidates_for(facts, false, false), "ilu0").of_jacobis, usual);
  facts.diagonal_missing = 300;
  facts.symmetric_pattern = false;
  const auto candidates = candidates_for(facts, false, false);
  EXPECT_GT(found_in(candidates, "ilu0").of_jacobis, found_in(candidates, "matched").of_jacobis);
}

TEST(Candidates, ANamedPreconditionerHasItsOwnWork) {
  for (const bool on_device : {false, true}) {
    const auto candidates = candidates_for(facts_of_rows(), on_device, false);
    const Candidate known = found_in(candidates, "ilu0");
    const auto named = with_named(candidates, {"ilu0", {}}, {AutomaticOptions::name, {}});
    EXPECT_EQ(named.size(), 3);
    for (const Candidate& one : named) {
      EXPECT_EQ(one.setup, known.setup);
      EXPECT_EQ(one.application, known.application);
      EXPECT_EQ(one.of_jacobis, known.of_jacobis);
      EXPECT_EQ(one.least, known.least);
      if (one.solver.name == known.solver.name) {
        EXPECT_DOUBLE_EQ(one.iteration, known.iteration);
      }
    }
  }
}

TEST(Candidates, TriangularFactorsOfTridiagonalMatricesAreExact) {
  MatrixStatistics facts = facts_of_rows();
  facts.lower_bandwidth = facts.upper_bandwidth = 1;
  EXPECT_LT(found_in(candidates_for(facts, false, false), "ilu0").least, 1);
  facts.symmetric_values = true;
  EXPECT_LT(found_in(candidates_for(facts, false, false), "ic0").least, 1);
  EXPECT_EQ(found_in(candidates_for(facts, false, false), "jacobi").least, 1);
  facts.lower_bandwidth = facts.upper_bandwidth = 0;
  EXPECT_LT(found_in(candidates_for(facts, false, false), "jacobi").least, 1);
  // A device solves with a chain of rows one after the other.
  facts.lower_bandwidth = facts.upper_bandwidth = 1;
  facts.jacobi_norm = 1;
  const auto on_device = by_expected_work(candidates_for(facts, true, false));
  EXPECT_NE(on_device.front().preconditioner.name, "ic0");
}

TEST(Candidates, LongRowsRaiseTheWorkOfFillAndMultigrid) {
  MatrixStatistics facts = facts_of_rows();
  facts.symmetric_values = true;
  const auto usual = candidates_for(facts, false, false);
  facts.row_length_max = 500;
  const auto with_hub = candidates_for(facts, false, false);
  for (const std::string name : {"amg", "ick"})
    EXPECT_GT(found_in(with_hub, name).setup, found_in(usual, name).setup);
  for (const std::string name : {"ic0", "jacobi"})
    EXPECT_EQ(found_in(with_hub, name).setup, found_in(usual, name).setup);
}

TEST(Candidates, TheLastResortIsNotOneOfTheList) {
  MatrixStatistics facts = facts_of_rows();
  for (const bool is_symmetric : {false, true}) {
    facts.symmetric_values = is_symmetric;
    const auto candidates = candidates_for(facts, false, false);
    for (const Candidate& one : {candidates.end()[-2], candidates.back()}) {
      EXPECT_TRUE(one.is_last_resort);
      EXPECT_EQ(one.is_out, is_symmetric);
      EXPECT_EQ(one.outcome, "");
    }
    EXPECT_EQ(candidates.end()[-2].preconditioner.name, "ilut");
    EXPECT_EQ(candidates.back().preconditioner.name, "matched");
    for (const Candidate& one : by_expected_work(candidates)) EXPECT_FALSE(one.is_last_resort);
  }
}

TEST(Candidates, TheLastResortIsNotForCgOrForManyRows) {
  MatrixStatistics facts = facts_of_rows();
  facts.symmetric_values = true;
  const auto named =
      with_named(candidates_for(facts, false, false), {AutomaticOptions::name, {}}, {"cg", {}});
  EXPECT_TRUE(named.back().is_last_resort);
  EXPECT_TRUE(named.back().is_out);
  facts.symmetric_values = false;
  facts.num_rows = 200001;
  EXPECT_THAT(candidates_for(facts, false, false).back().outcome, HasSubstr("more than 200000 rows"));
}

TEST(Candidates, TheSetupOfTheLastResortGrowsWithTheRowsUpToItsFill) {
  const auto setup_of = [](std::int64_t num_rows) {
    MatrixStatistics facts = facts_of_rows();
    facts.num_rows = facts.num_cols = facts.diagonal_positive = num_rows;
    facts.nnz = 5 * num_rows;
    return candidates_for(facts, false, false).back().setup;
  };
  EXPECT_GT(setup_of(20000), 3 * setup_of(5000));
  EXPECT_LT(setup_of(200000), 1.1 * setup_of(100000));
}

/// The iterations that are expected of a method before any is tried.
double iterations_of(const MatrixStatistics& facts, const std::string& name) {
  auto candidates = candidates_for(facts, false, false);
  expect_iterations(candidates);
  return found_in(candidates, name).iterations;
}

TEST(Candidates, MultigridIsExpectedToTakeMoreIterationsOnSystemsButNotOnFinerMeshes) {
  MatrixStatistics facts = facts_of_rows();
  facts.symmetric_values = true;
  facts.jacobi_norm = 1;
  const double usual = iterations_of(facts, "amg");
  facts.m_matrix_rows = 500;
  EXPECT_GT(iterations_of(facts, "amg"), 2 * usual);
  facts.num_rows = facts.diagonal_positive = facts.m_matrix_rows = 125000;
  EXPECT_NEAR(iterations_of(facts, "amg"), usual, 1e-9);
}

TEST(Candidates, VectorsOfTheNearNullSpaceHelpMultigridOnSystems) {
  MatrixStatistics facts = facts_of_rows();
  facts.symmetric_values = true;
  facts.jacobi_norm = 1;
  for (const bool is_scalar : {false, true}) {
    facts.m_matrix_rows = is_scalar ? 1000 : 500;
    auto without = candidates_for(facts, false, false), with = candidates_for(facts, false, false, true);
    expect_iterations(without);
    expect_iterations(with);
    EXPECT_EQ(found_in(with, "amg").iterations < found_in(without, "amg").iterations, !is_scalar);
    EXPECT_EQ(found_in(with, "ic0").iterations, found_in(without, "ic0").iterations);
  }
}

TEST(Candidates, JacobiIsExpectedToTakeMoreIterationsOnFinerMeshes) {
  MatrixStatistics facts = facts_of_rows();
  facts.symmetric_values = true;
  facts.jacobi_norm = 1;
  facts.row_length_mean = 7;
  const double in_space = iterations_of(facts, "jacobi");
  facts.row_length_mean = 5;
  EXPECT_GT(iterations_of(facts, "jacobi"), 2 * in_space) << "a mesh in the plane";
  facts.row_length_mean = 7;
  facts.num_rows = facts.num_cols = facts.diagonal_positive = facts.m_matrix_rows = 64000;
  EXPECT_NEAR(iterations_of(facts, "jacobi"), 4 * in_space, 1e-9);
  facts.m_matrix_rows = 1000;
  EXPECT_GT(iterations_of(facts, "jacobi"), 16 * in_space) << "a system of equations";
}

TEST(Candidates, ADominantDiagonalBoundsTheIterationsOfJacobi) {
  MatrixStatistics facts = facts_of_rows();
  facts.num_rows = facts.num_cols = facts.diagonal_positive = 1000000;
  for (const bool is_symmetric : {false, true}) {
    facts.symmetric_values = is_symmetric;
    facts.jacobi_norm = 1;
    const double usual = iterations_of(facts, "jacobi");
    facts.jacobi_norm = 0.8;
    // The condition is at most 9, so that the error falls by 2 an iteration of cg, and by 0.8^-2 one of
    // bicgstab.
    EXPECT_NEAR(iterations_of(facts, "jacobi"), std::log(1e8) * (is_symmetric ? 1.5 : 0.5 / -std::log(0.8)),
                1e-9);
    EXPECT_LT(iterations_of(facts, "jacobi"), usual);
    facts.jacobi_norm = 0;
    EXPECT_NEAR(iterations_of(facts, "jacobi"), is_symmetric ? std::log(1e8) / 2 : 1, 1e-9);
  }
}

TEST(Candidates, KernelsOfSmallMatricesTakeTheTimeOfTheirStart) {
  MatrixStatistics small = facts_of_rows(), large = small;
  small.symmetric_values = large.symmetric_values = true;
  large.num_rows = large.diagonal_positive = large.m_matrix_rows = 10000000;
  large.nnz = 270000000;
  const auto of_small = candidates_for(small, true, false), of_large = candidates_for(large, true, false);
  EXPECT_GT(found_in(of_small, "amg").application, 2 * found_in(of_large, "amg").application);
  EXPECT_GT(found_in(of_small, "amg").setup, 2 * found_in(of_large, "amg").setup);
  // A product, an application, and seven kernels for the vectors, each as much as the product.
  EXPECT_NEAR(found_in(of_small, "jacobi").iteration, 9, 0.1);
  EXPECT_NEAR(found_in(of_large, "jacobi").iteration, 1.5, 0.1);
}

TYPED_TEST(AutoSolverTest, TheForecastOfOneMethodRaisesWhatIsExpectedOfOthers) {
  using System = typename TestFixture::System;
  System system("poisson2d:60");
  std::vector<std::string> names;
  // The second would take 10 iterations if the first took 100; the first takes more.
  auto chooser = TestFixture::chooser_of(
      {TestFixture::candidate("jacobi", "cg", 1, 1, 1), TestFixture::candidate("ic0", "cg", 1e6, 1, 0.1)},
      system, names);
  EXPECT_TRUE(TestFixture::solve(system, chooser, stop_at(1e-10, 2000)).converged);
  EXPECT_GT(chooser.candidates()[1].iterations, 10);
}

TYPED_TEST(AutoSolverTest, TheIterationsOfMultigridSayNothingOfOthers) {
  using System = typename TestFixture::System;
  System system("poisson2d:60");
  std::vector<std::string> names;
  auto chooser = TestFixture::chooser_of(
      {TestFixture::candidate("amg", "cg", 1, 1, 0.01), TestFixture::candidate("ic0", "cg", 1e6, 1, 0.1)},
      system, names);
  const SolveResult result = TestFixture::solve(system, chooser, stop_at(1e-13, 2000));
  EXPECT_TRUE(result.converged);
  EXPECT_GT(result.iterations, 12) << "it looked at the residual";
  EXPECT_EQ(chooser.candidates()[1].iterations, 10);
}

TYPED_TEST(AutoSolverTest, ADozenIterationsOfJacobiComeFirstWhereTheyAreWithinTheBudget) {
  using System = typename TestFixture::System;
  const auto tried = [](System& system, double setup_of_best) {
    std::vector<std::string> names;
    // 100 iterations of Jacobi are expected, and 10 of the other one, which costs less.
    auto chooser = TestFixture::chooser_of({TestFixture::candidate("jacobi", "cg", 1, 2.5, 1),
                                            TestFixture::candidate("ic0", "cg", setup_of_best, 1, 0.1)},
                                           system, names);
    EXPECT_TRUE(TestFixture::solve(system, chooser, stop_at(1e-10, 2000)).converged);
    if (names.size() > 1) {
      EXPECT_THAT(chooser.candidates()[0].outcome, HasSubstr("left after 12 iterations"));
    }
    return names;
  };
  System hard("poisson2d:60");
  EXPECT_EQ(tried(hard, 116), (std::vector<std::string>{"jacobi", "ic0"}));  // 31 of 126
  System again("poisson2d:60");
  EXPECT_EQ(tried(again, 112), (std::vector<std::string>{"ic0"}));  // 31 of 122
  System easy("poisson2d:4");
  EXPECT_EQ(tried(easy, 116), (std::vector<std::string>{"jacobi"})) << "it is done at the first look";
}

TYPED_TEST(AutoSolverTest, JacobiIsNotTriedWhereThreeTimesTheWorkOfTheBestIsExpectedOfIt) {
  using System = typename TestFixture::System;
  const auto tried = [](double iteration_of_jacobi) {
    System system("poisson2d:60");
    std::vector<std::string> names;
    AutoSolverOptions half;
    half.budget = 0.5;
    // A work of 126 is expected of the best.
    auto chooser = TestFixture::chooser_of({TestFixture::candidate("jacobi", "cg", 1, iteration_of_jacobi, 1),
                                            TestFixture::candidate("ic0", "cg", 116, 1, 0.1)},
                                           system, names, half);
    EXPECT_TRUE(TestFixture::solve(system, chooser, stop_at(1e-10, 2000)).converged);
    return names;
  };
  EXPECT_EQ(tried(3.7), (std::vector<std::string>{"jacobi", "ic0"}));  // 371
  EXPECT_EQ(tried(3.8), (std::vector<std::string>{"ic0"}));            // 381
}

TYPED_TEST(AutoSolverTest, WhatOthersShowRaisesWhatIsExpectedOfOneThatWasLeft) {
  using System = typename TestFixture::System;
  System system("poisson2d:60");
  std::vector<std::string> names;
  // Jacobi is believed to take 100 iterations after its trial. The next one takes more than 20 times what is
  // expected of it.
  auto chooser = TestFixture::chooser_of(
      {TestFixture::candidate("jacobi", "cg", 1, 2.5, 1), TestFixture::candidate("ic0", "cg", 130, 1, 0.02)},
      system, names);
  EXPECT_TRUE(TestFixture::solve(system, chooser, stop_at(1e-10, 2000)).converged);
  EXPECT_EQ(names, (std::vector<std::string>{"jacobi", "ic0"}));
  EXPECT_GT(chooser.candidates()[0].iterations, 500);
}

TYPED_TEST(AutoSolverTest, AMethodThatIsExpectedToBeSlowHasItsTime) {
  using System = typename TestFixture::System;
  System system("poisson2d:60");
  std::vector<std::string> names;
  // 100 iterations are expected of the first: half of them are done before it is left.
  auto chooser = TestFixture::chooser_of(
      {TestFixture::candidate("jacobi", "cg", 1, 1, 1), TestFixture::candidate("ic0", "cg", 120, 1, 0.01)},
      system, names);
  EXPECT_TRUE(TestFixture::solve(system, chooser, stop_at(1e-10, 2000)).converged);
  EXPECT_EQ(names.back(), "ic0");
  EXPECT_GE(std::stoi(chooser.candidates()[0].outcome.substr(11)), 50);
  EXPECT_EQ(chooser.candidates()[0].setup, 1) << "it would have to be set up again";
}

TYPED_TEST(AutoSolverTest, TheLastResortComesInForADefiniteMatrixUnlessTheSolverIsCg) {
  using System = typename TestFixture::System;
  for (const std::string solver : {"gmres", "cg"}) {
    System system("poisson2d:60");
    std::vector<std::string> names;
    Candidate last = TestFixture::candidate("ilu0", solver, 120, 1, 0.01);
    last.is_last_resort = last.is_out = true;
    if (solver == "cg") last.outcome = "cg was named";  // as with_named says
    auto chooser =
        TestFixture::chooser_of({TestFixture::candidate("jacobi", "cg", 1, 1, 1), last}, system, names);
    EXPECT_TRUE(TestFixture::solve(system, chooser, stop_at(1e-10, 2000)).converged);
    EXPECT_EQ(names.back(), solver == "cg" ? "jacobi" : "ilu0");
  }
}

TYPED_TEST(AutoSolverTest, TheLastResortIsNotTheFirst) {
  using System = typename TestFixture::System;
  for (const bool is_last_resort : {false, true}) {
    System system("poisson2d:60");
    std::vector<std::string> names;
    Candidate last = TestFixture::candidate("ilu0", "gmres", 1, 1, 0.01);
    last.is_last_resort = is_last_resort;
    auto chooser =
        TestFixture::chooser_of({last, TestFixture::candidate("amg", "cg", 120, 1, 0.1)}, system, names);
    EXPECT_TRUE(TestFixture::solve(system, chooser, stop_at(1e-10, 2000)).converged);
    EXPECT_EQ(names.front(), is_last_resort ? "amg" : "ilu0");
  }
}

TYPED_TEST(AutoSolverTest, ALastResortFollowsOneThatFails) {
  using System = typename TestFixture::System;
  System system("poisson2d:60");
  std::vector<std::string> names;
  Candidate first = TestFixture::candidate("refused", "gmres", 1, 1, 0.01),
            second = TestFixture::candidate("ilu0", "gmres", 2, 1, 0.01);
  first.is_last_resort = second.is_last_resort = true;
  auto chooser = TestFixture::chooser_of({TestFixture::candidate("jacobi", "cg", 1, 1, 1), first, second},
                                         system, names);
  EXPECT_TRUE(TestFixture::solve(system, chooser, stop_at(1e-10, 2000)).converged);
  EXPECT_EQ(names, (std::vector<std::string>{"jacobi", "refused", "ilu0"}));
}

TYPED_TEST(AutoSolverTest, ALastResortIsLeftForAnotherOneAfterARestart) {
  using System = typename TestFixture::System;
  System system("poisson2d:100");
  std::vector<std::string> names;
  Candidate first = TestFixture::candidate("none", "gmres", 1, 1, 0.01),
            second = TestFixture::candidate("amg", "gmres", 100, 1, 0.01);
  first.is_last_resort = second.is_last_resort = true;
  auto chooser = TestFixture::chooser_of(
      {TestFixture::candidate("refused", "cg", 0.1, 0.1, 0.01), first, second}, system, names);
  EXPECT_TRUE(TestFixture::solve(system, chooser, stop_at(1e-10, 2000)).converged);
  ASSERT_EQ(names, (std::vector<std::string>{"refused", "none", "amg"}));
  const int left_after = std::stoi(chooser.candidates()[1].outcome.substr(11));
  EXPECT_GE(left_after, 100);
  EXPECT_LT(left_after, 500);
}

TYPED_TEST(AutoSolverTest, TheLastResortIsNotLeftBeforeFiveHundredIterations) {
  using System = typename TestFixture::System;
  for (const bool is_last_resort : {false, true}) {
    System system("poisson2d:100");
    std::vector<std::string> names;
    Candidate one = TestFixture::candidate("none", "gmres", 1, 1, 0.01);
    one.is_last_resort = is_last_resort;
    auto chooser = TestFixture::chooser_of({TestFixture::candidate("refused", "cg", 0.1, 0.1, 0.01), one,
                                            TestFixture::candidate("amg", "cg", 100, 1, 0.01)},
                                           system, names);
    EXPECT_TRUE(TestFixture::solve(system, chooser, stop_at(1e-10, 2000)).converged);
    ASSERT_EQ(names, (std::vector<std::string>{"refused", "none", "amg"}));
    EXPECT_EQ(std::stoi(chooser.candidates()[1].outcome.substr(11)) >= 500, is_last_resort)
        << chooser.candidates()[1].outcome;
  }
}

// All attempts together have no more iterations than the caller allows.
TYPED_TEST(AutoSolverTest, TheLimitIsOfAllAttempts) {
  using System = typename TestFixture::System;
  System system("poisson2d:60");
  std::vector<std::string> names;
  auto chooser = TestFixture::chooser_of(
      {TestFixture::candidate("jacobi", "cg", 1, 1, 1), TestFixture::candidate("ic0", "cg", 120, 1, 0.01)},
      system, names);
  const SolveResult result = TestFixture::solve(system, chooser, stop_at(1e-14, 60));
  EXPECT_EQ(names.back(), "ic0");
  EXPECT_EQ(result.iterations, 60);
}

// solve

TYPED_TEST(AutoSolverTest, SolvesModelProblems) {
  using System = typename TestFixture::System;
  for (const std::string problem : {"poisson2d:60", "anisotropic2d:50", "convection_diffusion3d:12",
                                    "tridiagonal:1", "tridiagonal:500", "elasticity3d:6", "circuit:30"}) {
    SCOPED_TRACE(problem);
    System system(problem);
    AutoSolver<double, TypeParam> chooser(TypeParam(), MatrixSource<double, TypeParam>(system.a));
    const SolveResult result = TestFixture::solve(system, chooser, stop_at(1e-8, 2000));
    EXPECT_TRUE(result.converged) << to_string(result.reason);
    EXPECT_LE(system.residual(), 1.001e-8);
    EXPECT_THAT(chooser.chosen().outcome, HasSubstr("solved in"));
  }
}

// diag(1, -1, ...) plus a coupling: Jacobi's CG breaks down, and the others come in.
TYPED_TEST(AutoSolverTest, AnIndefiniteMatrixIsSolvedByMethodsForGeneralOnes) {
  using System = typename TestFixture::System;
  std::vector<std::vector<double>> dense(80, std::vector<double>(80, 0.0));
  for (int i = 0; i < 80; ++i) {
    dense[i][i] = 1;
    if (i > 0) dense[i][i - 1] = dense[i - 1][i] = 1.5;
  }
  System system(to_device<TypeParam>(sparse(dense)));
  AutoSolver<double, TypeParam> chooser(TypeParam(), MatrixSource<double, TypeParam>(system.a));
  EXPECT_TRUE(TestFixture::solve(system, chooser, stop_at(1e-8, 2000)).converged);
  EXPECT_LE(system.residual(), 1.001e-8);
  EXPECT_NE(chooser.chosen().solver.name, "cg");
  for (const Candidate& candidate : chooser.candidates())
    if (candidate.preconditioner.name == "amg") {
      EXPECT_EQ(candidate.outcome, "A is not positive definite");
    }
}

TYPED_TEST(AutoSolverTest, ASaddlePointIsSolved) {
  using System = typename TestFixture::System;
  std::vector<std::vector<double>> dense(60, std::vector<double>(60, 0.0));
  for (int i = 0; i < 40; ++i) {
    dense[i][i] = 2;
    if (i > 0) dense[i][i - 1] = dense[i - 1][i] = -1;
  }
  for (int k = 0; k < 20; ++k) dense[40 + k][2 * k] = dense[2 * k][40 + k] = 1;
  System system(to_device<TypeParam>(sparse(dense)));
  AutoSolver<double, TypeParam> chooser(TypeParam(), MatrixSource<double, TypeParam>(system.a));
  EXPECT_TRUE(TestFixture::solve(system, chooser, stop_at(1e-8, 2000)).converged);
  EXPECT_LE(system.residual(), 1.001e-8);
}

TYPED_TEST(AutoSolverTest, GoesOnFromTheVectorReachedWhereAnotherMethodIsExpectedToBeFaster) {
  using System = typename TestFixture::System;
  System system("poisson2d:60");
  std::vector<std::string> names;
  auto chooser = TestFixture::chooser_of(
      {TestFixture::candidate("jacobi", "cg", 1, 1, 1), TestFixture::candidate("ic0", "cg", 150, 1, 0.3)},
      system, names);
  std::vector<double> norms;
  const SolveResult result = TestFixture::solve(
      system, chooser, stop_at(1e-10, 2000),
      [&](std::int64_t k, double norm) { norms.resize(static_cast<std::size_t>(k) + 1, norm); });
  EXPECT_TRUE(result.converged);
  EXPECT_EQ(names, (std::vector<std::string>{"jacobi", "ic0"}));
  EXPECT_THAT(chooser.candidates()[0].outcome, HasSubstr("left after"));
  EXPECT_EQ(chooser.chosen().preconditioner.name, "ic0");
  // The iterations of both count, and the second begins with what the first left.
  const auto left = static_cast<std::size_t>(std::stoi(chooser.candidates()[0].outcome.substr(11)));
  EXPECT_GT(result.iterations, static_cast<std::int64_t>(left));
  EXPECT_EQ(norms.size(), static_cast<std::size_t>(result.iterations) + 1);
  EXPECT_LT(norms[left], norms[0]);
  EXPECT_LT(norms[left], 1.5 * norms[left - 1]);
}

TYPED_TEST(AutoSolverTest, StaysWhereTheOtherIsExpectedToTakeLonger) {
  using System = typename TestFixture::System;
  System system("poisson2d:20");
  std::vector<std::string> names;
  auto chooser = TestFixture::chooser_of(
      {TestFixture::candidate("jacobi", "cg", 1, 1, 1), TestFixture::candidate("ic0", "cg", 1e4, 1, 0.3)},
      system, names);
  EXPECT_TRUE(TestFixture::solve(system, chooser, stop_at(1e-10, 2000)).converged);
  EXPECT_EQ(names, std::vector<std::string>{"jacobi"});
}

/// Another one whose application takes some milliseconds, whatever is expected of it.
template <class Space>
class Slow : public Preconditioner<double, Space> {
 public:
  Slow(const Preconditioner<double, Space>& inner, int milliseconds) : m_inner(inner), m_time(milliseconds) {}
  std::string name() const override { return m_inner.name(); }
  std::int64_t num_rows() const override { return m_inner.num_rows(); }
  bool is_symmetric() const override { return m_inner.is_symmetric(); }
  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override {
    return m_inner.make_workspace(space, num_vectors);
  }
  void apply(const Space& space, MultiVectorView<const double, Space> x, MultiVectorView<double, Space> y,
             Workspace& workspace) const override {
    std::this_thread::sleep_for(m_time);
    m_inner.apply(space, x, y, workspace);
  }

 private:
  const Preconditioner<double, Space>& m_inner;
  std::chrono::milliseconds m_time;
};

// By what is expected ic0 takes six products with A and Jacobi a hundred. An iteration of Jacobi may take a
// millisecond where threads have to wake up.
TYPED_TEST(AutoSolverTest, AProbeTakesWhatTheClockSaysInPlaceOfWhatIsExpected) {
  using System = typename TestFixture::System;
  const auto set_up_with = [](bool probe, double setup_of_jacobi) {
    System system("poisson2d:20");
    std::vector<std::string> names;
    std::unique_ptr<Slow<TypeParam>> slow;
    AutoSolverOptions options;
    options.probe = probe;
    const auto setup = [&, inner = TestFixture::setup_of(system, names)](const Candidate& chosen) {
      const Preconditioner<double, TypeParam>* made = inner(chosen);
      if (chosen.preconditioner.name != "ic0") return made;
      slow = std::make_unique<Slow<TypeParam>>(*made, probe ? 300 : 1);
      made = slow.get();
      return made;
    };
    AutoSolver<double, TypeParam> chooser({TestFixture::candidate("ic0", "cg", 1, 1, 0.05),
                                           TestFixture::candidate("jacobi", "cg", setup_of_jacobi, 1, 1)},
                                          system.a.num_rows, static_cast<std::int64_t>(system.a.nnz()), setup,
                                          options);
    int times = 0;
    chooser.set_listener(
        [&](const std::string& text) { times += text.find("by the clock") != text.npos ? 1 : 0; });
    EXPECT_TRUE(TestFixture::solve(system, chooser, stop_at(1e-8, 500)).converged);
    const int times_before = times;
    Kokkos::deep_copy(system.x, 0.0);
    EXPECT_TRUE(TestFixture::solve(system, chooser, stop_at(1e-8, 500)).converged);
    EXPECT_EQ(times, times_before) << "only before the first setup";
    EXPECT_EQ(times > 0, probe);
    const Candidate& slow_one = chooser.candidates()[0];
    EXPECT_EQ(slow_one.application > 100, probe) << "300 ms, and a product takes less than 3";
    EXPECT_GE(slow_one.iteration, slow_one.application);
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(set_up_with(false, 1), Names{"ic0"});
  EXPECT_EQ(set_up_with(true, 1), (Names{"jacobi", "ic0", "jacobi"})) << "one preconditioner at a time";
  EXPECT_EQ(set_up_with(true, 5), (Names{"ic0", "jacobi"}))
      << "Jacobi's setup is beyond the budget of a probe";
}

TYPED_TEST(AutoSolverTest, ASetupThatFailsIsOut) {
  using System = typename TestFixture::System;
  System system("poisson2d:20");
  std::vector<std::string> names, told;
  auto chooser = TestFixture::chooser_of(
      {TestFixture::candidate("refused", "cg", 0, 1, 0.1), TestFixture::candidate("jacobi", "cg", 1, 1, 1)},
      system, names);
  chooser.set_listener([&](const std::string& text) { told.push_back(text); });
  EXPECT_TRUE(TestFixture::solve(system, chooser, stop_at(1e-8, 2000)).converged);
  EXPECT_EQ(names, (std::vector<std::string>{"refused", "jacobi"}));
  EXPECT_EQ(chooser.candidates()[0].outcome, "no such thing");
  EXPECT_THAT(told, ::testing::Contains("refused with cg: no such thing"));
}

// The error is that of Kokkos for a View of a device.
TYPED_TEST(AutoSolverTest, ASetupThatNeedsTooMuchMemoryIsOut) {
  using System = typename TestFixture::System;
  System system("poisson2d:20");
  std::vector<std::string> names;
  AutoSolver<double, TypeParam> chooser(
      {TestFixture::candidate("amg", "cg", 0, 1, 0.1), TestFixture::candidate("jacobi", "cg", 1, 1, 1)},
      system.a.num_rows, static_cast<std::int64_t>(system.a.nnz()),
      [&, set_up = TestFixture::setup_of(system, names)](const Candidate& chosen) {
        if (chosen.preconditioner.name == "amg")
          throw std::runtime_error("Kokkos ERROR: Cuda memory space failed to allocate 1.455 TiB");
        return set_up(chosen);
      });
  EXPECT_TRUE(TestFixture::solve(system, chooser, stop_at(1e-8, 2000)).converged);
  EXPECT_THAT(chooser.candidates()[0].outcome, HasSubstr("more memory"));
}

TYPED_TEST(AutoSolverTest, WithoutAnyMethodThereIsAnError) {
  using System = typename TestFixture::System;
  System system("poisson2d:20");
  std::vector<std::string> names;
  auto chooser = TestFixture::chooser_of({TestFixture::candidate("refused", "cg", 0, 1, 0.1)}, system, names);
  EXPECT_THAT(message_of<InputError>([&] { TestFixture::solve(system, chooser, stop_at(1e-8, 2000)); }),
              HasSubstr("refused with cg: no such thing"));
}

TYPED_TEST(AutoSolverTest, AFurtherSolveBeginsWithTheMethodThatSolved) {
  using System = typename TestFixture::System;
  System system("poisson2d:60");
  std::vector<std::string> names;
  auto chooser = TestFixture::chooser_of(
      {TestFixture::candidate("jacobi", "cg", 1, 1, 1), TestFixture::candidate("ic0", "cg", 150, 1, 0.3)},
      system, names);
  EXPECT_TRUE(TestFixture::solve(system, chooser, stop_at(1e-10, 2000)).converged);
  ASSERT_EQ(names, (std::vector<std::string>{"jacobi", "ic0"}));
  Kokkos::deep_copy(system.x, 0.0);
  const SolveResult again = TestFixture::solve(system, chooser, stop_at(1e-10, 2000));
  EXPECT_TRUE(again.converged);
  EXPECT_LE(system.residual(), 1.001e-10);
  EXPECT_EQ(names.size(), 2) << "it is still set up";
  EXPECT_EQ(chooser.chosen().outcome, "solved in " + std::to_string(again.iterations) + " iterations");
}

TYPED_TEST(AutoSolverTest, WithoutASolutionXIsNotWorse) {
  using System = typename TestFixture::System;
  System system("poisson2d:40");
  AutoSolver<double, TypeParam> chooser(TypeParam(), MatrixSource<double, TypeParam>(system.a));
  const SolveResult result = TestFixture::solve(system, chooser, stop_at(1e-12, 3));
  EXPECT_EQ(result.reason, StopReason::max_iters);
  EXPECT_EQ(result.iterations, 3);
  EXPECT_LE(system.residual(), 1);
}

TYPED_TEST(AutoSolverTest, TheCallerEndsAllAttempts) {
  using System = typename TestFixture::System;
  System system("poisson2d:60");
  std::vector<std::string> names;
  auto chooser = TestFixture::chooser_of(
      {TestFixture::candidate("jacobi", "cg", 1, 1, 1), TestFixture::candidate("ic0", "cg", 1e4, 1, 0.3)},
      system, names);
  StoppingOptions stopping = stop_at(1e-12, 2000);
  const SolveResult result = TestFixture::solve(system, chooser, stopping, [&](std::int64_t k, double) {
    if (k == 7) stopping.max_iters = 7;
  });
  EXPECT_EQ(result.iterations, 7);
  EXPECT_EQ(names, std::vector<std::string>{"jacobi"});
}

TYPED_TEST(AutoSolverTest, DecisionsAreTheSameEveryTime) {
  using System = typename TestFixture::System;
  std::vector<std::string> outcomes[2];
  for (auto& found : outcomes) {
    System system("elasticity3d:6");
    AutoSolver<double, TypeParam> chooser(TypeParam(), MatrixSource<double, TypeParam>(system.a));
    TestFixture::solve(system, chooser, stop_at(1e-10, 2000));
    for (const Candidate& candidate : chooser.candidates()) found.push_back(candidate.outcome);
    const auto x = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), system.x);
    for (std::size_t i = 0; i < x.extent(0); ++i)
      found.push_back(std::to_string(std::bit_cast<std::uint64_t>(x(i))));
  }
  EXPECT_EQ(outcomes[0], outcomes[1]);
}

TYPED_TEST(AutoSolverTest, RefusesAMatrixThatIsNotSquare) {
  const HostMatrix<double> a = sparse<double>({{1, 2, 3}, {3, 0, 1}});
  const auto on_device = to_device<TypeParam>(a);
  EXPECT_THROW((AutoSolver<double, TypeParam>(TypeParam(), MatrixSource<double, TypeParam>(on_device))),
               InputError);
}

}  // namespace
}  // namespace prekond::testing
