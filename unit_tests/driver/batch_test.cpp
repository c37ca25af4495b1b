// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/driver_fixture.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace prekond::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// `prekond batch`: its inputs, its report and its errors.
class BatchTest : public DriverTest {
 protected:
  /// A diagonally dominant matrix with off-diagonal entries of its own, entry (0, 2) as in all.
  static std::string matrix(double a, double b) {
    std::ostringstream text;
    text.precision(17);
    text << "%%MatrixMarket matrix coordinate real general\n4 4 9\n1 1 4\n1 2 " << a << "\n2 1 " << b
         << "\n2 2 5\n2 3 -1\n3 2 " << a * b << "\n3 3 6\n1 3 0.5\n4 4 2\n";
    return text.str();
  }
  static std::string vector(double first) {
    std::ostringstream text;
    text << "%%MatrixMarket matrix array real general\n4 1\n" << first << "\n1\n2\n3\n";
    return text.str();
  }

  /// FOLDER/<i>/A.mtx and b.mtx, i from 0
  static void write_cells(const std::string& folder, int count) {
    for (int i = 0; i < count; ++i) {
      const std::string cell = folder + "/" + std::to_string(i);
      fs::create_directories(file(cell));
      write(cell + "/A.mtx", matrix(-1 - 0.2 * i, 0.3 * i - 1.1));
      write(cell + "/b.mtx", vector(i));
    }
  }

  static std::int64_t sum_of_bins(const Json& iterations) {
    std::int64_t sum = 0;
    for (const auto& bin : iterations["histogram"]) sum += bin["systems"].get<std::int64_t>();
    return sum;
  }
};

TEST_F(BatchTest, PerturbedSystemsAreReported) {
  ASSERT_EQ(run({"generate", "poisson2d:6", "-o", "a.mtx"}).code, 0);
  const Json report = report_of({"batch", "--pattern", "a.mtx", "--values", "perturb:50", "--solver", "cg",
                                 "--precond", "ic0", "--rtol", "1e-8", "-q"});
  EXPECT_EQ(report["matrix"]["rows"], 36);
  EXPECT_EQ(report["matrix"]["source"], "a.mtx");
  EXPECT_EQ(report["preconditioner"]["name"], "ic0");
  EXPECT_EQ(report["solver"]["name"], "cg");
  EXPECT_EQ(report["solver"]["options"]["rtol"], 1e-8);
  EXPECT_EQ(report["solver"]["options"]["max_iters"], 1000);
  EXPECT_FALSE(report["solver"]["options"].contains("restart"));
  EXPECT_EQ(report["solver"]["converged"], true);
  EXPECT_GT(report["total_seconds"], 0);
  const Json& batch = report["batch"];
  EXPECT_EQ(batch["systems"], 50);
  EXPECT_EQ(batch["converged"], 50);
  EXPECT_EQ(batch["reasons"], (Json{{"rtol", 50}}));
  EXPECT_EQ(batch["failures"], Json::array());
  EXPECT_EQ(batch["slowest"].size(), 10);
  const Json& iterations = batch["iterations"];
  EXPECT_EQ(sum_of_bins(iterations), 50);
  std::vector<int> ascending = {iterations["min"]};
  for (const auto& quartile : iterations["quartiles"]) ascending.push_back(quartile);
  ascending.push_back(iterations["max"]);
  EXPECT_EQ(ascending.size(), 5);
  EXPECT_TRUE(std::is_sorted(ascending.begin(), ascending.end()));
  EXPECT_EQ(batch["slowest"][0]["iterations"], iterations["max"]);
  EXPECT_EQ(iterations["histogram"].front()["first"], iterations["min"]);
  EXPECT_EQ(iterations["histogram"].back()["last"], iterations["max"]);
}

