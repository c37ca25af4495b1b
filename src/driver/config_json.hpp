// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/options.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace prekond::driver {

/// As much of a text of the user's as a message may show.
std::string shown(const std::string& text);

/// A value of a JSON text, and where it stands.
struct JsonValue {
  enum class Kind { null, scalar, array, object };
  Kind kind = Kind::null;
  std::string key;        ///< of a member of an object
  std::size_t begin = 0;  ///< its first byte; of a member its key's
  OptionValue scalar;
  std::vector<JsonValue> children;  ///< of an array or an object, in the order of the text
};

/// A JSON text, whose values may be nested 64 levels deep; nothing here recurses deeper than that.
///
/// Stricter than JSON where a reader could only guess: an object has a key once, a whole number fits in 64
/// bits with a sign, a real number is neither too large nor too small for double precision, and a text has no
/// NUL.
class JsonText {
 public:
  static constexpr std::size_t max_depth = 64;
  static constexpr std::size_t max_bytes = std::size_t(1) << 20;

  /// Reads a file. \throws OptionError for one that cannot be read or has more than max_bytes
  explicit JsonText(const std::string& path);

  /// \throws OptionError "PATH:LINE:COLUMN: 'KEY': ..."
  JsonValue parse() const;

  /// "PATH:LINE:COLUMN" of a byte.
  std::string where(std::size_t byte) const;

  /// The number of a byte's line.
  std::size_t line(std::size_t byte) const;

 private:
  std::string m_path;
  std::string m_text;
};

}  // namespace prekond::driver
