// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <Kokkos_Core.hpp>

#include <optional>
#include <string>
#include <vector>

namespace prekond::driver {

/// The space that the command computes in.
using Space = Kokkos::DefaultExecutionSpace;

/// Kokkos, initialised with its own flags, until the end of the scope.
///
/// Kokkos's warnings are off unless a flag or KOKKOS_DISABLE_WARNINGS asks for them: the command writes one
/// line for an error to standard error, and nothing else.
class KokkosSession {
 public:
  /// `flags`: checked ones. \throws OptionError for a variable of the environment that is wrong, and where a
  /// device, a tool or threads are missing
  explicit KokkosSession(const std::vector<std::string>& flags);

 private:
  std::optional<Kokkos::ScopeGuard> m_guard;
};

/// Prints Kokkos's flags as Kokkos explains them.
void print_kokkos_help();

std::string kokkos_version();
std::string version_text();

/// The name of the device as Kokkos prints it; empty where the execution space is a host space. Within a
/// KokkosSession.
std::string device_name();

/// Threads of the host's execution space. Within a KokkosSession.
int host_threads();

}  // namespace prekond::driver
