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

void print_summary(const Json& report, const MethodFacts& method);

/// The failure of a solve, with what to do about it; nothing where it converged.
std::optional<Failure> failure_of_solve(const MethodFacts& method, const Settings& settings,
                                        const SolveResult& result, const Json& report);

}  // namespace prekond::driver