TEST_F(BatchTest, ModelsAreThoseOfThePattern) {
  ASSERT_EQ(run({"generate", "tridiagonal:40", "-o", "a.mtx"}).code, 0);
  const std::vector<std::vector<std::string>> sources = {
      {"--pattern", "a.mtx", "--values", "perturb:20"},
      {"--generate", "tridiagonal:40,batch=20"},
      {"--generate", "stencil3:40,spread=0.2,batch=20"},
  };
  std::vector<Json> iterations;
  for (auto arguments : sources) {
    arguments.insert(arguments.begin(), {"batch", "-q"});
    iterations.push_back(report_of(arguments)["batch"]["iterations"]);
  }
  EXPECT_NE(iterations[0]["min"], iterations[0]["max"]) << "systems of their own";
  EXPECT_EQ(iterations[1], iterations[0]);
  EXPECT_EQ(iterations[2], iterations[0]);
  const Json same = report_of({"batch", "-q", "--generate", "stencil3:40,batch=20,spread=0"});
  EXPECT_EQ(same["batch"]["iterations"]["min"], same["batch"]["iterations"]["max"]);
}

TEST_F(BatchTest, IterationsAreThoseOfTheSolverForOneSystem) {
  constexpr int count = 12;
  write_cells("cells", count);
  for (const std::string rhs : {"files", "ones", "a_ones"}) {
    const Json report = report_of({"batch", "--values", "cells", "--rhs", rhs, "--solver", "gmres",
                                   "--precond", "jacobi", "--rtol", "1e-3", "-q"});
    std::vector<int> of_one;
    for (int i = 0; i < count; ++i) {
      const std::string cell = "cells/" + std::to_string(i);
      const Json one = report_of({"solve", cell + "/A.mtx", "--rhs", rhs == "files" ? cell + "/b.mtx" : rhs,
                                  "--solver", "gmres", "--precond", "jacobi", "--rtol", "1e-3", "-q"});
      of_one.push_back(one["solver"]["iterations"]);
    }
    for (const auto& system : report["batch"]["slowest"]) {
      const int s = system["system"];
      EXPECT_EQ(system["iterations"], of_one[s]) << rhs << ", system " << s;
      EXPECT_EQ(system["file"], "cells/" + std::to_string(s) + "/A.mtx");
    }
    const auto [least, most] = std::minmax_element(of_one.begin(), of_one.end());
    EXPECT_EQ(report["batch"]["iterations"]["min"], *least) << rhs;
    EXPECT_EQ(report["batch"]["iterations"]["max"], *most) << rhs;
  }
}

TEST_F(BatchTest, AListAndAFolderOfFilesAreTheSame) {
  fs::create_directories(file("flat"));
  for (int i = 0; i < 3; ++i) {
    const std::string name = "flat/m" + std::to_string(i + 9);  // m9, m10, m11
    write(name + ".mtx", matrix(-1, -1 - i));
    write(name + "_b.mtx", vector(7 + i));
  }
  const std::vector<std::string> more = {"--rhs", "files", "-q", "--repeat", "3"};
  const auto solved = [&](const std::string& values) {
    std::vector<std::string> arguments = {"batch", "--values", values};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return report_of(arguments)["batch"];
  };
  Json folder = solved("flat"), list = solved("flat/m9.mtx,flat/m10.mtx,flat/m11.mtx");
  for (const auto* key : {"values", "format_seconds"}) {
    folder.erase(key);
    list.erase(key);
  }
  EXPECT_EQ(folder["systems"], 3);
  EXPECT_EQ(folder, list);
}

TEST_F(BatchTest, AFileOfAnotherPatternIsNamed) {
  fs::create_directories(file("odd"));
  write("odd/0.mtx", matrix(1, 1));
  write("odd/1.mtx", "%%MatrixMarket matrix coordinate real general\n4 4 4\n1 1 1\n2 2 1\n3 3 1\n4 4 1\n");
  const Result result = run({"batch", "--values", "odd"});
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err, AllOf(HasSubstr("odd/1.mtx"), HasSubstr("odd/0.mtx"), HasSubstr("row 0")));
  const Result smaller = run({"batch", "--pattern", "spd.mtx", "--values", "odd"});
  EXPECT_EQ(smaller.code, 3);
  EXPECT_THAT(smaller.err, AllOf(HasSubstr("odd/0.mtx"), HasSubstr("spd.mtx"), HasSubstr("4 rows")));
  EXPECT_EQ(run({"batch", "--values", "nan.mtx"}).code, 3);
  EXPECT_EQ(run({"batch", "--values", "rectangular.mtx"}).code, 3);
  EXPECT_EQ(run({"batch", "--values", "empty.mtx"}).code, 3);
  const Result no_rhs = run({"batch", "--values", "odd/0.mtx", "--rhs", "files"});
  EXPECT_EQ(no_rhs.code, 3);
  EXPECT_THAT(no_rhs.err, HasSubstr("odd/0_b.mtx"));
  fs::create_directories(file("nothing"));
  EXPECT_THAT(run({"batch", "--values", "nothing"}).err, HasSubstr("no matrices"));
}

