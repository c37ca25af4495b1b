// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The command `prekond` under mpirun: one report, one error, the same exit code on every rank.
#include "testing/temporary_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
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

/// The result of a run on all ranks.
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

  /// Runs `job`, the arguments after mpirun's own flags, in the folder.
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
      "solve --generate elasticity3d:6 --precond adaptive_fsai -p max_steps=10 -p rank_overlap=0 --repeat 2";
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

TEST_F(MpiDriverTest, InversesByRowsTakeTheIterationsOfOneRank) {
  const auto iterations = [](int ranks, const std::string& arguments) {
    return report_of(ranks, "solve --rhs a_ones " + arguments)["solver"]["iterations"].get<int>();
  };
  const std::string spd = "--generate elasticity3d:6,contrast=10 --solver cg --precond ",
                    general = "--generate convection_diffusion3d:9 --solver gmres --precond ";
  for (const std::string& arguments :
       {spd + "fsai", spd + "adaptive_fsai -p rank_overlap=1000", spd + "isai -p kind=spd -p power=2",
        spd + "fsai -p power=2 -p block_size=3 --partition metis", general + "nonsymmetric_fsai",
        general + "spai", general + "isai"}) {
    SCOPED_TRACE(arguments);
    const int one = iterations(1, arguments);
    EXPECT_NEAR(iterations(3, arguments), one, 1);
  }
  // Block Jacobi's known growth, and what overlap makes of it.
  const std::string local = general + "ilu0 -p rank_overlap=";
  const int apart = iterations(4, local + "0");
  EXPECT_GT(apart, iterations(1, local + "0"));
  EXPECT_LT(iterations(4, local + "2"), apart);
}

/// All ranks choose by the facts of the whole matrix, also one without rows.
TEST_F(MpiDriverTest, MethodsAreChosenByAllRanksTogether) {
  for (const std::string problem : {"poisson2d:20", "convection_diffusion3d:6", "tridiagonal:3"}) {
    SCOPED_TRACE(problem);
    const std::string solve = "solve --rtol 1e-8 --generate " + problem;
    const Json one = report_of(1, solve);
    for (const int ranks : {2, 3, 7}) {
      const Json report = report_of(ranks, solve);
      EXPECT_EQ(report["solver"]["converged"], true);
      EXPECT_LE(report["solver"]["true_relative_residual"].get<double>(), 1.01e-8);
      ASSERT_EQ(report["candidates"].size(), one["candidates"].size());
      for (std::size_t k = 0; k < report["candidates"].size(); ++k)
        EXPECT_EQ(
            report["candidates"][k]["expected_products"].is_null() &&
                !report["candidates"][k]["tried"].get<bool>(),
            one["candidates"][k]["expected_products"].is_null() && !one["candidates"][k]["tried"].get<bool>())
            << report["candidates"][k]["preconditioner"];
    }
  }
  const Json named = report_of(3, "solve --generate convection_diffusion3d:6 --precond spai");
  EXPECT_EQ(named["preconditioner"]["name"], "spai");
  EXPECT_EQ(named["solver"]["converged"], true);
}

TEST_F(MpiDriverTest, PolynomialsTakeTheIterationsOfOneRank) {
  const std::string problem =
      "solve --generate elasticity3d:6,contrast=10 --rhs a_ones --solver cg --precond ";
  for (const char* precond : {"chebyshev", "ls_polynomial", "neumann -p bounds=gershgorin"}) {
    SCOPED_TRACE(precond);
    const Json one = report_of(1, problem + precond);
    for (const int ranks : {2, 3, 7}) {
      const Json report = report_of(ranks, problem + precond);
      EXPECT_EQ(report["solver"]["iterations"], one["solver"]["iterations"]) << ranks;
      EXPECT_EQ(report["preconditioner"]["nnz"], one["preconditioner"]["nnz"]);
    }
  }
  EXPECT_GT(report_of(7, problem + "ls_polynomial -p rank_overlap=0")["solver"]["iterations"].get<int>(),
            report_of(1, problem + "ls_polynomial")["solver"]["iterations"].get<int>());
}

