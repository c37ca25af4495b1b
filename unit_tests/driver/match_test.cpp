// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/driver_fixture.hpp"

#include <gmock/gmock.h>

#include <cmath>

namespace prekond::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// --match: what it does to a problem, what it refuses, and what comes back.
class MatchTest : public DriverTest {
 protected:
  /// A dominant diagonal whose rows were moved by `shift`, with units from 1 to 10^6.
  static std::string moved_rows(int n, int shift) {
    std::ostringstream text;
    text << "%%MatrixMarket matrix coordinate real general\n" << n << ' ' << n << ' ' << 3 * n << '\n';
    const auto unit = [](int i) { return std::pow(10.0, (i * 37) % 61 / 10.0); };
    for (int i = 0; i < n; ++i) {
      const int row = (i + shift) % n + 1;
      text << row << ' ' << i + 1 << ' ' << 4 * unit(i) << '\n';
      text << row << ' ' << (i + 1) % n + 1 << ' ' << -unit(i) << '\n';
      text << row << ' ' << (i + n - 1) % n + 1 << ' ' << unit(i) << '\n';
    }
    return text.str();
  }

  static std::vector<double> vector_of(const std::string& name) {
    std::vector<double> x;
    const auto lines = lines_of(read_file(file(name)));
    for (std::size_t k = 2; k < lines.size(); ++k) {
      double value = 0;
      if (std::istringstream(lines[k]) >> value) x.push_back(value);
    }
    return x;
  }

