// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/views.hpp>

#include "driver/driver_fixture.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace prekond::testing {
namespace {

constexpr bool is_host = is_host_space<Kokkos::DefaultExecutionSpace>;

using ::testing::HasSubstr;
using ::testing::Not;

/// The commands that `info` and `solve` propose.
class AdviceTest : public DriverTest {
 protected:
  /// Runs a line that begins with "prekond", as a shell reads it.
  static Result paste(const std::string& line) {
    EXPECT_TRUE(line.starts_with("prekond ")) << line;
    const std::string command =
        "cd '" + file("").string() + "' && '" PREKOND_DRIVER_PATH "'" + line.substr(7) + " >stdout 2>stderr";
    const int status = std::system(command.c_str());
    return {WEXITSTATUS(status), read_file(file("stdout")), read_file(file("stderr"))};
  }

  /// The command at the end of an error; empty where there is none.
  static std::string command_in(const std::string& error) {
    const auto begin = error.find("; try: ");
    return begin == error.npos ? "" : error.substr(begin + 7, error.find('\n', begin) - begin - 7);
  }

  /// The two commands of `info`, which are run.
  static void expect_sound(const Json& tries) {
    ASSERT_EQ(tries.size(), 2u);
    EXPECT_TRUE(tries[0]["command"].get<std::string>().starts_with("prekond solve ")) << tries;
    EXPECT_TRUE(tries[1]["command"].get<std::string>().starts_with("prekond compare ")) << tries;
    for (const Json& entry : tries) {
      EXPECT_GT(entry["expected_products"], 0);
      EXPECT_EQ(paste(entry["command"]).code, 0) << entry["command"];
    }
  }
};

TEST_F(AdviceTest, InfoEndsWithCommandsThatCanBePasted) {
  const std::string name = "it's $HOME;a.mtx";
  ASSERT_EQ(run({"generate", "poisson2d:40", "-o", name}).code, 0);
  const Json report = report_of({"info", name});
  expect_sound(report["try"]);
  const Json& first = report["try"][0];
  EXPECT_EQ(first["command"], R"(prekond solve 'it'\''s $HOME;a.mtx')");
  EXPECT_EQ(first["solver"], "auto");
  EXPECT_THAT(first["reason"], HasSubstr(" with cg "));
  EXPECT_THAT(first["reason"], Not(HasSubstr("gmres")));
  const std::vector<std::string> lines = lines_of(run({"info", name}).out);
  const std::string last = report["try"].back()["command"];
  const auto shown =
      std::find(lines.begin(), lines.end(), "try:            " + first["command"].get<std::string>());
  ASSERT_NE(shown, lines.end());
  for (auto line = shown; line != lines.end(); ++line)
    EXPECT_TRUE(line == shown || line->starts_with(std::string(16, ' '))) << *line;
  EXPECT_NE(std::find_if(shown, lines.end(), [&](const auto& line) { return line.ends_with(last); }),
            lines.end());
  EXPECT_EQ(run({"info", name, "--quiet"}).out, "");
}

TEST_F(AdviceTest, InfoProposesMethodsForTheKindOfTheMatrix) {
  const Json general = report_of({"info", "--generate", "convection_diffusion3d:8,peclet=40"})["try"];
  expect_sound(general);
  EXPECT_EQ(general[0]["command"], "prekond solve --generate convection_diffusion3d:8,peclet=40");
  EXPECT_THAT(general[0]["reason"], HasSubstr(" with bicgstab "));
  EXPECT_THAT(general[0]["reason"], Not(HasSubstr(" with cg ")));
  expect_sound(report_of({"info", "--generate", "magnetic3d:6"})["try"]);
  EXPECT_THAT(report_of({"info", "zero_diagonal.mtx"})["try"], ::testing::IsEmpty()) << "a row of zeros";
  EXPECT_THAT(report_of({"info", "rectangular.mtx"})["try"], ::testing::IsEmpty());
  EXPECT_THAT(run({"info", "rectangular.mtx"}).out, Not(HasSubstr("try:")));
}

// Without a preconditioner cg takes an iteration a row. On a host ic0 follows, which is exact for a
// tridiagonal matrix; on a device a method without triangular solves may be expected to take less.
TEST_F(AdviceTest, ASlowSolveEndsWithABetterCommand) {
  ASSERT_EQ(run({"generate", "tridiagonal:300", "-o", "long chain.mtx"}).code, 0);
  write("slow.json", R"({"matrix": "long chain.mtx", "x0": "zero", "scale": true, "rtol": 1e-4})");
  const std::vector<std::string> arguments = {"solve", "--config",    "slow.json", "--precond",
                                              "none",  "--solver",    "cg",        "--rtol",
                                              "1e-9",  "--match=auto"};
  const Json slow = report_of(arguments);
  ASSERT_GT(slow["solver"]["iterations"], 200);
  ASSERT_EQ(slow["try"].size(), 1u);
  const Json& better = slow["try"][0];
  const std::string name = better["preconditioner"], command = better["command"], reason = better["reason"];
  if (is_host) {
    EXPECT_EQ(name, "ic0");
  }
  const std::string given = "prekond solve 'long chain.mtx' --x0 zero --match=auto --scale --rtol 1e-9 ",
                    method = "--precond " + name + " --solver cg";
  EXPECT_EQ(command, given + "--report report.json " + method);
  const std::string taken =
      "products with A is expected of " + name + " with cg, and this solve took that of ";
  ASSERT_THAT(reason, HasSubstr(taken));
  const double work = std::stod(reason.substr(reason.find(taken) + taken.size()));
  EXPECT_GT(work, slow["solver"]["matrix_products"]) << "vectors take time too";
  EXPECT_LE(2 * better["expected_products"].get<double>(), work + 1);
  const Result shown = run(arguments);
  const auto lines = lines_of(shown.out);
  EXPECT_NE(std::find(lines.begin(), lines.end(), "try:            " + given + method), lines.end())
      << shown.out;
  EXPECT_EQ(paste(command).code, 0);
  const Json fast = Json::parse(read_file(file("report.json")));
  EXPECT_LT(3 * fast["solver"]["iterations"].get<int>(), slow["solver"]["iterations"].get<int>());
  EXPECT_EQ(fast["solver"]["options"]["rtol"], 1e-9);
  if (name == "ic0") {
    EXPECT_TRUE(fast["try"].empty()) << "it was fast";
  }
}

TEST_F(AdviceTest, AFailureNamesABetterCommandInPlaceOfMoreIterations) {
  const std::vector<std::string> arguments = {
      "solve",    "--generate", "tridiagonal:1500", "--precond", "jacobi",
      "--solver", "cg",         "--max-iters",      "300",       "-q"};
  const Result result = run(arguments);
  EXPECT_EQ(result.code, 4);
  EXPECT_EQ(lines_of(result.err).size(), 1u);
  EXPECT_THAT(result.err, Not(HasSubstr("raise --max-iters")));
  const std::string name = is_host ? "ic0" : "ls_polynomial";
  EXPECT_THAT(result.err, HasSubstr("is expected of " + name + " with cg, and this solve took that of "));
  EXPECT_EQ(
      command_in(result.err),
      "prekond solve --generate tridiagonal:1500 --max-iters 300 --quiet --precond " + name + " --solver cg");
  EXPECT_EQ(paste(command_in(result.err)).code, 0);
}

TEST_F(AdviceTest, ThereIsNoneWhereNothingBetterIsExpected) {
  const auto none = [](std::vector<std::string> arguments, int code) {
    arguments.insert(arguments.begin(), "solve");
    EXPECT_TRUE(report_of(arguments, code)["try"].empty()) << ::testing::PrintToString(arguments);
    const Result result = run(arguments);
    EXPECT_THAT(result.out + result.err, Not(HasSubstr("try:"))) << ::testing::PrintToString(arguments);
    return result.err;
  };
  none({"--generate", "poisson2d:20", "--precond", "none", "--solver", "cg"}, 0);
  // The end is the matrix's: it is singular, and b is not in its range.
  none({"nilpotent.mtx", "--rhs", "first2.mtx", "--precond", "none", "--solver", "gmres"}, 5);
}

// No method is expected to converge in so few iterations: the rate promises an end in more, or `auto` has the
// default's.
TEST_F(AdviceTest, AFailureNamesMoreIterationsOrAuto) {
  const auto advice_of = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "solve");
    const Result failed = run(arguments);
    EXPECT_EQ(failed.code, 4) << failed.err;
    EXPECT_THAT(failed.err, Not(HasSubstr("raise --max-iters")));
    const std::string command = command_in(failed.err);
    EXPECT_EQ(paste(command).code, 0) << command;
    return command;
  };
  if (is_host) {  // on a device another method may be expected to be better
    const std::string more =
        advice_of({"--generate", "irregular3d:20", "--precond", "jacobi", "-p", "block_size=1", "--solver",
                   "cg", "--max-iters", "25", "--rtol", "1e-10"});
    EXPECT_THAT(more, ::testing::MatchesRegex("prekond solve --generate irregular3d:20 --rtol 1e-10 "
                                              "--max-iters [0-9]+ --precond jacobi -p block_size=1 "
                                              "--solver cg"));
  }
  EXPECT_EQ(
      advice_of({"--generate", "poisson2d:200", "--precond", "none", "--solver", "cg", "--max-iters", "3"}),
      "prekond solve --generate poisson2d:200");
  EXPECT_EQ(advice_of({"--generate", "poisson2d:200", "--max-iters", "3"}),
            "prekond solve --generate poisson2d:200");
}

