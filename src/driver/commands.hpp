// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <stdexcept>
#include <string>

#include "command_line.hpp"

namespace prekond::driver {

/// The exit codes of the command.
enum ExitCode : int {
  done = 0,
  other_error = 1,
  bad_command_line = 2,
  bad_input = 3,
  not_converged = 4,
  breakdown = 5,
};

/// A solve that ended without a solution, after its report was written.
class SolveFailure : public std::runtime_error {
 public:
  SolveFailure(ExitCode code, const std::string& message) : std::runtime_error(message), m_code(code) {}
  ExitCode code() const { return m_code; }

 private:
  ExitCode m_code;
};

/// The commands. All throw OptionError for the command line, InputError for the data; `solve` also
/// SolveFailure.
void solve_command(const CommandLine& line);
void compare_command(const CommandLine& line);
void info_command(const CommandLine& line);
void list_command(const CommandLine& line);
void generate_command(const CommandLine& line);

}  // namespace prekond::driver