TEST_F(BatchTest, SystemsWithoutASolutionAreNamed) {
  write_cells("some", 5);
  // Singular: the last row is that of a zero matrix, and b is not in the range.
  write("some/3/A.mtx",
        "%%MatrixMarket matrix coordinate real general\n4 4 9\n1 1 4\n1 2 1\n2 1 1\n2 2 5\n2 3 -1\n"
        "3 2 1\n3 3 6\n1 3 0.5\n4 4 0\n");
  const std::vector<std::string> solve = {"batch", "--values", "some", "--rhs", "files", "--precond", "none"};
  const Json report = report_of(solve, 5);
  EXPECT_EQ(report["batch"]["converged"], 4);
  ASSERT_EQ(report["batch"]["failures"].size(), 1);
  EXPECT_EQ(report["batch"]["failures"][0]["system"], 3);
  EXPECT_EQ(report["batch"]["failures"][0]["file"], "some/3/A.mtx");
  EXPECT_EQ(report["solver"]["converged"], false);
  const Result result = run(solve);
  EXPECT_THAT(result.err, AllOf(HasSubstr("1 of 5 systems"), HasSubstr("system 3 (some/3/A.mtx)")));
  EXPECT_THAT(result.out, AllOf(HasSubstr("4 of 5 systems converged"), HasSubstr("some/3/A.mtx")));
  const Result slow = run({"batch", "--generate", "stencil3:60,batch=9", "--max-iters", "2", "-q"});
  EXPECT_EQ(slow.code, 4);
  EXPECT_THAT(slow.err, AllOf(HasSubstr("9 of 9"), HasSubstr("and 6 more"), HasSubstr("--max-iters")));
  EXPECT_EQ(slow.out, "");
}

TEST_F(BatchTest, FormatsGiveTheSameIterations) {
  const auto iterations = [](const std::string& format, const std::string& precond) {
    const Json report = report_of(
        {"batch", "--generate", "poisson2d:5,batch=7", "--format", format, "--precond", precond, "-q"});
    EXPECT_EQ(report["batch"]["format"], format);
    return report["batch"]["iterations"];
  };
  for (const std::string format : {"ell", "dense", "banded"})
    EXPECT_EQ(iterations(format, "jacobi"), iterations("csr", "jacobi")) << format;
  for (const std::string precond : {"block_jacobi", "par_ilu", "isai", "fsai", "ilu_isai"})
    EXPECT_EQ(iterations("ell", precond), iterations("csr", precond)) << precond;
  EXPECT_EQ(iterations("dense", "isai")["max"], 1) << "its pattern is the whole matrix";
}

TEST_F(BatchTest, ComplexSystems) {
  const Json report = report_of({"batch", "--pattern", "hermitian.mtx", "--values", "perturb:3", "-q"});
  EXPECT_EQ(report["matrix"]["field"], "complex");
  EXPECT_EQ(report["batch"]["converged"], 3);
  EXPECT_EQ(report_of({"batch", "--values", "spd.mtx,complex_general.mtx", "-q"}, 3).contains("batch"),
            false);
}

