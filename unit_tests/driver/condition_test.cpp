// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// --condition of `solve` and `info`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "driver_fixture.hpp"

namespace prekond::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ConditionTest : public DriverTest {};

constexpr double pi = 3.14159265358979323846;

/// Of poisson2d:n, 4 - 2 cos - 2 cos.
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
  EXPECT_THAT(run({"solve", "--generate", "poisson2d:20", "--condition", "--precond", "jacobi"}).out,
              HasSubstr("of M^-1 A: 178.1"));
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
  const Json complex =
      report_of({"solve", "--generate", "magnetic3d:6", "--precond", "chebyshev", "--condition"});
  EXPECT_GT(complex["condition"]["smallest"].get<double>(), 0);
}

TEST_F(ConditionTest, OfAConfigFile) {
  write("condition.json", R"({"generate": "poisson2d:12", "condition": true})");
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
  refused({"info", "missing.mtx", "--precond", "isai", "--condition"}, 2, "'isai' is not symmetric");
  refused({"info", "spd.mtx", "--precond", "jacobi"}, 2, "add --condition");
  refused({"info", "spd.mtx", "--precond", "jacoby", "--condition"}, 2, "'jacobi'");
  refused({"info", "indefinite.mtx", "--precond", "fsai", "-p", "powr=2", "--condition"}, 2, "'power'");
  refused({"compare", "spd.mtx", "--precond", "none", "--condition"}, 2, "--condition");
}

}  // namespace
}  // namespace prekond::testing
