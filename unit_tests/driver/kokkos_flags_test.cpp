// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The checks of Kokkos's flags and of the environment that Kokkos and OpenMP read.
#include "driver/kokkos_flags.hpp"

#include <prekond/core/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "testing/spaces.hpp"
#include "testing/temporary_folder.hpp"

namespace prekond::driver {
namespace {

using prekond::testing::message_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Variables that decide about Kokkos's start; the tests' own environment may have them set.
const std::vector<std::string> variables = {"KOKKOS_NUM_THREADS",
                                            "KOKKOS_DEVICE_ID",
                                            "KOKKOS_MAP_DEVICE_ID_BY",
                                            "KOKKOS_DISABLE_WARNINGS",
                                            "KOKKOS_PRINT_CONFIGURATION",
                                            "KOKKOS_TUNE_INTERNALS",
                                            "KOKKOS_TOOLS_LIBS",
                                            "KOKKOS_TOOLS_ARGS",
                                            "KOKKOS_PROFILE_LIBRARY",
                                            "KOKKOS_VISIBLE_DEVICES",
                                            "OMPI_COMM_WORLD_LOCAL_RANK",
                                            "OMPI_COMM_WORLD_LOCAL_SIZE",
                                            "SLURM_LOCALID",
                                            "OMP_NUM_THREADS",
                                            "OMP_THREAD_LIMIT",
                                            "OMP_DYNAMIC",
                                            "OMP_MAX_ACTIVE_LEVELS",
                                            "OMP_STACKSIZE"};

/// Each test starts with none of the variables; afterwards they are as before.
class KokkosFlagsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const auto& name : variables) {
      if (const char* value = std::getenv(name.c_str())) m_before[name] = value;
      unsetenv(name.c_str());
    }
  }
  void TearDown() override {
    for (const auto& name : variables) unsetenv(name.c_str());
    for (const auto& [name, value] : m_before) setenv(name.c_str(), value.c_str(), 1);
  }

  /// Sets the variable for the work.
  template <class Work>
  static void with(const std::string& name, const std::string& value, const Work& work) {
    setenv(name.c_str(), value.c_str(), 1);
    work();
    unsetenv(name.c_str());
  }

  struct Result {
    int code;
    std::string out;
    std::string err;
  };

  /// Runs the command in a shell: "VARIABLE=value" and flags, around a small solve.
  static Result run(const std::string& environment, const std::string& flags,
                    const std::string& command = "solve --generate poisson2d:10 --precond jacobi -q") {
    const prekond::testing::TemporaryFolder folder("kokkos_flags");
    const std::string line = "env OMP_PROC_BIND=false OMPI_MCA_pml=ob1 OMPI_MCA_btl=self " + environment +
                             " '" + PREKOND_DRIVER_PATH + "' " + command + " " + flags + " > '" +
                             folder / "out" + "' 2> '" + folder / "err" + "'";
    const int status = std::system(line.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 1000, prekond::testing::read_bytes(folder / "out"),
            prekond::testing::read_bytes(folder / "err")};
  }

  /// Exit code 2 and one line of ours, which has the text in it; a line of OpenMP's runtime may stand before
  /// it.
  static void expect_refused(const std::string& environment, const std::string& flags,
                             const std::string& text) {
    const Result result = run(environment, flags);
    EXPECT_EQ(result.code, 2) << environment << " " << flags << ": " << result.err;
    std::istringstream lines(result.err);
    int ours = 0;
    for (std::string line; std::getline(lines, line);) {
      const bool own = line.rfind("prekond: error: ", 0) == 0;
      ours += own ? 1 : 0;
      EXPECT_TRUE(own || line.empty() || line.rfind("libgomp: ", 0) == 0) << line;
      if (own) {
        EXPECT_THAT(line, HasSubstr(text));
      }
    }
    EXPECT_EQ(ours, 1) << result.err;
  }

 private:
  std::map<std::string, std::string> m_before;
};

TEST_F(KokkosFlagsTest, WhatBelongsToKokkos) {
  for (const char* flag : {"--kokkos-help", "--kokkos", "-kokkos-num-threads=2", "--kokkos_num_threads=2"})
    EXPECT_TRUE(is_kokkos_flag(flag)) << flag;
  for (const char* argument : {"kokkos.mtx", "--spmv", "-k", ""})
    EXPECT_FALSE(is_kokkos_flag(argument)) << argument;
}

