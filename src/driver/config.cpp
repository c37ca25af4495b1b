// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>

#include "commands.hpp"
#include "method.hpp"
#include "report.hpp"

namespace prekond::driver {
namespace {

std::string origin_text(const Given& given) {
  return given.origin.empty() ? "command line" : given.origin;
}

/// The options of a method, and the origins of their values; they may have been written in another spelling.
void add_options(Json& config, Json& origins, const std::string& owner, const OptionFields& fields,
                 const OptionMap& values, const RawSettings& given) {
  config[owner] = to_json(values);
  for (const auto& [name, value] : values) {
    std::vector<std::string> names = {name};
    for (const OptionField& field : fields.list())
      if (field.name == name) names.insert(names.end(), field.former_names.begin(), field.former_names.end());
    Json& origin = origins[owner + "." + name] = "default";
    for (const auto& [key, written] : given)
      if (key.starts_with(owner + ".") && find_name(key.substr(owner.size() + 1), names))
        origin = origin_text(written);
  }
}

}  // namespace

void config_command(const CommandLine& line) {
  CommandLine solve = line;
  solve.command = "solve";
  const Method<double> method = std::move(choose_methods<double>(solve).front());
  Settings& settings = solve.settings;
  const Json numbers = to_json(OptionFields::of(settings).values());
  Json config = Json::object(), origins = Json::object();
  for (const SettingKey& key : setting_keys(solve.command)) {
    const bool is_for_auto = key.name == "solves" || key.name == "budget" || key.name == "probe";
    if ((is_for_auto && !method.is_automatic) || (key.text && (settings.*key.text).empty())) continue;
    config[key.name] = key.text ? Json(settings.*key.text) : numbers.at(key.name);
    const auto given = settings.given.find(key.name);
    origins[key.name] = given == settings.given.end() ? "default" : origin_text(given->second);
  }
  if (method.solver_name != automatic)
    add_options(config, origins, "solver_options", method.solver->fields(), method.solver->fields().values(),
                settings.given);
  if (method.precond_name != automatic)
    add_options(config, origins, "precond_options", method.precond->fields(), method.precond_options,
                settings.given);
  config["origins"] = origins;
  std::fputs(report_text(config).c_str(), stdout);
}

}  // namespace prekond::driver