  static std::vector<std::string> with(std::vector<std::string> arguments,
                                       const std::vector<std::string>& more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
};

TEST_F(MatchTest, TheSolutionDoesNotShowIt) {
  write("moved.mtx", moved_rows(120, 17));
  const std::vector<std::string> solve = {"solve",     "moved.mtx", "--solver", "gmres",
                                          "--precond", "ilu0",      "--rtol",   "1e-12"};
  for (const std::string rhs : {"random", "a_ones"}) {
    const auto plain = with(solve, {"--rhs", rhs, "--solution", "x.mtx", "-s", "restart=200"});
    ASSERT_EQ(run(plain).code, 0);
    const auto x = vector_of("x.mtx");
    ASSERT_GE(x.size(), 119u);
    for (const std::string order : {"none", "rcm", "random"}) {
      SCOPED_TRACE(order);
      const Json report =
          report_of(with(solve, {"--rhs", rhs, "--match", "--order", order, "--solution", "y.mtx"}));
      EXPECT_LE(report["solver"]["true_relative_residual"].get<double>(), 1.01e-12);
      EXPECT_EQ(report["match"]["name"], "product");
      EXPECT_EQ(report["match"]["done"], true);
      EXPECT_EQ(report["match"]["rank"], 120);
      EXPECT_EQ(report["match"]["rows_moved"], 120);
      EXPECT_EQ(report["match"]["host_seconds"] > 0, report["match"]["rows_on_host"] > 0);
      EXPECT_EQ(report["preconditioner"]["breakdowns"]["count"], 0);
      EXPECT_LT(report["solver"]["iterations"].get<int>(), 20);
      const auto y = vector_of("y.mtx");
      ASSERT_EQ(y.size(), x.size());
      for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(y[i], x[i], 1e-8 * (1 + std::abs(x[i])));
    }
  }
  // A vector of a file is one of the matrix as it is.
  ASSERT_EQ(run(with(solve, {"--rhs", "random", "--match", "--solution", "x.mtx"})).code, 0);
  const Json again =
      report_of(with({"solve", "moved.mtx", "--rhs", "random", "--solver", "gmres", "--rtol", "1e-9"},
                     {"--match", "--order", "random", "--x0", "x.mtx"}));
  EXPECT_EQ(again["solver"]["iterations"], 0);
}

TEST_F(MatchTest, AutoLooksAtTheDiagonal) {
  write("moved.mtx", moved_rows(50, 3));
  write("in_place.mtx", moved_rows(50, 0));
  const std::vector<std::string> options = {"--solver", "gmres", "--precond", "none", "--match=auto"};
  const Json moved = report_of(with({"solve", "moved.mtx"}, options));
  EXPECT_EQ(moved["match"]["name"], "auto");
  EXPECT_EQ(moved["match"]["done"], true);
  EXPECT_EQ(moved["match"]["weak"], 50);
  EXPECT_EQ(moved["match"]["rows_moved"], 50);
  const Json in_place = report_of(with({"solve", "in_place.mtx"}, options));
  EXPECT_EQ(in_place["match"], (Json{{"name", "auto"}, {"done", false}, {"weak", 0}}));
  EXPECT_THAT(run(with({"solve", "in_place.mtx"}, options)).out,
              HasSubstr("match           rows as they are: no entry of the scaled diagonal is below 0.01\n"));
  // A matrix that has to stay symmetric is not matched.
  EXPECT_EQ(report_of({"solve", "spd.mtx", "--match=auto"})["match"],
            (Json{{"name", "auto"}, {"done", false}}));
  EXPECT_THAT(run({"solve", "spd.mtx", "--match=auto"}).out,
              HasSubstr("match           rows as they are: what is asked for needs a symmetric matrix\n"));
  EXPECT_EQ(report_of({"solve", "spd.mtx", "--match=auto", "--solver", "gmres", "--precond",
                       "fsai"})["match"]["done"],
            false);
  EXPECT_EQ(report_of({"solve", "spd.mtx", "--match=none"})["match"], (Json{{"name", "none"}}));
  EXPECT_EQ(report_of({"solve", "spd.mtx"})["match"], (Json{{"name", "none"}}));
  // One weak entry is enough: 0.009 with other entries in [1, 4).
  write("weak.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 4\n1 1 1\n1 2 1\n2 1 1\n2 2 0.009\n");
  write("fair.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 4\n1 1 1\n1 2 1\n2 1 1\n2 2 0.011\n");
  EXPECT_EQ(report_of(with({"solve", "weak.mtx"}, options))["match"]["weak"], 1);
  EXPECT_EQ(report_of(with({"solve", "fair.mtx"}, options))["match"]["weak"], 0);
}

/// [A, B^T; B, -epsilon I] with the second differences A of `points`, and B the differences of `points` / 2
/// pairs; with a skew part of A, of the size `wind`.
std::string saddle_point(int points, double epsilon, double wind = 0) {
  std::ostringstream entries;
  int count = 0;
  const auto add = [&](int i, int j, double value) {
    entries << i + 1 << ' ' << j + 1 << ' ' << value << '\n';
    ++count;
  };
  for (int i = 0; i < points; ++i) {
    add(i, i, 2);
    if (i > 0) add(i, i - 1, -1 - wind), add(i - 1, i, -1 + wind);
  }
  for (int p = 0; p < points / 2; ++p) {
    const int row = points + p;
    for (const int i : {2 * p, 2 * p + 1}) add(row, i, i % 2 ? -1 : 1), add(i, row, i % 2 ? -1 : 1);
    if (epsilon != 0) add(row, row, -epsilon);
  }
  const int n = points + points / 2;
  return "%%MatrixMarket matrix coordinate real general\n" + std::to_string(n) + " " + std::to_string(n) +
         " " + std::to_string(count) + "\n" + entries.str();
}

TEST_F(MatchTest, AutoLeavesASaddlePointAsItIs) {
  for (const auto& [epsilon, wind] : {std::pair(0.0, 0.0), {0.0, 0.4}, {1e-12, 0.0}, {1e-4, 0.2}}) {
    SCOPED_TRACE(epsilon);
    write("saddle.mtx", saddle_point(60, epsilon, wind));
    const std::vector<std::string> solve = {"solve", "saddle.mtx", "--solver", "gmres", "--precond", "ilut"};
    const Json report = report_of(with(solve, {"--match=auto"}));
    EXPECT_EQ(report["match"],
              (Json{{"name", "auto"}, {"done", false}, {"weak", 30}, {"saddle_point", true}}));
    EXPECT_EQ(report["solver"]["converged"], true);
    EXPECT_EQ(report["solver"]["iterations"], report_of(solve)["solver"]["iterations"]);
    EXPECT_THAT(run(with(solve, {"--match=auto"})).out,
                HasSubstr("match           rows as they are: a saddle-point matrix, 30 rows"));
    EXPECT_EQ(report_of(with(solve, {"--match"}))["match"]["done"], true) << "where it is asked for";
  }
  // A pattern that is not symmetric, and weak rows that give each other their pivots.
  write("one_way.mtx",
        "%%MatrixMarket matrix coordinate real general\n3 3 6\n1 1 1\n1 2 2\n2 2 1\n2 3 1\n3 1 1\n1 3 1\n");
  write("pair.mtx",
        "%%MatrixMarket matrix coordinate real general\n3 3 5\n1 1 1\n2 3 1\n3 2 1\n1 2 1\n2 1 1\n");
  for (const std::string name : {"one_way.mtx", "pair.mtx"})
    EXPECT_EQ(report_of({"solve", name, "--precond", "jacobi", "--match=auto"})["match"]["done"], true)
        << name;
}

TEST_F(MatchTest, InfoCountsWeakEntries) {
  write("saddle.mtx", saddle_point(20, 1e-12));
  EXPECT_EQ(report_of({"info", "saddle.mtx"})["matrix"]["diagonal"]["weak"], 10);
  EXPECT_THAT(
      run({"info", "saddle.mtx"}).out,
      AllOf(HasSubstr("weak          10 that are not zero are so compared with their rows and columns"),
            HasSubstr("rather than --match")));
  write("moved.mtx", moved_rows(50, 3));
  EXPECT_THAT(run({"info", "moved.mtx"}).out, HasSubstr("--match brings large entries to the diagonal"));
  const auto plain = run({"info", "spd.mtx"});
  EXPECT_THAT(plain.out, Not(HasSubstr("weak")));
  EXPECT_THAT(plain.out, Not(HasSubstr("--match")));
  EXPECT_EQ(report_of({"info", "spd.mtx"})["matrix"]["diagonal"]["weak"], 0);
}

TEST_F(MatchTest, WhoIsToBlameForABreakdown) {
  // Its condition is 3.4; isai is singular for it.
  write("regular.mtx",
        "%%MatrixMarket matrix coordinate real general\n5 5 11\n1 2 2\n1 3 1\n2 1 3\n2 4 1\n3 1 1\n3 3 4\n"
        "3 5 1\n4 2 2\n4 5 5\n5 3 1\n5 4 6\n");
  const std::vector<std::string> solve = {"solve", "regular.mtx", "--solver", "gmres", "--precond"};
  const auto result = run(with(solve, {"isai"}));
  EXPECT_EQ(result.code, 5);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("the preconditioner isai may be singular or useless here"),
                    HasSubstr("--precond block_jacobi -p block_size=5"), Not(HasSubstr("repair"))));
  EXPECT_EQ(run(with(solve, {"block_jacobi", "-p", "block_size=5"})).code, 0) << "the step that it names";
  EXPECT_EQ(run(with(solve, {"none"})).code, 0);
}

