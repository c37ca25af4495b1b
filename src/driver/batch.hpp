// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/batched/result.hpp>
#include <prekond/core/options.hpp>

#include <string>
#include <vector>

#include "problem.hpp"

namespace prekond::driver {

/// What `prekond batch` did and measured. Times are medians over the repetitions.
struct BatchFacts {
  Source source;                   ///< of the pattern
  std::vector<std::string> files;  ///< of the systems; none where they were generated
  OptionMap solver_options;        ///< the values in force
  OptionMap precond_options;       ///< likewise
  BatchedReport result;
  double format_seconds = 0;  ///< to bring the matrices into their format
  double setup_seconds = 0;
  double first_setup_seconds = 0;
  double solve_seconds = 0;
};

}  // namespace prekond::driver
