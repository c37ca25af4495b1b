// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "config_json.hpp"

#include <prekond/core/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace prekond::driver {
namespace {

using Json = nlohmann::json;

/// Reads characters and counts them, so that the handler of a token knows how far the parser has read.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, std::size_t* count) : m_at(at), m_count(count) {}
  reference operator*() const { return *m_at; }
  CountingIterator& operator++() {
    ++m_at;
    ++*m_count;
    return *this;
  }
  CountingIterator operator++(int) {
    const CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return m_at == other.m_at; }
  bool operator!=(const CountingIterator& other) const { return m_at != other.m_at; }

 private:
  const char* m_at;
  std::size_t* m_count;
};

/// What the parser expected, behind its own prefix and position: "[...] parse error at line 1, column 2:
/// DETAIL".
std::string parser_detail(const std::string& what) {
  constexpr std::size_t longest = 200;
  const std::size_t colon = what.find(": ");
  const std::string detail = colon == std::string::npos ? "syntax error" : what.substr(colon + 2);
  return detail.size() > longest ? detail.substr(0, longest) + " ..." : detail;
}

/// Takes the parser's tokens, and makes values of them.
class Builder {
 public:
  Builder(const std::string& text, const std::size_t& read) : m_text(text), m_read(read) {
    if (text.rfind("\xef\xbb\xbf", 0) == 0) m_end = 3;  // a byte order mark, which the parser skips
  }

  const std::string& error() const { return m_error; }
  std::size_t error_at() const { return m_error_at; }
  JsonValue result() { return std::move(m_result); }

  bool null() { return add({JsonValue::Kind::null, "", take_token(), {}, {}}); }
  bool boolean(bool value) { return take_scalar(value); }
  bool number_integer(std::int64_t value) { return take_number(value); }
  bool number_unsigned(std::uint64_t value) {
    const bool fits = value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    return fits ? take_number(static_cast<std::int64_t>(value)) : refuse_whole();
  }
  bool number_float(double value, const std::string& digits) {
    // A whole number that is too large for 64 bits comes as a real one, and is none.
    if (is_whole(digits)) return refuse_whole();
    const std::string mantissa = digits.substr(0, digits.find_first_of("eE"));
    if (value == 0 && mantissa.find_first_of("123456789") != std::string::npos)
      return refuse(take_number_token(),
                    "the number " + shown(digits) + " is too small for double precision");
    return take_number(value);
  }
  bool string(std::string& value) {
    const std::size_t begin = take_token();
    if (value.find('\0') != std::string::npos) return refuse(begin, "a text has no NUL in it");
    return add({JsonValue::Kind::scalar, "", begin, value, {}});
  }
  bool binary(Json::binary_t& /*value*/) { return refuse(take_token(), "binary data"); }

  bool key(std::string& name) {
    const std::size_t begin = take_token();
    Level& level = m_levels.back();
    level.key = name;
    level.key_begin = begin;
    level.in_value = true;
    const auto [first, is_new] = level.keys.emplace(name, begin);
    if (is_new) return true;
    const auto line =
        std::count(m_text.begin(), m_text.begin() + static_cast<std::ptrdiff_t>(first->second), '\n') + 1;
    return refuse(begin, "this key stands in the same object twice, first in line " + std::to_string(line));
  }