TEST_F(MatchTest, EachBreakdownNamesThePreconditionerAndAStepThatWorks) {
  const std::string symmetric = "%%MatrixMarket matrix coordinate real symmetric\n";
  write("indefinite.mtx", symmetric + "2 2 3\n1 1 1\n2 1 3\n2 2 1\n");
  write("spd.mtx", symmetric + "3 3 3\n1 1 1\n2 2 5\n3 3 20\n");
  write(
      "skew.mtx",
      "%%MatrixMarket matrix coordinate real general\n4 4 6\n1 2 1\n2 1 -1\n3 4 2\n4 3 -2\n2 3 1\n3 2 -1\n");
  const auto error = [&](const std::vector<std::string>& arguments) {
    const auto result = run(with({"solve"}, arguments));
    EXPECT_EQ(result.code, 5);
    return result.err;
  };
  const auto solves = [&](const std::vector<std::string>& arguments) {
    return run(with({"solve"}, arguments)).code == 0;
  };
  EXPECT_THAT(error({"indefinite.mtx", "--solver", "cg", "--precond", "jacobi"}),
              AllOf(HasSubstr("breakdown_not_spd"), HasSubstr("jacobi is not to blame"),
                    HasSubstr("--solver gmres with --precond block_jacobi -p block_size=2")));
  EXPECT_TRUE(
      solves({"indefinite.mtx", "--solver", "gmres", "--precond", "block_jacobi", "-p", "block_size=2"}));
  // The polynomial is negative at eigenvalues beyond its bound.
  EXPECT_THAT(error({"spd.mtx", "--solver", "cg", "--precond", "chebyshev", "-p", "lambda_max=2", "-p",
                     "lambda_min=1", "-p", "scaling=none", "-p", "degree=1"}),
              AllOf(HasSubstr("breakdown_preconditioner_not_spd"),
                    HasSubstr("the preconditioner chebyshev is not positive definite"),
                    HasSubstr("'prekond list preconditioners chebyshev'"),
                    HasSubstr("--solver gmres with --precond block_jacobi -p block_size=3")));
  EXPECT_TRUE(solves({"spd.mtx", "--solver", "gmres", "--precond", "block_jacobi", "-p", "block_size=3"}));
  EXPECT_THAT(error({"skew.mtx", "--solver", "bicgstab", "--precond", "jacobi"}),
              AllOf(HasSubstr("breakdown_omega"), HasSubstr("with the preconditioner jacobi"),
                    HasSubstr("choose --solver gmres, or --precond block_jacobi -p block_size=4")));
  EXPECT_TRUE(solves({"skew.mtx", "--solver", "gmres", "--precond", "jacobi"}));
  EXPECT_TRUE(
      solves({"skew.mtx", "--solver", "bicgstab", "--precond", "block_jacobi", "-p", "block_size=4"}));
}

