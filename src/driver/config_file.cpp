// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "config_file.hpp"

#include <prekond/core/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <utility>
#include <vector>

#include "phase.hpp"
#include "text.hpp"

namespace prekond::driver {
namespace {

constexpr std::size_t max_depth = 64;
constexpr std::size_t max_bytes = std::size_t(1) << 20;

/// As much of a text of the user's as a message may show.
std::string shown(const std::string& text) {
  constexpr std::size_t longest = 80;
  return text.size() > longest ? text.substr(0, longest) + "..." : text;
}

/// Without a byte order mark, and with lines that end in LF, so that the places of errors are right.
std::string without_dialect(const std::string& path, std::string text) {
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
    throw OptionError(path + ": is UTF-16 text; convert it with 'iconv -f UTF-16 -t UTF-8 " + path +
                      " > new.json'");
  for (std::size_t k = 0; k < text.size(); ++k)
    if (text[k] == '\r' && (k + 1 == text.size() || text[k + 1] != '\n')) text[k] = '\n';
  return text;
}

std::string read_text(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw OptionError(path + ": is a folder; --config takes a JSON file");
  Phase::begin("reading " + path);
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw OptionError(path + ": the config file cannot be opened: " + std::strerror(errno));
  std::string text(max_bytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) throw OptionError(path + ": the config file cannot be read: " + std::strerror(errno));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > max_bytes)
    throw OptionError(path + ": has more than " + std::to_string(max_bytes) +
                      " bytes; that is no config file");
  return without_dialect(path, std::move(text));
}

std::size_t line_of(const std::string& text, std::size_t byte) {
  return 1 + static_cast<std::size_t>(
                 std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(byte), '\n'));
}

/// "LINE:COLUMN"
std::string place_of_byte(const std::string& text, std::size_t byte) {
  const std::size_t newline = byte > 0 ? text.rfind('\n', byte - 1) : std::string::npos;
  const std::size_t column = newline == std::string::npos ? byte + 1 : byte - newline;
  return std::to_string(line_of(text, byte)) + ":" + std::to_string(column);
}

/// A value of the file, and its place.
struct Value {
  Json json;                         ///< empty where it is an array or an object
  std::size_t begin = 0;             ///< its first byte; of a member of an object that of its key
  std::string key = {};              ///< of a member of an object
  std::vector<Value> children = {};  ///< of an array or an object, in the order of the text
};

/// Reads a config file: arrays and objects by itself, because it knows their places, and the values in them
/// by the library.
class ConfigReader {
 public:
  ConfigReader(const std::string& path, const std::string& command)
      : m_path(path), m_text(read_text(path)), m_command(command) {}

  RawSettings read() {
    // The library takes a NUL for the end of a value.
    if (const std::size_t nul = m_text.find('\0'); nul != m_text.npos)
      refuse(nul, "not valid JSON: there is a NUL byte; remove it");
    const Value file = value();
    skip_blanks();
    if (m_at < m_text.size()) refuse(m_at, "not valid JSON: nothing is expected after the end");
    if (!file.json.is_object())
      refuse(file.begin, "a config file holds one JSON object, as in {\"solver\": \"cg\"}");
    for (const Value& member : file.children) add_member(member);
    return std::move(m_raw);
  }

 private:
  std::string where(std::size_t byte) const {
    return m_path + ":" + place_of_byte(m_text, std::min(byte, m_text.size()));
  }
  /// With the keys that lead to the value that is being read.
  [[noreturn]] void refuse(std::size_t byte, const std::string& message) const {
    std::string path;
    for (const std::string& key : m_keys) path += (path.empty() ? "" : ".") + key;
    throw OptionError(where(byte) + ": " + (path.empty() ? "" : "'" + shown(path) + "': ") + message);
  }
  [[noreturn]] void refuse_kind(const Value& value, const std::string& key, const std::string& wanted) const {
    const std::string found = value.json.is_null()     ? "null"
                              : value.json.is_array()  ? "an array"
                              : value.json.is_object() ? "an object"
                                                       : "a single value";
    refuse(value.begin, "'" + shown(key) + "' takes " + wanted + ", not " + found);
  }

  char next() const { return m_at < m_text.size() ? m_text[m_at] : '\0'; }
  bool take(char wanted) { return next() == wanted && ++m_at > 0; }
  void skip_blanks() { m_at = std::min(m_text.find_first_not_of(" \t\r\n", m_at), m_text.size()); }

  Value value() {
    skip_blanks();
    const bool is_object = next() == '{';
    const std::size_t begin = m_at;
    if (!is_object && next() != '[') return {scalar(), begin};
    if (m_depth == max_depth) refuse(begin, "nested more than " + std::to_string(max_depth) + " levels deep");
    Value found{is_object ? Json::object() : Json::array(), begin};
    const char end = is_object ? '}' : ']';
    ++m_depth;
    ++m_at;
    std::map<std::string, std::size_t> keys;
    skip_blanks();
    while (next() != end) {
      if (!found.children.empty() && !take(',')) refuse(m_at, "not valid JSON: ',' is expected");
      found.children.push_back(is_object ? member(keys) : value());
      skip_blanks();
    }
    ++m_at;
    --m_depth;
    return found;
  }

  /// `keys`: of the object so far, and their places.
  Value member(std::map<std::string, std::size_t>& keys) {
    skip_blanks();
    const std::size_t begin = m_at;
    if (next() != '"') refuse(begin, "not valid JSON: a key in quotes is expected");
    m_keys.push_back(scalar());
    const auto [first, is_new] = keys.emplace(m_keys.back(), begin);
    if (!is_new)
      refuse(begin, "this key stands in the same object twice, first in line " +
                        std::to_string(line_of(m_text, first->second)));
    skip_blanks();
    if (!take(':')) refuse(m_at, "not valid JSON: ':' is expected");
    Value found = value();
    found.begin = begin;
    found.key = m_keys.back();
    m_keys.pop_back();
    return found;
  }

