// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// --condition of `solve` and `info`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>

#include "driver_fixture.hpp"

namespace prekond::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class ConditionTest : public DriverTest {
 protected:
  /// Runs the command where it may have so much of addresses.
  static Result run_within(rlim_t bytes, const std::vector<std::string>& arguments) {
    rlimit before{};
    getrlimit(RLIMIT_AS, &before);
    rlimit limited = before;
    limited.rlim_cur = bytes;
    setrlimit(RLIMIT_AS, &limited);
    const pid_t child = start(arguments);
    setrlimit(RLIMIT_AS, &before);
    return end_of(child);
  }
};

constexpr double pi = 3.14159265358979323846;

/// Eigenvalues of poisson2d:n, 4 - 2 cos - 2 cos.
double least(int n) {
  return 4 - 4 * std::cos(pi / (n + 1));
}
double largest(int n) {
  return 4 + 4 * std::cos(pi / (n + 1));
}

TEST_F(ConditionTest, OfAMatrix) {
  const Json report = report_of({"info", "--generate", "poisson2d:20", "--condition"});
  const Json& condition = report["condition"];
  EXPECT_EQ(condition["preconditioner"], "none");
  EXPECT_NEAR(condition["smallest"].get<double>() / least(20), 1, 1e-4);
  EXPECT_NEAR(condition["largest"].get<double>() / largest(20), 1, 1e-4);
  EXPECT_NEAR(condition["condition"].get<double>() / (largest(20) / least(20)), 1, 2e-4);
  EXPECT_LE(condition["smallest_bound"].get<double>(), 0.01 * least(20));
  EXPECT_EQ(condition["converged"], true);
  EXPECT_EQ(condition["reason"], "tolerance");
  EXPECT_EQ(condition["positive_definite"], true);
  EXPECT_EQ(condition["reorthogonalization"], "full");
  EXPECT_LT(condition["steps"].get<int>(), 100);
  EXPECT_EQ(report["matrix"]["rows"], 400);
  const Result printed = run({"info", "--generate", "poisson2d:20", "--condition"});
  EXPECT_THAT(printed.out, HasSubstr("condition"));
  EXPECT_THAT(printed.out, HasSubstr("of A: 178.1; eigenvalues from 0.0446"));
  EXPECT_THAT(printed.err,
              StartsWith("prekond: note: --condition makes at most 500 Lanczos steps, one product "
                         "with A each (about "));
  EXPECT_THAT(printed.err, HasSubstr("keeps up to 1.6 MB of vectors\n"));
  EXPECT_EQ(run({"info", "--generate", "poisson2d:20", "--condition", "-q"}).err, "");
  EXPECT_FALSE(report_of({"info", "--generate", "poisson2d:20"}).contains("condition"));
}

TEST_F(ConditionTest, OfAPreconditionedMatrix) {
  // Jacobi's is A / 4 here.
  const Json jacobi = report_of({"info", "--generate", "poisson2d:20", "--condition", "--precond", "jacobi"});
  EXPECT_EQ(jacobi["condition"]["preconditioner"], "jacobi");
  EXPECT_NEAR(jacobi["condition"]["largest"].get<double>() / (largest(20) / 4), 1, 1e-4);
  const Json options =
      report_of({"info", "--generate", "poisson2d:20", "--condition", "--precond", "fsai", "-p", "power=2"});
  EXPECT_LT(options["condition"]["condition"].get<double>(), 60);
  const Json solved = report_of(
      {"solve", "--generate", "poisson2d:20", "--precond", "ls_polynomial", "-p", "degree=6", "--condition"});
  EXPECT_EQ(solved["condition"]["preconditioner"], "ls_polynomial");
  EXPECT_LT(solved["condition"]["condition"].get<double>(), 10);
  EXPECT_EQ(solved["solver"]["converged"], true);
  EXPECT_FALSE(report_of({"solve", "--generate", "poisson2d:20"}).contains("condition"));
  const Result printed = run({"solve", "--generate", "poisson2d:20", "--condition", "--precond", "jacobi"});
  EXPECT_THAT(printed.out, HasSubstr("of M^-1 A: 178.1"));
  EXPECT_THAT(printed.err, HasSubstr("one product with A and one application of M^-1 each"));
}

