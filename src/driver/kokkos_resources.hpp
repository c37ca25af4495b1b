// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstddef>
#include <optional>
#include <string>

namespace prekond::driver {

/// Devices of this machine that Kokkos may compute on; -1 where it computes on the host, or where only it can
/// count them.
int number_of_devices();

/// \throws OptionError unless Kokkos can load the first of the libraries ("a.so;b.so"), and it is one of its
/// tools
void check_tool_library(const std::string& libraries);

/// The value of OMP_STACKSIZE, "8M" or "8192": bytes, where the unit is B, and K, M or G, without one K.
/// Nothing where OpenMP would not take it.
std::optional<std::size_t> stack_bytes(const std::string& text);

/// Starts as many threads beside each other, with stacks as OpenMP's are, and ends them: some 20 microseconds
/// each.
///
/// \throws OptionError where the system refuses one; OpenMP would end the process
void check_that_threads_start(int threads);

}  // namespace prekond::driver