  /// The text of the next number, text or word.
  std::string token() {
    const std::size_t begin = m_at;
    if (next() == '"') {
      for (++m_at; next() != '"' && m_at < m_text.size();) m_at += next() == '\\' ? 2 : 1;
      m_at = std::min(m_at + 1, m_text.size());
    } else {
      m_at = std::min(m_text.find_first_of(" \t\r\n,:[]{}\"", begin), m_text.size());
    }
    return m_text.substr(begin, m_at - begin);
  }

  Json scalar() {
    const std::size_t begin = m_at;
    const std::string text = token();
    // The library leaves out a byte order mark, wherever a value begins.
    if (text.empty() || text.starts_with("\xef")) refuse(begin, "not valid JSON: a value is expected");
    const bool is_whole = text.find_first_of(".eE") == text.npos;
    const auto refuse_number = [&](const std::string& size) {
      if (is_whole)
        refuse(begin, "the whole number " + shown(text) +
                          " does not fit in 64 bits; a real number has a point or an exponent");
      refuse(begin, "the number " + shown(text) + " is too " + size + " for double precision");
    };
    constexpr std::uint64_t largest = std::numeric_limits<std::int64_t>::max();
    try {
      Json found = Json::parse(text);
      const bool has_digits =
          text.substr(0, text.find_first_of("eE")).find_first_of("123456789") != text.npos;
      if (found.is_string() && found.get<std::string>().find('\0') != text.npos)
        refuse(begin, "a text has no NUL in it");
      if (found.is_number_unsigned() && found.get<std::uint64_t>() > largest) refuse_number("large");
      if (found.is_number_float() && (is_whole || (found == 0 && has_digits))) refuse_number("small");
      return found;
    } catch (const Json::out_of_range&) {
      refuse_number("large");
      throw;
    } catch (const Json::parse_error& error) {
      // The library's own text: "[...] parse error at line 1, column 2: DETAIL".
      const std::string what = error.what();
      std::string detail = what.find(": ") == what.npos ? "syntax error" : what.substr(what.find(": ") + 2);
      if (detail.size() > 200) detail = detail.substr(0, 200) + " ...";
      refuse(begin + std::max<std::size_t>(error.byte, 1) - 1, "not valid JSON: " + detail);
    }
  }

  void add_member(const Value& member) {
    std::vector<std::string> known;
    for (const auto& setting : setting_keys(m_command)) known.push_back(setting.name);
    if (takes_solver_options(m_command)) known.push_back("solver_options");
    if (takes_precond_options(m_command)) known.push_back("precond_options");
    known.push_back("origins");  // that `prekond config` prints
    const std::string* const found = find_name(member.key, known);
    const std::string key = found ? *found : member.key;
    if (key == "origins") return;
    if (takes_solver_options(m_command) && (key == "solver_options" || key == "s")) {
      add_options(member, member.key, "solver_options.", "");
    } else if (takes_precond_options(m_command) && (key == "precond_options" || key == "p")) {
      add_options(member, member.key, "precond_options.", "");
    } else if (found == nullptr) {
      refuse(member.begin, "'" + m_command + "' has no key '" + shown(member.key) + "'" +
                               did_you_mean(shown(member.key), known));
    } else {
      const bool is_list = key == "precond" && m_command == "compare" && member.json.is_array();
      add(key, member, [&] { return is_list ? joined(member) : scalar_of(member, member.key); });
    }
  }

  /// A setting may have two names, and an option a name with dots or a nested one.
  template <class ValueOf>
  void add(const std::string& name, const Value& member, const ValueOf& value_of) {
    const auto [first, is_new] = m_first.emplace(name, member.begin);
    if (!is_new)
      refuse(member.begin, "'" + shown(member.key) + "' sets '" + shown(name) +
                               "' a second time, first set in line " +
                               std::to_string(line_of(m_text, first->second)));
    m_raw[name] = {value_of(), where(member.begin)};
  }

  OptionValue scalar_of(const Value& value, const std::string& key) const {
    const Json& json = value.json;
    if (json.is_boolean()) return json.get<bool>();
    if (json.is_string()) return json.get<std::string>();
    if (json.is_number_float()) return json.get<double>();
    if (json.is_number()) return json.get<std::int64_t>();
    refuse_kind(value, key, "true, false, a number or a text");
  }

  OptionValue joined(const Value& names) const {
    std::string all;
    for (const Value& name : names.children)
      all += (all.empty() ? "" : ",") + to_string(scalar_of(name, "precond"));
    return all;
  }

  void add_options(const Value& value, const std::string& key, const std::string& owner,
                   const std::string& prefix) {
    if (!value.json.is_object()) refuse_kind(value, key, "an object of options");
    for (const Value& member : value.children) {
      const std::string name = prefix + member.key;
      if (member.json.is_object())
        add_options(member, name, owner, name + ".");
      else
        add(owner + name, member, [&] { return scalar_of(member, owner + name); });
    }
  }

  std::string m_path;
  std::string m_text;
  std::string m_command;
  std::size_t m_at = 0;  ///< the next byte
  std::size_t m_depth = 0;
  std::vector<std::string> m_keys;             ///< that lead to it
  std::map<std::string, std::size_t> m_first;  ///< the first place of each setting
  RawSettings m_raw;
};

}  // namespace

RawSettings read_config(const std::string& path, const std::string& command) {
  return ConfigReader(path, command).read();
}

}  // namespace prekond::driver