TEST_F(MpiDriverTest, ScaledTheIterationsAreThoseOfOneRank) {
  const auto iterations = [](int ranks, const std::string& arguments) {
    return report_of(ranks, "solve --rhs a_ones " + arguments)["solver"]["iterations"].get<int>();
  };
  // Entries of very different sizes.
  const std::string spd = "--generate circuit:30 --scale --solver cg --precond ",
                    elastic = "--generate elasticity3d:5,contrast=100 --scale --solver cg --precond ",
                    general = "--generate convection_diffusion3d:8 --solver gmres ";
  for (const std::string& arguments :
       {spd + "fsai", spd + "ls_polynomial -p scaling=none", elastic + "fsai -p power=2 -p block_size=3",
        elastic + "adaptive_fsai -p max_steps=3 -p rank_overlap=1000 --partition metis",
        elastic + "chebyshev", general + "--scale --precond spai", general + "--scale --precond isai",
        general + "--match --precond nonsymmetric_fsai",
        general + "--scale --precond nonsymmetric_fsai --partition metis"}) {
    SCOPED_TRACE(arguments);
    const int one = iterations(1, arguments);
    for (const int ranks : {2, 3, 7}) EXPECT_NEAR(iterations(ranks, arguments), one, 1) << ranks;
  }
  const std::string local = elastic + "fsai -p power=2 -p rank_overlap=";
  EXPECT_GT(iterations(4, local + "0"), iterations(4, local + "-1"));
}

TEST_F(MpiDriverTest, AFailureNamesABetterCommand) {
  const Json report =
      report_of(2, "solve --generate tridiagonal:1500 --max-iters 300 --solver cg --precond jacobi", 4);
  ASSERT_EQ(report["try"].size(), 1u);
  const std::string command = report["try"][0]["command"], begin = "mpirun -np 2 prekond ";
  ASSERT_TRUE(command.starts_with(begin + "solve --generate tridiagonal:1500 --max-iters 300 ")) << command;
  EXPECT_EQ(run(2, command.substr(begin.size())).codes, std::vector<int>(2, 0)) << command;
}

TEST_F(MpiDriverTest, MultigridTakesTheIterationsOfOneRank) {
  const std::string problem = "solve --generate elasticity3d:6 --coordinates grid --solver cg --precond amg ";
  const int one = report_of(1, problem)["solver"]["iterations"];
  for (const int ranks : {2, 3}) {
    EXPECT_EQ(report_of(ranks, problem + "-p gather_rows=60")["solver"]["iterations"], one) << ranks;
    EXPECT_EQ(report_of(ranks, problem + "-p gather_rows=60 --partition metis")["solver"]["iterations"], one)
        << ranks;
  }
}

TEST_F(MpiDriverTest, ProductsOfEveryFormatOverlapTheirMessages) {
  const std::string problem = "solve --generate elasticity3d:6 --rhs a_ones --precond jacobi --spmv ";
  const Json one = report_of(1, problem + "csr");
  for (const std::string format : {"csr", "sell", "bcsr", "auto"}) {
    const Json report = report_of(3, problem + format);
    EXPECT_NEAR(report["solver"]["iterations"].get<int>(), one["solver"]["iterations"].get<int>(), 1);
    if (format != "auto") {
      EXPECT_EQ(report["product"]["format"], format);
    }
  }
}

TEST_F(MpiDriverTest, DevicesAreForOneProcess) {
  for (const char* command : {"solve --precond fsai", "compare --precond fsai,jacobi"})
    expect_error(run(2, std::string(command) + " --generate poisson2d:5 --devices 2"), 2, 2,
                 {"--devices 2 shares a setup out over the devices of one process, and these are 2 processes",
                  "leave --devices out"});
  EXPECT_EQ(report_of(2, "solve --generate poisson2d:5 --precond fsai --devices 1")["devices"], 1);
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
  EXPECT_THAT(result.out[0], StartsWith("ended           converged (rtol) after "));
  EXPECT_THAT(result.out, Contains(HasSubstr("400 rows, 1920 entries")));
  EXPECT_THAT(result.out, Contains(HasSubstr(", 3 processes")));
  EXPECT_THAT(read_bytes(file("h.csv")), StartsWith("iteration,residual_norm,relative_residual\n0,"));
}

