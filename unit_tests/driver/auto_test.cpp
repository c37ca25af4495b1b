// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/driver_fixture.hpp"
#include "testing/spaces.hpp"

#include <gmock/gmock.h>
#include <prekond/core/views.hpp>
#include <prekond/prekond.hpp>

namespace prekond::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

/// `auto` as the name of the preconditioner, of the solver, or of both: the default of each.
class AutoTest : public DriverTest {};

TEST_F(AutoTest, IsTheDefaultOfBoth) {
  const Json report = report_of({"solve", "--generate", "poisson2d:60"});
  EXPECT_TRUE(report["solver"]["converged"]);
  EXPECT_EQ(report["solver"]["name"], "cg");
  EXPECT_TRUE(report["candidates"].is_array());
  const Json named = report_of({"solve", "--generate", "convection_diffusion3d:8", "--precond", "ilu0"});
  EXPECT_EQ(named["preconditioner"]["name"], "ilu0");
  EXPECT_NE(named["solver"]["name"], "cg") << "cg takes no preconditioner that is not symmetric";
  const Json both = report_of({"solve", "--generate", "poisson2d:60", "--precond", "none", "--solver", "cg"});
  EXPECT_TRUE(both["candidates"].is_null());
}

// For many solves a tridiagonal matrix gets ic0 on every space.
TEST_F(AutoTest, TheInitialVectorMayBeThatOfTheFirstMethod) {
  const std::vector<std::string> solve = {"solve", "--generate", "tridiagonal:200", "--solves", "1000000"};
  std::vector<std::string> from_m = solve;
  from_m.insert(from_m.end(), {"--x0", "precond"});
  const Json zero = report_of(solve), precond = report_of(from_m);
  EXPECT_EQ(precond["preconditioner"]["name"], "ic0");
  EXPECT_TRUE(precond["solver"]["converged"]);
  EXPECT_LT(precond["solver"]["iterations"], zero["solver"]["iterations"]) << "M is A";
}

TEST_F(AutoTest, ManySolvesAreWorthALongerSetup) {
  const bool is_host = prekond::is_host_space<Kokkos::DefaultExecutionSpace>;
  const std::string problem = is_host ? "poisson3d:20" : "poisson2d:150";
  const Json once = report_of({"solve", "--generate", problem}),
             often = report_of({"solve", "--generate", problem, "--solves", "1000000"});
  const std::string often_best = is_host ? "ick" : "amg";
  EXPECT_NE(once["preconditioner"]["name"], often_best);
  EXPECT_EQ(often["preconditioner"]["name"], often_best);
}

TEST_F(AutoTest, TheSolveIsAStepByItself) {
  const Json report = report_of({"solve", "--generate", "poisson2d:60", "--profile"});
  const std::string method = report["preconditioner"]["name"];
  std::vector<std::string> steps;
  for (const Json& step : report["profile"]["memory"]) steps.push_back(step["step"]);
  EXPECT_THAT(steps, ::testing::IsSupersetOf({"setup of " + method, "cg with " + method}));
}

TEST_F(AutoTest, OptionsOfANamedMethodAreCheckedBeforeTheMatrixIsRead) {
  const auto result = run({"solve", "there_is_none.mtx", "--precond", "iluk", "-p", "levle=2"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("level"));
}

TEST_F(AutoTest, ANamedMethodForDefiniteMatricesRefusesOthersAtOnce) {
  const auto result = run({"solve", "--generate", "convection_diffusion3d:5", "--precond", "ic0"});
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err, HasSubstr("ic0"));
}

TEST_F(AutoTest, ChoosesBothAndSaysWhatBecameOfEachCandidate) {
  const Json report = report_of({"solve", "--generate", "poisson2d:60", "--precond", "auto", "--solver",
                                 "auto", "--solution", "x.mtx"});
  EXPECT_TRUE(report["solver"]["converged"]);
  EXPECT_EQ(report["solver"]["name"], "cg");
  int tried = 0;
  for (const Json& candidate : report["candidates"]) {
    if (!candidate["tried"]) continue;
    ++tried;
    EXPECT_NE(candidate["outcome"], "");
  }
  EXPECT_GE(tried, 1);
  EXPECT_FALSE(read_file(file("x.mtx")).empty());
  const auto shown =
      run({"solve", "--generate", "poisson2d:60", "--precond", "AUTO", "--solver", "auto", "-v"});
  EXPECT_EQ(shown.code, 0);
  EXPECT_THAT(shown.out, HasSubstr("\nauto            chose from "));
  EXPECT_THAT(shown.out, HasSubstr("tried"));
  EXPECT_THAT(shown.out, HasSubstr("not tried"));
}

