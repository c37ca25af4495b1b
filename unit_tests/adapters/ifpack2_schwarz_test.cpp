// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/ifpack2_cases.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/krylov/solver.hpp>
#include <prekond/precond/schwarz.hpp>

#include <BelosLinearProblem.hpp>
#include <BelosPseudoBlockCGSolMgr.hpp>
#include <BelosPseudoBlockGmresSolMgr.hpp>
#include <BelosTpetraAdapter.hpp>
#include <Ifpack2_AdditiveSchwarz.hpp>
#include <Ifpack2_DiagonalFilter.hpp>

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace prekond::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// ========================================================================================== in solvers

/// Ranks may begin within a node of elasticity, where multigrid does not see how many unknowns nodes have.
OptionMap options_of(const std::string& name) {
  return name == "amg" ? OptionMap{{"unknowns_per_node", std::int64_t(1)}} : OptionMap();
}

/// A solve as `prekond solve --generate SPEC --precond NAME` does it, only on this rank.
SolveResult solved_alone(const std::string& spec, const std::string& name) {
  const Space space;
  const auto a = generate<double>(space, spec);
  const auto m = create_preconditioner<double, Space>(name, options_of(name));
  m->symbolic(space, a);
  m->numeric(space, a);
  Vector<double, Space> b("b", a.num_rows), x("x", a.num_rows);
  Kokkos::deep_copy(b, 1.0);
  return create_solver<double, Space>("cg")->solve(space, CsrOperator<double, Space>(a), m.get(), b, x, {});
}

/// CG only on this rank, preconditioned by a method for the blocks of as many rows as each rank has: methods
/// come down to that on several ranks, and methods that are strong on one rank to `dense`.
std::int64_t iterations_with_blocks(const std::string& spec, const std::string& method) {
  const Space space;
  const auto a = generate<double>(space, spec);
  SchwarzOptions options;
  options.overlap = 0;
  options.partition = PartitionMethod::rows;
  options.block_size = static_cast<int>((a.num_rows + num_ranks() - 1) / num_ranks());
  options.local.name = method;
  options.local.options = options_of(method);
  options.resolve();
  Schwarz<double, Space> m(options);
  m.numeric(space, a);
  Vector<double, Space> b("b", a.num_rows), x("x", a.num_rows);
  Kokkos::deep_copy(b, 1.0);
  const auto result =
      create_solver<double, Space>("cg")->solve(space, CsrOperator<double, Space>(a), &m, b, x, {});
  EXPECT_TRUE(result.converged);
  return result.iterations;
}

/// The solve of solved_alone by way of the adapters, on all ranks.
SolveResult solved_by_all(const std::string& spec, const std::string& name) {
  const HostMatrix<double> a = problem(spec);
  const auto map = contiguous_map(a.num_rows);
  const auto matrix = distribute(a, map);
  const auto m = computed(name, matrix, options_of(name));
  TpetraVector b(map), x(map);
  b.putScalar(1);
  return tpetra::solve(Space(), *create_solver<double, Space>("cg"),
                       Teuchos::RCP<const Tpetra::Operator<>>(matrix), &m->local(), b, x);
}