TEST_F(MpiDriverTest, MoreRanksThanRows) {
  for (const char* precond : {"none", "jacobi", "adaptive_fsai"}) {
    const Json report = report_of(
        7, std::string("solve --generate tridiagonal:3 --rhs a_ones --solution x.mtx --precond ") + precond);
    EXPECT_EQ(report["solver"]["converged"], true);
    for (const double value : solution("x.mtx")) EXPECT_NEAR(value, 1, 1e-5);  // b = A*1
    EXPECT_EQ(solution("x.mtx").size(), 3u);
  }
}

TEST_F(MpiDriverTest, MoreRanksThanRowsOfAFile) {
  run(1, "generate tridiagonal:3 -q -o three.mtx");
  for (const std::string partition : {"rows", "metis"}) {
    const Json report = report_of(
        7, "solve three.mtx --rhs a_ones --solution x.mtx --precond jacobi --partition " + partition);
    EXPECT_EQ(report["distribution"]["read_by"], "all");
    EXPECT_EQ(report["distribution"]["most_rows"], 1);
    EXPECT_EQ(report["distribution"]["fewest_rows"], 0);
    EXPECT_EQ(report["distribution"]["cut_entries"], 4);
    EXPECT_EQ(report["distribution"]["most_neighbors"], 2);
    for (const double value : solution("x.mtx")) EXPECT_NEAR(value, 1, 1e-5);
    EXPECT_EQ(solution("x.mtx").size(), 3u);
  }
}

TEST_F(MpiDriverTest, VectorsOfFiles) {
  report_of(2, "solve --generate poisson2d:15 --rhs random --rtol 1e-10 --solution x.mtx");
  const Json again = report_of(3, "solve --generate poisson2d:15 --rhs random --rtol 1e-9 --x0 x.mtx");
  EXPECT_EQ(again["solver"]["iterations"], 0);
  const Json rhs = report_of(3,
                             "solve --generate poisson2d:15 --rhs x.mtx --x0 precond --precond jacobi "
                             "--solver cg -s single_reduction=true");
  EXPECT_EQ(rhs["solver"]["converged"], true);
}

// ------------------------------------------------------------------------------------------------ the rows

TEST_F(MpiDriverTest, AFileIsReadByAllRanks) {
  for (const char* problem : {"elasticity3d:5", "convection_diffusion3d:7"}) {
    run(1, std::string("generate ") + problem + " -q -o made.mtx.gz");
    run(1, std::string("generate ") + problem + " -q -o made.mtx");
    const std::string solve = " --solver gmres --precond jacobi --rtol 1e-8 --solution ";
    const Json one = report_of(1, "solve made.mtx --rhs a_ones" + solve + "one.mtx");
    EXPECT_EQ(one["distribution"]["ranks"], 1);
    const auto x = solution("one.mtx");
    for (const int ranks : {2, 3, 4, 7})
      for (const char* rest : {"made.mtx --rhs a_ones", "made.mtx.gz --rhs a_ones",
                               "made.mtx --rhs a_ones --partition metis", "made.mtx"}) {
        const Json report = report_of(ranks, std::string("solve ") + rest + solve + "several.mtx");
        EXPECT_EQ(report["distribution"]["read_by"], "all");
        EXPECT_EQ(report["distribution"]["ranks"], ranks);
        EXPECT_GT(report["distribution"]["cut_entries"].get<int>(), 0);
        EXPECT_GE(report["distribution"]["most_neighbors"].get<int>(), 1);
        EXPECT_LE(report["distribution"]["fewest_rows"].get<int>() * ranks, one["matrix"]["rows"].get<int>());
        EXPECT_GE(report["distribution"]["most_rows"].get<int>() * ranks, one["matrix"]["rows"].get<int>());
        for (const char* key : {"rows", "cols", "nnz", "symmetric"})
          EXPECT_EQ(report["matrix"][key], one["matrix"][key]) << key;
        if (std::string(rest).find("a_ones") == std::string::npos) continue;
        EXPECT_NEAR(report["solver"]["iterations"].get<int>(), one["solver"]["iterations"].get<int>(), 1);
        const auto y = solution("several.mtx");
        ASSERT_EQ(y.size(), x.size());
        for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(y[i], x[i], 1e-5) << i << " on " << ranks;
      }
  }
}

