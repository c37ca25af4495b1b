// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/driver_fixture.hpp"

#include <gmock/gmock.h>
#include <prekond/pattern/partition.hpp>
#include <prekond/pattern/reordering.hpp>

#include <cmath>

namespace prekond::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// --order and --scale: what they are given in, and what comes back.
class OrderTest : public DriverTest {
 protected:
  static std::vector<std::string> orders() {
    std::vector<std::string> names = {"rcm", "color", "random"};
    if (has_minimum_degree()) names.push_back("amd");
    if (has_nested_dissection()) names.push_back("nd");
    return names;
  }

  static std::vector<double> vector_of(const std::string& name) {
    std::vector<double> x;
    const auto lines = lines_of(read_file(file(name)));
    std::size_t first = 0;
    while (first < lines.size() && lines[first][0] == '%') ++first;
    for (std::size_t k = first + 1; k < lines.size(); ++k) {
      std::istringstream numbers(lines[k]);
      for (double value = 0; numbers >> value;) x.push_back(value);
    }
    return x;
  }

  static void expect_near(const std::vector<double>& x, const std::vector<double>& y, double tolerance) {
    ASSERT_EQ(x.size(), y.size());
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], y[i], tolerance) << "row " << i;
  }
};

TEST_F(OrderTest, TheSolutionDoesNotShowIt) {
  ASSERT_EQ(run({"generate", "convection_diffusion3d:7", "-o", "a.mtx"}).code, 0);
  for (const std::string rhs : {"random", "a_ones"}) {
    const std::vector<std::string> solve = {"solve",    "a.mtx",     "--rhs",  rhs,
                                            "--solver", "gmres",     "--rtol", "1e-12",
                                            "-q",       "--precond", "isai",   "--solution"};
    const auto solve_to = [&](const std::string& x, const std::vector<std::string>& more) {
      auto arguments = solve;
      arguments.push_back(x);
      arguments.insert(arguments.end(), more.begin(), more.end());
      return report_of(arguments);
    };
    const Json plain = solve_to("x.mtx", {});
    EXPECT_EQ(plain["order"], (Json{{"name", "none"}}));
    const auto x = vector_of("x.mtx");
    ASSERT_EQ(x.size(), 343u);
    for (const std::string& order : orders()) {
      SCOPED_TRACE(order);
      const Json report = solve_to("y.mtx", {"--order", order});
      EXPECT_LE(report["solver"]["true_relative_residual"].get<double>(), 1.01e-12);
      expect_near(vector_of("y.mtx"), x, 1e-9);
      // A vector of a file is one of the matrix as it is: from the solution there is nothing to do.
      const Json again = report_of({"solve", "a.mtx", "--rhs", rhs, "--solver", "gmres", "--order", order,
                                    "--x0", "x.mtx", "--solution", "z.mtx", "--rtol", "1e-10"});
      EXPECT_EQ(again["solver"]["iterations"], 0);
      expect_near(vector_of("z.mtx"), x, 1e-12);
    }
  }
}

TEST_F(OrderTest, AFileOfARightHandSideIsPermutedToo) {
  ASSERT_EQ(run({"generate", "poisson2d:9", "-o", "a.mtx"}).code, 0);
  ASSERT_EQ(run({"solve", "a.mtx", "--rhs", "random", "--rtol", "1e-13", "--solution", "b.mtx"}).code, 0);
  ASSERT_EQ(run({"solve", "a.mtx", "--rhs", "b.mtx", "--rtol", "1e-13", "--solution", "x.mtx"}).code, 0);
  for (const std::string& order : orders()) {
    const Result result =
        run({"solve", "a.mtx", "--rhs", "b.mtx", "--rtol", "1e-13", "--solution", "y.mtx", "--order", order});
    EXPECT_EQ(result.code, 0) << result.err;
    expect_near(vector_of("y.mtx"), vector_of("x.mtx"), 1e-9);
  }
}