TEST_F(ConditionTest, OfHermitianIndefiniteAndTinyMatrices) {
  const Json hermitian = report_of({"info", "hermitian.mtx", "--condition"});
  EXPECT_NEAR(hermitian["condition"]["condition"].get<double>(), 3, 1e-10);
  EXPECT_EQ(hermitian["condition"]["reason"], "invariant_subspace");
  const Json indefinite = report_of({"info", "indefinite.mtx", "--condition"});
  EXPECT_EQ(indefinite["condition"]["positive_definite"], false);
  EXPECT_TRUE(indefinite["condition"]["condition"].is_null());
  EXPECT_NEAR(indefinite["condition"]["smallest"].get<double>(), -1, 1e-12);
  EXPECT_THAT(run({"info", "indefinite.mtx", "--condition"}).out, HasSubstr("not positive definite"));
  const auto of_magnetic = [](const std::string& precond) {
    return report_of(
        {"solve", "--generate", "magnetic3d:6", "--precond", precond, "--condition"})["condition"];
  };
  const Json jacobi = of_magnetic("jacobi"), chebyshev = of_magnetic("chebyshev");
  EXPECT_EQ(chebyshev["converged"], true);
  EXPECT_GT(chebyshev["smallest"].get<double>(), 0);
  EXPECT_LT(chebyshev["largest"].get<double>(), 2);  // |r| < 1 on the interval
  EXPECT_LT(chebyshev["condition"].get<double>(), jacobi["condition"].get<double>() / 2);
}

TEST_F(ConditionTest, SaysWhatAMatrixIsThatIsNotPositiveDefinite) {
  // 2000 entries of 1 and one of -1; a ring of 4 rows; and minus a path with its ends held.
  std::string text = "%%MatrixMarket matrix coordinate real symmetric\n2000 2000 2000\n";
  for (int i = 1; i <= 2000; ++i)
    text += std::to_string(i) + " " + std::to_string(i) + (i == 777 ? " -1\n" : " 1\n");
  write("one_negative.mtx", text);
  write("ring.mtx",
        "%%MatrixMarket matrix coordinate real symmetric\n4 4 8\n1 1 2\n2 2 2\n3 3 2\n4 4 2\n2 1 -1\n3 2 -1\n"
        "4 3 -1\n4 1 -1\n");
  write("negative.mtx",
        "%%MatrixMarket matrix coordinate real symmetric\n4 4 7\n1 1 -2\n2 2 -2\n3 3 -2\n4 4 -2\n2 1 1\n"
        "3 2 1\n4 3 1\n");
  const auto said = [](const std::string& matrix, const std::string& precond, const std::string& word) {
    const std::vector<std::string> info = {"info", matrix, "--condition", "--precond", precond};
    const Json condition = report_of(info)["condition"];
    EXPECT_EQ(condition["definiteness"], word) << matrix << ' ' << precond;
    EXPECT_EQ(condition["positive_definite"], false);
    EXPECT_TRUE(condition["condition"].is_null());
    EXPECT_THAT(run(info).out, HasSubstr("not positive definite but " + word));
  };
  said("one_negative.mtx", "none", "indefinite");
  for (const std::string precond : {"none", "jacobi", "fsai", "adaptive_fsai", "ic0", "amg"})
    said("ring.mtx", precond, "singular");
  said("negative.mtx", "none", "negative definite");
  EXPECT_EQ(report_of({"info", "--generate", "poisson2d:5", "--condition"})["condition"]["definiteness"],
            "positive definite");
}

