// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/views.hpp>
#include <prekond/matrix/csr_matrix.hpp>

#include <string>

#include "progress.hpp"
#include "session.hpp"
#include "settings.hpp"

namespace prekond::driver {

using Matrix = CsrMatrix<const double, const int, const std::size_t, Space::memory_space>;

/// A matrix where it is computed with, and where it came from.
struct Source {
  std::string name;  ///< the path, or NAME:SIZE[,key=value...]
  Matrix a;
  double seconds = 0;  ///< to read or generate it, copy to the device included
};

/// Reads or generates the matrix. \throws InputError
Source load_matrix(const Space& space, const Settings& settings, Progress& progress);

/// A x = b.
struct Problem {
  Source source;
  bool symmetric = false;
  Vector<double, Space> b;
  Vector<double, Space> x0;  ///< of a file; empty for the initial vectors that have a name
  double norm_b = 0;
};

/// The matrix and the vectors that `settings` name. `needs_spd`: refuses what is visibly not symmetric
/// positive definite. \throws InputError also for a matrix that is empty or not square, and for a vector of
/// another length
Problem make_problem(const Space& space, const Settings& settings, bool needs_spd, Progress& progress);

}  // namespace prekond::driver
