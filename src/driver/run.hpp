// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A preconditioner set up and a system solved with it, and the times of both: what `solve` does once and
/// `compare` once a preconditioner.
#include <prekond/core/devices.hpp>
#include <prekond/core/report.hpp>
#include <prekond/krylov/solver.hpp>
#include <prekond/precond/distributed_preconditioner.hpp>
#include <prekond/precond/registry.hpp>
#include <prekond/precond/scaled.hpp>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "condition.hpp"
#include "problem.hpp"

namespace prekond::driver {

template <class Scalar>
using AnySolver = Solver<Scalar, Space>;
template <class Scalar>
using AnyPreconditioner = MatrixPreconditioner<Scalar, Space>;
template <class Scalar>
using AppliedPreconditioner = Preconditioner<Scalar, Space>;

/// What a user should know of a choice of solver and preconditioner.
struct MethodFacts {
  std::string solver_name;
  std::string precond_name;
  OptionMap solver_options;   ///< the values in force
  OptionMap precond_options;  ///< likewise
  Properties solver_properties;
  Properties precond_properties;

  bool needs_spd() const { return solver_properties.needs_spd || precond_properties.needs_spd; }
};

/// A solver and a preconditioner, chosen and with their options set.
template <class Scalar>
struct Method : MethodFacts {
  std::unique_ptr<Configurator<AnySolver<Scalar>>> solver;
  std::unique_ptr<Configurator<AnyPreconditioner<Scalar>>> precond;
  DistributedOptions distributed;  ///< beside the preconditioner's own options
};

/// The solver of the settings with a preconditioner. \throws OptionError for an unknown name or option, or a
/// value out of range; with the place in the config file where it came from one
template <class Scalar>
Method<Scalar> choose_method(const Settings& settings, const std::string& precond,
                             const OptionMap& precond_options);

/// Does the solver take the preconditioner, as their options make them? Within a Session, before any setup.
///
/// \throws OptionError where the solver needs a symmetric one and it is none; names those that are, and the
/// solvers that take all
template <class Scalar>
void check_combination(const Method<Scalar>& method);

/// May the rows be permuted for this method? \throws OptionError where --match=product would take the
/// symmetry away from a solver or a preconditioner that needs it, or from --condition
void check_match(const Settings& settings, const MethodFacts& method);

/// How a solve ends the command.
ExitCode exit_code(const SolveResult& result);

/// What was measured. Times are medians over the repetitions, and of each repetition the slowest process's;
/// sizes and breakdowns are those of all processes.
struct Measurements {
  Report setup;
  double symbolic_seconds = 0;
  double numeric_seconds = 0;
  double setup_seconds = 0;
  double first_setup_seconds = 0;
  double apply_seconds = 0;
  std::vector<std::string> device_names;  ///< of a setup over several devices
  SolveResult solve;
  std::optional<Condition> condition;
  std::vector<double> history;  ///< ||r|| before the first and after each iteration, if it was asked for
};

template <class Scalar>
struct Outcome : Measurements {
  Vector<Scalar, Space> x;  ///< this process's part
};

/// Entries that the preconditioner stores for one of A; 0 where A has none.
double density(const ProblemFacts& problem, const Measurements& outcome);

/// How --scale does it: by the diagonal where the solver or the preconditioner is for positive definite
/// matrices, so that R = C whatever rounding has made of A's symmetry; else by the largest entries.
ScalingKind scaling_of(const MethodFacts& method);

/// The middle one, or the mean of the two in the middle. \pre not empty
double median(std::vector<double> values);

struct RunOptions {
  std::string x0 = "zero";
  StoppingOptions stopping;
  std::int64_t repeat = 1;
  bool history = false;
  bool scale = false;
  bool condition = false;
  const Devices* devices = nullptr;  ///< that share the setup; null: it is the own device's
};

/// All processes: sets up and solves. A result with a value that is not finite is never a success: its reason
/// is `nan`. \throws InputError where the preconditioner refuses the matrix; with several processes, a
/// Failure that all know of, or, where a process fails while the others wait for its part of a product, what
/// has to end them
template <class Scalar>
Outcome<Scalar> run_method(const Space& space, const Processes& processes, const Problem<Scalar>& problem,
                           const Method<Scalar>& method, const RunOptions& options, Progress& progress);

}  // namespace prekond::driver