TEST_F(MpiDriverTest, EachRankMakesItsRows) {
  for (const char* problem : {"elasticity3d:5", "convection_diffusion3d:6,peclet=10", "irregular3d:5"}) {
    SCOPED_TRACE(problem);
    const std::string solve = std::string("solve --generate ") + problem +
                              " --solver gmres --precond jacobi --rhs a_ones --rtol 1e-10 ";
    const Json one = report_of(1, solve + "--solution one.mtx");
    const auto x = solution("one.mtx");
    for (const auto& [ranks, more] :
         {std::pair{2, ""}, {3, "--partition metis"}, {7, ""}, {3, "--order rcm"}}) {
      const Json report = report_of(ranks, solve + more + " --solution several.mtx");
      const std::string read_by = std::string(more) == "--order rcm" ? "rank 0" : "all";
      EXPECT_EQ(report["distribution"]["read_by"], read_by) << more;
      for (const char* key : {"source", "rows", "cols", "nnz", "symmetric"})
        EXPECT_EQ(report["matrix"][key], one["matrix"][key]) << key;
      const auto y = solution("several.mtx");
      ASSERT_EQ(y.size(), x.size());
      for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(y[i], x[i], 1e-7) << i << " on " << ranks;
    }
  }
  EXPECT_EQ(report_of(2, "solve --generate circuit:9")["distribution"]["read_by"], "rank 0");
  EXPECT_EQ(report_of(7, "solve --generate tridiagonal:3")["distribution"]["fewest_rows"], 0);
  expect_error(run(3, "solve --generate poisson2d:4,seed=1 -q"), 3, 2, {"'poisson2d' has no option 'seed'"});
  expect_error(run(3, "solve --generate poisson4d:4 -q"), 3, 2, {"no generator is called 'poisson4d'"});
}

/// A right-hand side depends on the rows' numbers, not on who has them.
TEST_F(MpiDriverTest, RightHandSidesDoNotDependOnTheRanks) {
  run(1, "generate convection_diffusion3d:8 -q -o made.mtx");
  for (const char* rhs : {"random", "ones", "b.mtx"}) {
    const std::string solve =
        std::string("solve made.mtx --solver gmres --rtol 1e-11 --rhs ") + rhs + " --solution ";
    if (std::string(rhs) == "b.mtx")
      report_of(1, "solve made.mtx --solver gmres --rhs random --solution b.mtx");
    report_of(1, solve + "one.mtx");
    report_of(3, solve + "several.mtx --partition metis");
    const auto x = solution("one.mtx"), y = solution("several.mtx");
    ASSERT_EQ(x.size(), 512u);
    ASSERT_EQ(y.size(), x.size());
    double largest = 0;
    for (const double value : x) largest = std::max(largest, std::abs(value));
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(y[i], x[i], 1e-7 * largest) << rhs << " " << i;
  }
}

/// The rows of a path's graph Laplacian sum to zero.
TEST_F(MpiDriverTest, ARandomRightHandSideIsInTheRangeOfASingularMatrix) {
  std::ofstream path(file("path.mtx"));
  path << "%%MatrixMarket matrix coordinate real symmetric\n60 60 119\n1 1 1\n";
  for (int i = 2; i <= 60; ++i)
    path << i << ' ' << i - 1 << " -1\n" << i << ' ' << i << (i < 60 ? " 2\n" : " 1\n");
  path.close();
  const std::string solve = "solve path.mtx --precond jacobi --rtol 1e-8";
  const Json one = report_of(1, solve);
  for (const int ranks : {2, 3, 7}) {
    const Json report = report_of(ranks, solve);
    EXPECT_EQ(report["notes"], one["notes"]);
    EXPECT_EQ(report["notes"].size(), 1u);
    EXPECT_LE(report["solver"]["true_relative_residual"].get<double>(), 1e-8);
  }
}