TEST(Ifpack2Solve, OnOneRankAsManyIterationsAsTheCommandAndOnMoreAsBlockJacobi) {
  const std::set<std::string> nearly_exact = {"polynomial", "ls_polynomial", "ick"};
  for (const char* spec : {"elasticity3d:8", "poisson3d:16"}) {
    const std::int64_t with_exact_blocks = iterations_with_blocks(spec, "dense");
    for (const auto& line : registry()) {
      SCOPED_TRACE(line.name + std::string(", ") + spec);
      if (is_nonsymmetric(line)) {
        EXPECT_THAT(message_of<InputError>([&] { solved_by_all(spec, line.name); }),
                    HasSubstr("not symmetric"));
        continue;
      }
      const SolveResult alone = solved_alone(spec, line.name), all = solved_by_all(spec, line.name);
      ::testing::Test::RecordProperty(
          line.name + "_" + std::string(spec, std::string(spec).find(':')) + "_np" +
              std::to_string(num_ranks()),
          std::to_string(all.iterations) + " (one rank: " + std::to_string(alone.iterations) + ")");
      ASSERT_TRUE(alone.converged);
      EXPECT_TRUE(all.converged) << to_string(all.reason);
      EXPECT_LE(all.true_relative_residual, 1e-5);
      if (num_ranks() == 1) {
        EXPECT_EQ(all.iterations, alone.iterations);
      }
      if (line.name == "auto") continue;  // each rank takes a method for its rows
      EXPECT_GE(all.iterations, alone.iterations - 2);
      if (line.name == "jacobi")
        EXPECT_LE(all.iterations, alone.iterations + 1);
      else if (nearly_exact.contains(line.name))  // nearly exact on a rank's rows
        EXPECT_LE(all.iterations, alone.iterations + with_exact_blocks);
      else if (line.name == "amg") {
        // Blocks may differ by a row from those that ranks have.
        const auto with_blocks = static_cast<double>(iterations_with_blocks(spec, "amg"));
        EXPECT_NEAR(static_cast<double>(all.iterations), with_blocks, 1 + with_blocks / 50);
      } else
        EXPECT_LE(all.iterations, 3 * alone.iterations);
      if (line.name == "adaptive_fsai") {
        EXPECT_LT(all.iterations, solved_alone(spec, "jacobi").iterations);
      }
    }
  }
}

enum class Krylov { cg, gmres };

struct BelosResult {
  bool converged;
  int iterations;
  double relative_residual;
};

/// By Belos, preconditioned from the right (CG: in its own way); b = 1, x = 0 before.
BelosResult solved_by_belos(Krylov krylov, const Teuchos::RCP<TpetraMatrix>& a,
                            const Teuchos::RCP<const Tpetra::Operator<>>& m) {
  using Vectors = TpetraMultiVector;
  using Op = Tpetra::Operator<>;
  const auto x = Teuchos::rcp(new Vectors(a->getDomainMap(), 1)),
             b = Teuchos::rcp(new Vectors(a->getRangeMap(), 1));
  b->putScalar(1);
  const auto linear = Teuchos::rcp(new Belos::LinearProblem<double, Vectors, Op>(a, x, b));
  if (krylov == Krylov::cg)
    linear->setLeftPrec(m);
  else
    linear->setRightPrec(m);
  linear->setProblem();
  const auto parameters = Teuchos::parameterList();
  parameters->set("Convergence Tolerance", 1e-6);
  parameters->set("Maximum Iterations", 2000);
  if (krylov == Krylov::gmres) parameters->set("Num Blocks", 200);
  std::unique_ptr<Belos::SolverManager<double, Vectors, Op>> solver;
  if (krylov == Krylov::cg)
    solver = std::make_unique<Belos::PseudoBlockCGSolMgr<double, Vectors, Op>>(linear, parameters);
  else
    solver = std::make_unique<Belos::PseudoBlockGmresSolMgr<double, Vectors, Op>>(linear, parameters);
  const bool converged = solver->solve() == Belos::Converged;
  Vectors residual(*b, Teuchos::Copy);
  a->apply(*x, residual, Teuchos::NO_TRANS, -1.0, 1.0);
  return {converged, solver->getNumIters(), residual.getVector(0)->norm2() / b->getVector(0)->norm2()};
}

TEST(Ifpack2Solve, InBelos) {
  const HostMatrix<double> a = problem("elasticity3d:6");
  const auto map = contiguous_map(a.num_rows);
  const auto matrix = distribute(a, map);
  for (const auto& line : registry()) {
    SCOPED_TRACE(line.name);
    const auto m = computed(line.name, matrix, options_of(line.name));
    const BelosResult gmres = solved_by_belos(Krylov::gmres, matrix, m);
    EXPECT_TRUE(gmres.converged);
    EXPECT_LE(gmres.relative_residual, 1e-5);
    EXPECT_GE(m->getNumApply(), gmres.iterations);
    if (is_nonsymmetric(line)) continue;
    const BelosResult cg = solved_by_belos(Krylov::cg, matrix, m);
    EXPECT_TRUE(cg.converged);
    EXPECT_LE(cg.relative_residual, 1e-5);
    const auto own = static_cast<double>(solved_by_all("elasticity3d:6", line.name).iterations);
    EXPECT_NEAR(cg.iterations, own, 1 + 0.01 * own);
    EXPECT_GE(m->getNumApply(), cg.iterations + gmres.iterations);
  }
}