TEST_F(BatchTest, EveryMethodAndItsOptions) {
  const std::vector<std::vector<std::string>> methods = {
      {"--solver", "cg", "--precond", "none", "-s", "lanes=few"},
      {"--solver", "cg", "--precond", "block_jacobi", "-p", "block_size=2", "stored=true"},
      {"--solver", "bicgstab", "--precond", "ilu0", "-s", "scratch=100"},
      {"--solver", "gmres", "--precond", "par_ilu", "-s", "restart=5", "-p", "sweeps=2"},
      {"--solver", "idr", "--precond", "isai", "-s", "s=2", "kappa=0.5", "-p", "power=2"},
      {"--solver", "cg", "--precond", "fsai", "-p", "power=2"},
      {"--solver", "gmres", "--precond", "ilu_isai", "-p", "power=3"},
      {"--solver", "richardson", "--precond", "ilu0", "-s", "omega=0.9", "--max-iters", "500"},
      {"--solver", "bicgstab", "--precond", "isai", "--format", "ell"},
      {"--solver", "gmres", "--precond", "par_ilu", "--format", "dense", "-p", "stored=true"},
      {"--solver", "cg", "--precond", "fsai", "--format", "banded"},
  };
  for (auto arguments : methods) {
    arguments.insert(arguments.begin(), {"batch", "--generate", "poisson2d:4,batch=3", "-q"});
    const Json report = report_of(arguments);
    EXPECT_EQ(report["solver"]["name"], arguments[5]);
    EXPECT_EQ(report["batch"]["converged"], 3) << arguments[5];
  }
  const Json report = report_of({"batch", "--generate", "poisson2d:4,batch=3", "-q", "--solver", "gmres",
                                 "-s", "restart=3", "--precond", "par_ilu", "-p", "sweeps=4"});
  EXPECT_EQ(report["solver"]["options"]["restart"], 3);
  EXPECT_EQ(report["preconditioner"]["options"]["sweeps"], 4);
  EXPECT_TRUE(report["preconditioner"]["numeric_seconds"].is_null()) << "made within the solve";
  EXPECT_FALSE(report["preconditioner"]["options"].contains("power"));
}

TEST_F(BatchTest, StoredPreconditionersHaveATimeOfTheirOwn) {
  const Json report = report_of({"batch", "--generate", "poisson2d:4,batch=3", "-q", "--precond", "ilu0",
                                 "-p", "stored=true", "--repeat", "3"});
  const Json& precond = report["preconditioner"];
  EXPECT_GT(precond["numeric_seconds"], 0);
  EXPECT_LT(precond["numeric_seconds"], precond["setup_seconds"]) << "the pattern's analysis is not in it";
  EXPECT_GT(report["solver"]["seconds"], 0);
}

TEST_F(BatchTest, SweepsThatMetTheirBoundAreNoted) {
  const std::vector<std::string> solve = {"batch", "--generate", "tridiagonal:30,batch=4", "--precond",
                                          "par_ilu"};
  const auto with = [&](std::initializer_list<std::string> more) {
    std::vector<std::string> all = solve;
    all.insert(all.end(), more);
    return all;
  };
  EXPECT_EQ(report_of(with({"-p", "sweeps=1", "-q"}))["batch"]["unsettled_factors"], 4);
  EXPECT_EQ(report_of(with({"-q"}))["batch"]["unsettled_factors"], 0);
  EXPECT_THAT(run(with({"-p", "sweeps=1"})).out,
              HasSubstr("4 systems met the bound of sweeps before their factors settled"));
}

TEST_F(BatchTest, WrongCommandLines) {
  const std::string generate = "stencil3:8,batch=2";
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {{}, "no systems"},
      {{"--generate", generate, "--values", "spd.mtx"}, "leave one out"},
      {{"--generate", generate, "--pattern", "spd.mtx"}, "--pattern"},
      {{"--pattern", "spd.mtx"}, "no systems"},
      {{"--generate", "stencil3:8"}, "batch=N"},
      {{"--generate", "stencil3:8,batch=0"}, "batch"},
      {{"--generate", "stencil3:8,batch=2,spread=2"}, "spread"},
      {{"--generate", "stencil:8,batch=2"}, "stencil"},
      {{"--values", "perturb:3"}, "--pattern"},
      {{"--pattern", "spd.mtx", "--values", "perturb:many"}, "many"},
      {{"--pattern", "spd.mtx", "--values", "perturb:3", "--rhs", "files"}, "--rhs files"},
      {{"--generate", generate, "--rhs", "random"}, "--rhs"},
      {{"--generate", generate, "--solver", "fgmres"}, "gmres"},
      {{"--generate", generate, "--precond", "spai"}, "isai"},
      {{"--generate", generate, "--solver", "cg", "--precond", "ilu0"}, "symmetric"},
      {{"--generate", generate, "--format", "coo"}, "csr"},
      {{"--generate", generate, "-s", "restart=3"}, "'restart'"},
      {{"--generate", generate, "-p", "sweeps=3"}, "'sweeps'"},
      {{"--generate", generate, "-s", "solver=cg"}, "'solver'"},
      {{"--generate", generate, "-s", "lanes=many"}, "lanes"},
      {{"--values", "spd.mtx,,spd.mtx"}, "empty"},
      {{"--generate", generate, "--x0", "zero"}, "--x0"},
  };
  for (auto [arguments, message] : wrong) {
    arguments.insert(arguments.begin(), "batch");
    const Result result = run(arguments);
    EXPECT_EQ(result.code, 2) << message << ": " << result.err;
    EXPECT_THAT(result.err, HasSubstr(message));
    EXPECT_EQ(lines_of(result.err).size(), 1) << result.err;
  }
}

