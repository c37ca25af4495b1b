// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "method.hpp"

#include <prekond/precond/amg.hpp>
#include <prekond/precond/several_devices.hpp>

#include <algorithm>
#include <utility>

#include "condition.hpp"
#include "product.hpp"
#include "text.hpp"

namespace prekond::driver {
namespace {

/// Sets the options of a method one at a time, because an error of all together would not tell whose it is; a
/// method's name comes before its options there.
void set_options(const OptionFields& fields, const std::string& method, const OptionMap& options,
                 const RawSettings& given, const std::string& owner) {
  for (const auto& option : options)
    at_origin(given, owner + option.first, [&] { fields.set({option}, method); });
  fields.set(options, method);  // refuses two names of one option
}

void add_word(std::string& words, const std::string& word) {
  words += (words.empty() ? "" : ", ") + word;
}

/// The options, one at a time in addition to `chosen`, that make a preconditioner one for the solver.
template <class Scalar>
std::vector<std::pair<std::string, std::string>> choices_for(
    const Properties& solver, const RegistryEntry<AnyPreconditioner<Scalar>>& entry,
    const OptionMap& chosen = {}) {
  std::vector<std::pair<std::string, std::string>> choices;
  for (const auto& field : entry.configure()->fields().list()) {
    if (field.kind != "choice") continue;
    for (std::string choice : split(field.range, '|')) {
      std::erase(choice, ' ');
      OptionMap options = chosen;
      options[field.name] = choice;
      const auto configurator = entry.configure();
      configurator->fields().set(options, entry.name);
      if (go_together(solver, configurator->properties())) choices.emplace_back(field.name, choice);
    }
  }
  return choices;
}

/// The options of a method that are choices.
template <class Scalar>
OptionMap chosen_by(const Method<Scalar>& method) {
  OptionMap chosen;
  const auto fields = method.precond->fields();
  for (const auto& field : fields.list())
    if (field.kind == "choice") chosen[field.name] = field.get();
  return chosen;
}

/// \throws OptionError, which names the solvers that take M and the options that make M one for the solver
template <class Scalar>
void refuse_variable(const Method<Scalar>& method) {
  std::string solvers, options;
  for (const auto& entry : solver_registry<Scalar, Space>())
    if (go_together(entry.properties, method.precond_properties)) add_word(solvers, entry.name);
  if (method.precond_properties.symmetry != Symmetry::nonsymmetric)
    add_word(solvers, "for symmetric positive definite matrices cg with flexible=true");
  for (const auto& entry : preconditioner_registry<Scalar, Space>())
    if (entry.name == method.precond_name)
      for (const auto& [option, choice] :
           choices_for<Scalar>(method.solver_properties, entry, chosen_by<Scalar>(method)))
        add_word(options, option + "=" + choice);
  throw OptionError("the preconditioner '" + method.precond_name +
                    "' is another operator for another vector with these options, and the solver '" +
                    method.solver_name + "' is for those that are not; choose a flexible solver: " + solvers +
                    (options.empty() ? "" : "; or for '" + method.precond_name + "' one of " + options));
}

/// --match=product must not take the symmetry away from a method that needs it, or from --condition.
void check_match_of(const Settings& settings, const MethodFacts& method) {
  if (settings.match != "product") return;
  const std::string permuted = "--match permutes the rows of A, which takes its symmetry away; ";
  if (settings.condition) throw OptionError(permuted + "leave --match or --condition out");
  if (!method.needs_spd()) return;
  const bool solver = method.solver_properties.needs_spd;
  throw OptionError(
      permuted + (solver ? "the solver '" + method.solver_name : "'" + method.precond_name) +
      "' is for symmetric positive definite matrices: leave --match out (or take --match=auto), or " +
      (solver ? "choose a solver for other matrices, such as gmres or bicgstab"
              : "choose a preconditioner for other matrices, such as ilu0"));
}

template <class Scalar>
void check_combination(const Method<Scalar>& method) {
  const Properties& solver = method.solver_properties;
  if (go_together(solver, method.precond_properties)) return;
  if (method.precond_properties.is_variable && !solver.is_flexible) refuse_variable(method);
  std::string others, solvers, because;
  for (const auto& entry : preconditioner_registry<Scalar, Space>()) {
    if (go_together(solver, entry.properties)) {
      add_word(others, entry.name);
      continue;
    }
    for (const auto& [option, choice] : choices_for<Scalar>(solver, entry)) {
      add_word(others, entry.name + " with " + option + "=" + choice);
      if (entry.name == method.precond_name)
        because = " with " + option + "=" + to_string(method.precond_options.at(option));
    }
  }
  for (const auto& entry : solver_registry<Scalar, Space>())
    if (go_together(entry.properties, method.precond_properties)) add_word(solvers, entry.name);
  throw OptionError("the solver '" + method.solver_name + "' needs a symmetric preconditioner, and '" +
                    method.precond_name + "'" + because + " is not symmetric; choose one of " + others +
                    (solvers.empty() ? "" : ", or one of the solvers " + solvers));
}

/// The entry of a solver or a preconditioner. \throws OptionError for an unknown name, and for a method that
/// does not take complex matrices
template <class Base, class RealBase>
const RegistryEntry<Base>& find_method(const Registry<Base>& registry, const Registry<RealBase>& of_reals,
                                       const std::string& name, const char* kind) {
  const std::vector<std::string> names = registered_names(registry);
  if (find_name(name, names) == nullptr) {
    const std::string real = find_registered(of_reals, name, kind).name;
    std::string others;
    for (const auto& other : names) add_word(others, other);
    throw OptionError("'" + real + "' takes real matrices, and this one is complex; a " + std::string(kind) +
                      " for complex matrices is one of " + others);
  }
  return find_registered(registry, name, kind);
}

template <class Scalar>
Method<Scalar> choose_method(const Settings& settings, const std::string& precond_name,
                             const OptionMap& precond_options) {
  Method<Scalar> method;
  at_origin(settings.given, "solver", [&] {
    const auto& entry = find_method(solver_registry<Scalar, Space>(), solver_registry<double, Space>(),
                                    settings.solver, "solver");
    method.solver_name = entry.name;
    method.solver = entry.configure();
  });
  at_origin(settings.given, "precond", [&] {
    const auto& entry = find_method(preconditioner_registry<Scalar, Space>(),
                                    preconditioner_registry<double, Space>(), precond_name, "preconditioner");
    method.label = method.precond_name = entry.name;
    method.precond = entry.configure();
  });
  OptionFields fields = method.precond->fields();
  fields.append(OptionFields::of(method.distributed));
  set_options(method.solver->fields(), method.solver_name, settings.solver_options, settings.given,
              "solver_options.");
  set_options(fields, method.precond_name, precond_options, settings.given, "precond_options.");
  method.solver = method.solver->resolved();
  method.precond = method.precond->resolved();
  method.solver_options = method.solver->fields().values();
  StoppingOptions stopping = settings.stopping;
  method.solver_options.merge(OptionFields::of(stopping).values());
  method.precond_options = method.precond->fields().values();
  const OptionMap distributed = OptionFields::of(method.distributed).values();
  for (const auto& option : precond_options)
    for (const auto& [name, value] : distributed)
      if (find_name(option.first, {name})) method.precond_options[name] = value;
  method.solver_properties = method.solver->properties();
  method.precond_properties = method.precond->properties();
  return method;
}

/// `name:key=value:key=value`
template <class Scalar>
Method<Scalar> method_of_row(const Settings& settings, const std::string& text) {
  const auto parts = split(text, ':');
  OptionMap options;
  for (std::size_t k = 1; k < parts.size(); ++k) add_pair(options, parts[k], "--precond NAME:");
  Method<Scalar> method = choose_method<Scalar>(settings, parts.front(), options);
  check_combination(method);
  method.label = text;
  return method;
}

/// A row each; the error of one is its own, that of all is one of the command.
template <class Scalar>
std::vector<Method<Scalar>> methods_of_rows(const Settings& settings) {
  std::vector<Method<Scalar>> methods;
  std::optional<OptionError> first;
  std::size_t num_errors = 0;
  for (const std::string& row : split(settings.precond, ',')) {
    try {
      methods.push_back(method_of_row<Scalar>(settings, row));
    } catch (const OptionError& error) {
      if (num_errors++ == 0) first = error;
      Method<Scalar>& refused = methods.emplace_back();
      refused.label = row;
      refused.precond_name = row.substr(0, row.find(':'));
      refused.solver_name = settings.solver;
      refused.refusal = error.what();
    }
  }
  if (num_errors == methods.size()) throw OptionError(*first);
  return methods;
}

bool is_automatic(const Settings& settings) {
  return settings.precond == automatic || settings.solver == automatic;
}

/// The one of the two that is named, with its options; the other is `auto`. The solver of an automatic method
/// has the properties of none, so that the checks of a method ask only for what is named.
/// \throws OptionError for options of a method that is not named
template <class Scalar>
Method<Scalar> undecided(const Settings& settings) {
  const bool any_solver = settings.solver == automatic, any_preconditioner = settings.precond == automatic;
  const auto refuse_options = [&](const OptionMap& options, const std::string& method, const char* flag) {
    if (options.empty()) return;
    const std::string& name = options.begin()->first;
    settings.refuse(method + "_options." + name,
                    text_of("'", name, "' is an option of one method, and ", flag,
                            " auto chooses among several: name one with ", flag));
  };
  if (any_preconditioner) refuse_options(settings.precond_options, "precond", "--precond");
  if (any_solver) refuse_options(settings.solver_options, "solver", "--solver");
  if (any_preconditioner && settings.devices != 1)
    settings.refuse("devices",
                    "--devices is for a named preconditioner, not for auto: name one with --precond");
  Settings own = settings;
  if (any_solver) own.solver = "gmres";
  if (any_preconditioner) own.precond = "none";
  Method<Scalar> method = choose_method<Scalar>(own, own.precond, own.precond_options);
  method.is_automatic = true;
  if (any_preconditioner) method.label = method.precond_name = automatic;
  if (any_solver) method.solver_name = automatic;
  return method;
}

}  // namespace

std::vector<Candidate> candidates_of(const Settings& settings, const MatrixStatistics& facts, bool is_complex,
                                     int num_ranks) {
  std::vector<Candidate> candidates =
      candidates_for(facts, !is_host_space<Space>, is_complex, settings.has_near_null_space());
  // Each rank does all of the work of a hierarchy that it has whole, and its part of a product with A.
  for (Candidate& candidate : candidates)
    if (candidate.preconditioner.name == AmgOptions::name &&
        facts.num_rows <= AmgOptions().gathered_rows(is_host_space<Space>)) {
      candidate.setup *= num_ranks;
      candidate.iteration += (num_ranks - 1) * candidate.application;
      candidate.application *= num_ranks;
    }
  return with_named(std::move(candidates), {settings.precond, settings.precond_options},
                    {settings.solver, settings.solver_options});
}

template <class Scalar>
Method<Scalar> method_of(const Settings& settings, const Candidate& candidate) {
  Settings own = settings;
  own.solver = candidate.solver.name;
  own.solver_options = candidate.solver.options;
  Method<Scalar> method =
      choose_method<Scalar>(own, candidate.preconditioner.name, candidate.preconditioner.options);
  check_combination(method);
  return method;
}

template <class Scalar>
std::vector<Method<Scalar>> choose_methods(const CommandLine& line) {
  const Settings& settings = line.settings;
  std::vector<Method<Scalar>> methods;
  if (line.command == "compare" && settings.solver == automatic && settings.precond != automatic)
    settings.refuse("solver",
                    "--solver auto of compare is for --precond auto: name a solver, or leave --precond out");
  const bool chooses = (line.command == "solve" || line.command == "compare") && is_automatic(settings);
  for (const std::string key : {"solves", "budget", "probe"})  // compare has a table of any methods by solves
    if (!chooses && settings.given.contains(key) && (line.command != "compare" || key != "solves"))
      settings.refuse(key, text_of("--", key,
                                   " is for auto, and both methods are named: leave it out, or name "
                                   "one of --precond and --solver"));
  if (chooses)
    methods.push_back(undecided<Scalar>(settings));
  else if (line.command == "compare")
    methods = methods_of_rows<Scalar>(settings);
  else
    methods.push_back(choose_method<Scalar>(settings, settings.precond, settings.precond_options));
  for (const auto& method : methods) {
    if (line.command != "info" || settings.condition) check_match_of(settings, method);
    if (line.command == "solve" && !chooses) check_combination(method);
    check_condition(settings, line.command, method.precond_properties);
  }
  return methods;
}

namespace {

/// The options whose values are not the defaults.
template <class Scalar>
OptionMap changed_options(const RegistryEntry<AnyPreconditioner<Scalar>>& entry, const OptionMap& values) {
  OptionMap changed;
  const auto configurator = entry.configure();
  const OptionFields fields = configurator->fields();
  for (const auto& field : fields.list()) {
    const auto found = values.find(field.name);
    if (found != values.end() && found->second != field.get()) changed.insert(*found);
  }
  return changed;
}

/// The choices of an option; of a method inside that sweeps over the rows of any matrix.
std::vector<std::string> choices_of(const OptionField& field) {
  if (field.kind == "method") return {"multicolor_gs"};
  if (field.kind != "choice") return {};
  std::vector<std::string> choices = split(field.range, '|');
  for (std::string& choice : choices) std::erase(choice, ' ');
  return choices;
}

/// The choices that make a preconditioner of positive definite matrices one of general matrices for the
/// solver: single ones, or where there are none those of two options. "-p coarsening=classical -p
/// smoother=multicolor_gs"
template <class Scalar>
std::vector<std::string> choices_for_general(const Method<Scalar>& method,
                                             const RegistryEntry<AnyPreconditioner<Scalar>>& entry) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& field : entry.configure()->fields().list())
    for (const std::string& choice : choices_of(field)) all.emplace_back(field.name, choice);
  const OptionMap chosen = changed_options<Scalar>(entry, method.precond_options);
  const auto serves = [&](const OptionMap& options) {
    const auto configurator = entry.configure();
    try {
      configurator->fields().set(options, entry.name);
    } catch (const OptionError&) {
      return false;
    }
    return !configurator->properties().needs_spd &&
           go_together(method.solver_properties, configurator->properties());
  };
  std::vector<std::string> found;
  const auto with = [&](OptionMap options, const std::pair<std::string, std::string>& choice) {
    options[choice.first] = choice.second;
    return options;
  };
  const auto text = [](const auto& choice) { return "-p " + choice.first + "=" + choice.second; };
  for (const auto& choice : all)
    if (serves(with(chosen, choice))) found.push_back(text(choice));
  if (!found.empty()) return found;
  for (std::size_t k = 0; k < all.size(); ++k)
    for (std::size_t l = k + 1; l < all.size(); ++l)
      if (all[k].first != all[l].first && serves(with(with(chosen, all[k]), all[l])))
        found.push_back(text(all[k]) + " " + text(all[l]));
  return found;
}

