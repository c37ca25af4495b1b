// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The files that a run writes: none of its inputs, each whole or not at all, and none that tells of another
// run.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <thread>

#include "driver_fixture.hpp"

namespace prekond::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class OutputFilesTest : public DriverTest {
 protected:
  static void SetUpTestSuite() {
    DriverTest::SetUpTestSuite();
    fs::create_directory(file("folder"));
    fs::create_symlink("spd.mtx", file("link.mtx"));
    fs::create_symlink(file("folder"), file("other_folder"));
    fs::create_hard_link(file("spd.mtx"), file("hard.mtx"));
    fs::create_symlink("not_there.json", file("dangling.json"));
  }
  void TearDown() override { EXPECT_EQ(temporary_files(), 0); }

  static int temporary_files() {
    int count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(file("")))
      count += entry.path().filename().string().rfind(".prekond", 0) == 0 ? 1 : 0;
    return count;
  }
  static Json json(const std::string& name) { return Json::parse(read_file(file(name)), nullptr, false); }

  /// Refused as a bad command line, and no file is touched.
  static void expect_refused(const std::vector<std::string>& arguments,
                             const std::vector<std::string>& texts) {
    const std::string matrix = read_file(file("spd.mtx"));
    const Result result = run(arguments);
    EXPECT_EQ(result.code, 2) << result.err;
    for (const auto& text : texts) EXPECT_THAT(result.err, HasSubstr(text));
    EXPECT_EQ(read_file(file("spd.mtx")), matrix);
  }
};

TEST_F(OutputFilesTest, NoOutputIsAnInput) {
  const std::vector<std::string> spellings = {
      "spd.mtx",  "./spd.mtx", "folder/../spd.mtx",      file("spd.mtx").string(),
      "link.mtx", "hard.mtx",  "other_folder/../spd.mtx"};
  for (const auto& name : spellings) {
    expect_refused({"solve", "spd.mtx", "--solution", name},
                   {"--solution " + name + " would overwrite the matrix"});
    expect_refused({"solve", name, "--report", "spd.mtx"}, {"--report spd.mtx would overwrite the matrix"});
  }
  for (const char* flag : {"--report", "--history", "--solution"}) {
    expect_refused({"solve", "--generate", "poisson2d:5", "--rhs", "spd.mtx", flag, "link.mtx"},
                   {flag, "link.mtx would overwrite --rhs spd.mtx"});
    expect_refused({"solve", "--generate", "poisson2d:5", "--x0", "spd.mtx", flag, "link.mtx"},
                   {"--x0 spd.mtx"});
    expect_refused({"solve", "--generate", "poisson2d:5", "--near-null-space", "spd.mtx", flag, "link.mtx"},
                   {"link.mtx would overwrite --near-null-space spd.mtx"});
    write("c.json", R"({"generate": "poisson2d:5"})");
    expect_refused({"solve", "--config", "c.json", flag, "./c.json"},
                   {"./c.json would overwrite --config c.json"});
    EXPECT_EQ(read_file(file("c.json")), R"({"generate": "poisson2d:5"})");
  }
  write("c.json", R"({"matrix": "spd.mtx", "solution": "hard.mtx"})");
  expect_refused({"solve", "--config", "c.json"}, {"--solution hard.mtx would overwrite the matrix"});
  expect_refused({"compare", "link.mtx", "--report", "spd.mtx"}, {"would overwrite the matrix"});
  expect_refused({"info", "link.mtx", "--report", "spd.mtx"}, {"would overwrite the matrix"});
  // Words are no files, whatever files there are.
  write("ones", "a file");
  EXPECT_EQ(run({"solve", "spd.mtx", "--rhs", "ones", "--history", "ones"}).code, 0);
}

TEST_F(OutputFilesTest, NoTwoOutputsAreOneFile) {
  const std::vector<std::string> solve = {"solve", "--generate", "poisson2d:5"};
  const std::vector<std::vector<std::string>> pairs = {{"same.json", "same.json"},
                                                       {"new.json", "./folder/../new.json"},
                                                       {"folder/n", "other_folder/n"},
                                                       {"dangling.json", "not_there.json"},
                                                       {"new.json", file("new.json").string()}};
  for (const auto& pair : pairs) {
    for (const std::vector<const char*>& flags : {std::vector<const char*>{"--report", "--history"},
                                                  {"--report", "--solution"},
                                                  {"--history", "--solution"}}) {
      std::vector<std::string> arguments = solve;
      arguments.insert(arguments.end(), {flags[0], pair[0], flags[1], pair[1]});
      expect_refused(arguments, {flags[0], flags[1], "are the same file"});
    }
    EXPECT_FALSE(fs::exists(file(pair[0])));
  }
  write("same.json", "{}");
  expect_refused({"solve", "spd.mtx", "--report", "same.json", "--history", "same.json"},
                 {"are the same file"});
  EXPECT_EQ(read_file(file("same.json")), "{}");
  fs::remove(file("same.json"));
  EXPECT_EQ(
      run({"solve", "spd.mtx", "--report", "/dev/null", "--history", "/dev/null", "--solution", "/dev/null"})
          .code,
      0);
}