TEST_F(MpiDriverTest, PartitionsCutLessAndAreUndoneInTheSolution) {
  std::ofstream parts(file("parts.mtx"));
  parts << "%%MatrixMarket matrix array real general\n729 1\n";
  for (int i = 0; i < 729; ++i) parts << (i * 7 % 5 == 0 ? 2 : 0) << "\n";  // rank 1 has none
  parts.close();
  run(1, "generate poisson3d:9 -q -o made.mtx");
  const std::string problem =
      "solve made.mtx --precond jacobi --rhs random --rtol 1e-10 --solution several.mtx";
  report_of(1, "solve made.mtx --precond jacobi --rhs random --rtol 1e-10 --solution one.mtx");
  const auto x = solution("one.mtx");
  // Two planes of the mesh lie between the blocks; an edge is two entries.
  EXPECT_EQ(report_of(3, problem)["distribution"]["cut_entries"], 2 * 2 * 81);
  for (const char* order : {"", " --order rcm", " --order random --scale", " --match"}) {
    for (const char* partition : {"metis", "parts.mtx", "rows"}) {
      const std::string options = std::string(order) + " --partition " + partition +
                                  (std::string(order) == " --match" ? " --solver gmres" : "");
      const Json report = report_of(3, problem + options);
      const Json& facts = report["distribution"];
      EXPECT_EQ(facts["partition"], partition);
      EXPECT_EQ(facts["read_by"], *order == '\0' ? "all" : "rank 0");
      if (facts["partition"] == "parts.mtx") {
        EXPECT_EQ(facts["fewest_rows"], 0);
        EXPECT_EQ(facts["most_rows"], 583);
      }
      const auto y = solution("several.mtx");
      ASSERT_EQ(y.size(), x.size());
      for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(y[i], x[i], 1e-8) << i << options;
    }
  }
  // Rows in no order: METIS finds the mesh again.
  const std::string shuffled = problem + " --order random";
  const int cut_by_rows = report_of(4, shuffled)["distribution"]["cut_entries"];
  const int cut_by_metis = report_of(4, shuffled + " --partition metis")["distribution"]["cut_entries"];
  EXPECT_LT(4 * cut_by_metis, cut_by_rows);
}

TEST_F(MpiDriverTest, OneRankMonitors) {
  const Result result = run(3, "solve --generate poisson2d:20 --precond jacobi --solver cg --monitor=10");
  ASSERT_GE(result.errors.size(), 2u);
  EXPECT_EQ(result.errors[0], "prekond: iteration 0, relative residual 1.000000e+00");
  EXPECT_THAT(result.errors[1], StartsWith("prekond: iteration 10, "));
}

TEST_F(MpiDriverTest, TheDistributionIsPrinted) {
  const Result result = run(4, "solve --generate poisson2d:20 -v");
  EXPECT_THAT(result.out,
              Contains(HasSubstr("4 ranks, rows: 120 entries cut, 120 vector entries exchanged, 100 to 100 "
                                 "rows a rank, at most")));
  EXPECT_THAT(result.out, Contains(HasSubstr("2 neighbours; read by all")));
  EXPECT_THAT(run(2, "compare --generate poisson2d:20 --precond none,jacobi").out,
              Contains(HasSubstr("2 ranks, rows: 40 entries cut")));
}

