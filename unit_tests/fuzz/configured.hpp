// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The checks of settings that were accepted, from a command line or a configuration.
#include "driver/method.hpp"
#include "fuzz/fuzz_input.hpp"

namespace prekond::fuzz {

/// Is the method the same that is configured by its own values in force?
template <class Base>
void check_again(const Registry<Base>& registry, const std::string& name, Configurator<Base>& method) {
  const OptionMap values = method.fields().values();
  try {
    const auto again = configured(registry, {name, values}, "method");
    check(again->fields().values() == values, name + ": other values in force after they are set");
  } catch (const OptionError& error) {
    check(false, name + ": refuses its values in force: " + error.what());
  }
  check(method.resolved()->build() != nullptr, name + ": is not built");
}

/// The methods of settings, or a refusal.
inline void check_methods(const driver::CommandLine& line) {
  using driver::Space;
  try {
    for (const auto& method : driver::choose_methods<double>(line)) {
      if (!method.refusal.empty()) check_refusal(OptionError(method.refusal), 4000);
      if (method.is_automatic || !method.refusal.empty()) continue;
      check_again(preconditioner_registry<double, Space>(), method.precond_name, *method.precond);
      check_again(solver_registry<double, Space>(), method.solver_name, *method.solver);
    }
    count("methods chosen");
  } catch (const OptionError& error) {
    check_refusal(error, 4000);
    count("methods refused");
  }
}

/// Are all numbers of the settings in their ranges?
inline void check_settings(driver::Settings settings) {
  OptionFields::of(settings).check("settings");
  check(!settings.source().empty() && !settings.solver.empty() && !settings.precond.empty(),
        "empty settings");
}

}  // namespace prekond::fuzz
