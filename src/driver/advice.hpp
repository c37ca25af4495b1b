// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Commands that are expected to be faster, by the list of AutoSolver: the reports' `try`.
#include <prekond/matrix/statistics.hpp>

#include "measured_solve.hpp"

namespace prekond::driver {

/// Two commands for the matrix of the settings, a solve by `auto` with what it expects of its list, and a
/// comparison of the list; none where no method of it fits.
Json tries_for(const Settings& settings, const MatrixStatistics& facts, bool is_complex);

/// Is a solve one that another may be better than: did it fail, or take many iterations?
bool may_be_worse(const SolveResult& result);

/// For the root. A command with all the settings of a solve that took long or failed: another method,
/// where its expected work is at most half of what the solve took or would take; else, of one that failed,
/// more iterations where its rate promises an end, or `auto`; after `auto` a factorisation with nearly all of
/// its fill. After a stagnation `auto`, or a tolerance that has been reached. None where nothing is left.
///
/// After a method of the list only those follow that are expected to take fewer iterations, so that advice
/// that is followed comes to an end. `facts`: those of all processes.
template <class Scalar>
Json better_than(const Context& context, const Problem<Scalar>& problem, const Outcome<Scalar>& outcome,
                 bool is_automatic, const MatrixStatistics& facts);

/// Prints the report's `try`: commands, unfolded, and the reasons below them.
void print_tries(const Json& report);

}  // namespace prekond::driver