TEST(Ifpack2Solve, ANonsymmetricMatrixByGmres) {
  const HostMatrix<double> a = problem("convection_diffusion3d:10");
  const auto map = contiguous_map(a.num_rows);
  const auto matrix = distribute(a, map);
  const BelosResult jacobi = solved_by_belos(Krylov::gmres, matrix, computed("jacobi", matrix));
  for (const auto& line : registry()) {
    if (!is_nonsymmetric(line)) continue;
    SCOPED_TRACE(line.name);
    const BelosResult result = solved_by_belos(Krylov::gmres, matrix, computed(line.name, matrix));
    EXPECT_TRUE(result.converged);
    EXPECT_LE(result.relative_residual, 1e-5);
    EXPECT_LT(result.iterations, jacobi.iterations);
  }
}

// ================================================================================== in AdditiveSchwarz

struct Schwarz {
  AdapterPointer inner;
  Teuchos::RCP<Ifpack2::AdditiveSchwarz<RowMatrix>> outer;
};

Schwarz schwarz(const std::string& name, const Teuchos::RCP<const RowMatrix>& matrix, int overlap,
                const Teuchos::ParameterList& more = {}, const OptionMap& options = {}) {
  Schwarz s;
  s.inner = ifpack2::create<RowMatrix>(name, Teuchos::null);
  s.inner->setParameters(list_of(options));
  s.outer = Teuchos::rcp(new Ifpack2::AdditiveSchwarz<RowMatrix>(matrix));
  Teuchos::ParameterList list = more;
  list.set("schwarz: overlap level", overlap);
  if (!list.isParameter("schwarz: combine mode")) list.set("schwarz: combine mode", "ADD");
  s.outer->setParameters(list);
  const Teuchos::RCP<Ifpack2::Preconditioner<>> inner = s.inner;
  s.outer->setInnerPreconditioner(inner);
  s.outer->initialize();
  s.outer->compute();
  return s;
}

TEST(Ifpack2Schwarz, WithoutOverlapItIsTheBlockOfEachRank) {
  const HostMatrix<double> a = problem("elasticity3d:4"), b = problem("elasticity3d:4,seed=2");
  const Columns x = random_columns(a.num_rows, 2, 3);
  for (const auto& [map_name, map] : maps(a.num_rows))
    for (const auto& line : registry()) {
      SCOPED_TRACE(line.name + ", " + map_name);
      const auto matrix = distribute(a, map);
      const Schwarz s = schwarz(line.name, matrix, 0);
      EXPECT_TRUE(s.inner->isComputed());
      EXPECT_EQ(applied(*s.outer, x, map), applied(*reference(line.name, a, *map), own_part(x, *map)));
      replace_values(*matrix, b);
      s.outer->compute();
      EXPECT_EQ(s.inner->getNumCompute(), 2);
      EXPECT_EQ(applied(*s.outer, x, map), applied(*reference(line.name, b, *map), own_part(x, *map)));
    }
}

TEST(Ifpack2Schwarz, TheFilteredMatrixIsNotCopied) {
  const HostMatrix<double> a = problem("poisson3d:6");
  const auto expect_no_copy = [](const Schwarz& s) {
    using Filter = Ifpack2::Details::AdditiveSchwarzFilter<RowMatrix>;
    ASSERT_NE(dynamic_cast<const Filter*>(s.inner->getMatrix().getRawPtr()), nullptr);
    EXPECT_THAT(s.inner->report().notes, Not(Contains(HasSubstr("copied"))));
    const ToolEvents events;
    s.inner->initialize();
    s.inner->compute();
    if (s.inner->getMatrix()->getLocalNumEntries() > 0) {
      EXPECT_THAT(events.kernels(), Contains(HasSubstr("prekond::rows_ascend")));
    }
    EXPECT_THAT(events.allocations(), Not(Contains(HasSubstr("prekond::tpetra::local_matrix"))));
  };
  Teuchos::ParameterList permuted;
  permuted.set("schwarz: use reordering", true).set("schwarz: filter singletons", true);
  permuted.sublist("schwarz: reordering list").set("order_method", "rcm");
  for (const auto& [map_name, map] : maps(a.num_rows))
    for (const auto& line : registry())
      for (const int overlap : {0, 1}) {
        SCOPED_TRACE(line.name + ", " + map_name + ", overlap " + std::to_string(overlap));
        const auto matrix = distribute(a, map);
        expect_no_copy(schwarz(line.name, matrix, overlap));
        if (map_name == "contiguous") expect_no_copy(schwarz(line.name, matrix, overlap, permuted));
      }
}

