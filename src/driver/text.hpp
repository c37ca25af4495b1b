// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Text for the user: numbers with their units, lines with a label, tables.
#include <prekond/core/options.hpp>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace prekond::driver {

/// printf into a string.
[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);

using Json = nlohmann::ordered_json;

/// A JSON text without its quotes; anything else as it is.
inline std::string printed(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}
template <class T>
const T& printed(const T& value) {
  return value;
}

/// The parts as a stream prints them, one after the other.
template <class... Parts>
std::string text_of(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << printed(parts));
  return text.str();
}

/// The parts of a text between separators, empty ones included.
std::vector<std::string> split(const std::string& text, char separator);

/// A word of a command, as a shell reads it.
std::string quoted(const std::string& word);

std::string seconds_text(double seconds);            ///< "0.0123 s"
std::string bytes_text(std::int64_t bytes);          ///< "12.3 MB"
std::string options_text(const OptionMap& options);  ///< "a=1 b=2"

/// Prints "label    text", the text in a column of its own and folded at blanks.
void print_line(const std::string& label, const std::string& text);

/// Prints rows with aligned columns: the first and the last to the left, the others to the right.
void print_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace prekond::driver
