// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// --near-null-space and --coordinates: vectors that A nearly annihilates, for preconditioners that use them.
#include "problem.hpp"

namespace prekond::driver {

/// \throws OptionError for both together, for coordinates `grid` of another matrix than a generated
/// elasticity3d, and together with options that permute or scale the matrix
void check_near_null_space(const Settings& settings);

/// Collective. Rank 0 reads or makes the vectors, and each process gets its rows of them in `problem.near`.
/// Coordinates become rigid body modes.
///
/// \throws InputError where the numbers of rows do not fit
void add_near_null_space(const Context& context, Problem<double>& problem);

}  // namespace prekond::driver
