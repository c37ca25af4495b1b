// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The bytes are a config file, for each command that takes one. A file that is accepted is JSON, with as
/// many values as settings were read; its methods are built, and are the same when they are configured by
/// their values in force.
#include "driver/config_file.hpp"
#include "driver/text.hpp"
#include "fuzz/configured.hpp"

namespace prekond::fuzz {
namespace {

using driver::Json;

/// The values that are neither objects nor arrays; an array counts as one.
std::size_t number_of_values(const Json& json) {
  if (!json.is_object()) return 1;
  std::size_t number = 0;
  for (const auto& member : json) number += number_of_values(member);
  return number;
}

/// As another reader reads it, which knows neither byte order marks nor lines that end in CR.
void check_json(std::string text, std::size_t settings) {
  const Json json = Json::parse(text, nullptr, false);
  check(json.is_object(), "accepted, but no JSON object");
  check(number_of_values(json) == settings, "another number of values");
}

void check_command(const std::string& command, const std::string& name, const std::string& text) {
  driver::CommandLine line;
  line.command = command;
  try {
    const driver::RawSettings raw = driver::read_config(name, command);
    count(command + ": read");
    check_json(text, raw.size());
    line.settings = driver::to_settings(raw, command);
    check_settings(line.settings);
  } catch (const OptionError& error) {
    check_refusal(error, 4000);
    return count(command + ": refused");
  }
  if (command != "batch") check_methods(line);
}

}  // namespace
}  // namespace prekond::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static prekond::fuzz::MemoryFile file;
  const std::string text(reinterpret_cast<const char*>(data), size);
  file.write(text);
  for (const char* command : {"solve", "compare", "batch"})
    prekond::fuzz::check_command(command, file.name(), text);
  return 0;
}
