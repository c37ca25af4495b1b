// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/precond/linear_solver_options.hpp>

namespace prekond {

LinearSolverOptions linear_solver_options(const OptionMap& by_key) {
  LinearSolverOptions options;
  const OptionFields fields = OptionFields::of(options);
  std::vector<std::string> keys = {"precond", "solver", "precond_options", "solver_options"};
  for (const OptionField& field : fields.list()) keys.push_back(field.name);
  OptionMap others;
  for (const auto& [key, value] : by_key) {
    const auto dot = key.find('.');
    const std::string* const known = find_name(key.substr(0, dot), keys);
    if (known == nullptr || (dot != key.npos) != known->ends_with("_options"))
      throw OptionError("a solver has no option '" + key + "'" + did_you_mean(key, keys));
    MethodChoice& method = known->starts_with("precond") ? options.preconditioner : options.solver;
    if (dot != key.npos)
      method.options[key.substr(dot + 1)] = value;
    else if (*known == "precond" || *known == "solver")
      method.name = to_string(value);
    else
      others[*known] = value;
  }
  fields.set(others, LinearSolverOptions::name);
  return options;
}

}  // namespace prekond