TEST_F(ConditionTest, CgSaysThatMinusAIsPositiveDefinite) {
  write("negative.mtx",
        "%%MatrixMarket matrix coordinate real symmetric\n4 4 7\n1 1 -2\n2 2 -2\n3 3 -2\n4 4 -2\n2 1 1\n"
        "3 2 1\n4 3 1\n");
  write("mixed.mtx",
        "%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n1 1 -1\n2 2 -1\n3 3 -1\n2 1 3\n");
  for (const std::string precond : {"none", "jacobi", "adaptive_fsai", "ic0"}) {
    const Result result = run({"solve", "negative.mtx", "--solver", "cg", "--precond", precond});
    EXPECT_EQ(result.code, 3);
    EXPECT_THAT(result.err, HasSubstr("negative.mtx: the matrix is negative definite"));
    EXPECT_THAT(result.err, HasSubstr("-A is positive definite: negate the matrix and the right-hand side"));
  }
  const Result mixed = run({"solve", "mixed.mtx", "--solver", "cg", "--precond", "none"});
  EXPECT_THAT(mixed.err, HasSubstr("the diagonal entry of row 1 is -1"));
}

TEST_F(ConditionTest, OfAScaledMatrix) {
  // R A R has a unit diagonal here.
  write("powers.mtx",
        "%%MatrixMarket matrix coordinate real symmetric\n3 3 5\n1 1 1\n2 2 1024\n3 3 1048576\n2 1 16\n"
        "3 2 16384\n");
  const double scaled = (1 + std::sqrt(0.5)) / (1 - std::sqrt(0.5));  // of tridiag(1/2, 1, 1/2)
  const std::vector<std::string> solve = {"solve", "powers.mtx", "--rtol", "1e-10", "--condition"};
  const auto of_a = [](std::vector<std::string> words) {
    words.insert(words.end(), {"--precond", "none"});
    return words;
  };
  EXPECT_GT(report_of(of_a(solve))["condition"]["condition"].get<double>(), 1e5);
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{"--precond", "none"}, {"--precond", "jacobi"}}) {
    auto arguments = solve;
    arguments.push_back("--scale");
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Json condition = report_of(arguments)["condition"];
    EXPECT_NEAR(condition["condition"].get<double>() / scaled, 1, 1e-8) << more[1];
    EXPECT_EQ(condition["scaled"], true);
    EXPECT_EQ(condition["preconditioner"], more[1]);
  }
  EXPECT_THAT(run(of_a({"solve", "powers.mtx", "--condition", "--scale"})).out,
              HasSubstr("of A, scaled: 5.828"));
  EXPECT_THAT(run(of_a({"solve", "powers.mtx", "--condition"})).out, HasSubstr("of A: "));
  EXPECT_EQ(report_of(solve)["condition"]["scaled"], false);
}

TEST_F(ConditionTest, OfAnotherOrder) {
  // multicolor_ssor takes rows in their order, within a colour and of the colours.
  const auto condition = [](const std::string& command, const std::string& order) {
    return report_of({command, "--generate", "circuit:30", "--precond", "multicolor_ssor", "--order", order,
                      "--condition"})["condition"]["condition"]
        .get<double>();
  };
  const double plain = condition("info", "none"), other = condition("info", "random");
  EXPECT_NEAR(other / condition("solve", "random"), 1, 1e-6);
  EXPECT_NEAR(plain / condition("solve", "none"), 1, 1e-6);
  EXPECT_GT(std::abs(other / plain - 1), 1e-3);
}

