// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A preconditioner set up and a system solved with it, and the times of both: once for `solve`, and once for
/// each preconditioner of `compare`.
#include <prekond/core/report.hpp>
#include <prekond/krylov/solver.hpp>

#include <optional>
#include <vector>

#include "condition.hpp"
#include "method.hpp"

namespace prekond::driver {

/// The exit code of a solve.
ExitCode exit_code(const SolveResult& result);

/// Times are medians over the repetitions, and of each repetition the slowest process's; sizes and breakdowns
/// are those of all processes.
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
  std::vector<double> history;  ///< ||r|| before the first and after each iteration, for --history
};

template <class Scalar>
struct Outcome : Measurements {
  Vector<Scalar, Space> x;  ///< this process's part
};

/// Entries that the preconditioner stores for one of A; 0 where A has none.
double density(const ProblemFacts& problem, const Measurements& outcome);

/// The middle one, or the mean of the two in the middle. \pre not empty
double median(std::vector<double> values);

/// Collective. Sets up and solves. A result with a value that is not finite is never a success: its reason is
/// `nan`.
///
/// \throws InputError where the preconditioner refuses the matrix
template <class Scalar>
Outcome<Scalar> measured_solve(const Space& space, const Processes& processes, const Problem<Scalar>& problem,
                               const Method<Scalar>& method, const Settings& settings, const Devices* devices,
                               Progress& progress);

}  // namespace prekond::driver
