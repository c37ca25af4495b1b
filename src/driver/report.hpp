// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The JSON reports. Keys keep their meaning once they are published; a number that is not finite is null.
#include <prekond/core/report.hpp>
#include <prekond/krylov/solver.hpp>

#include <string>

#include "command_line.hpp"
#include "failure.hpp"
#include "method.hpp"

namespace prekond::driver {

/// The report's `prekond`. Within a KokkosSession.
Json environment(int processes);

Json to_json(const OptionMap& options);

/// The report of `solve`, and of a row of `compare`, with what is known before a setup: as the row is where
/// it fails.
Json frame(const Context& context, const Json& problem, const MethodFacts& method);

/// The results of a solve, for the report's `solver`.
Json solver_json(const SolveResult& result);

/// The results of a setup, for the report's `preconditioner`. `devices` that shared it, or null.
Json setup_json(const Report& setup, const Devices* devices);

/// The report of a run that failed before it had anything to report: the settings and "error". For `compare`
/// an array of such reports, one a row.
Json error_report(const CommandLine& line, const Failure& failure);

/// The report, indented.
std::string report_text(const Json& report);

}  // namespace prekond::driver
