// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "config.hpp"

#include <algorithm>
#include <map>

#include "config_json.hpp"

namespace prekond::driver {
namespace {

using Kind = JsonValue::Kind;

const char* kind_text(Kind kind) {
  switch (kind) {
    case Kind::null:
      return "null";
    case Kind::array:
      return "an array";
    case Kind::object:
      return "an object";
    default:
      return "a single value";
  }
}

/// Makes settings of a config file's values.
class ConfigReader {
 public:
  ConfigReader(const std::string& path, const std::string& command) : m_text(path), m_command(command) {
    for (const auto& key : setting_keys(command)) m_known.push_back(key.name);
  }

  RawSettings operator()() {
    const JsonValue json = m_text.parse();
    if (json.kind != Kind::object)
      throw OptionError(m_text.where(json.begin) +
                        ": a config file holds one JSON object, as in {\"solver\": \"cg\"}");
    for (const JsonValue& member : json.children) add_member(member);
    return std::move(m_raw);
  }

 private:
  [[noreturn]] void refuse(const JsonValue& value, const std::string& message) const {
    throw OptionError(m_text.where(value.begin) + ": " + message);
  }

  void add_member(const JsonValue& member) {
    std::string key = member.key;
    std::replace(key.begin(), key.end(), '-', '_');
    if ((key == "solver_options" || key == "s") && takes_solver_options(m_command)) {
      check_object(member, member.key);
      add_options(m_raw.solver_options, member, "solver_options.", "");
    } else if ((key == "precond_options" || key == "p") && takes_precond_options(m_command)) {
      check_object(member, member.key);
      add_options(m_raw.precond_options, member, "precond_options.", "");
    } else if (std::find(m_known.begin(), m_known.end(), key) == m_known.end()) {
      refuse_key(member);
    } else {
      add_origin(key, member);
      const bool is_list = key == "precond" && m_command == "compare" && member.kind == Kind::array;
      m_raw.keys[key] = is_list ? joined(member) : to_value(member, member.key);
    }
  }

  /// One setting may have two names, and an option a name with dots or a nested one.
  void add_origin(const std::string& name, const JsonValue& value) {
    const auto [first, is_new] = m_first.emplace(name, value.begin);
    if (!is_new)
      refuse(value, "'" + shown(value.key) + "' sets '" + shown(name) +
                        "' a second time, first set in line " + std::to_string(m_text.line(first->second)));
    m_raw.origins[name] = m_text.where(value.begin);
  }

  OptionValue to_value(const JsonValue& value, const std::string& key) const {
    if (value.kind != Kind::scalar)
      refuse(value,
             "'" + shown(key) + "' takes true, false, a number or a text, not " + kind_text(value.kind));
    return value.scalar;
  }

  /// Several preconditioners may stand in an array.
  OptionValue joined(const JsonValue& names) const {
    std::string all;
    for (const auto& name : names.children)
      all += (all.empty() ? "" : ",") + to_string(to_value(name, "precond"));
    return all;
  }

  void check_object(const JsonValue& value, const std::string& key) const {
    if (value.kind != Kind::object)
      refuse(value, "'" + shown(key) + "' takes an object of options, not " + kind_text(value.kind));
  }

  /// Nested objects become names with dots. No deeper than the text's nesting, which is bounded.
  void add_options(OptionMap& options, const JsonValue& json, const std::string& owner,
                   const std::string& prefix) {
    for (const JsonValue& member : json.children) {
      const std::string name = prefix + member.key;
      if (member.kind == Kind::object) {
        add_options(options, member, owner, name + ".");
      } else {
        add_origin(owner + name, member);
        options[name] = to_value(member, owner + name);
      }
    }
  }

  [[noreturn]] void refuse_key(const JsonValue& member) const {
    std::vector<std::string> known = m_known;
    if (takes_solver_options(m_command)) known.push_back("solver_options");
    if (takes_precond_options(m_command)) known.push_back("precond_options");
    refuse(member, "'" + m_command + "' has no key '" + shown(member.key) + "'; did you mean '" +
                       nearest_word(shown(member.key), known) + "'?");
  }

  JsonText m_text;
  std::string m_command;
  std::vector<std::string> m_known;
  std::map<std::string, std::size_t> m_first;  ///< where each setting was set
  RawSettings m_raw;
};

}  // namespace

RawSettings read_config(const std::string& path, const std::string& command) {
  return ConfigReader(path, command)();
}

}  // namespace prekond::driver