  bool start_object(std::size_t /*size*/) { return open(JsonValue::Kind::object); }
  bool start_array(std::size_t /*size*/) { return open(JsonValue::Kind::array); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool parse_error(std::size_t byte, const std::string& token, const Json::exception& error) {
    constexpr int number_overflow = 406;
    if (error.id == number_overflow && is_whole(token)) return refuse_whole();
    if (error.id == number_overflow)
      return refuse(take_number_token(), "the number " + shown(token) + " is too large for double precision");
    return refuse(byte > 0 ? byte - 1 : 0, "not valid JSON: " + parser_detail(error.what()));
  }

 private:
  /// An object or array that has not ended.
  struct Level {
    JsonValue value;
    std::map<std::string, std::size_t> keys;  ///< and where they were first
    std::string key;                          ///< the last one
    std::size_t key_begin = 0;
    bool in_value = false;  ///< its value has not ended
  };

  static bool is_whole(const std::string& digits) { return digits.find_first_of(".eE") == std::string::npos; }
  /// The token's first byte.
  std::size_t token_begin() const {
    return std::min(m_text.find_first_not_of(" \t\r\n,:]}", m_end), m_text.size());
  }
  std::size_t take_token() {
    const std::size_t begin = token_begin();
    m_end = m_read;
    return begin;
  }
  /// The parser has read one character more, if there is one.
  std::size_t take_number_token() {
    const std::size_t begin = token_begin();
    m_end = std::min(m_text.find_first_not_of("+-.0123456789eE", begin), m_text.size());
    return begin;
  }

  template <class Value>
  bool take_scalar(Value value) {
    return add({JsonValue::Kind::scalar, "", take_token(), OptionValue(value), {}});
  }
  template <class Value>
  bool take_number(Value value) {
    return add({JsonValue::Kind::scalar, "", take_number_token(), OptionValue(value), {}});
  }

  bool refuse_whole() {
    const std::size_t begin = take_number_token();
    return refuse(begin, "the whole number " + shown(m_text.substr(begin, m_end - begin)) +
                             " does not fit in 64 bits; a real number has a point or an exponent");
  }

  bool open(JsonValue::Kind kind) {
    const std::size_t begin = take_token();
    if (m_levels.size() == JsonText::max_depth)
      return refuse(begin, "nested more than " + std::to_string(JsonText::max_depth) + " levels deep");
    m_levels.emplace_back();
    m_levels.back().value.kind = kind;
    m_levels.back().value.begin = begin;
    return true;
  }

  bool close() {
    take_token();
    JsonValue value = std::move(m_levels.back().value);
    m_levels.pop_back();
    return add(std::move(value));
  }

  bool add(JsonValue value) {
    if (m_levels.empty()) {
      m_result = std::move(value);
      return true;
    }
    Level& level = m_levels.back();
    level.in_value = false;
    if (level.value.kind == JsonValue::Kind::object) {
      value.key = level.key;
      value.begin = level.key_begin;
    }
    level.value.children.push_back(std::move(value));
    return true;
  }

  bool refuse(std::size_t begin, const std::string& message) {
    std::string path;
    for (const Level& level : m_levels)
      if (level.in_value) path += (path.empty() ? "" : ".") + level.key;
    m_error = (path.empty() ? "" : "'" + shown(path) + "': ") + message;
    m_error_at = begin;
    return false;
  }

  const std::string& m_text;
  const std::size_t& m_read;  ///< characters that the parser has taken
  std::size_t m_end = 0;      ///< behind the last token
  std::vector<Level> m_levels;
  JsonValue m_result;
  std::string m_error;
  std::size_t m_error_at = 0;
};

}  // namespace

std::string shown(const std::string& text) {
  constexpr std::size_t longest = 80;
  return text.size() > longest ? text.substr(0, longest) + "..." : text;
}

JsonText::JsonText(const std::string& path) : m_path(path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw OptionError(path + ": is a folder; --config takes a JSON file");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw OptionError(path + ": the config file cannot be opened: " + std::strerror(errno));
  m_text.resize(max_bytes + 1);
  file.read(m_text.data(), static_cast<std::streamsize>(m_text.size()));
  if (file.bad()) throw OptionError(path + ": the config file cannot be read: " + std::strerror(errno));
  m_text.resize(static_cast<std::size_t>(file.gcount()));
  if (m_text.size() > max_bytes)
    throw OptionError(path + ": has more than " + std::to_string(max_bytes) +
                      " bytes; that is no config file");
}

JsonValue JsonText::parse() const {
  std::size_t read = 0;
  Builder builder(m_text, read);
  const char* const end = m_text.data() + m_text.size();
  if (!Json::sax_parse(CountingIterator(m_text.data(), &read), CountingIterator(end, &read), &builder))
    throw OptionError(where(builder.error_at()) + ": " + builder.error());
  return builder.result();
}

std::size_t JsonText::line(std::size_t byte) const {
  const auto end = m_text.begin() + static_cast<std::ptrdiff_t>(std::min(byte, m_text.size()));
  return 1 + static_cast<std::size_t>(std::count(m_text.begin(), end, '\n'));
}

std::string JsonText::where(std::size_t byte) const {
  const std::size_t end = std::min(byte, m_text.size());
  const std::size_t newline = end > 0 ? m_text.rfind('\n', end - 1) : std::string::npos;
  const std::size_t column = newline == std::string::npos ? end + 1 : end - newline;
  return m_path + ":" + std::to_string(line(end)) + ":" + std::to_string(column);
}

}  // namespace prekond::driver
