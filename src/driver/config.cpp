// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "config.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace prekond::driver {
namespace {

using Json = nlohmann::json;

std::string read_text(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw OptionError(path + ": is a folder; --config takes a JSON file");
  std::ifstream file(path, std::ios::binary);
  if (!file) throw OptionError(path + ": the config file cannot be opened: " + std::strerror(errno));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// "LINE:COLUMN" of the byte at which the parser stopped.
std::string position(const std::string& text, std::size_t byte) {
  const std::size_t end = std::min(byte > 0 ? byte - 1 : 0, text.size());
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), '\n');
  const std::size_t newline = end > 0 ? text.rfind('\n', end - 1) : std::string::npos;
  return std::to_string(line) + ":" + std::to_string(newline == std::string::npos ? end + 1 : end - newline);
}

/// What the parser expected, behind its own prefix and position: "[...] parse error at line 1, column 2:
/// DETAIL".
std::string parser_detail(const std::string& what) {
  const std::size_t colon = what.find(": ");
  return colon == std::string::npos ? "syntax error" : what.substr(colon + 2);
}

Json parse(const std::string& path) {
  const std::string text = read_text(path);
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    throw OptionError(path + ":" + position(text, error.byte) +
                      ": not valid JSON: " + parser_detail(error.what()));
  }
}

OptionValue to_value(const Json& json, const std::string& path, const std::string& key) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  throw OptionError(path + ": '" + key + "' takes true, false, a number or a text, not " + json.dump());
}

/// Several preconditioners may stand in an array.
OptionValue joined(const Json& names, const std::string& path) {
  std::string all;
  for (const auto& name : names) all += (all.empty() ? "" : ",") + to_string(to_value(name, path, "precond"));
  return all;
}

void add_options(OptionMap& options, const Json& json, const std::string& path, const std::string& key,
                 const std::string& prefix = "") {
  if (!json.is_object())
    throw OptionError(path + ": '" + key + "' takes an object of options, not " + json.dump());
  for (const auto& [name, value] : json.items()) {
    if (value.is_object()) {
      add_options(options, value, path, key, prefix + name + ".");
    } else {
      options[prefix + name] = to_value(value, path, key + "." + prefix + name);
    }
  }
}

[[noreturn]] void refuse_key(const std::string& key, const std::string& path, const std::string& command,
                             std::vector<std::string> known) {
  if (takes_solver_options(command)) known.push_back("solver_options");
  if (takes_precond_options(command)) known.push_back("precond_options");
  throw OptionError(path + ": '" + command + "' has no key '" + key + "'; did you mean '" +
                    nearest_word(key, known) + "'?");
}

}  // namespace

RawSettings read_config(const std::string& path, const std::string& command) {
  const Json json = parse(path);
  if (!json.is_object())
    throw OptionError(path + ": a config file holds one JSON object, as in {\"solver\": \"cg\"}");
  std::vector<std::string> known;
  for (const auto& key : setting_keys(command)) known.push_back(key.name);
  RawSettings raw;
  for (const auto& [written, value] : json.items()) {
    std::string key = written;
    std::replace(key.begin(), key.end(), '-', '_');
    if ((key == "solver_options" || key == "s") && takes_solver_options(command)) {
      add_options(raw.solver_options, value, path, written);
    } else if ((key == "precond_options" || key == "p") && takes_precond_options(command)) {
      add_options(raw.precond_options, value, path, written);
    } else if (std::find(known.begin(), known.end(), key) == known.end()) {
      refuse_key(written, path, command, known);
    } else {
      const bool is_list = key == "precond" && command == "compare" && value.is_array();
      raw.keys[key] = is_list ? joined(value, path) : to_value(value, path, written);
    }
  }
  return raw;
}

}  // namespace prekond::driver