// Rows of 40 random entries: nothing but a factorisation with all of its fill gets anywhere.
TEST_F(AdviceTest, AfterAutoComesAFactorisationWithItsFillInAnotherOrder) {
  write_random("random.mtx", 200);
  const Result solved = run({"solve", "random.mtx", "--max-iters", "12000", "-v"});
  EXPECT_EQ(solved.code, 0);
  EXPECT_THAT(solved.out, HasSubstr("ilut (p=1000, tau=0.0) with gmres: solved"));
  write_random("larger.mtx", 1100);
  const Result failed = run({"solve", "larger.mtx", "--max-iters", "12000"});
  ASSERT_NE(failed.code, 0);
  EXPECT_THAT(failed.err, HasSubstr("auto ended after "));
  const std::string method =
      " --order auto --match=auto --scale --max-iters 12000 --precond ilut -p p=200 "
      "-p tau=1e-10 --solver gmres -s restart=100";
  EXPECT_EQ(command_in(failed.err), "prekond solve larger.mtx" + method);
  EXPECT_EQ(paste("prekond solve random.mtx" + method).code, 0);
  const Result last = paste("prekond solve larger.mtx" + method);
  ASSERT_NE(last.code, 0);
  EXPECT_EQ(command_in(last.err), "") << "nothing comes after it";
  const Result own =
      paste("prekond solve larger.mtx --match=auto --scale --precond ilut -p p=5 --solver gmres");
  ASSERT_NE(own.code, 0);
  EXPECT_NE(command_in(own.err), "") << "a user's own ilut is not the last resort";
}

