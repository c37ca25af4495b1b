// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "session.hpp"

#include <prekond/core/error.hpp>
#include <prekond/core/version.hpp>
#include <prekond/core/views.hpp>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <sstream>

namespace prekond::driver {
namespace {

/// Kokkos ends the process on a bad number, so it is refused here.
void check_number(const std::string& flag, const std::string& name, int min) {
  if (flag.rfind(name + "=", 0) != 0) return;
  const char* begin = flag.data() + name.size() + 1;
  const char* end = flag.data() + flag.size();
  int value = 0;
  const auto [rest, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || rest != end || value < min)
    throw OptionError(name + " takes a whole number of at least " + std::to_string(min) + ", not '" +
                      std::string(begin, end) + "'");
}

}  // namespace

Session::Session(const std::vector<std::string>& flags) {
  start(flags);
}

Session::Session(const std::vector<std::string>& flags, const Processes& processes) {
  processes.together([&] { start(flags); });
}

void Session::start(const std::vector<std::string>& flags) {
  std::vector<std::string> arguments = {"prekond"};
  bool about_warnings = std::getenv("KOKKOS_DISABLE_WARNINGS") != nullptr;
  for (const auto& flag : flags) {
    check_number(flag, "--kokkos-num-threads", 1);
    check_number(flag, "--kokkos-device-id", 0);
    about_warnings = about_warnings || flag.rfind("--kokkos-disable-warnings", 0) == 0;
    arguments.push_back(flag);
  }
  if (!about_warnings) arguments.emplace_back("--kokkos-disable-warnings");
  std::vector<char*> pointers;
  for (auto& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  int count = static_cast<int>(arguments.size());
  Kokkos::initialize(count, pointers.data());
}

Session::~Session() {
  Kokkos::finalize();
}

std::string kokkos_version() {
  return std::to_string(KOKKOS_VERSION / 10000) + "." + std::to_string(KOKKOS_VERSION / 100 % 100) + "." +
         std::to_string(KOKKOS_VERSION % 100);
}

std::string version_text() {
  return std::string("prekond ") + version + " (Kokkos " + kokkos_version() + ", " + Space::name() + ")";
}

std::string device_name() {
  if (is_host_space<Space>) return "";
  std::ostringstream configuration;
  Space().print_configuration(configuration, true);
  std::istringstream lines(configuration.str());
  // A GPU backend prints a line "Kokkos::NAME[ id ] DEVICE ... : Selected".
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.find("] ");
    if (begin == std::string::npos || line.find(": Selected") == std::string::npos) continue;
    const std::size_t end = std::min(line.find(" capability"), line.find(" : Selected"));
    if (end != std::string::npos && end > begin + 2) return line.substr(begin + 2, end - begin - 2);
  }
  return Space::name();
}

int host_threads() {
  return Kokkos::DefaultHostExecutionSpace().concurrency();
}

}  // namespace prekond::driver
