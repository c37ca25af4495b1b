// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The command where memory ends: exit code 1 and one line that says what was wanted, how many bytes and what
// to do, whatever allocation it is that fails.
#include <gmock/gmock.h>
#include <Kokkos_Core.hpp>
#include <prekond/core/views.hpp>

#include "driver_fixture.hpp"

namespace prekond::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class OutOfMemoryTest : public DriverTest {
 protected:
  /// Runs the command with `mebibytes` of addresses.
  static Result run_within(double mebibytes, const std::string& arguments) {
    const std::string script = "cd '" + file("").string() + "' && ulimit -v " +
                               std::to_string(static_cast<long>(mebibytes * 1024)) + " && exec '" +
                               PREKOND_DRIVER_PATH "' " + arguments + " >stdout 2>stderr";
    const int status = std::system(script.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(file("stdout")),
            read_file(file("stderr"))};
  }
  static bool ends_by_itself(const Result& result) { return result.code == 0 || result.code == 4; }

  /// MiB that the command needs to list its solvers.
  static double least() {
    static const double found = [] {
      double limit = 16;
      while (!ends_by_itself(run_within(limit, "list solvers"))) limit *= 1.02;
      return limit;
    }();
    return found;
  }

  /// Raises the limit until the command ends as it should. Before, each end is the one of missing memory; one
  /// of them is in `step`.
  static void expect_failures(const std::string& step, const std::string& arguments) {
    SCOPED_TRACE(arguments);
    bool seen = false;
    for (double more = 1;; more *= 1.2) {
      const Result result = run_within(least() + more, arguments);
      if (ends_by_itself(result)) break;
      ASSERT_EQ(result.code, 1) << result.err;
      ASSERT_EQ(lines_of(result.err).size(), 1u) << result.err;
      EXPECT_THAT(result.err,
                  ContainsRegex("^prekond: error: not enough memory in the step '[^']+' \\(.*[0-9]+.*"
                                "(bytes|B).*\\): .*; or raise the limit of [0-9]+ MiB"));
      EXPECT_EQ(result.out, "");
      seen = seen || result.err.find("in the step '" + step) != std::string::npos;
      ASSERT_LT(more, 4096);
    }
    EXPECT_TRUE(seen) << "never in the step " << step;
  }
};

TEST_F(OutOfMemoryTest, UnderALimit) {
  if (!is_host_space<Kokkos::DefaultExecutionSpace>) GTEST_SKIP() << "a device's driver takes more addresses";
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer takes more addresses";
#endif
  expect_failures("generating", "generate poisson3d:50 -q -o p50.mtx.gz");
  expect_failures("reading p50.mtx.gz", "solve p50.mtx.gz -q --precond none --max-iters 1");
  const std::string problem = "solve --generate poisson3d:40 -q --max-iters 1 --solver fgmres --precond ";
  for (const char* method : {"ilu0", "iluk", "amg", "adaptive_fsai", "schwarz", "matched", "spai"})
    expect_failures(std::string("setup of ") + method, problem + method);
  expect_failures(
      "gmres with none",
      "solve --generate poisson3d:30 -q --precond none --solver gmres -s restart=300 --max-iters 300");
  expect_failures("generating", "batch --generate stencil3:500,batch=2000 -q");
}

/// A report of an earlier run does not look like one of this.
TEST_F(OutOfMemoryTest, MoreThanADeviceHas) {
  if (is_host_space<Kokkos::DefaultExecutionSpace>) GTEST_SKIP() << "a host may give more than it has";
  write("older.json", R"({"solver": {"converged": true}})");
  const Result result =
      run({"solve", "--generate", "tridiagonal:20000000", "--solver", "gmres", "-s", "restart=10000",
           "--max-iters", "10000", "--report", "older.json", "--solution", "none.mtx"});
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(lines_of(result.err).size(), 1u) << result.err;
  EXPECT_THAT(result.err, HasSubstr("not enough memory in the step 'gmres with "));
  EXPECT_THAT(result.err, HasSubstr("prekond::gmres::basis"));
  EXPECT_THAT(result.err, HasSubstr("gmres with a smaller restart"));
  EXPECT_EQ(result.out, "");
  const Json report = Json::parse(read_file(file("older.json")), nullptr, false);
  EXPECT_EQ(report["solver"]["converged"], false);
  EXPECT_EQ(report["exit_code"], 1);
  EXPECT_FALSE(fs::exists(file("none.mtx")));
}

}  // namespace
}  // namespace prekond::testing
