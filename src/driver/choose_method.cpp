// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// The solver and the preconditioner that the settings name, and whether they go together.
#include "run.hpp"

#include <type_traits>
#include <utility>

namespace prekond::driver {
namespace {

struct NoOptions {
  template <class Visitor>
  void describe(Visitor&) {}
};

/// Sets the options of a method, and of `beside`, which stand beside them.
template <class Base, class Beside = NoOptions>
void set_options(const RegistryEntry<Base>& entry, Configurator<Base>& configurator, const OptionMap& options,
                 const Origins& origins, const std::string& owner, Beside&& beside = {}) {
  const auto fields_of = [](Configurator<Base>& method, auto& others) {
    OptionFields fields = method.fields();
    fields.append(OptionFields::of(others));
    return fields;
  };
  // One by one on another instance, because all together none could be told apart; a method's name comes
  // before its options there.
  const auto scratch = entry.configure();
  std::decay_t<Beside> scratch_beside;
  for (const auto& [name, value] : options)
    at_origin(origins, owner + name, [&, &key = name, &written = value] {
      fields_of(*scratch, scratch_beside).set({{key, written}}, entry.name);
    });
  fields_of(configurator, beside).set(options, entry.name);
}

void add_word(std::string& words, const std::string& word) {
  words += (words.empty() ? "" : ", ") + word;
}

/// The options, one each beside `chosen`, that make a preconditioner one for the solver.
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

/// The choices that a method's options are.
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

}  // namespace

void check_match(const Settings& settings, const MethodFacts& method) {
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

template <class Scalar>
Method<Scalar> choose_method(const Settings& settings, const std::string& precond,
                             const OptionMap& precond_options) {
  // Not every algorithm takes complex matrices.
  const std::string kind_of_matrix = is_complex<Scalar> ? " for complex matrices" : "";
  RegistryEntry<AnySolver<Scalar>> solver_entry;
  RegistryEntry<AnyPreconditioner<Scalar>> precond_entry;
  at_origin(settings.origins, "solver", [&] {
    solver_entry =
        find_registered(solver_registry<Scalar, Space>(), settings.solver, "solver" + kind_of_matrix);
  });
  at_origin(settings.origins, "precond", [&] {
    precond_entry =
        find_registered(preconditioner_registry<Scalar, Space>(), precond, "preconditioner" + kind_of_matrix);
  });
  Method<Scalar> method;
  method.solver_name = settings.solver;
  method.precond_name = precond;
  method.solver = solver_entry.configure();
  method.precond = precond_entry.configure();
  set_options(solver_entry, *method.solver, settings.solver_options, settings.origins, "solver_options.");
  set_options(precond_entry, *method.precond, precond_options, settings.origins, "precond_options.",
              method.distributed);
  method.solver = method.solver->resolved();
  method.precond = method.precond->resolved();
  method.solver_options = method.solver->fields().values();
  method.precond_options = method.precond->fields().values();
  for (const auto& [name, value] : OptionFields::of(method.distributed).values())
    if (precond_options.contains(name)) method.precond_options[name] = value;
  method.solver_properties = method.solver->properties();
  method.precond_properties = method.precond->properties();
  return method;
}

#define PREKOND_DRIVER_CHOOSE(Scalar)                                                                   \
  template Method<Scalar> choose_method<Scalar>(const Settings&, const std::string&, const OptionMap&); \
  template void check_combination<Scalar>(const Method<Scalar>&);
PREKOND_DRIVER_CHOOSE(double)
PREKOND_DRIVER_CHOOSE(Complex)

}  // namespace prekond::driver
