// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "problem.hpp"

namespace prekond::driver {

/// All processes, the same on all: can each read its part of the matrix, or make it? Not where it is matched
/// or put in order, which one process does with all of it, nor where it is no file that all see, such as a
/// pipe, or its generator makes all rows at once.
bool can_read_parts(const Processes& processes, const Settings& settings, const MethodNeeds& needs);

/// All processes: make_problem, in which none holds the whole matrix. Vectors of files are read by rank 0.
Problem<double> make_problem_of_parts(const Space& space, const Processes& processes,
                                      const Settings& settings, const MethodNeeds& needs, Progress& progress);

}  // namespace prekond::driver
