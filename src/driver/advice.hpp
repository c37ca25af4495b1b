// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Commands that are expected to be faster, by the list of AutoSolver: the reports' `try`.
#include <prekond/matrix/statistics.hpp>

#include "method.hpp"

namespace prekond::driver {

/// Up to three commands that solve with the matrix of the settings, the least expected work first; none where
/// no method of the list fits.
Json tries_for(const Settings& settings, const MatrixStatistics& facts, bool is_complex);

/// Prints the report's `try`: commands, unfolded, and the reasons below them.
void print_tries(const Json& report);

}  // namespace prekond::driver