TEST_F(MatchTest, AMatrixThatIsRefusedNamesThePreconditionerAndItsOptions) {
  write("general.mtx",
        "%%MatrixMarket matrix coordinate real general\n3 3 7\n1 1 4\n1 2 -1\n2 1 -2\n2 2 4\n2 3 -1\n3 2 -2\n"
        "3 3 4\n");
  const std::vector<std::string> solve = {"solve", "general.mtx", "--solver", "gmres", "--precond"};
  const auto error = [&](const std::vector<std::string>& more) {
    const auto result = run(with(solve, more));
    EXPECT_EQ(result.code, 3);
    EXPECT_THAT(result.err, Not(HasSubstr("use a solver")));
    return result.err;
  };
  EXPECT_THAT(error({"amg"}),
              AllOf(HasSubstr("entry (1, 2) is -1, entry (2, 1) is -2; the preconditioner 'amg' is for"),
                    HasSubstr("-p coarsening=classical -p smoother=multicolor_gs"),
                    HasSubstr("-p prolongator=unsmoothed -p smoother=multicolor_gs")));
  EXPECT_THAT(error({"amg", "-p", "coarsening=classical"}), HasSubstr("take -p smoother=multicolor_gs, or"));
  EXPECT_THAT(error({"chebyshev"}), HasSubstr("take -p bounds=gershgorin, or a preconditioner for general"));
  EXPECT_THAT(error({"ic0"}), HasSubstr("'ic0' is for symmetric positive definite matrices; take"));
  EXPECT_THAT(error({"par_ic"}), HasSubstr("take -p kind=ilu, or"));
  for (const std::string option : {"coarsening=classical", "prolongator=unsmoothed"})
    EXPECT_EQ(run(with(solve, {"amg", "-p", option, "-p", "smoother=multicolor_gs"})).code, 0) << option;
  EXPECT_THAT(run({"solve", "general.mtx", "--solver", "cg"}).err,
              HasSubstr("use a solver for general matrices"));
}

/// x = 1 and 3 at the ends of -x'' = 1, by entries of this size on the diagonal.
std::string penalty_matrix(const std::string& penalty, int points) {
  std::ostringstream text;
  text << "%%MatrixMarket matrix coordinate real symmetric\n"
       << points << ' ' << points << ' ' << 2 * points - 1 << '\n';
  for (int i = 1; i <= points; ++i) {
    if (i > 1) text << i << ' ' << i - 1 << " -1\n";
    text << i << ' ' << i << ' ' << (i == 1 || i == points ? penalty : "2") << '\n';
  }
  return text.str();
}

TEST_F(MatchTest, RowsThatTheResidualDoesNotSeeAreNamed) {
  const auto solve = [&](const std::string& penalty) {
    write("penalty.mtx", penalty_matrix(penalty, 11));
    write("b.mtx", "%%MatrixMarket matrix array real general\n11 1\n" + penalty +
                       "\n1\n1\n1\n1\n1\n1\n1\n1\n1\n" + penalty + "\n");
    return run({"solve", "penalty.mtx", "--rhs", "b.mtx", "--precond", "jacobi", "--rtol", "1e-10"});
  };
  const auto unseen = solve("1e+30");
  EXPECT_EQ(unseen.code, 0);
  EXPECT_THAT(unseen.out, HasSubstr("the residual norm does not see 9 rows"));
  EXPECT_THAT(solve("1e+5").out, Not(HasSubstr("does not see"))) << "as the note advises";
  EXPECT_THAT(solve("2").out, Not(HasSubstr("does not see")));
}

