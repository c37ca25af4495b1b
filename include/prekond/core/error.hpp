// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <stdexcept>
#include <string>

namespace prekond {

/// Input that the library refuses: a file, a matrix, a vector, an option. The message is one line and says what to do.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An option that does not exist, has the wrong type, or is out of its range.
class OptionError : public InputError {
 public:
  using InputError::InputError;
};

}  // namespace prekond