template <class Scalar>
std::string advice_for_general(const Method<Scalar>& method) {
  std::string options;
  for (const auto& entry : preconditioner_registry<Scalar, Space>())
    if (entry.name == method.precond_name)
      for (const std::string& choice : choices_for_general<Scalar>(method, entry))
        options += (options.empty() ? "" : ", or ") + choice;
  return "the preconditioner '" + method.precond_name + "' is for symmetric positive definite matrices" +
         (options.empty() ? "" : " with these options") + "; take " +
         (options.empty() ? "" : options + ", or ") + "a preconditioner for general matrices, such as " +
         (is_complex<Scalar> ? "jacobi" : "ilu0");
}

}  // namespace

template <class Scalar>
MethodNeeds needs_of(const std::vector<Method<Scalar>>& methods) {
  const auto needs_spd = [](const auto& method) { return method.needs_spd(); };
  MethodNeeds needs;
  // Until it is known whether the method needs a positive definite matrix, --match=auto leaves A as it is.
  const auto may_need_spd = [&](const auto& method) {
    return needs_spd(method) || method.precond_name == automatic;
  };
  if (std::any_of(methods.begin(), methods.end(), may_need_spd)) needs.check = SpdCheck::report;
  const auto must = [&](const auto& method) { return needs_spd(method) || !method.refusal.empty(); };
  if (std::all_of(methods.begin(), methods.end(), must)) needs.check = SpdCheck::require;
  if (needs.check == SpdCheck::require && methods.size() == 1 && !methods.front().solver_properties.needs_spd)
    needs.instead = advice_for_general(methods.front());
  for (const auto& method : methods) needs.factors_in_order |= method.precond_properties.factors_in_order;
  return needs;
}

