// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kokkos_session.hpp"

#include <prekond/core/devices.hpp>
#include <prekond/core/impl/threads.hpp>
#include <prekond/core/version.hpp>
#include <prekond/core/views.hpp>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <sstream>

#include "kokkos_flags.hpp"

#ifdef _OPENMP
#include <omp.h>
#endif

namespace prekond::driver {

KokkosSession::KokkosSession(const std::vector<std::string>& flags) {
  check_kokkos_environment();
  check_resources(flags, number_of_devices());
#ifdef _OPENMP
  // OpenMP starts the number of threads that it is asked for: neither fewer on a loaded machine, nor, while
  // Kokkos counts them, as many as there are processors.
  omp_set_dynamic(0);
  omp_set_num_threads(number_of_threads(flags));
#endif
  std::vector<std::string> arguments = kokkos_arguments(flags);
  std::vector<char*> pointers;
  for (auto& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  int count = static_cast<int>(arguments.size());
  m_guard.emplace(count, pointers.data());
  keep_freed_memory();
  check_threads(Space());
}

void print_kokkos_help() {
  // For "--help" Kokkos prints its flags and goes on; for "--kokkos-help" it would end the process.
  const KokkosSession session({"--help"});
  std::cout.flush();
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