TEST_F(KokkosFlagsTest, GoodFlagsAreTaken) {
  for (const char* flag :
       {"--kokkos-help", "--kokkos-num-threads=1", "--kokkos-num-threads=512", "--kokkos-device-id=0",
        "--kokkos-map-device-id-by=random", "--kokkos-map-device-id-by=mpi_rank", "--kokkos-disable-warnings",
        "--kokkos-disable-warnings=No", "--kokkos-print-configuration=1", "--kokkos-tune-internals=TRUE",
        "--kokkos-tools-libs=a.so", "--kokkos-tools-args=-c 1", "--kokkos-tools-help"})
    EXPECT_NO_THROW(check_kokkos_flags({flag})) << flag;
}

TEST_F(KokkosFlagsTest, BadFlagsAreRefusedWithWhatToWrite) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"--kokkos-num-threads", "--kokkos-num-threads=2"},
      {"--kokkos-num-threads=", "from 1 to 512, not ''"},
      {"--kokkos-num-threads=0", "from 1 to 512, not '0'"},
      {"--kokkos-num-threads=-1", "'-1'"},
      {"--kokkos-num-threads=513", "'513'"},
      {"--kokkos-num-threads=2x", "'2x'"},
      {"--kokkos-num-threads=99999999999999999999", "'99999999999999999999'"},
      {"--kokkos-num-thread=2", "did you mean '--kokkos-num-threads'?"},
      {"--kokkos-num-threadsx", "did you mean '--kokkos-num-threads'?"},
      {"--kokkos_num_threads=2", "did you mean '--kokkos-num-threads'?"},
      {"-kokkos-num-threads=2", "did you mean '--kokkos-num-threads'?"},
      {"--kokkos-device-id", "--kokkos-device-id=0"},
      {"--kokkos-device-id=-1", "at least 0"},
      {"--kokkos-map-device-id-by=abc", "random or mpi_rank, not 'abc'"},
      {"--kokkos-disable-warnings=", "yes or no, not ''"},
      {"--kokkos-print-configuration=abc", "yes or no, not 'abc'"},
      {"--kokkos-tune-internals=2", "yes or no, not '2'"},
      {"--kokkos-tools-libs", "--kokkos-tools-libs=libtool.so"},
      {"--kokkos-tools-args=", "a text"},
      {"--kokkos-tools-library=a.so", "did you mean '--kokkos-tools-libs'?"},
      {"--kokkos-help=yes", "takes no value"},
      {"--kokkos", "--kokkos-help"}};
  for (const auto& [flag, text] : cases)
    EXPECT_THAT(message_of<OptionError>([&flag = flag] { check_kokkos_flags({flag}); }), HasSubstr(text))
        << flag;
}

TEST_F(KokkosFlagsTest, FlagsThatContradictEachOther) {
  const auto message = [](const std::vector<std::string>& flags) {
    return message_of<OptionError>([&] { check_kokkos_flags(flags); });
  };
  EXPECT_THAT(message({"--kokkos-num-threads=2", "--kokkos-help", "--kokkos-num-threads=3"}),
              HasSubstr("given twice"));
  EXPECT_THAT(message({"--kokkos-device-id=0", "--kokkos-map-device-id-by=random"}),
              HasSubstr("leave one out"));
}

