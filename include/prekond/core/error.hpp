// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace prekond {

/// Input that the library refuses: a file, a matrix, a vector, an option. The message is one line and says
/// what to do; it counts rows and columns from 1, as Matrix Market files do.
class InputError : public std::runtime_error {
 public:
  /// `row`: the matrix row at fault, counted from 0; -1 where it is no single one
  explicit InputError(const std::string& text, std::int64_t row = -1)
      : std::runtime_error(text), m_row(row) {}
  std::int64_t row() const { return m_row; }

 private:
  std::int64_t m_row;
};

/// An option that does not exist, has the wrong type, or is out of its range.
class OptionError : public InputError {
 public:
  using InputError::InputError;
};

}  // namespace prekond
