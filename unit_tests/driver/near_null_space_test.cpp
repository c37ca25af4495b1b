// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// --near-null-space and --coordinates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "driver_fixture.hpp"

namespace prekond::testing {
namespace {

using ::testing::HasSubstr;

constexpr int size = 7;                              // of elasticity3d
constexpr int num_nodes = size * size * (size - 1);  // that are free

class NearNullSpaceTest : public DriverTest {
 protected:
  static void SetUpTestSuite() {
    DriverTest::SetUpTestSuite();
    write_columns("coordinates.mtx", num_nodes, 3, coordinate);
    // Translations and rotations about the origin: they span what the modes about the centre do.
    write_columns("modes.mtx", 3 * num_nodes, 6, [](int row, int k) {
      const int node = row / 3, c = row % 3;
      if (k < 3) return c == k ? 1.0 : 0.0;
      const int from = (k + 1) % 3, to = (k + 2) % 3;
      return c == from ? -coordinate(node, to) : c == to ? coordinate(node, from) : 0.0;
    });
    write_columns("plane.mtx", num_nodes, 4, [](int, int) { return 1.0; });
    write_columns("short.mtx", 5, 2, [](int, int) { return 1.0; });
  }

  /// Layers of size^2 nodes from z = 1 on.
  static double coordinate(int node, int k) {
    return k == 0 ? node % size : k == 1 ? node / size % size : node / (size * size) + 1;
  }

  static void write_columns(const std::string& name, int rows, int columns,
                            const std::function<double(int, int)>& value) {
    std::string text = "%%MatrixMarket matrix array real general\n" + std::to_string(rows) + " " +
                       std::to_string(columns) + "\n";
    for (int k = 0; k < columns; ++k)
      for (int i = 0; i < rows; ++i) text += std::to_string(value(i, k)) + "\n";
    write(name, text);
  }

