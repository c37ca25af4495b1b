// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The command `prekond` under mpirun: one report, one error, the same exit code on every rank.
#include "testing/temporary_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace prekond::testing {
namespace {

using Json = nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// What all ranks of a run did.
struct Result {
  std::vector<int> codes;           ///< of every rank
  std::vector<std::string> out;     ///< lines
  std::vector<std::string> errors;  ///< lines that the command wrote, mpirun's own left out
};

class MpiDriverTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (std::string(PREKOND_MPIEXEC).empty()) GTEST_SKIP() << "there is no mpirun";
    s_folder = new TemporaryFolder("mpi_driver");
    setenv("KOKKOS_NUM_THREADS", "1", 1);
    // In a container the user is root.
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    // Starting takes OpenMPI a second where it looks for networks.
    setenv("OMPI_MCA_pml", "ob1", 0);
  }
  static void TearDownTestSuite() {
    delete s_folder;
    s_folder = nullptr;
  }
  void SetUp() override {
    if (s_folder == nullptr) GTEST_SKIP() << "there is no mpirun";
  }

  static std::string file(const std::string& name) { return *s_folder / name; }

  /// One process of a job, which says how it ended.
  static std::string process(const std::string& arguments) {
    return std::string("sh -c '\"") + PREKOND_DRIVER_PATH + "\" " + arguments + "; echo code $?'";
  }

  /// Runs `job`, what stands behind mpirun's own flags, in the folder.
  static Result run_job(const std::string& job) {
    const std::string command = "cd '" + file("") + "' && '" + PREKOND_MPIEXEC + "' " +
                                PREKOND_MPIEXEC_FLAGS + " " + job + " > stdout 2> stderr";
    std::filesystem::remove(file("report.json"));
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    Result result;
    for (const auto& line : lines_of(read_bytes(file("stdout")))) {
      if (line.rfind("code ", 0) == 0)
        result.codes.push_back(std::stoi(line.substr(5)));
      else
        result.out.push_back(line);
    }
    for (const auto& line : lines_of(read_bytes(file("stderr")))) {
      if (line.rfind("prekond", 0) == 0) result.errors.push_back(line);
    }
    return result;
  }

  static Result run(int ranks, const std::string& arguments) {
    return run_job("-np " + std::to_string(ranks) + " " + process(arguments));
  }

  /// The report of what has to end with `code` on all ranks.
  static Json report_of(int ranks, const std::string& arguments, int code = 0) {
    const Result result = run(ranks, arguments + " --quiet --report report.json");
    EXPECT_EQ(result.codes, std::vector<int>(ranks, code)) << arguments;
    EXPECT_TRUE(result.out.empty()) << result.out.front();
    EXPECT_EQ(result.errors.size(), code == 0 ? 0u : 1u) << arguments;
    return Json::parse(read_bytes(file("report.json")), nullptr, false);
  }

  static std::vector<double> solution(const std::string& name) {
    std::vector<double> x;
    for (const auto& line : lines_of(read_bytes(file(name)))) {
      if (line.front() != '%' && line.find(' ') == std::string::npos) x.push_back(std::stod(line));
    }
    return x;
  }

  /// `job` ends with `code` on all of its ranks, and one line that has the texts.
  static void expect_error(const Result& result, int ranks, int code, const std::vector<std::string>& texts) {
    EXPECT_EQ(result.codes, std::vector<int>(ranks, code));
    ASSERT_EQ(result.errors.size(), 1u) << texts.front();
    EXPECT_THAT(result.errors.front(), StartsWith("prekond: error: "));
    for (const auto& text : texts) EXPECT_THAT(result.errors.front(), HasSubstr(text));
  }

 private:
  static inline TemporaryFolder* s_folder = nullptr;
};

// ------------------------------------------------------------------------------------------------ solve