TEST_F(MpiDriverTest, PartitionsThatCannotBe) {
  const std::string solve = "solve --generate poisson2d:3 -q --partition ";
  std::ofstream(file("parts.mtx"))
      << "%%MatrixMarket matrix array real general\n9 1\n0\n1\n2\n0\n0\n0\n0\n0\n0\n";
  expect_error(run(2, solve + "parts.mtx"), 2, 3, {"parts.mtx: row 3 is in part 2", "0 to 1"});
  std::ofstream(file("half.mtx"))
      << "%%MatrixMarket matrix array real general\n9 1\n0\n.5\n0\n0\n0\n0\n0\n0\n0\n";
  expect_error(run(2, solve + "half.mtx"), 2, 3, {"half.mtx: row 2 is in part 0.5"});
  std::ofstream(file("short.mtx")) << "%%MatrixMarket matrix array real general\n2 1\n0\n1\n";
  expect_error(run(2, solve + "short.mtx"), 2, 3, {"short.mtx:2", "a vector of length 9 is wanted"});
  EXPECT_EQ(run(1, solve + "parts.mtx").codes, std::vector<int>(1, 0));  // there is nothing to distribute
  expect_error(run(2, solve + "metiss"), 2, 2, {"--partition takes rows, metis or a FILE.mtx"});
  expect_error(run(2, solve + "missing.mtx"), 2, 3, {"missing.mtx"});
  expect_error(run(2, solve + "parts.mtx --report parts.mtx"), 2, 2, {"would overwrite --partition"});
}

/// Rank 0 reads a file for all that only it sees.
TEST_F(MpiDriverTest, AFileThatOneRankSeesIsReadByIt) {
  run(1, "generate poisson2d:9 -q -o made.mtx");
  const std::string solve = "solve made.mtx -q --report report.json --history h.csv";
  const Result result = run_job("-np 1 " + process(solve) + " : -np 2 sh -c 'cd / && \"" +
                                PREKOND_DRIVER_PATH + "\" " + solve + "; echo code $?'");
  EXPECT_EQ(result.codes, std::vector<int>(3, 0));
  const Json report = Json::parse(read_bytes(file("report.json")));
  EXPECT_EQ(report["distribution"]["read_by"], "rank 0");
  EXPECT_EQ(report["matrix"]["rows"], 81);
  const Result piped =
      run_job("-np 2 sh -c 'if test $OMPI_COMM_WORLD_RANK = 0; then exec < made.mtx; fi; cat | \"" +
              std::string(PREKOND_DRIVER_PATH) + "\" solve /dev/stdin -q; echo code $?'");
  EXPECT_EQ(piped.codes, std::vector<int>(2, 0));
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
  expect_error(run(3, "solve --generate poisson2d:20 -q --max-iters 1"), 3, 4,
               {"has not converged in 1 iteration", "; try: mpirun -np 3 prekond solve "});
  expect_error(run(2, "solve indefinite.mtx --solver cg --rhs random -q"), 2, 5, {"breakdown_not_spd"});
  expect_error(run(2, "info missing.mtx"), 2, 3, {"missing.mtx"});
}

/// Bad data in one rank's part of the file is one message, that of one process, with the line in the file.
TEST_F(MpiDriverTest, BadDataOfOneRankIsOneError) {
  const auto tridiagonal = [](int bad_row, const std::string& bad) {
    std::string text = "%%MatrixMarket matrix coordinate real general\n200 200 598\n";
    for (int i = 1; i <= 200; ++i)
      for (int j = std::max(1, i - 1); j <= std::min(200, i + 1); ++j)
        text += i == bad_row && j == i
                    ? bad
                    : std::to_string(i) + " " + std::to_string(j) + (i == j ? " 2\n" : " -1\n");
    return text;
  };
  const std::map<std::string, std::string> files = {
      {"nan", tridiagonal(150, "150 150 nan\n")},
      {"outside", tridiagonal(60, "60 201 1\n")},
      {"empty_row", tridiagonal(120, "% nothing\n")},  // no diagonal: what one process says
      {"negative", tridiagonal(77, "77 77 -2\n")},
      {"asymmetric", tridiagonal(100, "100 199 2\n")},
      {"cut", tridiagonal(0, "").substr(0, 2000)},
      {"blank", "\n\n"},
      {"rectangular", "%%MatrixMarket matrix coordinate real general\n3 2 2\n1 1 1\n3 2 1\n"},
      {"no_rows", "%%MatrixMarket matrix coordinate real general\n0 0 0\n"}};
  for (const auto& [name, text] : files) {
    std::ofstream(file(name + ".mtx")) << text;
    for (const bool any_matrix : {false, true}) {
      const std::string solve =
          "solve " + name + ".mtx -q" +
          (any_matrix ? " --solver gmres --precond jacobi" : " --solver cg --precond none");
      const Result one = run(1, solve);
      for (const int ranks : any_matrix ? std::vector<int>{4} : std::vector<int>{2, 3, 7}) {
        const Result several = run(ranks, solve);
        EXPECT_EQ(several.codes, std::vector<int>(ranks, one.codes.at(0))) << solve;
        EXPECT_EQ(several.errors, one.errors) << solve << " on " << ranks;
      }
    }
  }
}

