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
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

namespace prekond::driver {
namespace {

using Json = nlohmann::json;
constexpr std::size_t max_depth = 64;
constexpr std::size_t max_bytes = std::size_t(1) << 20;

/// As much of a text of the user's as a message may show.
std::string shown(const std::string& text) {
  constexpr std::size_t longest = 80;
  return text.size() > longest ? text.substr(0, longest) + "..." : text;
}

std::string read_text(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw OptionError(path + ": is a folder; --config takes a JSON file");
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
  return text;
}

std::size_t line_of(const std::string& text, std::size_t byte) {
  return 1 + static_cast<std::size_t>(
                 std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(byte), '\n'));
}

/// "LINE:COLUMN"
std::string place_of(const std::string& text, std::size_t byte) {
  const std::size_t newline = byte > 0 ? text.rfind('\n', byte - 1) : std::string::npos;
  const std::size_t column = newline == std::string::npos ? byte + 1 : byte - newline;
  return std::to_string(line_of(text, byte)) + ":" + std::to_string(column);
}

/// A value of a JSON text, and its place.
struct Value {
  enum class Kind { null, scalar, array, object };
  Kind kind = Kind::null;
  std::size_t begin = 0;  ///< its first byte; of a member of an object that of its key
  OptionValue scalar = {};
  std::string key = {};              ///< of a member of an object
  std::vector<Value> children = {};  ///< of an array or an object, in the order of the text
};

/// Takes the parser's tokens (the interface of nlohmann::json_sax), and makes a tree of values of them.
class TreeBuilder {
 public:
  /// `stream`: of the text, which the parser reads.
  TreeBuilder(const std::string& text, std::streambuf& stream)
      : m_text(text), m_stream(stream), m_end(text.starts_with("\xef\xbb\xbf") ? 3 : 0) {}

  Value tree;
  std::string error;
  std::size_t error_at = 0;

  bool null() { return add({Value::Kind::null, take_token()}); }
  bool boolean(bool value) { return add({Value::Kind::scalar, take_token(), value}); }
  bool number_integer(std::int64_t value) { return add({Value::Kind::scalar, take_number(), value}); }
  bool number_unsigned(std::uint64_t value) {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return refuse_whole();
    return number_integer(static_cast<std::int64_t>(value));
  }
  bool number_float(double value, const std::string& digits) {
    if (is_whole(digits)) return refuse_whole();  // too large for 64 bits
    const bool is_zero =
        digits.substr(0, digits.find_first_of("eE")).find_first_of("123456789") == digits.npos;
    if (value == 0 && !is_zero)
      return refuse(take_number(), "the number " + shown(digits) + " is too small for double precision");
    return add({Value::Kind::scalar, take_number(), value});
  }
  bool string(std::string& value) {
    const std::size_t begin = take_token();
    if (value.find('\0') != value.npos) return refuse(begin, "a text has no NUL in it");
    return add({Value::Kind::scalar, begin, value});
  }
  bool binary(Json::binary_t& /*value*/) { return refuse(take_token(), "binary data"); }

  bool key(std::string& name) {
    Open& open = m_open.back();
    open.key = name;
    open.key_begin = take_token();
    open.in_value = true;
    const auto [first, is_new] = open.keys.emplace(name, open.key_begin);
    return is_new || refuse(open.key_begin, "this key stands in the same object twice, first in line " +
                                                std::to_string(line_of(m_text, first->second)));
  }
  bool start_object(std::size_t /*size*/) { return open(Value::Kind::object); }
  bool start_array(std::size_t /*size*/) { return open(Value::Kind::array); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool parse_error(std::size_t byte, const std::string& token, const Json::exception& found) {
    constexpr int number_overflow = 406;
    if (found.id == number_overflow && is_whole(token)) return refuse_whole();
    if (found.id == number_overflow)
      return refuse(take_number(), "the number " + shown(token) + " is too large for double precision");
    // The parser's own text: "[...] parse error at line 1, column 2: DETAIL".
    const std::string what = found.what();
    std::string detail = what.find(": ") == what.npos ? "syntax error" : what.substr(what.find(": ") + 2);
    if (detail.size() > 200) detail = detail.substr(0, 200) + " ...";
    return refuse(byte > 0 ? byte - 1 : 0, "not valid JSON: " + detail);
  }

 private:
  /// An object or array that has not ended.
  struct Open {
    Value value;
    std::map<std::string, std::size_t> keys;  ///< and their first places
    std::string key;                          ///< the last one
    std::size_t key_begin = 0;
    bool in_value = false;  ///< of the last key
  };

  static bool is_whole(const std::string& digits) { return digits.find_first_of(".eE") == digits.npos; }
  /// The first byte of the token that the parser has read.
  std::size_t take_token() {
    const std::size_t begin = std::min(m_text.find_first_not_of(" \t\r\n,:]}", m_end), m_text.size());
    m_end = static_cast<std::size_t>(m_stream.pubseekoff(0, std::ios::cur, std::ios::in));
    return begin;
  }
  /// After a number the parser has read one character more, if there is one.
  std::size_t take_number() {
    const std::size_t begin = take_token();
    m_end = std::min(m_text.find_first_not_of("+-.0123456789eE", begin), m_text.size());
    return begin;
  }
  bool refuse_whole() {
    const std::size_t begin = take_number();
    return refuse(begin, "the whole number " + shown(m_text.substr(begin, m_end - begin)) +
                             " does not fit in 64 bits; a real number has a point or an exponent");
  }
  bool open(Value::Kind kind) {
    const std::size_t begin = take_token();
    if (m_open.size() == max_depth)
      return refuse(begin, "nested more than " + std::to_string(max_depth) + " levels deep");
    m_open.push_back({{kind, begin}, {}, {}});
    return true;
  }
  bool close() {
    take_token();
    Value value = std::move(m_open.back().value);
    m_open.pop_back();
    return add(std::move(value));
  }
  bool add(Value value) {
    if (m_open.empty()) return tree = std::move(value), true;
    Open& parent = m_open.back();
    parent.in_value = false;
    if (parent.value.kind == Value::Kind::object) {
      value.key = parent.key;
      value.begin = parent.key_begin;
    }
    parent.value.children.push_back(std::move(value));
    return true;
  }
  bool refuse(std::size_t begin, const std::string& message) {
    std::string path;
    for (const Open& open : m_open)
      if (open.in_value) path += (path.empty() ? "" : ".") + open.key;
    error = (path.empty() ? "" : "'" + shown(path) + "': ") + message;
    error_at = begin;
    return false;
  }

  const std::string& m_text;
  std::streambuf& m_stream;
  std::size_t m_end;  ///< of the last token
  std::vector<Open> m_open;
};

/// Makes settings of the values of a config file.
class ConfigReader {
 public:
  ConfigReader(const std::string& path, const std::string& command)
      : m_path(path), m_text(read_text(path)), m_command(command) {}

