// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "command_line.hpp"
#include "output_files.hpp"
#include "processes.hpp"

namespace prekond::driver {

/// The commands. All throw OptionError for the command line, InputError for the data. The first four are
/// collective, and throw a Failure also for a solve that ended without a solution, after its report was
/// written (`compare`: with the largest exit code of its rows); the others are for one process.
void solve_command(const CommandLine& line, const Processes& processes, OutputFiles& files);
void compare_command(const CommandLine& line, const Processes& processes, OutputFiles& files);
void info_command(const CommandLine& line, const Processes& processes, OutputFiles& files);
void batch_command(const CommandLine& line, const Processes& processes, OutputFiles& files);
/// Prints all settings of a solve that are in force, and the origin of each, as a config file.
void config_command(const CommandLine& line);
void list_command(const CommandLine& line);
/// Draws histories, reports and tables by python3 with matplotlib. \throws Failure where that fails
void plot_command(const CommandLine& line);
void generate_command(const CommandLine& line, const Processes& processes);

}  // namespace prekond::driver
