// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The settings of the scripts for the threads of OpenMP.
#include "testing/temporary_folder.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <string>

namespace prekond::testing {
namespace {

const std::string unset = "env -u GOMP_SPINCOUNT -u OMP_WAIT_POLICY -u OMP_PROC_BIND -u OMP_PLACES ";

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

/// scripts/prekond sets the length for which threads spin where they wait, unless the user has.
TEST(ScriptsTest, TheSpinOfWaitingThreadsIsBounded) {
  const TemporaryFolder folder("spin");
  const auto spin_with = [&](const std::string& variables) {
    const std::string instead = "setup() { :; }; build_command() { :; }; run_binary() { env; }; MODE=native";
    return run(unset + variables + " PREKOND_CACHE='" + (folder / "") +
               "' bash -c 'source \"" PREKOND_SOURCE_DIR "/scripts/lib.sh\"; " + instead +
               "; run_prekond' | grep ^GOMP_SPINCOUNT")
        .text;
  };
  EXPECT_EQ(spin_with(""), "GOMP_SPINCOUNT=5000\n");
  EXPECT_EQ(spin_with("GOMP_SPINCOUNT=77"), "GOMP_SPINCOUNT=77\n");
  EXPECT_EQ(spin_with("OMP_WAIT_POLICY=active"), "");
}

}  // namespace
}  // namespace prekond::testing
