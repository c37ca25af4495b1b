// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// `prekond plot`, with the Python that there is, and without one.
#include <gmock/gmock.h>

#include "driver_fixture.hpp"

namespace prekond::testing {
namespace {

using ::testing::HasSubstr;

class PlotTest : public DriverTest {
 protected:
  static bool has_matplotlib() { return std::system("python3 -c 'import matplotlib' 2>/dev/null") == 0; }
};

TEST_F(PlotTest, SaysInOneLineWhatIsMissing) {
  write("h.csv", "iteration,residual_norm,relative_residual\n0,2,1\n");
  const std::string path = std::getenv("PATH");
  setenv("PATH", file("nowhere").c_str(), 1);
  const Result without_python = run({"plot", "h.csv", "-o", "a.svg"});
  fs::create_directory(file("bin"));
  write("bin/python3", "#!/bin/sh\necho one >&2; echo no matplotlib >&2; exit 2\n");
  fs::permissions(file("bin/python3"), fs::perms::owner_all);
  setenv("PATH", file("bin").c_str(), 1);
  const Result without_matplotlib = run({"plot", "h.csv", "-o", "a.svg"});
  setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(without_python.code, 2);
  EXPECT_EQ(without_python.err,
            "prekond: error: plot needs python3 with matplotlib, and there is no python3 in PATH\n");
  EXPECT_EQ(without_matplotlib.code, 2);
  EXPECT_EQ(without_matplotlib.err, "prekond: error: no matplotlib\n");
  if (!has_matplotlib()) {
    const Result result = run({"plot", "h.csv", "-o", "a.svg"});
    EXPECT_EQ(result.code, 2);
    EXPECT_EQ(lines_of(result.err).size(), 1u) << result.err;
    EXPECT_THAT(result.err, HasSubstr("plot needs "));
  }
  EXPECT_FALSE(fs::exists(file("a.svg")));
}

TEST_F(PlotTest, DrawsHistoriesReportsAndTables) {
  if (!has_matplotlib()) GTEST_SKIP() << "there is no matplotlib";
  const std::vector<std::string> amg = {"solve",    "--generate", "poisson2d:40", "--precond", "amg",
                                        "--solver", "cg",         "--history",    "it's.csv"};
  report_of(amg);
  ASSERT_EQ(run({"compare", "--generate", "poisson2d:20", "--precond", "none,jacobi,fsai:powr=2", "--table",
                 "t.csv", "--report", "compare.json"})
                .code,
            2);
  const auto picture = [&](std::vector<std::string> files) {
    files.insert(files.begin(), "plot");
    files.insert(files.end(), {"-o", "a.svg"});
    const Result result = run(files);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out + result.err, "");
    return read_file(file("a.svg"));
  };
  const std::string all = picture({"it's.csv", "report.json", "compare.json"});
  for (const char* part :
       {"<svg", "relative residual", "it's", "amg / cg", "none / cg", "jacobi / cg", "setup", "hierarchy"})
    EXPECT_THAT(all, HasSubstr(part));
  EXPECT_EQ(all.find("fsai"), std::string::npos) << "it was not solved";
  EXPECT_THAT(picture({"t.csv"}), HasSubstr("jacobi / cg"));
  for (const std::string matrix : {"p.mtx", "p.mtx.gz"}) {
    ASSERT_EQ(run({"generate", "poisson2d:40", "-o", matrix}).code, 0);
    const std::string pattern = picture({matrix, "t.csv"});
    EXPECT_THAT(pattern, HasSubstr("p: 1600 x 1600, 7840 entries")) << "also those above the diagonal";
    EXPECT_THAT(pattern, HasSubstr("jacobi / cg"));
    EXPECT_THAT(pattern, HasSubstr("<image"));
  }
  write("other.csv", "a,b\n1,2\n");
  const std::string general = "%%MatrixMarket matrix coordinate real general\n";
  write("cut.mtx", general + "2 2\n");
  write("short.mtx", general + "2 2 2\n1 1 1\n");
  write("outside.mtx", general + "2 2 1\n3 1 1\n");
  for (const std::string wrong :
       {"other.csv", "config.json", "missing.csv", "first2.mtx", "cut.mtx", "short.mtx", "outside.mtx"}) {
    const Result result = run({"plot", wrong, "-o", "b.svg"});
    EXPECT_EQ(result.code, 3) << wrong;
    EXPECT_EQ(lines_of(result.err).size(), 1u) << result.err;
    EXPECT_THAT(result.err, HasSubstr(wrong));
  }
  EXPECT_EQ(run({"plot", "it's.csv", "-o", "a.csv"}).code, 2);
  EXPECT_FALSE(fs::exists(file("b.svg")));
}

}  // namespace
}  // namespace prekond::testing