TEST_F(KokkosFlagsTest, TheEnvironmentIsCheckedLikeFlags) {
  EXPECT_NO_THROW(check_kokkos_environment());
  const std::vector<std::vector<std::string>> bad = {
      {"KOKKOS_NUM_THREADS", "abc", "", "0", "2x", "513", "4294967297"},
      {"KOKKOS_DEVICE_ID", "abc", "-1"},
      {"KOKKOS_MAP_DEVICE_ID_BY", "abc", ""},
      {"KOKKOS_DISABLE_WARNINGS", "abc", ""},
      {"KOKKOS_PRINT_CONFIGURATION", "2"},
      {"KOKKOS_TUNE_INTERNALS", "maybe"},
      {"KOKKOS_TOOLS_LIBS", ""},
      {"KOKKOS_PROFILE_LIBRARY", "a.so"},
      {"OMPI_COMM_WORLD_LOCAL_RANK", "abc"},
      {"OMPI_COMM_WORLD_LOCAL_SIZE", ""},
      {"SLURM_LOCALID", "1x"},
  };
  for (const auto& values : bad) {
    for (std::size_t i = 1; i < values.size(); ++i)
      with(values[0], values[i], [&] {
        EXPECT_THAT(message_of<OptionError>([] { check_kokkos_environment(); }), HasSubstr(values[0]))
            << values[i];
      });
  }
  with("KOKKOS_DEVICE_ID", "0", [&] {
    with("KOKKOS_MAP_DEVICE_ID_BY", "random", [] { EXPECT_THROW(check_kokkos_environment(), OptionError); });
    EXPECT_NO_THROW(check_kokkos_environment());
  });
}

#ifdef _OPENMP
TEST_F(KokkosFlagsTest, WhatOpenMPReads) {
  const std::vector<std::vector<std::string>> good = {
      {"OMP_NUM_THREADS", "1", "512", " 2 ", "2,2", "4 , 1"},
      {"OMP_THREAD_LIMIT", "1", "100000"},
      {"OMP_MAX_ACTIVE_LEVELS", "0", "3"},
      {"OMP_DYNAMIC", "true", "FALSE"},
      {"OMP_STACKSIZE", "8M", "16384b", " 1 g ", "16"},
  };
  const std::vector<std::vector<std::string>> bad = {
      {"OMP_NUM_THREADS", "", "abc", "0", "100000", "2,", "2,0", ",2", "2;2"},
      {"OMP_THREAD_LIMIT", "", "abc", "0", "-1"},
      {"OMP_MAX_ACTIVE_LEVELS", "x", "-1"},
      {"OMP_DYNAMIC", "", "1", "abc"},
      {"OMP_STACKSIZE", "", "abc", "8X", "8MB", "15", "16383B", "99999999999999999999"},
  };
  for (const auto& values : good) {
    for (std::size_t i = 1; i < values.size(); ++i)
      with(values[0], values[i],
           [&] { EXPECT_NO_THROW(check_kokkos_environment()) << values[0] << "=" << values[i]; });
  }
  for (const auto& values : bad) {
    for (std::size_t i = 1; i < values.size(); ++i)
      with(values[0], values[i], [&] {
        EXPECT_THAT(message_of<OptionError>([] { check_kokkos_environment(); }), HasSubstr(values[0]))
            << values[i];
      });
  }
}
#endif

TEST_F(KokkosFlagsTest, SizesOfStacks) {
  EXPECT_EQ(stack_bytes("16"), 16384u);
  EXPECT_EQ(stack_bytes("16384B"), 16384u);
  EXPECT_EQ(stack_bytes("3m"), 3u << 20);
  EXPECT_EQ(stack_bytes(" 2 G"), std::size_t(2) << 30);
  EXPECT_EQ(stack_bytes("18014398509482000K"), std::nullopt);  // 16 K more than 2^64
  EXPECT_EQ(stack_bytes("1K"), std::nullopt);
}

#ifdef _OPENMP
TEST_F(KokkosFlagsTest, NumberOfThreadsInTheOrderOfWhoSaysIt) {
  const int processor = static_cast<int>(std::thread::hardware_concurrency());
  EXPECT_EQ(number_of_threads({}), std::min(std::max(processor, 1), max_threads));
  with("OMP_NUM_THREADS", " 7 ,3", [&] {
    EXPECT_EQ(number_of_threads({}), 7);
    with("KOKKOS_NUM_THREADS", "5", [] {
      EXPECT_EQ(number_of_threads({}), 5);
      EXPECT_EQ(number_of_threads({"--kokkos-disable-warnings", "--kokkos-num-threads=3"}), 3);
    });
  });
}
#else
TEST_F(KokkosFlagsTest, WithoutOpenMPItsVariablesAreNotRead) {
  for (const char* value : {"7", "abc", "100000"})
    with("OMP_NUM_THREADS", value, [] {
      with("OMP_THREAD_LIMIT", "abc", [] {
        EXPECT_NO_THROW(check_kokkos_environment());
        EXPECT_NO_THROW(check_resources({}, -1));
        EXPECT_EQ(number_of_threads({}), 1);
        with("KOKKOS_NUM_THREADS", "5", [] { EXPECT_EQ(number_of_threads({}), 5); });
      });
    });
  EXPECT_EQ(run("OMP_NUM_THREADS=abc", "").code, 0);
  EXPECT_EQ(run("OMP_NUM_THREADS=99999", "").code, 0);
}
#endif

