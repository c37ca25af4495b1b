// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Signals that end the command: one line, 128 and the signal's number, no file half written.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <chrono>
#include <thread>

#include "driver_fixture.hpp"

namespace prekond::testing {
namespace {

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
      EXPECT_EQ(result.err, "prekond: error: interrupted\n");
      const Json report = Json::parse(read_file(file("older.json")), nullptr, false);
      const Json& row = report.is_array() ? report[0] : report;
      EXPECT_EQ(row["error"], "interrupted");
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
    EXPECT_EQ(result.err, "prekond: error: interrupted\n");
    EXPECT_TRUE(temporary_files().empty());
  }
  EXPECT_EQ(read_file(file("old.mtx.gz")), "old");
  EXPECT_FALSE(fs::exists(file("new.mtx.gz")));
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
