// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Is a matrix symmetric positive definite, whose rows several processes have?
#include <string>

#include "problem_matrix.hpp"

namespace prekond::driver {

struct SymmetryFacts {
  bool symmetric = false;  ///< as MatrixStatistics::symmetric_values
  std::string not_spd;     ///< what check_spd_input says of the whole matrix; empty: nothing
};

/// All processes, the same on all. Rows of other processes come `rows_at_a_time`, so that none holds many of
/// them; an entry costs a binary search.
SymmetryFacts symmetry_of_parts(const Space& space, const Processes& processes,
                                const ProblemMatrix<double>& a, std::int64_t rows_at_a_time = 1 << 16);

}  // namespace prekond::driver