TEST_F(OrderTest, ComplexMatricesAndTheirVectors) {
  ASSERT_EQ(run({"generate", "magnetic3d:5", "-o", "magnetic.mtx"}).code, 0);
  const std::vector<std::string> solve = {"solve",  "magnetic.mtx", "--rhs",     "random",
                                          "--rtol", "1e-12",        "--precond", "fsai"};
  auto plain = solve, ordered = solve;
  plain.insert(plain.end(), {"--solution", "x.mtx"});
  ordered.insert(ordered.end(), {"--solution", "y.mtx", "--order", "rcm"});
  ASSERT_EQ(run(plain).code, 0);
  ASSERT_EQ(run(ordered).code, 0);
  ASSERT_EQ(vector_of("x.mtx").size(), 250u);
  expect_near(vector_of("y.mtx"), vector_of("x.mtx"), 1e-9);
}

TEST_F(OrderTest, ReportOfARun) {
  const Json report = report_of({"solve", "--generate", "tridiagonal:60", "--order", "random"});
  const Json& order = report["order"];
  EXPECT_EQ(order["name"], "random");
  EXPECT_GT(order["seconds"].get<double>(), 0);
  EXPECT_EQ(order["host_seconds"], 0);
  EXPECT_EQ(order["before"], (Json{{"bandwidth", 1}, {"profile", 59}, {"levels", 60}}));
  EXPECT_GT(order["after"]["bandwidth"].get<int>(), 20);
  EXPECT_GT(order["after"]["profile"].get<int>(), 59);
  EXPECT_LT(order["after"]["levels"].get<int>(), 20);
  const Json rows =
      report_of({"compare", "--generate", "tridiagonal:300", "--precond", "none,jacobi", "--order", "rcm"});
  ASSERT_EQ(rows.size(), 2u);
  for (const Json& row : rows) {
    EXPECT_EQ(row["order"]["after"]["bandwidth"], 1);
    // A chain of more than 256 levels is searched by the host's thread also for a device.
    const double by_host = row["order"]["host_seconds"];
    EXPECT_GT(by_host, 0);
    EXPECT_LE(by_host, row["order"]["seconds"].get<double>());
  }
}

TEST_F(OrderTest, WhatIsPrinted) {
  const std::string pattern = "rcm in ";
  EXPECT_THAT(run({"solve", "spd.mtx", "--order", "rcm"}).out, HasSubstr("order           rcm in "));
  EXPECT_THAT(run({"compare", "spd.mtx", "--precond", "none", "--order", "rcm"}).out,
              HasSubstr("\norder rcm in "));
  EXPECT_THAT(run({"info", "spd.mtx", "--order", "rcm"}).out, HasSubstr("order           rcm in "));
  for (const char* command : {"solve", "info"})
    EXPECT_THAT(run({command, "spd.mtx"}).out, Not(HasSubstr("order")));
  EXPECT_THAT(run({"compare", "spd.mtx", "--precond", "none"}).out, Not(HasSubstr("order")));
  for (const char* command : {"solve", "compare", "info"})
    EXPECT_THAT(run({command, "--help"}).out, HasSubstr("--order none|rcm|amd|nd|"));
}

TEST_F(OrderTest, InfoMeasuresBeforeAndAfter) {
  const Json plain = report_of({"info", "--generate", "poisson3d:6"});
  EXPECT_EQ(plain["matrix"]["levels"], 16);
  EXPECT_EQ(plain["matrix"]["profile"].get<int>(), 6665);
  EXPECT_EQ(plain["order"], (Json{{"name", "none"}}));
  for (const std::string& order : orders()) {
    const Json report = report_of({"info", "--generate", "poisson3d:6", "--order", order});
    EXPECT_EQ(report["matrix"], [&] {
      Json same = plain["matrix"];
      same["seconds"] = report["matrix"]["seconds"];
      return same;
    }());
    EXPECT_EQ(report["order"]["before"], (Json{{"bandwidth", 36}, {"profile", 6665}, {"levels", 16}}));
    EXPECT_GT(report["order"]["after"]["levels"].get<int>(), 1);
  }
  EXPECT_THAT(run({"info", "--generate", "poisson3d:6"}).out,
              HasSubstr("levels          16 of the lower triangle"));
  EXPECT_EQ(report_of({"info", "rectangular.mtx"})["matrix"]["levels"], 1);
}