/// A row without entries has nothing to be solved by, and all ranks say so.
TEST_F(MpiDriverTest, AnEmptyRowOfTheWholeMatrix) {
  std::ofstream(file("empty_row.mtx"))
      << "%%MatrixMarket matrix coordinate real general\n5 5 4\n1 1 2\n2 2 3\n4 4 4\n5 5 5\n";
  for (const char* options :
       {" --solver gmres --precond none --rhs ones", " --solver gmres --precond jacobi --rhs ones",
        " --solver bicgstab --precond none --rhs ones", " --solver cg --precond adaptive_fsai"}) {
    const Result one = run(1, std::string("solve empty_row.mtx -q") + options);
    ASSERT_EQ(one.codes.size(), 1u);
    EXPECT_NE(one.codes[0], 0) << options;
    for (const int ranks : {2, 4, 7}) {
      const Result several = run(ranks, std::string("solve empty_row.mtx -q") + options);
      EXPECT_EQ(several.codes, std::vector<int>(ranks, one.codes[0])) << options << " on " << ranks;
      EXPECT_EQ(several.errors.size(), 1u);
    }
  }
}

TEST_F(MpiDriverTest, ErrorsOfSeveralRanksAreThatOfTheFirst) {
  const auto job = [](const std::string& arguments) {
    return "-np 1 " + process("solve --generate poisson2d:9 -q " + arguments);
  };
  expect_error(run_job(job("") + " : " + job("--max-iter 2") + " : " + job("--config missing.json")), 3, 2,
               {"rank 1 of 3: ", "--max-iters"});
  expect_error(run_job(job("--max-iter 2") + " : " + job("--precond jacoby")), 2, 2,
               {"rank 0 of 2: ", "--max-iters"});
}

/// A rank that is killed in the middle of a solve, or of a setup over ranks, takes the job with it.
TEST_F(MpiDriverTest, ARankThatDiesEndsTheJob) {
  const std::string
      driver = std::string("\"") + PREKOND_DRIVER_PATH + "\" solve -q ",
      long_solve =
          "--generate poisson2d:500 --rtol 1e-300 --max-iters 1000000 --solver gmres -s restart=5 "
          "--precond none",
      setups = "--generate elasticity3d:10 --solver gmres --precond spai --max-iters 1 --repeat 1000000";
  for (const auto& [victim, arguments] :
       {std::pair{0, long_solve}, std::pair{2, long_solve}, std::pair{1, setups}}) {
    const std::string solve = driver + arguments;
    const std::string dies = "sh -c 'echo $$ > pid; exec " + solve + "'";
    std::filesystem::remove(file("pid"));
    const std::string others = "-np 2 sh -c 'exec " + solve + "'";
    const std::string one = "-np 1 sh -c 'exec " + solve + "'";
    const std::string job = victim == 0   ? "-np 1 " + dies + " : " + others
                            : victim == 1 ? one + " : -np 1 " + dies + " : " + one
                                          : others + " : -np 1 " + dies;
    // It gets two seconds to start, and the job a minute to end.
    const std::string command =
        "cd '" + file("") + "' && { timeout 60 '" + PREKOND_MPIEXEC + "' " + PREKOND_MPIEXEC_FLAGS + " " +
        job +
        " > stdout 2> stderr & } && while ! test -s pid; do sleep 0.1; done; sleep 2; "
        "kill -KILL $(cat pid) || exit 100; wait $!";
    const int status = std::system(command.c_str());
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_NE(WEXITSTATUS(status), 0);
    EXPECT_NE(WEXITSTATUS(status), 100) << "it had ended before";
    EXPECT_NE(WEXITSTATUS(status), 124) << "the job hangs";
  }
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
