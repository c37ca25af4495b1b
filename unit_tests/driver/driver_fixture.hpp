// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

extern char** environ;

namespace prekond::testing {

namespace fs = std::filesystem;
using Json = nlohmann::json;

inline std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

struct Result {
  int code = -1;
  std::string out;
  std::string err;
};

/// A folder of its own for the tests of a suite, with the command run in it.
class DriverTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string name = (fs::temp_directory_path() / "prekond_driver_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    s_folder = name;
    // Hundreds of short runs: they are not to compete with each other's spinning threads.
    setenv("KOKKOS_NUM_THREADS", "1", 1);
    // Starting takes OpenMPI, in builds that have it, a second where it looks for networks.
    setenv("OMPI_MCA_pml", "ob1", 0);
    setenv("OMPI_MCA_btl", "self", 0);
    write_matrices();
  }
  static void TearDownTestSuite() {
    std::error_code ignored;
    fs::remove_all(s_folder, ignored);
  }

  static fs::path file(const std::string& name) { return s_folder / name; }

  static void write(const std::string& name, const std::string& text) {
    std::ofstream(file(name), std::ios::binary) << text;
  }

  /// A matrix of 40 random entries a row: nothing but a factorisation with nearly all of its fill gets
  /// anywhere.
  static void write_random(const std::string& name, int n) {
    constexpr int entries_of_row = 40;
    unsigned state = 1;
    const auto random = [&] { return (state = state * 1664525u + 1013904223u) >> 8; };
    std::string entries;
    for (int i = 0; i < n; ++i)
      for (int k = 0; k < entries_of_row; ++k) {
        const int step = 1 + (n - 1) * (k - 1) / (entries_of_row - 1) + static_cast<int>(random() % 7);
        const int j = k == 0 ? i : (i + step) % n;
        if (k > 0 && j == i) continue;
        entries += std::to_string(i + 1) + " " + std::to_string(j + 1) + " " +
                   std::to_string(k == 0 ? 1.0 : double(random()) / (1 << 23) - 1) + "\n";
      }
    const auto count = std::count(entries.begin(), entries.end(), '\n');
    write(name, "%%MatrixMarket matrix coordinate real general\n" + std::to_string(n) + " " +
                    std::to_string(n) + " " + std::to_string(count) + "\n" + entries);
  }

  /// A Laplacian less its fifth eigenvalue or so: symmetric with a positive diagonal, and indefinite.
  static void write_indefinite(const std::string& name) {
    constexpr int edge = 24, n = edge * edge;
    std::string entries;
    int nnz = 0;
    const auto add = [&](int i, int j, double value) {
      entries += std::to_string(i + 1) + " " + std::to_string(j + 1) + " " + std::to_string(value) + "\n";
      ++nnz;
    };
    for (int i = 0; i < n; ++i) {
      add(i, i, 2.7);
      if (i % edge > 0) add(i, i - 1, -1);
      if (i >= edge) add(i, i - edge, -1);
    }
    write(name, "%%MatrixMarket matrix coordinate real symmetric\n" + std::to_string(n) + " " +
                    std::to_string(n) + " " + std::to_string(nnz) + "\n" + entries);
  }

