// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/driver_fixture.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

namespace prekond::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// The table of `compare`: its rows, their order, and its files.
class CompareTest : public DriverTest {
 protected:
  /// The cells of the rows of a CSV file that quotes none.
  static std::vector<std::vector<std::string>> cells_of(const std::string& name) {
    std::vector<std::vector<std::string>> rows;
    for (const std::string& line : lines_of(read_file(file(name)))) {
      rows.emplace_back();
      std::istringstream stream(line);
      for (std::string cell; std::getline(stream, cell, ',');) rows.back().push_back(cell);
    }
    return rows;
  }
};

TEST_F(CompareTest, WithoutNamesItTakesTheListOfAuto) {
  const Json rows = report_of({"compare", "--generate", "poisson2d:20"});
  std::set<std::string> preconds;
  for (const Json& row : rows) {
    EXPECT_EQ(row["solver"]["name"], "cg");
    EXPECT_TRUE(row["solver"]["converged"]) << row["preconditioner"]["name"];
    preconds.insert(row["preconditioner"]["name"]);
  }
  EXPECT_EQ(preconds,
            (std::set<std::string>{"jacobi", "amg", "ic0", "ick", "adaptive_fsai", "ls_polynomial"}));
  const auto shown = run({"compare", "--generate", "poisson2d:20", "--precond", "Auto", "--solver", "auto"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, AllOf(HasSubstr("ick:level=1"), HasSubstr("ick:level=2")));
}

// Its diagonal is positive, so that the list begins with methods for definite matrices.
TEST_F(CompareTest, AnIndefiniteMatrixHasRowsOfGeneralMethodsToo) {
  write_indefinite("shifted.mtx");
  const Json rows = report_of({"compare", "shifted.mtx"});
  EXPECT_EQ(rows[0]["solver"]["name"], "cg");
  std::set<std::string> converged;
  for (const Json& row : rows)
    if (row["solver"]["converged"]) converged.insert(row["solver"]["name"]);
  EXPECT_EQ(converged.count("gmres"), 1u);
  EXPECT_EQ(converged.count("cg"), 0u);
  const Json by_cg = report_of({"compare", "shifted.mtx", "--solver", "cg"}, 5);
  for (const Json& row : by_cg) EXPECT_EQ(row["solver"]["name"], "cg");
}

TEST_F(CompareTest, WhereNoMethodOfTheListSolvesTheLastResortsFollow) {
  write_random("random.mtx", 200);
  const Json rows = report_of({"compare", "random.mtx", "--max-iters", "300"});
  int solved = 0;
  for (const Json& row : rows) {
    if (!row["solver"].value("converged", false)) continue;
    ++solved;
    const Json& options = row["preconditioner"]["options"];
    EXPECT_EQ(options.value("p", options.value("inner.p", 0)), 1000) << row["preconditioner"];
  }
  EXPECT_EQ(solved, 2);
  // They would not do what no method can do, nor where the iterations were too few for all.
  const auto expect_none = [&](const std::vector<std::string>& arguments, int code) {
    for (const Json& row : report_of(arguments, code)) EXPECT_EQ(row["solver"]["name"], "cg") << row;
  };
  expect_none({"compare", "--generate", "poisson2d:20", "--rtol", "1e-17"}, 5);
  expect_none({"compare", "--generate", "poisson2d:60", "--max-iters", "3"}, 4);
  // A row that fails counts where its method was named.
  EXPECT_EQ(run({"compare", "random.mtx", "--precond", "ilu0,ilut:p=1000:tau=0", "--solver", "gmres",
                 "--max-iters", "300"})
                .code,
            5);
}

TEST_F(CompareTest, EachMethodOfTheListHasItsSolverUnlessOneIsNamed) {
  std::set<std::string> solvers;
  for (const Json& row : report_of({"compare", "--generate", "convection_diffusion3d:6"}))
    solvers.insert(row["solver"]["name"]);
  EXPECT_EQ(solvers, (std::set<std::string>{"bicgstab", "gmres"}));
  const Json named =
      report_of({"compare", "--generate", "convection_diffusion3d:6", "--solver", "idr", "-s", "s=3"});
  EXPECT_GT(named.size(), 5u);
  for (const Json& row : named) {
    EXPECT_EQ(row["solver"]["name"], "idr");
    EXPECT_EQ(row["solver"]["options"]["s"], 3);
  }
  // ilu0 is none for cg: it is no row.
  for (const Json& row : report_of({"compare", "--generate", "poisson2d:9", "--solver", "cg"}))
    EXPECT_NE(row["preconditioner"]["name"], "ilu0");
  EXPECT_GT(report_of({"compare", "--generate", "magnetic3d:5"}).size(), 1u);
}

TEST_F(CompareTest, RefusesAutoWhereItMeansNothing) {
  const auto refused = [](const std::vector<std::string>& more, int code) {
    std::vector<std::string> words = {"compare", "spd.mtx"};
    words.insert(words.end(), more.begin(), more.end());
    const auto result = run(words);
    EXPECT_EQ(result.code, code) << result.err;
    return result.err;
  };
  EXPECT_THAT(refused({"--solver", "auto", "--precond", "none"}, 2),
              HasSubstr("--solver auto of compare is for --precond auto"));
  EXPECT_THAT(refused({"-s", "restart=9"}, 2),
              HasSubstr("'restart' is an option of one method, and --solver auto"));
  const auto result = run({"compare", "nonsymmetric.mtx", "--solver", "cg"});
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err, HasSubstr("not symmetric"));
}

