// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The options of the classes that solve A x = b with methods chosen by the matrix. Needs no Kokkos.
#include <prekond/core/options.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/core/solve_result.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace prekond {

/// Options of Automatic.
struct AutomaticOptions {
  static constexpr const char* name = "auto";
  static constexpr const char* summary =
      "the preconditioner that is expected to take the least work, by the matrix and a short trial solve";
  static constexpr const char* paper = "";

  std::int64_t solves = 1;
  double budget = 0.25;

  /// The preconditioner has its own, once it is chosen.
  Properties properties() const { return {}; }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("solves", solves, std::int64_t(1), std::int64_t(1000000000),
          "number of solves with one setup; raise it where there will be more, so that setups count less");
    visit(
        "budget", budget, 0.0, 10.0,
        "work that a method may spend on its trial, as a part of the work that another one would take; raise "
        "it where methods are left too early");
  }
};

/// Options of AutoSolver.
struct AutoSolverOptions : AutomaticOptions {
  bool probe = false;

  template <class Visitor>
  void describe(Visitor& visit) {
    AutomaticOptions::describe(visit);
    visit(
        "probe", probe,
        "times the two methods of the least expected work and takes the faster one; set it where one machine "
        "solves many similar systems, and not where runs have to repeat to the last bit");
  }
};

/// The treatment of a preconditioner when the values of A change.
enum class SetupReuse {
  automatic,  ///< it stays, until it has cost as much in iterations as another numeric phase
  values,     ///< a numeric phase with the new values each time
  none,       ///< a setup of its own each time
};

/// Options of LinearSolver and HostSolver.
struct LinearSolverOptions {
  static constexpr const char* name = "linear_solver";

  MethodChoice preconditioner = {AutomaticOptions::name, {}};
  MethodChoice solver = {AutomaticOptions::name, {}};
  StoppingOptions stopping = {};
  AutoSolverOptions choice = {};
  SetupReuse reuse = SetupReuse::automatic;

  /// All but the two methods.
  template <class Visitor>
  void describe(Visitor& visit) {
    stopping.describe(visit);
    choice.describe(visit);
    visit("reuse", reuse,
          {{"automatic", SetupReuse::automatic}, {"values", SetupReuse::values}, {"none", SetupReuse::none}},
          "the setup where the values of A change: kept while that pays, a numeric phase, or made anew");
  }
};

/// Options by the keys that a config file of the command has for them: `precond`, `precond_options.KEY`,
/// `solver`, `solver_options.KEY`, `rtol`, `atol`, `max_iters`, `solves`, `budget`; and `reuse`.
/// Names and options of methods are looked up by the solver that is made with them.
/// \throws OptionError for an unknown key, or a value out of its range
LinearSolverOptions linear_solver_options(const OptionMap& by_key);

}  // namespace prekond
