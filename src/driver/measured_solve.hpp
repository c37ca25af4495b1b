// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A preconditioner set up and a system solved with it, and the times of both: once for `solve`, and once for
/// each preconditioner of `compare`.
#include <prekond/krylov/solver.hpp>

#include <limits>
#include <vector>

#include "failure.hpp"
#include "method.hpp"

namespace prekond::driver {

template <class Scalar>
struct Outcome {
  /// Times are medians over the repetitions, and of each repetition the slowest process's; sizes and
  /// breakdowns are those of all processes.
  Json report;
  MethodFacts method;  ///< of an automatic one the last that was tried
  SolveResult solve;
  std::vector<double> history;  ///< ||r|| before the first and after each iteration, for --history
  Vector<Scalar, Space> x;      ///< this process's part
  int signal = 0;               ///< that ended the solve early; x and history are those of its last iteration
  bool is_late = false;         ///< the time was over
};

/// The exit code of a solve, which `signal` ended if that is not 0.
ExitCode exit_code(const SolveResult& result, int signal);

/// The middle one, or the mean of the two in the middle. \pre not empty
double median(std::vector<double> values);

/// Collective. The facts that candidates are chosen by, the same on all processes. On several the bandwidths
/// are not known.
template <class Scalar>
MatrixStatistics statistics_of_all(const Context& context, const Problem<Scalar>& problem);

/// Collective. Sets up and solves. A result with a value that is not finite is never a success: its reason is
/// `nan`. On one process the first signal that comes in the solve ends it after the iteration, and so does
/// the end of `most_seconds`, which begin with the setup.
///
/// \throws InputError where the preconditioner refuses the matrix
template <class Scalar>
Outcome<Scalar> measured_solve(const Context& context, const Problem<Scalar>& problem,
                               const Method<Scalar>& method,
                               double most_seconds = std::numeric_limits<double>::infinity());

}  // namespace prekond::driver
