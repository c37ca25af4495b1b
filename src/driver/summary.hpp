// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The text that `solve` prints, which is the report in words, and the message for a solve that failed.
#include <optional>

#include "measured_solve.hpp"

namespace prekond::driver {

/// Prints "computed on     Serial, 1 threads, 4 processes", of the report's `prekond`.
void print_environment(const Json& report);

/// "4 ranks, metis: 1234 entries cut, 600 vector entries exchanged, 480 to 520 rows a rank, at most 3
/// neighbours; read by all", of the report's `distribution`
std::string distribution_text(const Json& report);

/// Prints the report in words, the answer first. `verbose`: also the options in force, and details of the
/// product, the setup, the levels, the candidates and the distribution.
void print_summary(const Json& report, const MethodFacts& method, bool verbose);

/// Did rows break down in the setup of a method that a weak diagonal breaks?
bool asks_for_advice(const MethodFacts& method, const Settings& settings, const SolveResult& result,
                     const Json& report);

/// The failure of a solve, with what to do about it; nothing where it converged. `advice`: what to do about a
/// weak diagonal, see asks_for_advice.
std::optional<Failure> failure_of_solve(const MethodFacts& method, const Settings& settings,
                                        const SolveResult& result, const Json& report,
                                        const std::string& advice);

/// The failure of a solve that a signal ended. `solution`: the file with its last x, or empty.
Failure failure_of_signal(const MethodFacts& method, const SolveResult& result, int signal,
                          const std::string& solution);

}  // namespace prekond::driver
