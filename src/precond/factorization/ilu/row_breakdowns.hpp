// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>

#include "precond/setup/breakdown_counter.hpp"

namespace prekond::impl::ilu {

/// What became of a factorisation.
struct Outcome {
  BreakdownCounter breakdowns{};
  bool stalled = false;  ///< a row waited in vain, and all was done again by levels
  std::string note;      ///< how the factors came about
};

/// Of rows that a factorisation worked on, see FactorRow.
inline Breakdowns breakdowns_of_rows(const BreakdownCounter& counted) {
  Breakdowns own = breakdowns_of(counted, "");
  own.action = std::to_string(own.count) + " rows of the factors fell back to their diagonal entries";
  return own;
}

}  // namespace prekond::impl::ilu