TEST_F(BatchTest, AConfigurationFile) {
  write("batch.json",
        "{\"generate\": \"stencil3:20,batch=4\", \"solver\": \"gmres\", \"rtol\": 1e-4,\n"
        " \"solver_options\": {\"restart\": 7}}");
  const Json report = report_of({"batch", "--config", "batch.json", "-q"});
  EXPECT_EQ(report["solver"]["options"]["restart"], 7);
  EXPECT_EQ(report["batch"]["systems"], 4);
  const Json other =
      report_of({"batch", "--config", "batch.json", "-q", "--values", "spd.mtx,spd.mtx", "--solver", "cg"});
  EXPECT_EQ(other["batch"]["systems"], 2);
  EXPECT_EQ(other["solver"]["options"]["rtol"], 1e-4);
  write("wrong.json", "{\"generate\": \"stencil3:20,batch=4\",\n \"solver_options\": {\"restart\": 7}}");
  EXPECT_THAT(run({"batch", "--config", "wrong.json"}).err, HasSubstr("wrong.json:2:"));
}

TEST_F(BatchTest, NoInputIsOverwrittenAndNoOldReportStays) {
  write_cells("kept", 2);
  const Result result =
      run({"batch", "--values", "kept", "--rhs", "files", "--report", "kept/1/b.mtx", "-q"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("kept/1/b.mtx"));
  EXPECT_THAT(read_file(file("kept/1/b.mtx")), HasSubstr("MatrixMarket"));
  report_of({"batch", "--values", "kept", "-q"});
  const Json failed = report_of({"batch", "--values", "kept,missing", "-q"}, 3);
  EXPECT_EQ(failed["exit_code"], 3);
  EXPECT_EQ(failed["matrix"]["source"], "kept,missing");
}

/// The matrix of BatchTest times a factor.
std::string scaled_matrix(double factor) {
  std::ostringstream text;
  text.precision(17);
  text << "%%MatrixMarket matrix coordinate real general\n3 3 7\n1 1 " << 4 * factor << "\n1 2 " << -factor
       << "\n2 1 " << -2 * factor << "\n2 2 " << 4 * factor << "\n2 3 " << -factor << "\n3 2 " << -2 * factor
       << "\n3 3 " << 4 * factor << "\n";
  return text.str();
}

/// Columns of an array file.
std::vector<std::vector<double>> columns_of(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line) && line[0] == '%') {
  }
  std::istringstream sizes(line);
  std::size_t rows = 0, columns = 0;
  sizes >> rows >> columns;
  std::vector<std::vector<double>> result(columns, std::vector<double>(rows));
  for (auto& column : result)
    for (double& value : column) lines >> value;
  return result;
}

