// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// What --near-null-space and --coordinates say of the matrix, for preconditioners that look at it.
#include <prekond/matrix/near_null_space.hpp>

#include <cstdint>
#include <string>

#include "problem_matrix.hpp"
#include "settings.hpp"

namespace prekond::driver {

struct NearNullSpaceFacts {
  std::string name;  ///< the file, or `grid`; empty where nothing was said
  int num_vectors = 0;
  int unknowns_per_node = 1;
};

struct NearNullSpace : NearNullSpaceFacts {
  prekond::NearNullSpace<double, Space> of_rows;  ///< this process's
};

/// \throws OptionError for both together, for coordinates `grid` of another matrix than a generated
/// elasticity3d, and beside options that permute or scale the matrix
void check_near_null_space(const Settings& settings);

/// All processes: what rank 0 reads or makes, each process's rows of it. Coordinates become rigid body modes.
///
/// \throws InputError where the numbers of rows do not fit
NearNullSpace make_near_null_space(const Space& space, const Processes& processes,
                                   const ProblemMatrix<double>& a, const Settings& settings,
                                   std::int64_t num_rows);

/// "6 vectors of coordinates.mtx, 3 unknowns a node"
std::string near_null_space_text(const NearNullSpaceFacts& facts);

}  // namespace prekond::driver
