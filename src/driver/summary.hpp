// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The text that `solve` prints, and the message for a solve that failed.
#include <optional>

#include "measured_solve.hpp"

namespace prekond::driver {

/// "Serial, 1 threads, 4 processes"; within a KokkosSession.
std::string computed_on(int num_processes);

void print_summary(const Processes& processes, const ProblemFacts& problem, const MethodFacts& method,
                   const Settings& settings, const Measurements& outcome);

/// The failure of a solve, with what to do about it; nothing where it converged.
std::optional<Failure> failure_of_solve(const MethodFacts& method, const Settings& settings,
                                        const Measurements& outcome);

}  // namespace prekond::driver
