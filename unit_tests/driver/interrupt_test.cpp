// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Signals that end the command: one line that names the step, 128 and the signal's number, no file half
// written; a solve ends after its iteration and keeps what it has.
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/stat.h>
#include <Kokkos_Core.hpp>
#include <prekond/core/views.hpp>

#include <chrono>
#include <thread>

#include "driver_fixture.hpp"

namespace prekond::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class InterruptTest : public DriverTest {
 protected:
  /// A pipe without an end: a command that reads its matrix from it waits.
  class Pipe {
   public:
    explicit Pipe(const std::string& name) : m_path(file(name)) {
      EXPECT_EQ(mkfifo(m_path.c_str(), 0600), 0);
    }
    ~Pipe() {
      if (m_end >= 0) close(m_end);
      fs::remove(m_path);
    }
    /// Waits until somebody reads.
    void open_to_write() { m_end = open(m_path.c_str(), O_WRONLY); }

   private:
    fs::path m_path;
    int m_end = -1;
  };

  /// A terminal on which the command shows its steps when it has worked for a second.
  class Terminal {
   public:
    Terminal() : m_end(posix_openpt(O_RDWR | O_NOCTTY)) {
      EXPECT_EQ(grantpt(m_end), 0);
      EXPECT_EQ(unlockpt(m_end), 0);
      m_kept = open(path().c_str(), O_RDWR | O_NOCTTY);
    }
    ~Terminal() {
      close(m_kept);
      close(m_end);
    }
    std::string path() const { return ptsname(m_end); }
    /// Waits for the text, a minute at most.
    bool shows(const std::string& text) {
      while (m_text.find(text) == std::string::npos && read_more(60000)) continue;
      return m_text.find(text) != std::string::npos;
    }
    /// The last line, when nobody writes any more.
    std::string last_line() {
      while (read_more(0)) continue;
      const std::string text = m_text.substr(0, m_text.find_last_not_of("\r\n") + 1);
      return text.substr(text.find_last_of("\r\n\033") + 1);
    }

   private:
    bool read_more(int milliseconds) {
      pollfd wanted{m_end, POLLIN, 0};
      if (poll(&wanted, 1, milliseconds) <= 0) return false;
      char part[512];
      const ssize_t got = read(m_end, part, sizeof part);
      if (got > 0) m_text.append(part, static_cast<std::size_t>(got));
      return got > 0;
    }
    int m_end;
    int m_kept;
    std::string m_text;
  };

  /// Interrupts the command when its live line has `step`. Returns its last line.
  static std::string interrupted_at(const std::string& step, std::vector<std::string> arguments) {
    Terminal terminal;
    const pid_t child = start(std::move(arguments), {SIGINT}, terminal.path());
    EXPECT_TRUE(terminal.shows(step)) << step;
    kill(child, SIGINT);
    EXPECT_EQ(end_of(child).code, 130);
    return terminal.last_line();
  }

  static std::vector<std::string> temporary_files() {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(file("")))
      if (entry.path().filename().string().rfind(".prekond", 0) == 0) names.push_back(entry.path().string());
    return names;
  }
};

TEST_F(InterruptTest, OneLineAndTheSignalsCode) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    for (const char* command : {"solve", "compare", "info"}) {
      Pipe pipe("endless.mtx");
      write("older.json", R"({"solver": {"converged": true}})");
      const pid_t child = start({command, "endless.mtx", "--report", "older.json"});
      pipe.open_to_write();
      kill(child, signal);
      const Result result = end_of(child);
      EXPECT_EQ(result.code, 128 + signal) << command;
      EXPECT_EQ(result.err, "prekond: error: interrupted in the step 'reading endless.mtx'\n");
      const Json report = Json::parse(read_file(file("older.json")), nullptr, false);
      const Json& row = report.is_array() ? report[0] : report;
      EXPECT_EQ(row["error"], "interrupted in the step 'reading endless.mtx'");
      EXPECT_EQ(row["exit_code"], 128 + signal);
      if (command != std::string("info")) {
        EXPECT_EQ(row["solver"]["reason"], "interrupted");
        EXPECT_EQ(row["solver"]["converged"], false);
      }
      EXPECT_TRUE(temporary_files().empty());
    }
  }
}

TEST_F(InterruptTest, BeforeTheReportIsKnownItStays) {
  // The config file, which names the report, is what is being read.
  Pipe pipe("endless.json");
  write("older.json", "{}");
  const pid_t child = start({"solve", "--config", "endless.json", "--report", "older.json"});
  pipe.open_to_write();
  kill(child, SIGINT);
  EXPECT_EQ(end_of(child).code, 128 + SIGINT);
  EXPECT_EQ(read_file(file("older.json")), "{}");
}