TEST_F(CompareTest, TheFastestIsMarkedAndTheFirst) {
  const std::vector<std::string> arguments = {
      "compare", "--generate", "poisson2d:60", "--precond", "jacobi,amg,ic0,none", "--table", "t.csv"};
  const auto result = run(arguments);
  EXPECT_EQ(result.code, 0) << result.err;
  const auto rows = cells_of("t.csv");
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(rows[0], (std::vector<std::string>{"preconditioner", "solver", "setup_seconds", "iterations",
                                               "solve_seconds", "total_seconds", "density", "reason"}));
  double total = 0;
  for (std::size_t k = 1; k < rows.size(); ++k) {
    ASSERT_EQ(rows[k].size(), 8u);
    EXPECT_GE(std::stod(rows[k][5]), total);
    total = std::stod(rows[k][5]);
    EXPECT_NEAR(total, std::stod(rows[k][2]) + std::stod(rows[k][4]), 1e-6);
    EXPECT_EQ(rows[k][1], "cg");
    EXPECT_EQ(rows[k][7], "rtol");
  }
  const auto lines = lines_of(result.out);
  EXPECT_THAT(lines.at(lines.size() - 4), AllOf(StartsWith(rows[1][0]), HasSubstr("(fastest)")));
  // The report keeps the order of the names.
  EXPECT_EQ(report_of(arguments)[1]["preconditioner"]["name"], "amg");
  // Rows that did not converge are last, and none of them is the fastest.
  const auto short_runs =
      run({"compare", "--generate", "poisson2d:60", "--precond", "none,amg", "--max-iters", "20"});
  EXPECT_EQ(short_runs.code, 4);
  const auto last = lines_of(short_runs.out);
  EXPECT_THAT(last.back(), AllOf(StartsWith("none"), Not(HasSubstr("fastest"))));
}