TEST_F(MpiDriverTest, JacobiTakesTheSameIterationsOnAnyNumberOfRanks) {
  const std::string problem = "solve --generate poisson3d:9 --precond jacobi --rhs random --rtol 1e-8 ";
  const Json one = report_of(1, problem + "--solution one.mtx");
  const auto x = solution("one.mtx");
  ASSERT_EQ(x.size(), 729u);
  for (const int ranks : {2, 3, 4, 7}) {
    const Json report = report_of(ranks, problem + "--solution several.mtx");
    EXPECT_EQ(report["prekond"]["processes"], ranks);
    EXPECT_NEAR(report["solver"]["iterations"].get<int>(), one["solver"]["iterations"].get<int>(), 1);
    for (const char* key : {"rows", "cols", "nnz", "symmetric"})
      EXPECT_EQ(report["matrix"][key], one["matrix"][key]);
    for (const char* key : {"nnz", "bytes", "density"})
      EXPECT_EQ(report["preconditioner"][key], one["preconditioner"][key]) << key;
    const auto y = solution("several.mtx");
    ASSERT_EQ(y.size(), x.size());
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(y[i], x[i], 1e-5) << i << " on " << ranks;
  }
}

TEST_F(MpiDriverTest, OneRankIsThePlainCommandToTheLastBit) {
  const std::string problem = "solve --generate elasticity3d:5 --precond adaptive_fsai --quiet --history ";
  run(1, problem + "mpirun.csv");
  ASSERT_EQ(std::system(
                ("cd '" + file("") + "' && '" + PREKOND_DRIVER_PATH + "' " + problem + "plain.csv").c_str()),
            0);
  EXPECT_GT(read_bytes(file("plain.csv")).size(), 100u);
  EXPECT_EQ(read_bytes(file("mpirun.csv")), read_bytes(file("plain.csv")));
}

TEST_F(MpiDriverTest, AdaptiveFsaiOfEachRanksRowsConverges) {
  const std::string problem =
      "solve --generate elasticity3d:6 --precond adaptive_fsai -p max_steps=10 --repeat 2";
  const Json one = report_of(1, problem);
  for (const int ranks : {2, 3, 4, 7}) {
    const Json report = report_of(ranks, problem);
    EXPECT_EQ(report["solver"]["converged"], true);
    EXPECT_LE(report["solver"]["true_relative_residual"].get<double>(), 1.01e-6);
    EXPECT_LE(report["solver"]["iterations"].get<int>(), 3 * one["solver"]["iterations"].get<int>());
    EXPECT_LE(report["preconditioner"]["nnz"].get<int>(), one["preconditioner"]["nnz"].get<int>());
    EXPECT_GT(report["preconditioner"]["nnz"].get<int>(), 540);
    EXPECT_GT(report["preconditioner"]["foreign_entries"].get<int>(), 0);
  }
}

TEST_F(MpiDriverTest, OneReportOnStandardOutput) {
  const Result result = run(3, "solve --generate poisson2d:20 --precond adaptive_fsai --history h.csv");
  EXPECT_EQ(result.codes, std::vector<int>(3, 0));
  EXPECT_TRUE(result.errors.empty());
  int matrices = 0;
  for (const auto& line : result.out) {
    if (line.rfind("matrix", 0) == 0) ++matrices;
  }
  EXPECT_EQ(matrices, 1);
  ASSERT_GE(result.out.size(), 3u);
  EXPECT_THAT(result.out[0], HasSubstr("400 rows, 1920 entries"));
  EXPECT_THAT(result.out, Contains(HasSubstr(", 3 processes")));
  EXPECT_THAT(read_bytes(file("h.csv")), StartsWith("iteration,residual_norm,relative_residual\n0,"));
}

TEST_F(MpiDriverTest, MoreRanksThanRows) {
  for (const char* precond : {"none", "jacobi", "adaptive_fsai"}) {
    const Json report =
        report_of(7, std::string("solve --generate tridiagonal:3 --solution x.mtx --precond ") + precond);
    EXPECT_EQ(report["solver"]["converged"], true);
    for (const double value : solution("x.mtx")) EXPECT_NEAR(value, 1, 1e-5);  // b = A*1
    EXPECT_EQ(solution("x.mtx").size(), 3u);
  }
}