TEST_F(MatchTest, WhatIsPrinted) {
  write("moved.mtx", moved_rows(50, 3));
  const std::vector<std::string> options = {"--match", "--solver", "gmres"};
  EXPECT_THAT(run(with({"solve", "moved.mtx"}, options)).out,
              AllOf(HasSubstr("match           50 of 50 rows moved in "), HasSubstr(", log product "),
                    HasSubstr("  scaled        by the matching, the entries of the diagonal to [1/2, 2]")));
  EXPECT_THAT(run(with({"solve", "moved.mtx", "--scale"}, options)).out, HasSubstr("by the matching"));
  EXPECT_THAT(run(with({"compare", "moved.mtx", "--precond", "none,ilu0"}, options)).out,
              HasSubstr("\nmatch 50 of 50 rows moved in "));
  EXPECT_THAT(run({"info", "moved.mtx", "--match"}).out,
              HasSubstr("match           50 of 50 rows moved in "));
  EXPECT_THAT(run({"solve", "spd.mtx"}).out, Not(HasSubstr("match")));
  const Json info = report_of({"info", "moved.mtx", "--match", "--order", "rcm"});
  EXPECT_EQ(info["match"]["rows_moved"], 50);
  EXPECT_EQ(info["order"]["name"], "rcm");
  EXPECT_EQ(report_of({"info", "moved.mtx"})["match"], (Json{{"name", "none"}}));
  for (const char* command : {"solve", "compare", "info"})
    EXPECT_THAT(run({command, "--help"}).out, HasSubstr("[=none|auto|product]"));
}

TEST_F(MatchTest, StructurallySingular) {
  write("singular.mtx",
        "%%MatrixMarket matrix coordinate real general\n4 4 6\n1 1 1\n1 2 2\n2 1 1\n3 1 5\n4 3 1\n4 4 1\n");
  const Result result = run({"solve", "singular.mtx", "--solver", "gmres", "--match", "--precond", "ilu0"});
  EXPECT_THAT(result.out, HasSubstr("; STRUCTURALLY SINGULAR: only 3 rows can"));
  const Result info = run({"info", "singular.mtx", "--match", "--report", "r.json"});
  EXPECT_EQ(info.code, 0);
  EXPECT_EQ(Json::parse(read_file(file("r.json")))["match"]["rank"], 3);
}

TEST_F(MatchTest, WhatHasToStaySymmetricIsRefused) {
  const std::string permuted =
      "prekond: error: --match permutes the rows of A, which takes its symmetry away; ";
  const Result solver = run({"solve", "spd.mtx", "--solver", "cg", "--match"});
  EXPECT_EQ(solver.code, 2);
  EXPECT_EQ(solver.err,
            permuted +
                "the solver 'cg' is for symmetric positive definite matrices: leave --match out (or "
                "take --match=auto), or choose a solver for other matrices, such as gmres or bicgstab\n");
  const Result precond =
      run({"compare", "spd.mtx", "--match", "--solver", "gmres", "--precond", "none,fsai"});
  EXPECT_EQ(precond.code, 2);
  EXPECT_THAT(precond.err, StartsWith(permuted + "'fsai' is for"));
  const Result condition = run({"solve", "spd.mtx", "--match", "--solver", "gmres", "--condition"});
  EXPECT_EQ(condition.code, 2);
  EXPECT_EQ(condition.err, permuted + "leave --match or --condition out\n");
  EXPECT_EQ(run({"info", "spd.mtx", "--match", "--condition"}).err, condition.err);
  EXPECT_EQ(run({"info", "rectangular.mtx", "--match"}).code, 3);
  EXPECT_THAT(run({"info", "rectangular.mtx", "--match"}).err,
              HasSubstr("a matching is for a square matrix"));
}

