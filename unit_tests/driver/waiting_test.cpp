// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How long the command's OpenMP threads spin where they wait, and what the scripts say about threads.
#include "testing/temporary_folder.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <prekond/core/views.hpp>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace prekond::testing {
namespace {

const std::string driver = std::string("'") + PREKOND_DRIVER_PATH + "'";
const std::string unset = "env -u GOMP_SPINCOUNT -u OMP_WAIT_POLICY -u OMP_PROC_BIND -u OMP_PLACES ";
const std::string showing = unset + "OMP_DISPLAY_ENV=verbose ";

struct Ended {
  int code;
  std::string text;  ///< of both streams
};

Ended run(const std::string& command) {
  std::FILE* const pipe = popen(("{ " + command + "; } 2>&1").c_str(), "r");
  Ended ended{-1, ""};
  if (pipe == nullptr) return ended;
  char part[4096];
  for (std::size_t n; (n = std::fread(part, 1, sizeof part, pipe)) > 0;) ended.text.append(part, n);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) ended.code = WEXITSTATUS(status);
  return ended;
}

/// What stands between quotes behind each NAME = in what OMP_DISPLAY_ENV shows: one value for each start.
std::vector<std::string> shown(const std::string& text, const std::string& name) {
  std::vector<std::string> values;
  const std::string key = name + " = '";
  for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + 1)) {
    const std::size_t begin = at + key.size();
    values.push_back(text.substr(begin, text.find('\'', begin) - begin));
  }
  return values;
}

class WaitingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // Another library's OpenMP may be there too.
    if (std::string(Kokkos::DefaultHostExecutionSpace::name()) != "OpenMP")
      GTEST_SKIP() << "Kokkos has no OpenMP threads";
    if (shown(run(showing + driver + " --version").text, "GOMP_SPINCOUNT").empty())
      GTEST_SKIP() << "not GCC's OpenMP";
  }
};

TEST_F(WaitingTest, TheSpinIsBounded) {
  const auto spins = shown(run(showing + driver + " --version").text, "GOMP_SPINCOUNT");
  ASSERT_EQ(spins.size(), 2u) << "started once more, and once only";
  EXPECT_EQ(spins[1], "5000");
}

TEST_F(WaitingTest, WhatTheUserSetStays) {
  const auto spins_with = [](const std::string& variable) {
    return shown(run(showing + variable + " " + driver + " --version").text, "GOMP_SPINCOUNT");
  };
  EXPECT_EQ(spins_with("GOMP_SPINCOUNT=77"), std::vector<std::string>{"77"});
  const auto active = spins_with("OMP_WAIT_POLICY=active");
  ASSERT_EQ(active.size(), 1u);
  EXPECT_GT(active[0].size(), 6u) << "as long as the policy says";
  EXPECT_EQ(spins_with("OMP_WAIT_POLICY=passive"), std::vector<std::string>{"0"});
  EXPECT_EQ(spins_with("OMP_PROC_BIND=close").back(), "5000");
}

TEST_F(WaitingTest, ArgumentsStreamsAndExitCodesAreThoseOfOneStart) {
  const TemporaryFolder folder("waiting");
  const std::string file = folder / "a name  with blanks.mtx";
  EXPECT_EQ(run(unset + driver + " generate poisson2d:5 -o '" + file + "'").code, 0);
  EXPECT_TRUE(std::filesystem::exists(file));
  for (const std::string arguments :
       {"solve ''", "solve --generate poisson2d:4 --precond '' ''", "", "solve missing.mtx"}) {
    const Ended twice = run(unset + driver + " " + arguments);
    const Ended once = run("env GOMP_SPINCOUNT=5000 " + driver + " " + arguments);
    EXPECT_EQ(twice.code, once.code) << arguments;
    EXPECT_EQ(twice.text, once.text);
  }
  EXPECT_EQ(run(unset + "cat '" + file + "' | " + unset + driver + " info /dev/stdin").code, 0);
}

/// As the scripts run it where it was built in a root of its own.
TEST_F(WaitingTest, ThroughALoader) {
  std::string loader;
  for (const std::string name :
       {"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1", "/lib64/ld64.so.2"})
    if (loader.empty() && std::filesystem::exists(name)) loader = name;
  if (loader.empty()) GTEST_SKIP() << "no loader by a name that is known here";
  const Ended ended =
      run(showing + loader + " --inhibit-cache --library-path \"$LD_LIBRARY_PATH\" " + driver + " --version");
  // 127: a device's libraries may stand in the loader's cache alone.
  if (!is_host_space<Kokkos::DefaultExecutionSpace> &&
      ended.text.find("cannot open shared object file") != std::string::npos)
    GTEST_SKIP() << ended.text;
  EXPECT_EQ(ended.code, 0);
  const auto spins = shown(ended.text, "GOMP_SPINCOUNT");
  ASSERT_EQ(spins.size(), 2u);
  EXPECT_EQ(spins[1], "5000");
}

TEST(ScriptsTest, ThreadsAreBoundOnlyWhereTheUserSaysSo) {
  const TemporaryFolder folder("scripts");
  const auto environment = [&](const std::string& variables) {
    return run(unset + variables + " PREKOND_CACHE='" + (folder / "") +
               "' bash -c 'source \"" PREKOND_SOURCE_DIR "/scripts/lib.sh\"; MODE=native; run_binary env'");
  };
  const Ended plain = environment("");
  EXPECT_EQ(plain.code, 0) << plain.text;
  EXPECT_NE(plain.text.find("PATH="), std::string::npos);
  EXPECT_EQ(plain.text.find("OMP_PROC_BIND"), std::string::npos);
  EXPECT_EQ(plain.text.find("OMP_PLACES"), std::string::npos);
  const Ended bound = environment("OMP_PROC_BIND=spread OMP_PLACES=cores");
  EXPECT_NE(bound.text.find("OMP_PROC_BIND=spread"), std::string::npos);
  EXPECT_NE(bound.text.find("OMP_PLACES=cores"), std::string::npos);
}

}  // namespace
}  // namespace prekond::testing