TEST(Ifpack2Schwarz, AFailureOnOneRankIsThrownByAll) {
  const HostMatrix<double> a = problem("poisson2d:13");
  const auto map = contiguous_map(a.num_rows);
  const std::int64_t last = a.num_rows - 1;
  const auto matrix = distribute(with_zero_row(a, last), map);
  for (const auto& line : registry()) {
    if (!line.properties.needs_spd) continue;
    SCOPED_TRACE(line.name);
    const std::string text = message_of<InputError>([&] { schwarz(line.name, matrix, 0); });
    EXPECT_THAT(text, AllOf(HasSubstr("rank " + std::to_string(num_ranks() - 1) + " of " +
                                      std::to_string(num_ranks())),
                            HasSubstr("in its subdomain")));
  }
}

TEST(Ifpack2Schwarz, AMatrixThatIsNoCrsMatrixIsCopiedRowByRow) {
  const HostMatrix<double> a = problem("poisson2d:13");
  HostMatrix<double> scaled = a;  // what the filter makes of it
  for (std::int64_t i = 0; i < a.num_rows; ++i) entry(scaled, i, i) *= 2;
  const Columns x = random_columns(a.num_rows, 2, 3);
  for (const auto& [map_name, map] : maps(a.num_rows)) {
    const Teuchos::RCP<const RowMatrix> matrix = distribute(a, map);
    const Teuchos::RCP<const RowMatrix> filter =
        Teuchos::rcp(new Ifpack2::DiagonalFilter<RowMatrix>(matrix, 0.0, 2.0));
    for (const auto& line : registry()) {
      SCOPED_TRACE(line.name + ", " + map_name);
      const Schwarz s = schwarz(line.name, filter, 0);
      EXPECT_THAT(s.inner->report().notes, Contains(HasSubstr("row by row on the host")));
      EXPECT_EQ(applied(*s.outer, x, map), applied(*reference(line.name, scaled, *map), own_part(x, *map)));
    }
  }
}

TEST(Ifpack2Schwarz, OverlapLowersTheIterations) {
  const HostMatrix<double> a = problem("poisson3d:10");
  const auto map = contiguous_map(a.num_rows);
  const auto matrix = distribute(a, map);
  Teuchos::ParameterList restricted;
  restricted.set("schwarz: combine mode", "ZERO");
  for (const auto& line : registry()) {
    SCOPED_TRACE(line.name);
    // With a weak solver in the subdomains the weight of what overlaps counts more than what is gained.
    const OptionMap strong = {
        {"max_steps", std::int64_t(30)}, {"step_size", std::int64_t(1)}, {"step_tolerance", 0.0}};
    const OptionMap options = line.name == "adaptive_fsai" ? strong : OptionMap{};
    const auto solve = [&](Krylov method, int overlap, const Teuchos::ParameterList& more) {
      return solved_by_belos(method, matrix, schwarz(line.name, matrix, overlap, more, options).outer);
    };
    const Krylov summed = is_nonsymmetric(line) ? Krylov::gmres : Krylov::cg;
    const BelosResult cg_0 = solve(summed, 0, {}), cg_1 = solve(summed, 1, {});
    const BelosResult gmres_0 = solve(Krylov::gmres, 0, restricted),
                      gmres_1 = solve(Krylov::gmres, 1, restricted);
    for (const BelosResult& result : {cg_0, cg_1, gmres_0, gmres_1}) {
      EXPECT_TRUE(result.converged);
      EXPECT_LE(result.relative_residual, 1e-5);
    }
    ::testing::Test::RecordProperty(line.name, "CG " + std::to_string(cg_0.iterations) + ", " +
                                                   std::to_string(cg_1.iterations) + "; GMRES " +
                                                   std::to_string(gmres_0.iterations) + ", " +
                                                   std::to_string(gmres_1.iterations));
    EXPECT_LE(gmres_1.iterations, gmres_0.iterations + 2);
    // Summed up, the overlap weighs the rows that several ranks have more: only what couples rows makes up
    // for that.
    EXPECT_LE(cg_1.iterations, 3 * cg_0.iterations);
    if (line.name == "adaptive_fsai") {
      EXPECT_LE(cg_1.iterations, cg_0.iterations + 2);
    }
  }
}