TEST_F(AutoTest, TheSummarySaysWhoChoseAndWhy) {
  const std::string chosen = run({"solve", "--generate", "poisson2d:60"}).out;
  EXPECT_THAT(chosen, HasSubstr("\nauto            chose from 9 methods by"));
  EXPECT_THAT(chosen, ContainsRegex("by expected work.*; next .* with cg, .* products\n"));
  const std::string named =
      run({"solve", "--generate", "poisson2d:60", "--precond", "ic0", "--solver", "cg"}).out;
  EXPECT_THAT(named, Not(HasSubstr("\nauto ")));
}

TEST_F(AutoTest, TheLibraryTakesTheKeysOfAConfigFile) {
  const auto options_of = [](const char* text) {
    return linear_solver_options(options_from_json(Json::parse(text)));
  };
  const LinearSolverOptions options =
      options_of(R"({"precond": "iluk", "precond_options": {"level": 2}, "solver": "gmres",
                     "solver_options": {"restart": 20}, "rtol": 1e-9, "max-iters": 77, "reuse": "values"})");
  EXPECT_EQ(options.stopping.rtol, 1e-9);
  EXPECT_EQ(options.stopping.max_iters, 77);
  EXPECT_EQ(options.reuse, SetupReuse::values);
  const std::vector<int> row_ptrs = {0, 2, 4}, columns = {0, 1, 0, 1};
  HostSolver solver(options);
  solver.set_matrix({row_ptrs, columns, std::vector<double>{2, 1, -1, 2}});
  std::vector<double> x(2);
  EXPECT_TRUE(solver.solve(std::vector<double>{3, 1}, x).converged);
  EXPECT_EQ(solver.methods(), "iluk (level=2) with gmres");
  EXPECT_EQ(options_of("{}").preconditioner.name, "auto");
  const auto refused = [&](const char* text) { return message_of<OptionError>([&] { options_of(text); }); };
  EXPECT_THAT(refused(R"({"precnd": "amg"})"), HasSubstr("did you mean 'precond'"));
  EXPECT_THAT(refused(R"({"solver": {"name": "cg"}})"), HasSubstr("'solver.name'"));
  EXPECT_THAT(refused(R"({"rtol": -1})"), HasSubstr("rtol"));
  EXPECT_THAT(refused(R"({"rtol": [1]})"), HasSubstr("'rtol' takes"));
}

TEST_F(AutoTest, ANamedSolverOrPreconditionerStays) {
  const Json solver = report_of({"solve", "--generate", "convection_diffusion3d:8", "--precond", "auto",
                                 "--solver", "idr", "-s", "s=2"});
  EXPECT_TRUE(solver["solver"]["converged"]);
  EXPECT_EQ(solver["solver"]["name"], "idr");
  EXPECT_EQ(solver["solver"]["options"]["s"], 2);
  const Json precond = report_of({"solve", "--generate", "convection_diffusion3d:8", "--solver", "auto",
                                  "--precond", "iluk", "-p", "level=2"});
  EXPECT_TRUE(precond["solver"]["converged"]);
  EXPECT_EQ(precond["preconditioner"]["name"], "iluk");
  EXPECT_EQ(precond["preconditioner"]["options"]["level"], 2);
  EXPECT_NE(precond["solver"]["name"], "cg");
}

// cg does not take ilu0, which is not symmetric.
TEST_F(AutoTest, APreconditionerForGeneralMatricesHasASolverOfADefiniteOneToo) {
  const Json report =
      report_of({"solve", "--generate", "poisson2d:30", "--solver", "auto", "--precond", "ilu0"});
  EXPECT_TRUE(report["solver"]["converged"]);
  EXPECT_NE(report["solver"]["name"], "cg");
}

