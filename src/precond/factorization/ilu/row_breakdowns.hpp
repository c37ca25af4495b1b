// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>

#include "precond/setup/breakdown_counter.hpp"

namespace prekond::impl::ilu {

/// The outcome of a factorisation.
struct Outcome {
  BreakdownCounter breakdowns{};
  bool stalled = false;  ///< a row waited too long, and all rows were done again by levels
  std::string note;      ///< a note for the report
};

/// The breakdowns of the rows of a factorisation, see FactorRow.
inline Breakdowns breakdowns_of_rows(const BreakdownCounter& counted) {
  Breakdowns own = breakdowns_of(counted, "");
  own.action = std::to_string(own.count) + " rows of the factors fell back to their diagonal entries";
  return own;
}

}  // namespace prekond::impl::ilu