TEST_F(InterruptTest, NoFileIsLeftHalfWritten) {
  write("old.mtx.gz", "old");
  for (const char* name : {"old.mtx.gz", "new.mtx.gz"}) {
    const pid_t child = start({"generate", "poisson3d:90", "-o", name});
    // Compressing takes seconds; until the file is there nothing can be missed.
    while (temporary_files().empty() && waitpid(child, nullptr, WNOHANG) == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    ASSERT_EQ(temporary_files().size(), 1u);
    EXPECT_EQ(temporary_files()[0].substr(temporary_files()[0].size() - 3), ".gz");
    kill(child, SIGINT);
    const Result result = end_of(child);
    EXPECT_EQ(result.code, 130);
    EXPECT_EQ(result.err, "prekond: error: interrupted in the step 'writing " + std::string(name) + "'\n");
    EXPECT_TRUE(temporary_files().empty());
  }
  EXPECT_EQ(read_file(file("old.mtx.gz")), "old");
  EXPECT_FALSE(fs::exists(file("new.mtx.gz")));
}

TEST_F(InterruptTest, InTheGenerationAndInASetup) {
  // A device generates what it has memory for before the first line is shown.
  const std::string circuit = "circuit:1500";
  if (is_host_space<Kokkos::DefaultExecutionSpace>) {
    EXPECT_THAT(interrupted_at("generating " + circuit, {"solve", "--generate", circuit}),
                HasSubstr("prekond: error: interrupted in the step 'generating " + circuit + "'"));
  }
  std::ostringstream arrow;  // isai needs minutes for its full row
  arrow << "%%MatrixMarket matrix coordinate real symmetric\n10000 10000 19999\n";
  for (int i = 1; i <= 10000; ++i) arrow << i << ' ' << i << " 3\n";
  for (int i = 2; i <= 10000; ++i) arrow << i << " 1 0.001\n";
  write("arrow.mtx", arrow.str());
  for (const std::string solver : {"bicgstab", "auto"})  // with auto the setup is a part of the solve
    EXPECT_THAT(
        interrupted_at("setup of isai", {"solve", "arrow.mtx", "--solver", solver, "--precond", "isai"}),
        HasSubstr("prekond: error: interrupted in the step 'setup of isai'"));
}

/// A solve that would take minutes ends after its iteration. History, solution and report are those of it.
TEST_F(InterruptTest, ASolveKeepsWhatItHas) {
  const std::string problem = "poisson2d:500";
  for (const std::string solver : {"richardson", "gmres"}) {
    SCOPED_TRACE(solver);
    const std::string line = interrupted_at(
        "iteration", {"solve", "--generate", problem, "--solver", solver, "--precond", "jacobi", "--rtol",
                      "1e-13", "--max-iters", "100000000", "--repeat", "3", "--report", "cut.json",
                      "--history", "cut.csv", "--solution", "cut.mtx"});
    EXPECT_THAT(
        line, AllOf(HasSubstr("prekond: error: interrupted in the step '" + solver + " with jacobi' after "),
                    HasSubstr("--x0 cut.mtx goes on from there")));
    const Json report = Json::parse(read_file(file("cut.json")), nullptr, false);
    ASSERT_TRUE(report.is_object());
    EXPECT_EQ(report["solver"]["reason"], "interrupted");
    EXPECT_EQ(report["solver"]["converged"], false);
    EXPECT_EQ(report["files"]["solution"], "cut.mtx");
    EXPECT_EQ(report["files"]["history"], "cut.csv");
    const auto rows = lines_of(read_file(file("cut.csv")));
    const std::int64_t iterations = report["solver"]["iterations"];
    ASSERT_GT(iterations, 0);
    ASSERT_EQ(std::int64_t(rows.size()), iterations + 2);  // a title, and the initial residual
    EXPECT_THAT(rows.back(), ::testing::StartsWith(std::to_string(iterations) + ","));
    const Json next = report_of({"solve", "--generate", problem, "--solver", solver, "--precond", "jacobi",
                                 "--x0", "cut.mtx", "--max-iters", "0"},
                                4);
    const double reached = report["solver"]["true_relative_residual"];
    EXPECT_LT(reached, 1);
    EXPECT_NEAR(next["solver"]["true_relative_residual"].get<double>(), reached, 1e-9 * reached);
  }
}

/// compare keeps the rows that have ended, and begins none after the signal.
TEST_F(InterruptTest, CompareKeepsItsRows) {
  const std::string line = interrupted_at(
      "iteration", {"compare", "--generate", "poisson2d:500", "--solver", "richardson", "--precond",
                    "jacobi,ilu0", "--rtol", "1e-13", "--max-iters", "100000000", "--report", "rows.json"});
  EXPECT_THAT(line, HasSubstr("jacobi: interrupted"));
  const Json rows = Json::parse(read_file(file("rows.json")), nullptr, false);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["solver"]["reason"], "interrupted");
}

/// A pipe takes the solution when somebody reads it; the history is there before.
TEST_F(InterruptTest, WhileItWritesTheSolution) {
  const fs::path pipe = file("solution.fifo");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const pid_t child = start({"solve", "--generate", "poisson2d:200", "--history", "written.csv", "--solution",
                             "solution.fifo", "--rtol", "0.1"});
  const int reader = open(pipe.c_str(), O_RDONLY);
  kill(child, SIGINT);
  const Result result = end_of(child);
  close(reader);
  EXPECT_EQ(result.code, 130);
  EXPECT_EQ(result.err, "prekond: error: interrupted in the step 'writing solution.fifo'\n");
  EXPECT_THAT(read_file(file("written.csv")), HasSubstr("iteration,residual_norm"));
}

TEST_F(InterruptTest, WhatWasIgnoredStaysIgnored) {
  Pipe pipe("endless.mtx");
  const auto before = std::signal(SIGHUP, SIG_IGN);
  const pid_t child = start({"solve", "endless.mtx"}, {SIGINT, SIGTERM});
  std::signal(SIGHUP, before);
  pipe.open_to_write();
  kill(child, SIGHUP);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(waitpid(child, nullptr, WNOHANG), 0);
  kill(child, SIGTERM);
  EXPECT_EQ(end_of(child).code, 128 + SIGTERM);
}

}  // namespace
}  // namespace prekond::testing