TEST_F(OutputFilesTest, LinksAndPermissionsStay) {
  write("real.json", "old");
  fs::permissions(file("real.json"), fs::perms(0640));
  fs::create_symlink("real.json", file("to_real.json"));
  EXPECT_EQ(report_of({"solve", "spd.mtx"})["solver"]["converged"], true);
  ASSERT_EQ(run({"solve", "spd.mtx", "--report", "to_real.json"}).code, 0);
  EXPECT_TRUE(fs::is_symlink(file("to_real.json")));
  EXPECT_EQ(json("real.json")["solver"]["converged"], true);
  EXPECT_EQ(fs::status(file("real.json")).permissions(), fs::perms(0640));
  const mode_t mask = umask(027);
  ASSERT_EQ(run({"solve", "spd.mtx", "--report", "dangling.json", "--solution", "x.mtx.gz"}).code, 0);
  umask(mask);
  EXPECT_TRUE(fs::is_symlink(file("dangling.json")));
  EXPECT_EQ(json("not_there.json")["solver"]["converged"], true);
  EXPECT_EQ(fs::status(file("not_there.json")).permissions(), fs::perms(0640));
  EXPECT_EQ(read_file(file("x.mtx.gz")).substr(0, 2), "\x1f\x8b");
  fs::remove(file("not_there.json"));
}

TEST_F(OutputFilesTest, StandardOutputIsWrittenIntoOnce) {
  const Result result = run({"solve", "spd.mtx", "--report", "/dev/stdout"});
  ASSERT_EQ(result.code, 0) << result.err;
  const std::size_t table = result.out.find("ended           converged");
  ASSERT_NE(table, std::string::npos) << result.out;
  EXPECT_EQ(Json::parse(result.out.substr(0, table))["solver"]["converged"], true);
  EXPECT_THAT(result.out, HasSubstr("total "));
}

TEST_F(OutputFilesTest, WritesWhatCanBeWritten) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  Result result =
      run({"solve", "spd.mtx", "--report", "/dev/full", "--solution", "y.mtx", "--history", "y.csv"});
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err, HasSubstr("/dev/full: cannot be written: No space left"));
  EXPECT_EQ(lines_of(read_file(file("y.mtx"))).size(), 5u);
  EXPECT_TRUE(fs::exists(file("y.csv")));
  EXPECT_THAT(result.out, HasSubstr("converged"));

  result = run({"solve", "spd.mtx", "--report", "y.json", "--solution", "y.mtx", "--history", "/dev/full"});
  EXPECT_EQ(result.code, 3);
  const Json report = json("y.json");
  EXPECT_EQ(report["solver"]["converged"], true);
  EXPECT_EQ(report["files"]["solution"], "y.mtx");
  EXPECT_TRUE(report["files"]["history"].is_null());
  EXPECT_THAT(report["error"], HasSubstr("/dev/full"));

  // The end of the solve decides the code, and both are said.
  result = run({"solve", "--generate", "poisson2d:20", "--max-iters", "1", "--solution", "/dev/full"});
  EXPECT_EQ(result.code, 4);
  EXPECT_THAT(result.err, HasSubstr("has not converged in 1 iteration"));
  EXPECT_THAT(result.err, HasSubstr("/dev/full: cannot be written"));
  EXPECT_EQ(lines_of(result.err).size(), 1u);
  EXPECT_EQ(run({"compare", "spd.mtx", "--precond", "none,jacobi", "--report", "/dev/full"}).code, 3);
  EXPECT_EQ(run({"info", "spd.mtx", "--report", "/dev/full"}).code, 3);
}