  RawSettings read() {
    std::istringstream stream(m_text);
    TreeBuilder builder(m_text, *stream.rdbuf());
    if (!Json::sax_parse(stream, &builder)) refuse(builder.error_at, builder.error);
    if (builder.tree.kind != Value::Kind::object)
      refuse(builder.tree.begin, "a config file holds one JSON object, as in {\"solver\": \"cg\"}");
    for (const Value& member : builder.tree.children) add_member(member);
    return std::move(m_raw);
  }

 private:
  std::string where(std::size_t byte) const {
    return m_path + ":" + place_of(m_text, std::min(byte, m_text.size()));
  }
  [[noreturn]] void refuse(std::size_t byte, const std::string& message) const {
    throw OptionError(where(byte) + ": " + message);
  }
  [[noreturn]] void refuse_kind(const Value& value, const std::string& key, const std::string& wanted) const {
    const char* const kinds[] = {"null", "a single value", "an array", "an object"};
    refuse(value.begin,
           "'" + shown(key) + "' takes " + wanted + ", not " + kinds[static_cast<int>(value.kind)]);
  }

  void add_member(const Value& member) {
    std::string key = member.key;
    std::replace(key.begin(), key.end(), '-', '_');
    std::vector<std::string> known;
    for (const auto& setting : setting_keys(m_command)) known.push_back(setting.name);
    const bool is_known = std::find(known.begin(), known.end(), key) != known.end();
    if (takes_solver_options(m_command)) known.push_back("solver_options");
    if (takes_precond_options(m_command)) known.push_back("precond_options");
    if (takes_solver_options(m_command) && (key == "solver_options" || key == "s")) {
      add_options(m_raw.solver_options, member, member.key, "solver_options.", "");
    } else if (takes_precond_options(m_command) && (key == "precond_options" || key == "p")) {
      add_options(m_raw.precond_options, member, member.key, "precond_options.", "");
    } else if (!is_known) {
      refuse(member.begin, "'" + m_command + "' has no key '" + shown(member.key) + "'; did you mean '" +
                               nearest_word(shown(member.key), known) + "'?");
    } else {
      add_origin(key, member);
      const bool is_list = key == "precond" && m_command == "compare" && member.kind == Value::Kind::array;
      m_raw.keys[key] = is_list ? joined(member) : scalar_of(member, member.key);
    }
  }

  /// A setting may have two names, and an option a name with dots or a nested one.
  void add_origin(const std::string& name, const Value& value) {
    const auto [first, is_new] = m_first.emplace(name, value.begin);
    if (!is_new)
      refuse(value.begin, "'" + shown(value.key) + "' sets '" + shown(name) +
                              "' a second time, first set in line " +
                              std::to_string(line_of(m_text, first->second)));
    m_raw.origins[name] = where(value.begin);
  }

  OptionValue scalar_of(const Value& value, const std::string& key) const {
    if (value.kind != Value::Kind::scalar) refuse_kind(value, key, "true, false, a number or a text");
    return value.scalar;
  }

  std::string joined(const Value& names) const {
    std::string all;
    for (const Value& name : names.children)
      all += (all.empty() ? "" : ",") + to_string(scalar_of(name, "precond"));
    return all;
  }

  void add_options(OptionMap& options, const Value& value, const std::string& key, const std::string& owner,
                   const std::string& prefix) {
    if (value.kind != Value::Kind::object) refuse_kind(value, key, "an object of options");
    for (const Value& member : value.children) {
      const std::string name = prefix + member.key;
      if (member.kind == Value::Kind::object) {
        add_options(options, member, name, owner, name + ".");
      } else {
        add_origin(owner + name, member);
        options[name] = scalar_of(member, owner + name);
      }
    }
  }

  std::string m_path;
  std::string m_text;
  std::string m_command;
  std::map<std::string, std::size_t> m_first;  ///< the first place of each setting
  RawSettings m_raw;
};

}  // namespace

RawSettings read_config(const std::string& path, const std::string& command) {
  return ConfigReader(path, command).read();
}

}  // namespace prekond::driver
