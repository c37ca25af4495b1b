// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Commands that are expected to be faster, by the list of AutoSolver: the reports' `try`.
#include <prekond/matrix/statistics.hpp>

#include "measured_solve.hpp"

namespace prekond::driver {

/// Up to three commands that solve with the matrix of the settings, the least expected work first; none where
/// no method of the list fits.
Json tries_for(const Settings& settings, const MatrixStatistics& facts, bool is_complex);

/// For one process. A command with all the settings of a solve that took long or failed, and another method;
/// none where its expected work is more than half of what the solve took or would take.
///
/// After a method of the list only those follow that are expected to take fewer iterations, so that advice
/// that is followed comes to an end.
template <class Scalar>
Json better_than(const Context& context, const Problem<Scalar>& problem, const Outcome<Scalar>& outcome);

/// Prints the report's `try`: commands, unfolded, and the reasons below them.
void print_tries(const Json& report);

}  // namespace prekond::driver