TEST_F(OutputFilesTest, AFullDiskLeavesTheOldFile) {
  write("old.mtx", "old");
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{4096, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const Result generated = run({"generate", "poisson2d:90", "-o", "old.mtx"});
  const Result solved = run({"solve", "--generate", "poisson2d:90", "--precond", "none", "--solver", "cg",
                             "-q", "--solution", "old.mtx", "--report", "r.json"});
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(generated.code, 3);
  EXPECT_THAT(generated.err, HasSubstr("old.mtx: cannot be written"));
  EXPECT_THAT(generated.err, Not(HasSubstr(".prekond")));
  EXPECT_EQ(solved.code, 3);
  EXPECT_THAT(solved.err, HasSubstr("old.mtx: cannot be written"));
  EXPECT_EQ(read_file(file("old.mtx")), "old");
  EXPECT_TRUE(json("r.json")["files"]["solution"].is_null());
}

TEST_F(OutputFilesTest, AFailedRunReplacesAnOlderReport) {
  const std::vector<std::pair<std::vector<std::string>, int>> failures = {
      {{"solve", "bad_index.mtx"}, 3},
      {{"solve", "missing.mtx"}, 3},
      {{"solve", "nonsymmetric.mtx", "--solver", "cg"}, 3},
      {{"solve", "spd.mtx", "--rhs", "vector3.mtx"}, 3},
      {{"solve", "spd.mtx", "--precond", "jacoby"}, 2},
      {{"solve", "spd.mtx", "--solver", "cg", "--precond", "isai"}, 2},
      {{"solve", "spd.mtx", "--kokkos-num-threads=0"}, 2},
      {{"solve", "indefinite.mtx", "--solver", "cg", "--rhs", "random"}, 5},
  };
  ASSERT_EQ(run({"solve", "spd.mtx", "--report", "older.json", "--solution", "older.mtx"}).code, 0);
  const std::string older = read_file(file("older.json")), solution = read_file(file("older.mtx"));
  ASSERT_EQ(json("older.json")["files"]["solution"], "older.mtx");
  for (const auto& [failing, code] : failures) {
    write("older.json", older);
    std::vector<std::string> arguments = failing;
    arguments.insert(arguments.end(), {"--report", "older.json", "--solution", "new.mtx"});
    const Result result = run(arguments);
    EXPECT_EQ(result.code, code) << result.err;
    const Json report = json("older.json");
    EXPECT_EQ(report["solver"]["converged"], false) << failing[1];
    EXPECT_EQ(report["matrix"]["source"], failing[1]);
    if (code == 5) continue;  // it has a report of its own
    EXPECT_EQ("prekond: error: " + report["error"].get<std::string>() + "\n", result.err);
    EXPECT_EQ(report["exit_code"], code);
    EXPECT_EQ(report["solver"]["reason"], "error");
    EXPECT_TRUE(report["files"]["solution"].is_null());
    EXPECT_FALSE(fs::exists(file("new.mtx")));
  }
  EXPECT_EQ(read_file(file("older.mtx")), solution);
  // Where there was no report there is none, and a device stays as it is.
  EXPECT_EQ(run({"solve", "bad_index.mtx", "--report", "none.json"}).code, 3);
  EXPECT_FALSE(fs::exists(file("none.json")));

  write("rows.json", "[]");
  EXPECT_EQ(run({"compare", "bad_index.mtx", "--precond", "none,fsai:power=2", "--report", "rows.json"}).code,
            3);
  const Json rows = json("rows.json");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1]["preconditioner"]["name"], "fsai");
  for (const Json& row : rows) {
    EXPECT_EQ(row["solver"]["converged"], false);
    EXPECT_THAT(row["error"], HasSubstr("bad_index.mtx:4"));
  }
  write("info.json", "{}");
  EXPECT_EQ(run({"info", "bad_index.mtx", "--report", "info.json"}).code, 3);
  EXPECT_THAT(json("info.json")["error"], HasSubstr("bad_index.mtx:4"));
}

TEST_F(OutputFilesTest, ComplexMatricesComeThroughPipes) {
  const std::string pipe = file("pipe.mtx").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const char* command : {"solve", "compare", "info"}) {
    for (const char* matrix : {"hermitian.mtx", "spd.mtx"}) {
      const std::string text = read_file(file(matrix));
      std::thread writer([&] { std::ofstream(pipe, std::ios::binary) << text; });
      const Json report = report_of({command, "pipe.mtx"});
      writer.join();
      const Json& row = report.is_array() ? report[0] : report;
      EXPECT_EQ(row["matrix"]["field"], matrix[0] == 'h' ? "complex" : "real") << command;
      EXPECT_EQ(row["matrix"]["nnz"], 4);
    }
  }
}

}  // namespace
}  // namespace prekond::testing