TEST_F(MpiDriverTest, VectorsOfFiles) {
  report_of(2, "solve --generate poisson2d:15 --rhs random --rtol 1e-10 --solution x.mtx");
  const Json again = report_of(3, "solve --generate poisson2d:15 --rhs random --rtol 1e-9 --x0 x.mtx");
  EXPECT_EQ(again["solver"]["iterations"], 0);
  const Json rhs = report_of(
      3, "solve --generate poisson2d:15 --rhs x.mtx --x0 precond --precond jacobi -s single_reduction=true");
  EXPECT_EQ(rhs["solver"]["converged"], true);
}

// ------------------------------------------------------------------------------------------------ errors

TEST_F(MpiDriverTest, ErrorsAreOneLineAndOneCode) {
  std::ofstream(file("indefinite.mtx"))
      << "%%MatrixMarket matrix coordinate real symmetric\n3 3 5\n1 1 1\n2 1 5\n"
         "2 2 1\n3 2 1\n3 3 1\n";
  std::ofstream(file("bad.mtx")) << "%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1\n";
  expect_error(run(3, "solve missing.mtx"), 3, 3, {"missing.mtx"});
  expect_error(run(2, "solve bad.mtx"), 2, 3, {"bad.mtx:3"});
  expect_error(run(3, "solve bad.mtx --max-iter 3"), 3, 2, {"--max-iters"});
  expect_error(run(2, "solve --generate poisson2d:9 -q --report nowhere/r.json"), 2, 3, {"nowhere"});
  expect_error(run(2, "solve --generate poisson2d:9 --kokkos-num-threads=0"), 2, 2, {"--kokkos-num-threads"});
  expect_error(run(3, "solve --generate poisson2d:20 -q --max-iters 1"), 3, 4, {"--max-iters"});
  expect_error(run(2, "solve indefinite.mtx --rhs random -q"), 2, 5, {"breakdown_not_spd"});
  expect_error(run(2, "info missing.mtx"), 2, 3, {"missing.mtx"});
}

TEST_F(MpiDriverTest, FailedSolvesAreReported) {
  const Json report = report_of(3, "solve --generate poisson2d:20 --max-iters 1", 4);
  EXPECT_EQ(report["solver"]["reason"], "max_iters");
  EXPECT_EQ(report["solver"]["iterations"], 1);
}

TEST_F(MpiDriverTest, AnErrorOfOneRankNamesIt) {
  const std::string good = "-np 2 " + process("solve --generate poisson2d:9 -q") + " : -np 1 ";
  expect_error(run_job(good + process("solve --generate poisson2d:9 -q --config missing.json")), 3, 2,
               {"rank 2 of 3: ", "missing.json"});
  expect_error(run_job(good + process("solve --generate poisson2d:9 -q --precond jacoby")), 3, 2,
               {"rank 2 of 3: ", "jacobi"});
  expect_error(run_job(good + process("solve --generate poisson2d:9 -q --kokkos-num-threads=0")), 3, 2,
               {"rank 2 of 3: ", "--kokkos-num-threads"});
}

// ------------------------------------------------------------------------------------------------ the others

TEST_F(MpiDriverTest, WhatNeedsNoDistributionIsDoneOnce) {
  for (const char* arguments : {"--help", "--version", "list solvers", "info --generate poisson2d:4"}) {
    const auto once = run(1, arguments).out;
    EXPECT_FALSE(once.empty());
    const Result result = run(3, arguments);
    EXPECT_EQ(result.codes, std::vector<int>(3, 0));
    EXPECT_EQ(result.out, once) << arguments;
    EXPECT_TRUE(result.errors.empty());
  }
  EXPECT_EQ(run(2, "generate poisson2d:9 -q -o made.mtx").codes, std::vector<int>(2, 0));
  EXPECT_EQ(report_of(2, "solve made.mtx")["matrix"]["rows"], 81);
}

TEST_F(MpiDriverTest, CompareMakesOneTable) {
  const Json reports =
      report_of(3, "compare --generate poisson2d:20 --precond none,jacobi,adaptive_fsai:max_steps=3");
  ASSERT_EQ(reports.size(), 3u);
  for (const auto& report : reports) {
    EXPECT_EQ(report["solver"]["converged"], true);
    EXPECT_EQ(report["prekond"]["processes"], 3);
  }
}

}  // namespace
}  // namespace prekond::testing