TEST_F(KokkosFlagsTest, WarningsAreOffUnlessAskedFor) {
  EXPECT_THAT(kokkos_arguments({"--kokkos-num-threads=2"}),
              ElementsAre("prekond", "--kokkos-num-threads=2", "--kokkos-disable-warnings"));
  EXPECT_THAT(kokkos_arguments({"--kokkos-disable-warnings=no"}),
              ElementsAre("prekond", "--kokkos-disable-warnings=no"));
  with("KOKKOS_DISABLE_WARNINGS", "no", [] { EXPECT_THAT(kokkos_arguments({}), ElementsAre("prekond")); });
}

TEST_F(KokkosFlagsTest, DevicesThatThereAre) {
  const auto message = [](const std::vector<std::string>& flags, int devices) {
    return message_of<OptionError>([&] { check_resources(flags, devices); });
  };
  EXPECT_NO_THROW(check_resources({"--kokkos-device-id=1", "--kokkos-num-threads=1"}, 2));
  EXPECT_THAT(message({"--kokkos-device-id=2"}, 2), HasSubstr("no device 2"));
  EXPECT_THAT(message({"--kokkos-device-id=0"}, -1), HasSubstr("leave --kokkos-device-id out"));
  EXPECT_THAT(message({}, 0), HasSubstr("CUDA_VISIBLE_DEVICES"));
  with("KOKKOS_DEVICE_ID", "4", [&] { EXPECT_THAT(message({}, 4), HasSubstr("no device 4")); });
  for (const char* list : {"abc", "", "2", "0,", "0,-1", "0,2"})
    with("KOKKOS_VISIBLE_DEVICES", list,
         [&] { EXPECT_THAT(message({}, 2), HasSubstr("KOKKOS_VISIBLE_DEVICES")); });
  with("KOKKOS_VISIBLE_DEVICES", "1", [&] {
    EXPECT_NO_THROW(check_resources({"--kokkos-device-id=0"}, 2));
    EXPECT_THAT(message({"--kokkos-device-id=1"}, 2), HasSubstr("no device 1"));
  });
}

TEST_F(KokkosFlagsTest, ThreadsThatDoNotStart) {
  EXPECT_NO_THROW(check_resources({"--kokkos-num-threads=64"}, -1));
  with("OMP_STACKSIZE", "1000000G", [] {
    EXPECT_NO_THROW(check_resources({"--kokkos-num-threads=1"}, -1));
    EXPECT_THAT(message_of<OptionError>([] { check_resources({"--kokkos-num-threads=2"}, -1); }),
                HasSubstr("unset OMP_STACKSIZE=1000000G"));
#ifdef _OPENMP
    with("OMP_THREAD_LIMIT", "1", [] { EXPECT_NO_THROW(check_resources({"--kokkos-num-threads=2"}, -1)); });
#endif
  });
}

TEST_F(KokkosFlagsTest, ToolsThatAreNone) {
  EXPECT_THAT(message_of<OptionError>([] { check_tool_library("/nowhere/tool.so;b.so"); }),
              HasSubstr("the tool '/nowhere/tool.so' for Kokkos cannot be loaded"));
  EXPECT_THAT(message_of<OptionError>([] { check_tool_library("libm.so.6"); }),
              HasSubstr("is no tool for Kokkos"));
  EXPECT_THAT(message_of<OptionError>([] { check_resources({"--kokkos-tools-help"}, -1); }),
              HasSubstr("--kokkos-tools-libs=FILE"));
}

// ------------------------------------------------------------------------------------------ the command, as
// a process