TEST_F(MatchTest, SlipsAndFiles) {
  const Result slip = run({"solve", "spd.mtx", "--match=products"});
  EXPECT_EQ(slip.code, 2);
  EXPECT_THAT(slip.err, HasSubstr("--match= takes none|auto|product, not 'products'"));
  write("match.json", "{\"matrix\": \"spd.mtx\",\n \"match\": \"very\"}");
  const Result config = run({"solve", "--config", "match.json"});
  EXPECT_EQ(config.code, 2);
  EXPECT_THAT(config.err, StartsWith("prekond: error: match.json:2:2: --match= takes"));
  write("match.json", R"({"matrix": "spd.mtx", "match": "product", "solver": "gmres"})");
  EXPECT_EQ(report_of({"solve", "--config", "match.json"})["match"]["name"], "product");
  EXPECT_EQ(report_of({"solve", "--config", "match.json", "--match=none"})["match"]["name"], "none");
  // The flag swallows nothing after it.
  EXPECT_EQ(report_of({"solve", "--solver", "gmres", "--match", "spd.mtx"})["match"]["name"], "product");
}

TEST_F(MatchTest, RowsOfMessagesAndReports) {
  // Row 3, from 1, is empty, so that no matching has it; rows 2 and 4 change places.
  write("moved.mtx",
        "%%MatrixMarket matrix coordinate real general\n5 5 5\n1 1 1\n2 4 1\n4 2 1\n5 5 1\n1 5 1e-3\n");
  write("b.mtx", "%%MatrixMarket matrix array real general\n5 1\n1\n1\n0\n1\n1\n");
  for (const std::string order : {"none", "random", "rcm"}) {
    const Result result = run({"solve", "moved.mtx", "--solver", "gmres", "--precond", "jacobi", "--match",
                               "--rhs", "b.mtx", "--order", order, "--report", "r.json"});
    const Json report = Json::parse(read_file(file("r.json")));
    EXPECT_EQ(report["match"]["rank"], 4);
    ASSERT_EQ(report["preconditioner"]["breakdowns"]["count"], 1) << result.out;
    EXPECT_EQ(report["preconditioner"]["breakdowns"]["first_row"], 2) << order;
  }
}

TEST_F(MatchTest, ThePreconditionerOfMatchedRowsDoesTheSame) {
  write("moved.mtx", moved_rows(120, 17));
  for (const std::string solver : {"gmres", "bicgstab"})
    for (const std::string inner : {"ilu0", "ilut", "jacobi"}) {
      SCOPED_TRACE(solver + " with " + inner);
      const std::vector<std::string> solve = {"solve", "moved.mtx", "--solver", solver, "--rhs", "random"};
      const Json expected = report_of(with(solve, {"--match", "--precond", inner}));
      for (const std::string order : {"none", "rcm", "auto"}) {
        const Json found =
            report_of(with(solve, {"--precond", "matched", "-p", "inner=" + inner, "--order", order}));
        EXPECT_LE(found["solver"]["true_relative_residual"].get<double>(), 1.01e-6);
        EXPECT_EQ(found["match"], (Json{{"name", "none"}}));
        EXPECT_EQ(found["preconditioner"]["breakdowns"]["count"], 0);
        EXPECT_THAT(found["preconditioner"]["notes"][0].get<std::string>(),
                    StartsWith("the matching moved 120 of 120 rows"));
        if (order != "rcm") {
          EXPECT_EQ(found["solver"]["iterations"], expected["solver"]["iterations"]);
        }
      }
    }
  EXPECT_EQ(run({"solve", "moved.mtx", "--solver", "cg", "--precond", "matched"}).code, 2);
  EXPECT_EQ(run({"solve", "rectangular.mtx", "--solver", "gmres", "--precond", "matched"}).code, 3);
}

TEST_F(MatchTest, ComplexMatricesAndThreads) {
  std::ostringstream text;
  text << "%%MatrixMarket matrix coordinate complex general\n40 40 80\n";
  for (int i = 1; i <= 40; ++i)
    text << i << ' ' << (i + 6) % 40 + 1 << " 0 3\n" << i << ' ' << (i + 20) % 40 + 1 << " 0.5 0.5\n";
  write("complex.mtx", text.str());
  std::vector<std::string> solutions;
  for (const char* threads : {"1", "2", "3"}) {
    const Result result =
        run({"solve", "complex.mtx", "--solver", "gmres", "--precond", "jacobi", "--rhs", "random", "--match",
             "--solution", "x.mtx", std::string("--kokkos-num-threads=") + threads});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("40 of 40 rows moved"));
    solutions.push_back(read_file(file("x.mtx")));
  }
  EXPECT_EQ(solutions[0], solutions[1]);
  EXPECT_EQ(solutions[0], solutions[2]);
}

}  // namespace
}  // namespace prekond::testing