TEST_F(ConditionTest, WhatFailsLeavesTheSolveItsResult) {
  // All vectors of 500 steps take nearly a gigabyte.
  const std::vector<std::string> solve = {"solve",  "--generate", "poisson2d:353", "--precond",   "jacobi",
                                          "--rtol", "0.1",        "--report",      "limited.json"};
  constexpr rlim_t limit = rlim_t(900) << 20;
  if (run_within(limit, solve).code != 0) GTEST_SKIP() << "the command alone takes more";
  auto arguments = solve;
  arguments.push_back("--condition");
  const Result result = run_within(limit, arguments);
  const Json report = Json::parse(read_file(file("limited.json")));
  if (report.contains("condition")) GTEST_SKIP() << "the system does not keep to the limit";
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(report["solver"]["converged"], true);
  EXPECT_THAT(report["preconditioner"]["notes"].dump(), HasSubstr("--condition was not measured: "));
  EXPECT_THAT(result.out, HasSubstr("--condition was not measured: "));
}

TEST_F(ConditionTest, ThereIsNoNumberWhereMIsNotPositiveDefinite) {
  // p is negative on the last tenth of the spectrum.
  const std::vector<std::string> info = {"info",        "--generate", "poisson2d:20",
                                         "--condition", "--precond",  "neumann",
                                         "-p",          "degree=1",   "lambda_max=1.36"};
  const Json condition = report_of(info)["condition"];
  EXPECT_EQ(condition["reason"], "preconditioner_not_spd");
  EXPECT_GT(condition["steps"].get<int>(), 0);
  EXPECT_EQ(condition["converged"], false);
  for (const char* key : {"condition", "positive_definite", "smallest", "largest", "largest_bound"})
    EXPECT_TRUE(condition[key].is_null()) << key;
  EXPECT_THAT(run(info).out, HasSubstr("of M^-1 A: unknown; "));
}

TEST_F(ConditionTest, OfAConfigFile) {
  write("condition.json", R"({"generate": "poisson2d:12", "precond": "none", "condition": true})");
  EXPECT_NEAR(
      report_of({"solve", "--config", "condition.json"})["condition"]["largest"].get<double>() / largest(12),
      1, 1e-4);
}

TEST_F(ConditionTest, RefusesWhatHasNone) {
  const auto refused = [](const std::vector<std::string>& arguments, int code, const std::string& text) {
    const Result result = run(arguments);
    EXPECT_EQ(result.code, code) << arguments[0];
    EXPECT_EQ(lines_of(result.err).size(), 1u) << result.err;
    EXPECT_THAT(result.err, HasSubstr(text));
  };
  refused({"info", "nonsymmetric.mtx", "--condition"}, 3,
          "--condition is for symmetric (Hermitian) matrices");
  refused({"info", "not_hermitian.mtx", "--condition"}, 3, "--condition is for symmetric");
  refused({"info", "rectangular.mtx", "--condition"}, 3, "--condition is for symmetric");
  refused({"solve", "nonsymmetric.mtx", "--solver", "gmres", "--condition"}, 3,
          "nonsymmetric.mtx: --condition");
  refused({"solve", "missing.mtx", "--solver", "gmres", "--precond", "spai", "--condition"}, 2,
          "--condition needs a symmetric preconditioner, and 'spai' is not symmetric");
  refused({"info", "missing.mtx", "--precond", "amg", "-p", "cycle=k", "--condition"}, 2,
          "--condition needs a preconditioner that is the same operator for all vectors, and 'amg'");
  refused({"info", "missing.mtx", "--precond", "isai", "--condition"}, 2, "'isai' is not symmetric");
  refused({"info", "spd.mtx", "--precond", "jacobi"}, 2, "add --condition");
  refused({"info", "spd.mtx", "--precond", "jacoby", "--condition"}, 2, "'jacobi'");
  refused({"info", "indefinite.mtx", "--precond", "fsai", "-p", "powr=2", "--condition"}, 2, "'power'");
  refused({"info", "negative_diagonal.mtx", "--precond", "fsai", "--condition"}, 3,
          "negative_diagonal.mtx: ");
  refused({"compare", "spd.mtx", "--precond", "none", "--condition"}, 2, "--condition");
}

}  // namespace
}  // namespace prekond::testing