TEST_F(CompareTest, ATableForManySolvesIsInTheOrderOfTheirSum) {
  const auto result = run({"compare", "--generate", "poisson2d:60", "--precond", "jacobi,amg,ick:level=2",
                           "--solves", "1000", "--table", "t.csv"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("totals of one setup and 1000 solves"));
  const auto rows = cells_of("t.csv");
  ASSERT_EQ(rows.size(), 4u);
  double total = 0;
  for (std::size_t k = 1; k < rows.size(); ++k) {
    EXPECT_GE(std::stod(rows[k][5]), total);
    total = std::stod(rows[k][5]);
    EXPECT_NEAR(total, std::stod(rows[k][2]) + 1000 * std::stod(rows[k][4]), 1e-6 * total);
  }
  EXPECT_THAT(run({"compare", "--generate", "poisson2d:9", "--precond", "jacobi"}).out,
              Not(HasSubstr("totals of")));
}

TEST_F(CompareTest, ARowEndsWhereItIsMuchSlowerThanAnother) {
  // The first row takes a step, and the second would take hundreds of thousands.
  std::vector<std::string> arguments = {"compare",
                                        "--generate",
                                        "poisson2d:150",
                                        "--solver",
                                        "richardson",
                                        "--precond",
                                        "ilut:p=150:tau=0,jacobi",
                                        "--max-iters",
                                        "1000000000",
                                        "--rtol",
                                        "1e-12",
                                        "--patience",
                                        "0.001"};
  const Json rows = report_of(arguments, 4);
  EXPECT_TRUE(rows[0]["solver"]["converged"]);
  EXPECT_FALSE(rows[1]["solver"]["converged"]);
  EXPECT_EQ(rows[1]["solver"]["reason"], "patience");
  EXPECT_GT(rows[1]["solver"]["iterations"], 1);
  const auto lines = lines_of(run(arguments).out);
  EXPECT_THAT(lines.back(), AllOf(StartsWith("jacobi"), HasSubstr("ended by --patience (not converged)")));
  // Without an end it goes on, also beyond a second.
  arguments.back() = "0";
  *std::find(arguments.begin(), arguments.end(), "1000000000") = "60000";
  const Json slow = report_of(arguments, 4)[1];
  EXPECT_EQ(slow["solver"]["reason"], "max_iters");
  EXPECT_EQ(slow["solver"]["iterations"], 60000);
}

TEST_F(CompareTest, TheTableIsWrittenAsMarkdownToo) {
  ASSERT_EQ(run({"compare", "spd.mtx", "--precond", "none,jacobi,jacoby", "--table", "t.md", "-q"}).code, 2);
  const auto lines = lines_of(read_file(file("t.md")));
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_THAT(lines[0], StartsWith("| preconditioner | solver | setup s | iterations |"));
  EXPECT_EQ(lines[1], "|---|---|--:|--:|--:|--:|--:|---|");
  for (const auto& line : lines) EXPECT_EQ(std::count(line.begin(), line.end(), '|'), 9) << line;
  EXPECT_THAT(lines[4], StartsWith("| jacoby | cg | - | - |"));
  // A reason with commas and quotes is one cell of a CSV file.
  ASSERT_EQ(run({"compare", "spd.mtx", "--precond", "none,x\"y", "--table", "t.csv", "-q"}).code, 2);
  EXPECT_THAT(read_file(file("t.csv")),
              HasSubstr("\n\"x\"\"y\",cg,,,,,,\"error: there is no preconditioner 'x\"\"y'"));
  EXPECT_THAT(run({"compare", "spd.mtx", "--table", "t.txt"}).err,
              HasSubstr("--table takes a FILE.csv or a FILE.md, not 't.txt'"));
  EXPECT_EQ(run({"compare", "spd.mtx", "--table", "nowhere/t.md"}).code, 3);
  EXPECT_EQ(run({"solve", "spd.mtx", "--table", "t.md"}).code, 2);
}

TEST_F(CompareTest, OneBadNameSpoilsItsRowOnly) {
  const auto result = run({"compare", "spd.mtx", "--precond", "jacoby,none,fsai:pwer=2,nonsymmetric_fsai"});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(lines_of(result.err).size(), 1u);
  EXPECT_THAT(
      result.err,
      AllOf(HasSubstr("3 of 4 preconditioners did not lead to a solution: jacoby: there is no "
                      "preconditioner 'jacoby'; did you mean 'jacobi'"),
            HasSubstr("'pwer'; did you mean 'power'"), HasSubstr("'nonsymmetric_fsai' is not symmetric")));
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("\nnone "), HasSubstr("error: there is no preconditioner 'jacoby'")));
  const Json rows = report_of({"compare", "spd.mtx", "--precond", "jacoby,none"}, 2);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["preconditioner"]["name"], "jacoby");
  EXPECT_FALSE(rows[0]["solver"]["converged"]);
  EXPECT_THAT(rows[0]["error"], HasSubstr("'jacoby'"));
  EXPECT_TRUE(rows[1]["solver"]["converged"]);
  // amg is a name, but not for complex matrices.
  const Json complex = report_of({"compare", "hermitian.mtx", "--precond", "amg,jacobi"}, 2);
  EXPECT_THAT(complex[0]["error"], HasSubstr("takes real matrices"));
  EXPECT_TRUE(complex[1]["solver"]["converged"]);
  // Where no row is sound nothing is read.
  const auto none = run({"compare", "missing.mtx", "--precond", "jacoby,ilu"});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, StartsWith("prekond: error: there is no preconditioner 'jacoby'"));
  EXPECT_EQ(none.out, "");
}

// The matrix needs a definite one, the row with the bad name says nothing on that.
TEST_F(CompareTest, ABadNameLeavesTheCheckOfTheMatrix) {
  const auto result = run({"compare", "nonsymmetric.mtx", "--precond", "none,jacoby"});
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err, StartsWith("prekond: error: nonsymmetric.mtx: the matrix is not symmetric"));
}

}  // namespace
}  // namespace prekond::testing