TEST(Ifpack2Schwarz, OverlapOfDiagonalsIsKnown) {
  const HostMatrix<double> a = problem("poisson3d:6");
  const Columns x = random_columns(a.num_rows, 2, 3);
  for (const auto& [map_name, map] : maps(a.num_rows)) {
    const auto matrix = distribute(a, map);
    // With overlap 1 a rank has the rows that its own are coupled with: `ranks` counts the ranks of a row.
    std::vector<double> mine(static_cast<std::size_t>(a.num_rows), 0), ranks = mine;
    for (const GlobalIndex i : columns_of_rows(a, *map)) mine[static_cast<std::size_t>(i)] = 1;
    Teuchos::reduceAll(*world(), Teuchos::REDUCE_SUM, static_cast<int>(mine.size()), mine.data(),
                       ranks.data());
    const std::vector<double> weights = own_part({ranks}, *map)[0];
    for (const char* name : {"none", "jacobi"}) {
      SCOPED_TRACE(std::string(name) + ", " + map_name);
      const Columns once = applied(*reference(name, a, *map), own_part(x, *map));
      Columns summed = once;
      for (auto& column : summed)
        for (std::size_t i = 0; i < column.size(); ++i) column[i] *= weights[i];
      expect_near(applied(*schwarz(name, matrix, 1).outer, x, map), summed);
      Teuchos::ParameterList restricted;
      restricted.set("schwarz: combine mode", "ZERO");
      expect_near(applied(*schwarz(name, matrix, 1, restricted).outer, x, map), once);
    }
  }
}

TEST(Ifpack2Schwarz, ReorderingAndSingletons) {
  // Row 7 is decoupled from the others: a singleton.
  HostMatrix<double> a = with_zero_row(problem("poisson2d:13"), 7);
  entry(a, 7, 7) = 5;
  const auto map = contiguous_map(a.num_rows);
  const auto matrix = distribute(a, map);
  const Columns x = random_columns(a.num_rows, 2, 3);
  for (const auto& line : registry())
    for (const bool reorder : {false, true})
      for (const bool filter : {false, true}) {
        SCOPED_TRACE(line.name + (reorder ? ", reordered" : "") + (filter ? ", without singletons" : ""));
        Teuchos::ParameterList list;
        list.set("schwarz: use reordering", reorder);
        if (reorder) list.sublist("schwarz: reordering list").set("order_method", "rcm");
        list.set("schwarz: filter singletons", filter);
        const Schwarz s = schwarz(line.name, matrix, 0, list);
        const Krylov method = is_nonsymmetric(line) ? Krylov::gmres : Krylov::cg;
        const BelosResult cg = solved_by_belos(method, matrix, s.outer);
        const BelosResult plain = solved_by_belos(method, matrix, computed(line.name, matrix));
        EXPECT_TRUE(cg.converged);
        EXPECT_LE(cg.relative_residual, 1e-5);
        EXPECT_LE(cg.iterations, plain.iterations + 5);
        // A diagonal is the same in any order.
        if (line.name == "jacobi")
          expect_near(applied(*s.outer, x, map), applied(*computed("jacobi", matrix), x, map));
      }
}

}  // namespace
}  // namespace prekond::testing
