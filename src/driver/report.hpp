// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The JSON reports. Keys keep their meaning once they are published; a number that is not finite is null.
#include <prekond/matrix/matrix_format.hpp>
#include <prekond/matrix/statistics.hpp>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "batch.hpp"
#include "command_line.hpp"
#include "measured_solve.hpp"

namespace prekond::driver {

using Json = nlohmann::ordered_json;

/// The report of `solve`, and of a row of `compare`.
Json run_report(const Processes& processes, const ProblemFacts& problem, const MethodFacts& method,
                const Settings& settings, const Measurements& outcome);

/// A row of `compare` that failed: the same keys, no measurements, and "error".
Json failed_report(const Processes& processes, const ProblemFacts& problem, const MethodFacts& method,
                   const Settings& settings, const std::string& error);

/// The report of a run that failed before it had anything to report: the settings and "error". For `compare`
/// an array of such reports, one a row.
Json error_report(const CommandLine& line, const Failure& failure);

/// The report of `info`, which one process makes.
Json info_report(const ProblemFacts& problem, const MatrixStatistics& statistics, const FormatAdvice& advice,
                 const std::optional<Condition>& condition);

/// The report of `batch`, which one process makes.
Json batch_report(const BatchFacts& batch, const Settings& settings);

/// Writes a report, indented; an empty path is none. \throws InputError
void write_report(const std::string& path, const Json& report);

}  // namespace prekond::driver