TEST_F(OrderTest, SlipsAndWhatHasNoOrder) {
  for (const std::string command : {"solve", "compare", "info"}) {
    const Result slip = run({command, "spd.mtx", "--order", "rmc"});
    EXPECT_EQ(slip.code, 2);
    EXPECT_THAT(slip.err, HasSubstr("--order takes none|rcm|amd|nd|"));
    EXPECT_THAT(slip.err, HasSubstr(", not 'rmc'"));
  }
  const Result rectangular = run({"info", "rectangular.mtx", "--order", "rcm"});
  EXPECT_EQ(rectangular.code, 3);
  EXPECT_EQ(
      rectangular.err,
      "prekond: error: rectangular.mtx: an order is for a square matrix, this one has 2 rows and 3 columns; "
      "leave --order out\n");
  write("order.json", "{\"matrix\": \"spd.mtx\",\n \"order\": \"rmc\"}");
  const Result config = run({"solve", "--config", "order.json"});
  EXPECT_EQ(config.code, 2);
  EXPECT_THAT(config.err, StartsWith("prekond: error: order.json:2:2: --order takes"));
  write("order.json", "{\"matrix\": \"spd.mtx\", \"order\": \"random\"}");
  EXPECT_EQ(report_of({"solve", "--config", "order.json"})["order"]["name"], "random");
  EXPECT_EQ(report_of({"solve", "--config", "order.json", "--order", "rcm"})["order"]["name"], "rcm");
}

TEST_F(OrderTest, AnOrderThatTheBuildHasNotSaysWhatToInstall) {
  const auto check = [](bool available, const std::string& order, const std::string& package) {
    const Result result = run({"solve", "spd.mtx", "--order", order});
    EXPECT_EQ(result.code, available ? 0 : 2) << result.err;
    if (!available) {
      EXPECT_THAT(result.err, HasSubstr(package));
    }
  };
  check(has_minimum_degree(), "amd", "libsuitesparse-dev");
  check(has_nested_dissection(), "nd", "libmetis-dev");
}