TEST_F(KokkosFlagsTest, TheCommandRefusesFlags) {
  expect_refused("", "--kokkos-num-threads", "--kokkos-num-threads=2");
  expect_refused("", "--kokkos-num-threads=1000000", "from 1 to 512");
  expect_refused("", "--kokkos-num-thread=2", "'--kokkos-num-threads'");
  expect_refused("", "--kokkos-map-device-id-by=abc", "random or mpi_rank");
  expect_refused("", "--kokkos-tools-libs=/nowhere.so", "/nowhere.so");
  const Result list = run("", "--kokkos-foo", "list");
  EXPECT_EQ(list.code, 2);
  EXPECT_THAT(list.err, HasSubstr("--kokkos-foo"));
}

TEST_F(KokkosFlagsTest, TheCommandRefusesWhatTheEnvironmentHasWrong) {
  expect_refused("KOKKOS_NUM_THREADS=abc", "", "KOKKOS_NUM_THREADS");
  expect_refused("KOKKOS_TUNE_INTERNALS=abc", "", "KOKKOS_TUNE_INTERNALS");
  expect_refused("OMPI_COMM_WORLD_LOCAL_SIZE=abc", "", "OMPI_COMM_WORLD_LOCAL_SIZE");
#ifdef _OPENMP
  expect_refused("OMP_NUM_THREADS=100000", "", "OMP_NUM_THREADS");
  expect_refused("OMP_NUM_THREADS=100000", "--kokkos-num-threads=1", "OMP_NUM_THREADS");
  expect_refused("OMP_NUM_THREADS=abc", "", "OMP_NUM_THREADS");
  expect_refused("OMP_STACKSIZE=1000000G", "--kokkos-num-threads=2", "unset OMP_STACKSIZE");
#endif
}

#ifdef _OPENMP
/// The line on the execution space: OpenMP's threads, or a device, for which it does not name the host's.
std::string on_threads(int threads) {
  const std::string space = Kokkos::DefaultExecutionSpace::name();
  return "computed on     " + space + (space == "OpenMP" ? ", " + std::to_string(threads) + " threads" : "");
}

TEST_F(KokkosFlagsTest, FewerThreadsThanAskedForAreAnError) {
  const std::string spai = "solve --generate convection_diffusion3d:6 --precond spai --solver gmres -q";
  for (const std::string& command : {spai, std::string("solve --generate poisson2d:30 -q")}) {
    const Result result = run("OMP_THREAD_LIMIT=1", "--kokkos-num-threads=2", command);
    EXPECT_EQ(result.code, 2) << result.err;
    EXPECT_THAT(result.err, HasSubstr("unset OMP_THREAD_LIMIT"));
  }
  expect_refused("OMP_MAX_ACTIVE_LEVELS=0", "--kokkos-num-threads=3", "only 1 of the 3 threads");
  // Where nobody asks for more, the limit is the number of threads.
  const Result limited = run("OMP_THREAD_LIMIT=1 OMP_NUM_THREADS=2", "", "solve --generate poisson2d:30");
  EXPECT_EQ(limited.code, 0) << limited.err;
  EXPECT_THAT(limited.out, HasSubstr(on_threads(1)));
}

TEST_F(KokkosFlagsTest, OpenMPDoesNotVaryTheNumberOfThreads) {
  const Result result = run("OMP_DYNAMIC=true", "--kokkos-num-threads=3", "solve --generate poisson2d:30");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, HasSubstr(on_threads(3)));
}
#endif

TEST_F(KokkosFlagsTest, GoodFlagsLeaveStandardErrorEmpty) {
  for (const char* flags :
       {"--kokkos-num-threads=2", "--kokkos-map-device-id-by=random", "--kokkos-tune-internals=no",
        "--kokkos-print-configuration", "--kokkos-disable-warnings"}) {
    const Result result = run("", flags);
    EXPECT_EQ(result.code, 0) << flags << ": " << result.err;
    EXPECT_EQ(result.err, "") << flags;
  }
}

TEST_F(KokkosFlagsTest, HelpOfKokkos) {
  for (const char* command : {"", "solve --generate poisson2d:10"}) {
    const Result result = run("", "--kokkos-help", command);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    EXPECT_THAT(result.out, HasSubstr("--kokkos-num-threads=INT"));
    EXPECT_THAT(result.out, HasSubstr("--kokkos-map-device-id-by"));
  }
}

}  // namespace
}  // namespace prekond::driver
