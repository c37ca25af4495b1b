// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <Kokkos_Core.hpp>

#include <string>
#include <vector>

#include "processes.hpp"

namespace prekond::driver {

/// Everything the command computes, it computes here.
using Space = Kokkos::DefaultExecutionSpace;

/// Kokkos, initialised with its own flags, until the end of the scope.
///
/// Kokkos's warnings are off unless a flag or KOKKOS_DISABLE_WARNINGS asks for them: what the command writes
/// to standard error is one line for an error, and nothing else.
class Session {
 public:
  /// `flags`: checked ones.
  /// \throws OptionError for what the environment has wrong, and where a device, a tool or threads are
  /// missing
  explicit Session(const std::vector<std::string>& flags);
  /// All processes.
  Session(const std::vector<std::string>& flags, const Processes& processes);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
};

/// Prints Kokkos's flags as Kokkos explains them.
void print_kokkos_help();

std::string kokkos_version();
std::string version_text();

/// The name of the device as Kokkos prints it; empty where the execution space is a host space. Within a
/// Session.
std::string device_name();

/// Threads of the host's execution space. Within a Session.
int host_threads();

}  // namespace prekond::driver
