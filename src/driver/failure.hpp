// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <exception>
#include <stdexcept>
#include <string>

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

/// An end of the command that all its processes know of: a solve without a solution, or an error that they
/// agreed about. The text is what the user reads.
class Failure : public std::runtime_error {
 public:
  Failure(ExitCode code, const std::string& message) : std::runtime_error(message), m_code(code) {}
  ExitCode code() const { return m_code; }

 private:
  ExitCode m_code;
};

/// What an exception means to the user: exit code and text.
Failure failure_of(const std::exception_ptr& exception);

}  // namespace prekond::driver