  static std::vector<std::string> solve(const std::vector<std::string>& more) {
    std::vector<std::string> all = {"solve",  "--generate", "elasticity3d:7,contrast=1", "--precond", "amg",
                                    "--rtol", "1e-8"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  static int iterations(const std::vector<std::string>& more) {
    const Json report = report_of(solve(more));
    EXPECT_EQ(report["solver"]["converged"], true);
    return report["solver"]["iterations"].get<int>();
  }
};

TEST_F(NearNullSpaceTest, RigidBodyModesNeedFewerIterations) {
  const int constants = iterations({"-p", "unknowns_per_node=3"});
  const int grid = iterations({"--coordinates", "grid"});
  EXPECT_LT(grid, constants);
  EXPECT_EQ(iterations({"--coordinates", "coordinates.mtx"}), grid);
  EXPECT_LE(std::abs(iterations({"--near-null-space", "modes.mtx", "-p", "unknowns_per_node=3"}) - grid), 1);
}

TEST_F(NearNullSpaceTest, TheScaleOfAVectorDoesNotMatter) {
  constexpr int n = 12;
  const auto solved = [&](const std::string& value) {
    std::string text = "%%MatrixMarket matrix array real general\n" + std::to_string(n * n * n) + " 1\n";
    for (int i = 0; i < n * n * n; ++i) text += value + "\n";
    write("vector.mtx", text);
    return report_of({"solve", "--generate", "poisson3d:12", "--precond", "amg", "-p", "coarse_size=20",
                      "--rtol", "1e-10", "--near-null-space", "vector.mtx"});
  };
  const Json ones = solved("1"), tiny = solved("1e-200"), huge = solved("-1e250"), least = solved("1e-310"),
             zero = solved("0");
  for (const Json& other : {tiny, huge, least})
    EXPECT_EQ(other["solver"]["iterations"], ones["solver"]["iterations"]);
  EXPECT_EQ(ones["preconditioner"]["notes"].dump(), tiny["preconditioner"]["notes"].dump());
  EXPECT_THAT(zero["preconditioner"]["notes"].dump(), HasSubstr("vector 1 of the near null space is zero"));
}

TEST_F(NearNullSpaceTest, TheReportHasThem) {
  const Json grid = report_of(solve({"--coordinates", "grid"}))["near_null_space"];
  EXPECT_EQ(grid["name"], "grid");
  EXPECT_EQ(grid["vectors"], 6);
  EXPECT_EQ(grid["unknowns_per_node"], 3);
  const Json modes = report_of(solve({"--near-null-space", "modes.mtx"}))["near_null_space"];
  EXPECT_EQ(modes["name"], "modes.mtx");
  EXPECT_EQ(modes["vectors"], 6);
  EXPECT_EQ(modes["unknowns_per_node"], 1);
  EXPECT_EQ(report_of(solve({}))["near_null_space"]["vectors"], 0);
  const Result printed = run(solve({"--coordinates", "grid"}));
  EXPECT_THAT(printed.out, HasSubstr("6 vectors of grid, 3 unknowns a node"));
}

TEST_F(NearNullSpaceTest, LevelsOfMultigridAreReported) {
  const Json precond = report_of(solve({"-p", "coarse_size=10"}))["preconditioner"];
  const Json& levels = precond["levels"];
  ASSERT_GE(levels.size(), 2u);
  double rows = 0, entries = 0;
  for (const Json& level : levels) {
    EXPECT_EQ(level["method"], &level == &levels.back() ? "dense" : "chebyshev");
    for (const char* key : {"num_rows", "nnz", "method_nnz", "prolongator_nnz"})
      EXPECT_TRUE(level[key].is_number_integer()) << key;
    for (const char* key : {"damping", "setup_seconds"}) EXPECT_GT(level[key].get<double>(), 0) << key;
    rows += level["num_rows"].get<double>();
    entries += level["nnz"].get<double>();
  }
  EXPECT_EQ(levels[0]["num_rows"], 6 * 7 * 7 * 3) << "one face of the nodes is held";
  EXPECT_EQ(precond["grid_complexity"], rows / levels[0]["num_rows"].get<double>());
  EXPECT_EQ(precond["operator_complexity"], entries / levels[0]["nnz"].get<double>());
  EXPECT_THAT(precond["notes"].dump(), HasSubstr("nodes have 3 unknowns each"));
  const Result printed = run(solve({"-v", "-p", "coarse_size=10"}));
  char complexity[64];
  std::snprintf(complexity, sizeof complexity, "%zu, operator complexity %.2f, grid complexity %.2f",
                levels.size(), precond["operator_complexity"].get<double>(),
                precond["grid_complexity"].get<double>());
  EXPECT_THAT(printed.out, HasSubstr(complexity));
  EXPECT_THAT(printed.out,
              ::testing::ContainsRegex("\n    0 +882 rows, 30816 entries, chebyshev of [0-9]+ "));
  const Json jacobi = report_of({"solve", "spd.mtx", "--precond", "jacobi"})["preconditioner"];
  for (const char* key : {"levels", "operator_complexity", "grid_complexity"})
    EXPECT_TRUE(jacobi[key].is_null()) << key;
}

TEST_F(NearNullSpaceTest, WhatDoesNotFitIsRefused) {
  const auto refused = [](const std::vector<std::string>& arguments, int code, const std::string& text) {
    const Result result = run(arguments);
    EXPECT_EQ(result.code, code) << result.err;
    EXPECT_THAT(result.err, HasSubstr(text));
  };
  refused(solve({"--coordinates", "grid", "--near-null-space", "modes.mtx"}), 2, "leave one out");
  refused({"solve", "spd.mtx", "--precond", "amg", "--coordinates", "grid"}, 2,
          "--coordinates grid is for --generate elasticity3d:SIZE");
  refused(solve({"--coordinates", "gird"}), 2, "--coordinates takes grid or a FILE.mtx, not 'gird'");
  for (const std::string other : {"--order=rcm", "--scale"})
    refused(solve({"--coordinates", "grid", other}), 2, "leave --order, --match and --scale out");
  refused(solve({"--near-null-space", "modes.mtx", "--scale"}), 2,
          "--near-null-space is of the rows as they");
  refused(solve({"--near-null-space", "missing.mtx"}), 3, "missing.mtx");
  refused(solve({"--near-null-space", "short.mtx"}), 3,
          "short.mtx: 5 x 2 numbers; wanted are vectors of 882");
  refused(solve({"--coordinates", "short.mtx"}), 3, "short.mtx: 5 x 2 coordinates; wanted");
  refused(solve({"--coordinates", "plane.mtx"}), 3, "plane.mtx: 294 x 4 coordinates; wanted");
  refused({"solve", "hermitian.mtx", "--near-null-space", "vector2.mtx"}, 2, "are for real matrices");
}

}  // namespace
}  // namespace prekond::testing
