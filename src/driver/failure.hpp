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
  signalled = 128,  ///< plus the signal's number
};

/// An end of the command other than success: its exit code and the text that the user reads.
class Failure : public std::runtime_error {
 public:
  /// `is_agreed`: do all processes know of it?
  Failure(ExitCode code, const std::string& message, bool is_agreed = true)
      : std::runtime_error(message), m_code(code), m_is_agreed(is_agreed) {}
  ExitCode code() const { return m_code; }
  bool is_agreed() const { return m_is_agreed; }

 private:
  ExitCode m_code;
  bool m_is_agreed;
};

/// An exception as a failure of the command; not an agreed one, unless the exception was.
Failure failure_of(const std::exception_ptr& exception);

}  // namespace prekond::driver