// The first matrix has a positive diagonal, the second a zero on it.
TEST_F(AutoTest, NamedMethodsTakeIndefiniteMatrices) {
  write("a.mtx",
        "%%MatrixMarket matrix coordinate real symmetric\n4 4 7\n1 1 1\n2 1 2\n2 2 1\n3 2 1\n3 3 1\n4 3 "
        "2\n4 4 1\n");
  const Json solver = report_of({"solve", "a.mtx", "--precond", "auto", "--solver", "gmres"});
  EXPECT_TRUE(solver["solver"]["converged"]);
  EXPECT_EQ(solver["solver"]["name"], "gmres");
  write("b.mtx", "%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n1 1 2\n2 2 3\n3 1 1\n3 2 1\n");
  const Json precond = report_of({"solve", "b.mtx", "--precond", "ilu0", "--solver", "auto"});
  EXPECT_TRUE(precond["solver"]["converged"]);
  for (const Json& candidate : precond["candidates"])
    if (candidate["solver"] == "bicgstab") {
      EXPECT_EQ(candidate["outcome"], "") << "the zero on the diagonal rules it out for Jacobi only";
    }
}

TEST_F(AutoTest, TakesComplexMatrices) {
  const Json report =
      report_of({"solve", "--generate", "magnetic3d:6", "--precond", "auto", "--solver", "auto"});
  EXPECT_TRUE(report["solver"]["converged"]);
}

TEST_F(AutoTest, RepeatsCountAllSetupsOfARun) {
  const Json report = report_of(
      {"solve", "--generate", "poisson2d:40", "--precond", "auto", "--solver", "auto", "--repeat", "3"});
  EXPECT_TRUE(report["solver"]["converged"]);
  EXPECT_GT(report["total_seconds"], report["preconditioner"]["setup_seconds"]);
}

// Its diagonal is positive, so that CG with Jacobi comes first.
TEST_F(AutoTest, AComplexMatrixThatIsNotDefiniteIsSolvedByAnotherSolver) {
  constexpr int n = 40;
  std::string entries;
  for (int i = 1; i <= n; ++i) {
    entries += std::to_string(i) + " " + std::to_string(i) + " 1 0\n";
    if (i < n) entries += std::to_string(i + 1) + " " + std::to_string(i) + " 0 2\n";
  }
  write("indefinite.mtx", "%%MatrixMarket matrix coordinate complex hermitian\n40 40 79\n" + entries);
  const Json report = report_of({"solve", "indefinite.mtx"});
  EXPECT_EQ(report["preconditioner"]["name"], "jacobi");
  EXPECT_NE(report["solver"]["name"], "cg");
}

// After CG the preconditioner that is named has the solvers for general matrices.
TEST_F(AutoTest, ANamedPreconditionerOfAnIndefiniteMatrixHasAnotherSolver) {
  write_indefinite("shifted.mtx");
  const Json report = report_of({"solve", "shifted.mtx", "--precond", "jacobi"});
  EXPECT_EQ(report["preconditioner"]["name"], "jacobi");
  EXPECT_NE(report["solver"]["name"], "cg");
}

TEST_F(AutoTest, AFailureIsThatOfTheLastCandidate) {
  const auto result = run(
      {"solve", "--generate", "poisson2d:60", "--precond", "auto", "--solver", "auto", "--max-iters", "2"});
  EXPECT_EQ(result.code, 4);
  EXPECT_THAT(result.err, HasSubstr("has not converged in 2 iterations"));
}

TEST_F(AutoTest, RefusesWhatNeedsANamedMethod) {
  const auto refused = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"solve", "--generate", "poisson2d:10"};
    words.insert(words.end(), more.begin(), more.end());
    const auto result = run(words);
    EXPECT_EQ(result.code, 2);
    return result.err;
  };
  EXPECT_THAT(refused({"-p", "level=1"}),
              HasSubstr("'level' is an option of one method, and --precond auto"));
  EXPECT_THAT(refused({"-s", "restart=10"}),
              HasSubstr("'restart' is an option of one method, and --solver auto"));
  EXPECT_THAT(refused({"--devices", "2"}), HasSubstr("--devices is for a named"));
}

}  // namespace
}  // namespace prekond::testing
