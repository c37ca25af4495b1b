// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The bytes are a command line, an argument a line. One that is accepted has settings in their ranges, means
/// the same as a config file of what was written, and chooses methods as in fuzz_json.cpp.
#include <algorithm>
#include <sstream>

#include "driver/config_file.hpp"
#include "driver/kokkos_flags.hpp"
#include "driver/text.hpp"
#include "fuzz/configured.hpp"

namespace prekond::fuzz {
namespace {

/// Without '/', so that no argument is a file outside of the folder.
std::vector<std::string> arguments_of(const std::uint8_t* data, std::size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  std::replace(text.begin(), text.end(), '/', '.');
  std::vector<std::string> arguments;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) arguments.push_back(line.substr(0, line.find('\0')));
  return arguments;
}

/// The settings as a config file. \returns false where JSON has no such text
bool write_config(MemoryFile& file, const driver::RawSettings& given) {
  driver::Json json = driver::Json::object();
  for (const auto& [key, value] : given) {
    driver::Json& group = key.starts_with("solver_options.")    ? json["solver_options"]
                          : key.starts_with("precond_options.") ? json["precond_options"]
                                                                : json;
    const std::string name = &group == &json ? key : key.substr(key.find('.') + 1);
    std::visit([&](const auto& written) { group[name] = written; }, value.value);
  }
  try {
    file.write(json.dump());
    return true;
  } catch (const driver::Json::type_error&) {
    return false;  // no UTF-8
  }
}

void check_same_settings(driver::Settings one, driver::Settings other) {
  check(OptionFields::of(one).values() == OptionFields::of(other).values(),
        "other numbers from a config file");
  check(one.solver_options == other.solver_options && one.precond_options == other.precond_options,
        "other options from a config file");
  check(one.source() == other.source() && one.solver == other.solver && one.precond == other.precond &&
            one.rhs == other.rhs && one.order == other.order && one.match == other.match,
        "other words from a config file");
}

void check_as_config(const driver::CommandLine& line) {
  static MemoryFile file;
  if (!write_config(file, line.settings.given)) return;
  try {
    const auto raw = driver::read_config(file.name(), line.command);
    check_same_settings(line.settings, driver::to_settings(raw, line.command));
    count("same as a config file");
  } catch (const OptionError& error) {
    check(false, std::string("as a config file it is refused: ") + error.what());
  }
}

void check_arguments(const std::vector<std::string>& arguments) {
  driver::CommandLine line;
  try {
    line = driver::parse_command_line(arguments);
    driver::check_kokkos_flags(line.kokkos);
  } catch (const OptionError& error) {
    const std::string what = error.what();
    check(!what.empty(), "an empty message");
    return count("refused");
  }
  count(line.command.empty() ? "help" : line.command);
  const bool has_settings = line.command == "solve" || line.command == "compare" || line.command == "batch";
  if (!has_settings) return;
  check_settings(line.settings);
  check_as_config(line);
  if (line.command != "batch") check_methods(line);
}

}  // namespace
}  // namespace prekond::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  prekond::fuzz::check_arguments(prekond::fuzz::arguments_of(data, size));
  return 0;
}