  static void write_matrices() {
    const std::string general = "%%MatrixMarket matrix coordinate real general\n";
    const std::string symmetric = "%%MatrixMarket matrix coordinate real symmetric\n";
    const std::string vector = "%%MatrixMarket matrix array real general\n";
    write("spd.mtx", symmetric + "2 2 3\n1 1 2\n2 1 -1\n2 2 2\n");
    write("bad_header.mtx", "%%NotMarket matrix coordinate real general\n1 1 1\n1 1 1\n");
    write("bad_index.mtx", general + "2 2 2\n1 1 1\n3 2 1\n");
    write("more_entries.mtx", general + "2 2 2\n1 1 1\n2 2 1\n2 1 1\n");
    write("fewer_entries.mtx", general + "2 2 3\n1 1 1\n2 2 1\n");
    write("nan.mtx", general + "2 2 2\n1 1 1\n2 2 NaN\n");
    write("rectangular.mtx", general + "2 3 2\n1 1 1\n2 2 1\n");
    write("nonsymmetric.mtx", general + "2 2 3\n1 1 2\n1 2 1\n2 2 2\n");
    write("skew.mtx", general + "2 2 2\n1 2 1\n2 1 -1\n");
    write("nilpotent.mtx", general + "2 2 1\n1 2 1\n");
    write("zero_diagonal.mtx", symmetric + "2 2 2\n1 1 1\n2 2 0\n");
    write("negative_diagonal.mtx", symmetric + "2 2 2\n1 1 1\n2 2 -3\n");
    write("missing_diagonal.mtx", symmetric + "2 2 2\n1 1 1\n2 1 0.5\n");
    write("empty.mtx", symmetric + "0 0 0\n");
    write("indefinite.mtx", symmetric + "2 2 3\n1 1 1\n2 1 2\n2 2 1\n");
    write("huge_values.mtx",
          symmetric + "2 2 3\n1 1 1.7e308\n2 1 1.6e308\n2 2 1.7e308\n");  // A 1 is infinite
    const std::string hermitian = "%%MatrixMarket matrix coordinate complex hermitian\n";
    const std::string complex = "%%MatrixMarket matrix coordinate complex general\n";
    write("hermitian.mtx", hermitian + "2 2 3\n1 1 2 0\n2 1 0 -1\n2 2 2 0\n");
    write("complex_general.mtx", complex + "2 2 4\n1 1 2 0\n1 2 0 1\n2 1 0 -1\n2 2 2 0\n");
    write("not_hermitian.mtx", complex + "2 2 4\n1 1 2 0\n1 2 0 1\n2 1 0 1\n2 2 2 0\n");
    write("imaginary_diagonal.mtx", complex + "2 2 2\n1 1 2 0\n2 2 2 1\n");
    write("complex_line.mtx", complex + "2 2 2\n1 1 2 0\n2 2 2\n");
    write("vector2.mtx", vector + "2 1\n1\n2\n");
    write("vector3.mtx", vector + "3 1\n1\n2\n3\n");
    write("zero2.mtx", vector + "2 1\n0\n0\n");
    write("first2.mtx", vector + "2 1\n1\n0\n");
    write("unknown_key.json", R"({"generate": "poisson2d:5", "slver": "cg"})");
    write("malformed.json", "{\"generate\": \"poisson2d:5\",\n \"rtol\": }");
    write("bad_type.json", R"({"generate": "poisson2d:5", "rtol": [1]})");
    write("config.json",
          R"({"generate": "poisson2d:12", "rhs": "ones", "solver": "cg", "precond": "adaptive_fsai",)"
          R"( "p": {"max_steps": 3, "setup_scalar": "double"}, "rtol": 1e-4,)"
          R"( "solver_options": {"single_reduction": true}, "repeat": 2})");
  }

  /// Starts the command in the folder, with its output caught in the files "stdout" and "stderr", or its
  /// errors on the terminal `err`. The tests may run where signals are ignored; the command starts without
  /// that for `reset`.
  static pid_t start(std::vector<std::string> arguments,
                     const std::vector<int>& reset = {SIGINT, SIGTERM, SIGHUP},
                     const std::string& err = file("stderr").string()) {
    arguments.insert(arguments.begin(), PREKOND_DRIVER_PATH);
    std::vector<char*> pointers;
    for (auto& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, file("stdout").c_str(), flags, 0600);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), flags | O_NOCTTY, 0600);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : reset) sigaddset(&signals, signal);
    posix_spawnattr_setsigdefault(&attributes, &signals);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    const fs::path before = fs::current_path();
    fs::current_path(s_folder);
    pid_t child = 0;
    const int spawned =
        posix_spawn(&child, PREKOND_DRIVER_PATH, &actions, &attributes, pointers.data(), environ);
    fs::current_path(before);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return spawned == 0 ? child : -1;
  }

  /// Waits for the end. A code above 128 is that of an exit; a signal's death is -1.
  static Result end_of(pid_t child) {
    if (child < 0) return {};
    int status = 0;
    waitpid(child, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(file("stdout")),
            read_file(file("stderr"))};
  }

  /// Runs the command in the folder.
  static Result run(std::vector<std::string> arguments) { return end_of(start(std::move(arguments))); }

  /// Runs what has to succeed, with a report.
  static Json report_of(std::vector<std::string> arguments, int code = 0) {
    arguments.insert(arguments.end(), {"--report", "report.json"});
    const Result result = run(arguments);
    EXPECT_EQ(result.code, code) << result.err;
    return Json::parse(read_file(file("report.json")), nullptr, false);
  }

 private:
  static inline fs::path s_folder;
};

}  // namespace prekond::testing