// A residual below the rounding errors is out of reach of all methods.
TEST_F(AdviceTest, AStagnationEndsWithAToleranceThatIsReached) {
  for (const std::string method : {"", " --precond jacobi --solver cg"}) {
    const Result result = paste("prekond solve --generate poisson2d:50 --rtol 1e-17" + method);
    EXPECT_EQ(result.code, 5);
    const std::string command = command_in(result.err);
    EXPECT_THAT(command, ::testing::MatchesRegex(
                             "prekond solve --generate poisson2d:50 --rtol [1-9](.[0-9])?e-1[4-6]" + method));
    EXPECT_EQ(paste(command).code, 0) << command;
  }
}

TEST_F(AdviceTest, AdviceDoesNotGoRoundInCircles) {
  write_indefinite("shifted.mtx");
  for (const std::string first :
       {"--max-iters 400 --precond amg --solver cg", "--max-iters 100 --precond ick -p level=2 --solver cg",
        "--max-iters 100 --precond ilu0 --solver bicgstab"}) {
    std::string command = "prekond solve shifted.mtx " + first;
    std::vector<std::string> said;
    while (!command.empty()) {
      ASSERT_EQ(std::count(said.begin(), said.end(), command), 0) << command;
      said.push_back(command);
      ASSERT_LE(said.size(), 8u);
      const Result result = paste(command);
      EXPECT_NE(result.code, 2) << command << result.err;
      command = command_in(result.err);
      EXPECT_THAT(command, Not(HasSubstr("--solver cg"))) << "A is not positive definite";
    }
    EXPECT_GT(said.size(), 1u) << first;
  }
}

// A solver for general matrices does not say whether the matrix is definite: a few steps of CG do.
TEST_F(AdviceTest, CgIsAdvisedForDefiniteMatricesOnly) {
  write_indefinite("shifted.mtx");
  const auto solver_after = [&](std::vector<std::string> matrix) {
    matrix.insert(matrix.begin(), "solve");
    for (const char* word : {"--precond", "jacobi", "--solver", "idr"}) matrix.emplace_back(word);
    const Json tries = report_of(matrix)["try"];
    return tries.empty() ? "" : tries[0]["solver"].get<std::string>();
  };
  EXPECT_EQ(solver_after({"--generate", "poisson2d:150"}), "cg");
  const std::string general = solver_after({"shifted.mtx", "--rtol", "1e-10"});
  EXPECT_NE(general, "");
  EXPECT_NE(general, "cg");
}

}  // namespace
}  // namespace prekond::testing
