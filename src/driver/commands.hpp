// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "command_line.hpp"
#include "processes.hpp"

namespace prekond::driver {

/// The commands. All throw OptionError for the command line, InputError for the data. `solve` and `compare`
/// are run by all processes and throw a Failure that all know of, `solve` also for a solve that ended without
/// a solution, after its report was written; the others are for one process.
void solve_command(const CommandLine& line, const Processes& processes);
void compare_command(const CommandLine& line, const Processes& processes);
void info_command(const CommandLine& line);
void list_command(const CommandLine& line);
void generate_command(const CommandLine& line);

}  // namespace prekond::driver
