// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "waiting.hpp"

#if defined(_OPENMP) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>
#endif

namespace prekond::driver {

#if defined(_OPENMP) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
namespace {

constexpr const char* spin_count = "5000";

/// The arguments that this process was started with: those of `main`, or more where a loader was told to load
/// the program.
std::vector<std::string> own_command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');) arguments.push_back(argument);
  return arguments;
}

}  // namespace

void bound_waiting() {
  if (std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  std::vector<std::string> arguments = own_command_line();
  if (arguments.empty() || setenv("GOMP_SPINCOUNT", spin_count, 1) != 0) return;
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  // By its own name rather than as /proc/self/exe, which a list of processes would show.
  std::string program(4096, '\0');
  const ssize_t length = readlink("/proc/self/exe", program.data(), program.size());
  if (length <= 0 || length == static_cast<ssize_t>(program.size())) return;
  program.resize(static_cast<std::size_t>(length));
  execv(program.c_str(), pointers.data());
}
#else
void bound_waiting() {}
#endif

}  // namespace prekond::driver