std::unique_ptr<const Devices> choose_devices(const Settings& settings) {
  if (settings.devices == 1) return nullptr;
  try {
    return std::make_unique<const Devices>(static_cast<int>(settings.devices));
  } catch (const OptionError& error) {
    settings.refuse("devices", std::string("--devices: ") + error.what());
  }
}

template <class Scalar>
void check_devices(const Devices* devices, const std::vector<Method<Scalar>>& methods) {
  if (devices == nullptr) return;
  for (const auto& method : methods) {
    if (!method.refusal.empty()) continue;
    try {
      const SeveralDevices<Scalar, Space> shared(*method.precond, devices->others());
    } catch (const InputError& error) {
      throw OptionError(std::string("--devices: ") + error.what());
    }
  }
}

void check_processes(const Settings& settings, const Processes& processes) {
  check_product(settings, processes);
  if (settings.devices != 1 && !processes.is_serial())
    settings.refuse(
        "devices",
        text_of("--devices ", settings.devices,
                " shares a setup out over the devices of one process, and these are ", processes.size(),
                " processes: start one without mpirun, or leave --devices out, so that each process "
                "sets up its own rows"));
}

void check_complex(const CommandLine& line, const Processes& processes) {
  const Settings& settings = line.settings;
  if (!processes.is_serial() && line.command != "info")
    throw OptionError("a complex matrix is for one process; run it without mpirun");
  if (settings.spmv == "kokkoskernels")
    throw OptionError("--spmv kokkoskernels is for real matrices; take --spmv auto");
  if (settings.has_near_null_space())
    throw OptionError("--near-null-space and --coordinates are for real matrices; leave them out");
}

#define PREKOND_DRIVER_METHODS(Scalar)                                             \
  template std::vector<Method<Scalar>> choose_methods<Scalar>(const CommandLine&); \
  template Method<Scalar> method_of<Scalar>(const Settings&, const Candidate&);    \
  template MethodNeeds needs_of<Scalar>(const std::vector<Method<Scalar>>&);       \
  template void check_devices<Scalar>(const Devices*, const std::vector<Method<Scalar>>&);
PREKOND_DRIVER_METHODS(double)
PREKOND_DRIVER_METHODS(Complex)

}  // namespace prekond::driver
