// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "text.hpp"

#include <algorithm>
#include <cctype>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace prekond::driver {
namespace {
constexpr std::size_t label_width = 16;
constexpr std::size_t line_width = 110;
}  // namespace

std::string format(const char* pattern, ...) {
  std::va_list arguments;
  va_start(arguments, pattern);
  std::va_list again;
  va_copy(again, arguments);
  std::string text(static_cast<std::size_t>(std::max(0, std::vsnprintf(nullptr, 0, pattern, arguments))),
                   '\0');
  std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  va_end(again);
  va_end(arguments);
  return text;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::string quoted(const std::string& word) {
  const auto is_plain = [](unsigned char c) {
    return c < 128 && (std::isalnum(c) != 0 || std::strchr("_./:,=+@%-", c) != nullptr);
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return word;
  std::string text;
  for (const char c : word) text += c == '\'' ? "'\\''" : std::string(1, c);
  return "'" + text + "'";
}

std::string seconds_text(double seconds) {
  return format("%.4g s", seconds);
}

std::string bytes_text(std::int64_t bytes) {
  const char* const units[] = {"B", "kB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1000 && unit < 4; ++unit) value /= 1000;
  return format("%.3g %s", value, units[unit]);
}

std::string options_text(const OptionMap& options) {
  std::string text;
  for (const auto& [name, value] : options) text += (text.empty() ? "" : " ") + name + "=" + to_string(value);
  return text;
}

void print_line(const std::string& label, const std::string& text) {
  std::string line = label + std::string(label_width - std::min(label_width - 1, label.size()), ' ');
  bool is_first_word = true;
  for (const std::string& word : split(text, ' ')) {
    if (!is_first_word && line.size() + 1 + word.size() > line_width) {
      std::printf("%s\n", line.c_str());
      line.assign(label_width, ' ');
      is_first_word = true;
    }
    line += (is_first_word ? "" : " ") + word;
    is_first_word = false;
  }
  std::printf("%s\n", line.c_str());
}

void print_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.empty() ? 0 : rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string blanks(widths[c] - row[c].size(), ' ');
      const bool left = c == 0 || c + 1 == row.size();
      line += (c == 0 ? "" : "  ") + (left ? row[c] + blanks : blanks + row[c]);
    }
    std::printf("%s\n", line.substr(0, line.find_last_not_of(' ') + 1).c_str());
  }
}

}  // namespace prekond::driver