TEST_F(OrderTest, APartitionThatTheBuildHasNotSaysWhatToInstall) {
  const Result metis = run({"solve", "spd.mtx", "--partition", "metis"});
  EXPECT_EQ(metis.code, has_metis() ? 0 : 2) << metis.err;
  if (!has_metis()) {
    EXPECT_THAT(metis.err, AllOf(HasSubstr("--partition metis needs "), HasSubstr("libmetis-dev")));
  }
  const Result unknown = run({"solve", "spd.mtx", "--partition", "zoltan"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("--partition takes rows, metis or a FILE.mtx, not 'zoltan'"));
}

TEST_F(OrderTest, RowsOfMessagesAndReports) {
  // Row 3, from 1, has nothing that could be its diagonal; the order is another one.
  write("no_diagonal.mtx",
        "%%MatrixMarket matrix coordinate real general\n5 5 6\n1 1 1\n2 2 1\n3 1 1\n1 3 1\n4 4 1\n5 5 1\n");
  const Json plain = report_of({"solve", "no_diagonal.mtx", "--solver", "gmres", "--precond", "jacobi"});
  const Json& broken = plain["preconditioner"]["breakdowns"];
  ASSERT_EQ(broken["count"], 1);
  ASSERT_EQ(broken["first_row"], 2);
  for (const std::string& order : orders()) {
    const Json report =
        report_of({"solve", "no_diagonal.mtx", "--solver", "gmres", "--precond", "jacobi", "--order", order});
    EXPECT_EQ(report["preconditioner"]["breakdowns"]["first_row"], 2) << order;
  }
}

TEST_F(OrderTest, AnErrorOfASetupSaysWhichRowsItCounts) {
  const std::vector<std::string> plain = {"solve", "--generate", "circuit:30", "--precond",
                                          "fsai",  "-p",         "power=1",    "memory_budget=30000"};
  auto ordered = plain;
  ordered.insert(ordered.end(), {"--order", "rcm"});
  const std::string counted = "(rows are counted in the order of --order rcm)\n";
  EXPECT_EQ(run(plain).code, 3);
  EXPECT_THAT(run(plain).err, AllOf(HasSubstr("memory_budget"), Not(HasSubstr("--order"))));
  EXPECT_EQ(run(ordered).code, 3);
  EXPECT_THAT(run(ordered).err, AllOf(HasSubstr("memory_budget"), ::testing::EndsWith(counted)));
}

TEST_F(OrderTest, SameBitsOnAnyNumberOfThreads) {
  for (const std::string& order : orders()) {
    std::vector<std::string> solutions;
    for (const char* threads : {"1", "2", "3"}) {
      const Result result =
          run({"solve", "--generate", "circuit:20", "--precond", "jacobi", "--rhs", "random", "--order",
               order, "--solution", "x.mtx", std::string("--kokkos-num-threads=") + threads});
      EXPECT_EQ(result.code, 0) << result.err;
      solutions.push_back(read_file(file("x.mtx")));
    }
    EXPECT_EQ(solutions[0], solutions[1]) << order;
    EXPECT_EQ(solutions[0], solutions[2]) << order;
  }
}

// ------------------------------------------------------------------------------------------- --order auto

/// A chain whose rows are numbered so that neighbours are `stride` apart, modulo n.
std::string chain_of_stride(int n, int stride) {
  std::ostringstream text;
  text << "%%MatrixMarket matrix coordinate real symmetric\n" << n << ' ' << n << ' ' << 2 * n - 1 << '\n';
  for (int i = 0; i < n; ++i) {
    const int row = i * stride % n + 1, next = (i + 1) * stride % n + 1;
    text << row << ' ' << row << " 2.5\n";
    if (i + 1 < n) text << std::max(row, next) << ' ' << std::min(row, next) << " -1\n";
  }
  return text.str();
}

TEST_F(OrderTest, AutoTakesRcmWhereTheBandwidthFalls) {
  write("far.mtx", chain_of_stride(101, 37));
  write("near.mtx", chain_of_stride(101, 1));
  const std::vector<std::string> solve = {"solve",     "far.mtx", "--solver",    "gmres",
                                          "--precond", "ilu0",    "--order=auto"};
  const Json far = report_of(solve)["order"];
  EXPECT_EQ(far["name"], "auto");
  EXPECT_EQ(far["chosen"], "rcm");
  EXPECT_EQ(far["reason"], "rcm's bandwidth is 0.0156 of the matrix's, at most 0.75");
  EXPECT_EQ(far["before"]["bandwidth"], 64);
  EXPECT_EQ(far["after"]["bandwidth"], 1);
  EXPECT_THAT(run(solve).out, HasSubstr("order           rcm in "));
  EXPECT_THAT(run(solve).out,
              HasSubstr(" (rcm's bandwidth is 0.0156 of the matrix's, at most 0.75): bandwidth 64 ->"));
  auto other = solve;
  other[1] = "near.mtx";
  const Json near = report_of(other)["order"];
  EXPECT_EQ(near["chosen"], "none");
  EXPECT_EQ(near["reason"], "rcm's bandwidth is 1 of the matrix's, above 0.75");
  EXPECT_GE(near["seconds"].get<double>(), 0);
  EXPECT_EQ(near["after"]["bandwidth"], 1);
  EXPECT_THAT(
      run(other).out,
      HasSubstr("order           rows as they are: rcm's bandwidth is 1 of the matrix's, above 0.75\n"));
  // A quarter: 4 -> 3 is enough, 5 -> 4 is not. The entry in the corner makes the bandwidth, rcm a path.
  // All of the rows are coupled but the last but one: bandwidth k, and k - 1 with that one at an end.
  const auto all_but_one = [](int k) {
    std::ostringstream text;
    text << "%%MatrixMarket matrix coordinate real symmetric\n"
         << k + 1 << ' ' << k + 1 << ' ' << k * (k + 1) / 2 + 1 << '\n'
         << k << ' ' << k << " 1\n";
    for (int i = 1; i <= k + 1; ++i)
      for (int j = 1; j <= i; ++j)
        if (i != k && j != k) text << i << ' ' << j << ' ' << (i == j ? 2 * k : -1) << '\n';
    return text.str();
  };
  write("four.mtx", all_but_one(4));
  write("five.mtx", all_but_one(5));
  write("diagonal.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 1\n2 2 3\n3 3 2\n");
  other[1] = "four.mtx";
  EXPECT_EQ(report_of(other)["order"]["reason"], "rcm's bandwidth is 0.75 of the matrix's, at most 0.75");
  EXPECT_EQ(report_of(other)["order"]["chosen"], "rcm");
  other[1] = "five.mtx";
  EXPECT_EQ(report_of(other)["order"]["reason"], "rcm's bandwidth is 0.8 of the matrix's, above 0.75");
  EXPECT_EQ(report_of(other)["order"]["chosen"], "none");
  other[1] = "diagonal.mtx";
  EXPECT_EQ(report_of(other)["order"]["reason"], "the matrix is diagonal");
  EXPECT_EQ(report_of(other)["order"]["chosen"], "none");
}

TEST_F(OrderTest, AutoIsForIncompleteFactorisations) {
  write("far.mtx", chain_of_stride(101, 37));
  const auto order_with = [&](const std::string& solver, const std::string& precond) {
    return report_of(
        {"solve", "far.mtx", "--solver", solver, "--precond", precond, "--order", "auto"})["order"];
  };
  for (const char* name : {"ilu0", "iluk", "ilut", "par_ilu", "par_ilut"})
    EXPECT_EQ(order_with("gmres", name)["chosen"], "rcm") << name;
  for (const char* name : {"ic0", "ick", "mic_gustafsson", "mic_robert", "ict", "par_ic"})
    EXPECT_EQ(order_with("cg", name)["chosen"], "rcm") << name;
  const Json left{
      {"name", "auto"}, {"chosen", "none"}, {"reason", "no incomplete factorisation is asked for"}};
  for (const char* name : {"none", "jacobi", "fsai", "adaptive_fsai", "nonsymmetric_fsai", "spai", "isai",
                           "multicolor_ilu0", "multicolor_gs", "block_jacobi", "schwarz", "neumann"})
    EXPECT_EQ(order_with("gmres", name), left) << name;
  EXPECT_EQ(report_of({"solve", "far.mtx", "--solver", "gmres", "--precond", "schwarz", "-p", "local=iluk",
                       "--order", "auto"})["order"],
            left);
  EXPECT_THAT(run({"solve", "far.mtx", "--order", "auto"}).out,
              HasSubstr("order           rows as they are: no incomplete factorisation is asked for\n"));
  // One in a table is enough, and has the order for all.
  const auto rows_of = [&](const std::string& preconds) {
    return report_of({"compare", "far.mtx", "--solver", "gmres", "--precond", preconds, "--order", "auto"});
  };
  for (const Json& row : rows_of("jacobi,ilut")) EXPECT_EQ(row["order"]["chosen"], "rcm");
  for (const Json& row : rows_of("jacobi,spai")) EXPECT_EQ(row["order"], left);
  // info asks for the matrix, whatever the method.
  EXPECT_EQ(report_of({"info", "far.mtx", "--order", "auto"})["order"]["chosen"], "rcm");
  EXPECT_EQ(run({"info", "rectangular.mtx", "--order", "auto"}).code, 3);
}

TEST_F(OrderTest, AutoIsTheOrderThatItChooses) {
  write("far.mtx", chain_of_stride(101, 37));
  ASSERT_EQ(run({"generate", "circuit:20", "-o", "circuit.mtx"}).code, 0);
  for (const char* matrix : {"far.mtx", "circuit.mtx"}) {
    const auto x_of = [&](const std::string& order) {
      const Json report = report_of({"solve", matrix, "--solver", "bicgstab", "--precond", "ilu0", "--rhs",
                                     "random", "--order", order, "--solution", order + ".mtx"});
      return report["order"].value("chosen", order);
    };
    const std::string chosen = x_of("auto");
    x_of(chosen);
    EXPECT_EQ(read_file(file("auto.mtx")), read_file(file(chosen + ".mtx"))) << matrix;
  }
  write("order.json", R"({"matrix": "far.mtx", "order": "auto", "precond": "ic0"})");
  EXPECT_EQ(report_of({"solve", "--config", "order.json"})["order"]["chosen"], "rcm");
}

// ------------------------------------------------------------------------------------------------ --scale

/// A chain of springs whose unknowns have units from 1 to 10^5: D T D.
std::string badly_scaled_chain(int n) {
  std::ostringstream text;
  text << "%%MatrixMarket matrix coordinate real symmetric\n" << n << ' ' << n << ' ' << 2 * n - 1 << '\n';
  const auto unit = [](int i) { return std::pow(10.0, (i * 37) % 101 / 20.0); };
  for (int i = 0; i < n; ++i) {
    text << i + 1 << ' ' << i + 1 << ' ' << 2.5 * unit(i) * unit(i) << '\n';
    if (i > 0) text << i + 1 << ' ' << i << ' ' << -unit(i) * unit(i - 1) << '\n';
  }
  return text.str();
}

TEST_F(OrderTest, ScalingTakesTheUnitsOutOfAnIteration) {
  write("chain.mtx", badly_scaled_chain(200));
  for (const std::string solver : {"cg", "gmres", "bicgstab"}) {
    SCOPED_TRACE(solver);
    std::vector<std::string> arguments = {"solve", "chain.mtx", "--solver", solver, "--precond",   "none",
                                          "--rhs", "random",    "--rtol",   "1e-8", "--max-iters", "150"};
    EXPECT_EQ(run(arguments).code, 4);
    arguments.push_back("--scale");
    // Without another preconditioner, which might do it instead.
    for (const std::string order : {"none", "rcm", "random"}) {
      SCOPED_TRACE(order);
      auto ordered = arguments;
      ordered.insert(ordered.end(), {"--order", order});
      const Json report = report_of(ordered);
      EXPECT_EQ(report["order"]["name"], order);
      EXPECT_EQ(report["scale"], true);
      EXPECT_LT(report["solver"]["iterations"].get<int>(), 100);
      EXPECT_LE(report["solver"]["true_relative_residual"].get<double>(), 1.01e-8);
    }
  }
  EXPECT_EQ(report_of({"solve", "spd.mtx"})["scale"], false);
}

TEST_F(OrderTest, ScalingIsSaidAndSetInAFile) {
  EXPECT_THAT(run({"solve", "spd.mtx", "--scale"}).out, HasSubstr("  scaled        to a diagonal in [1, 4)"));
  EXPECT_THAT(run({"solve", "spd.mtx", "--scale", "--solver", "gmres", "--precond", "none"}).out,
              HasSubstr("  scaled        to a largest entry in [1, 4) of every row and column"));
  // A preconditioner for positive definite matrices has a symmetric scaling with every solver.
  EXPECT_THAT(run({"solve", "spd.mtx", "--scale", "--solver", "gmres", "--precond", "fsai"}).out,
              HasSubstr("  scaled        to a diagonal in [1, 4)"));
  EXPECT_THAT(run({"solve", "spd.mtx"}).out, Not(HasSubstr("scaled")));
  write("scale.json", R"({"matrix": "spd.mtx", "scale": true})");
  EXPECT_EQ(report_of({"solve", "--config", "scale.json"})["scale"], true);
  write("scale.json", "{\"matrix\": \"spd.mtx\",\n \"scale\": \"very\"}");
  const Result slip = run({"solve", "--config", "scale.json"});
  EXPECT_EQ(slip.code, 2);
  EXPECT_THAT(slip.err, HasSubstr("scale.json:2:2: "));
  EXPECT_THAT(run({"solve", "--help"}).out, HasSubstr("--scale"));
  EXPECT_EQ(run({"info", "spd.mtx", "--scale"}).code, 2);
  const Json rows =
      report_of({"compare", "spd.mtx", "--precond", "none,jacobi,fsai,adaptive_fsai", "--scale"});
  for (const Json& row : rows) {
    EXPECT_EQ(row["scale"], true);
    EXPECT_EQ(row["solver"]["converged"], true);
  }
  EXPECT_EQ(run({"solve", "hermitian.mtx", "--scale", "--x0", "precond"}).code, 0);
}

}  // namespace
}  // namespace prekond::testing