TEST_F(BatchTest, SystemsOfAnyScaleAreSolvedAndWritten) {
  fs::create_directories(file("scales"));
  const std::vector<double> factors = {1, 1e-200, 1e200, 1e-300, 1e300};
  for (std::size_t s = 0; s < factors.size(); ++s)
    write("scales/" + std::to_string(s) + ".mtx", scaled_matrix(factors[s]));
  for (const std::string solver : {"gmres", "bicgstab", "idr"})
    for (const std::string precond : {"none", "jacobi", "ilu0", "isai"}) {
      SCOPED_TRACE(solver + ' ' + precond);
      const Json report = report_of({"batch", "--values", "scales", "--solver", solver, "--precond", precond,
                                     "--rtol", "1e-10", "--solution", "x.mtx", "-q"});
      EXPECT_EQ(report["batch"]["converged"], 5);
      EXPECT_EQ(report["batch"]["iterations"]["min"], report["batch"]["iterations"]["max"]);
      EXPECT_EQ(report["files"]["solution"], "x.mtx");
      const auto x = columns_of(read_file(file("x.mtx")));
      ASSERT_EQ(x.size(), 5u);
      for (const auto& column : x) {
        ASSERT_EQ(column.size(), 3u);
        for (const double value : column) EXPECT_NEAR(value, 1, 1e-8);
      }
    }
  // b = 1, so that x has the scale of A^-1; and an absolute tolerance that is met at once.
  const auto gmres = [](const std::vector<std::string>& more) {
    std::vector<std::string> all = {"batch",    "--values", "scales/0.mtx,scales/1.mtx",
                                    "--rhs",    "ones",     "--solution",
                                    "ones.mtx", "--solver", "gmres",
                                    "-q"};
    all.insert(all.end(), more.begin(), more.end());
    return report_of(all);
  };
  EXPECT_EQ(gmres({"--rtol", "1e-10"})["batch"]["converged"], 2);
  const auto ones = columns_of(read_file(file("ones.mtx")));
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(ones[1][i] / (1e200 * ones[0][i]), 1, 1e-8);
  EXPECT_EQ(gmres({"--rtol", "1e-10", "--atol", "10"})["batch"]["iterations"]["max"], 0);
  write("tiny.mtx", scaled_matrix(1e-200));
  write("tiny_b.mtx", "%%MatrixMarket matrix array real general\n3 1\n1e150\n1e150\n1e150\n");
  const Result overflow = run({"batch", "--values", "tiny.mtx", "--rhs", "files", "--solver", "gmres"});
  EXPECT_EQ(overflow.code, 5);
  EXPECT_THAT(overflow.err, HasSubstr("out_of_range"));
}

TEST_F(BatchTest, CgRefusesWhatIsNotSymmetric) {
  fs::create_directories(file("symmetry"));
  write("symmetry/0.mtx",
        "%%MatrixMarket matrix coordinate real general\n2 2 4\n1 1 2\n1 2 -1\n2 1 -1\n2 2 2\n");
  write("symmetry/1.mtx",
        "%%MatrixMarket matrix coordinate real general\n2 2 4\n1 1 2\n1 2 -1\n2 1 -1.5\n2 2 2\n");
  write("symmetry/2.mtx",
        "%%MatrixMarket matrix coordinate real general\n2 2 4\n1 1 2\n1 2 -1\n2 1 -1\n2 2 -2\n");
  const Result batch = run({"batch", "--values", "symmetry", "--solver", "cg"}),
               one = run({"solve", "symmetry/1.mtx", "--solver", "cg"});
  EXPECT_EQ(batch.code, 3);
  EXPECT_EQ(batch.err, one.err);
  EXPECT_THAT(batch.err, HasSubstr("symmetry/1.mtx: the matrix is not symmetric: entry (1, 2) is -1"));
  const Result negative = run({"batch", "--values", "symmetry/0.mtx,symmetry/2.mtx", "--solver", "cg"});
  EXPECT_EQ(negative.code, 3);
  EXPECT_THAT(negative.err, HasSubstr("symmetry/2.mtx: the diagonal entry of row 2 is -2"));
  EXPECT_EQ(run({"batch", "--values", "symmetry", "--solver", "gmres"}).code, 0);
  EXPECT_EQ(run({"batch", "--values", "symmetry/0.mtx", "--solver", "cg"}).code, 0);
  EXPECT_EQ(run({"batch", "--generate", "convection_diffusion3d:3,batch=3", "--solver", "cg"}).code, 3);
}

}  // namespace
}  // namespace prekond::testing
