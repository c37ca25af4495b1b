// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The ladder of shifts of incomplete factorisations.
#include <prekond/precond/incomplete_options.hpp>

#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "precond/factorization/ilu/row_breakdowns.hpp"

namespace prekond::impl::ilu {

inline long long count_of(const Outcome& outcome) {
  return outcome.breakdowns.pivots + outcome.breakdowns.diagonals;
}

inline std::string note_of_try(double alpha, const Outcome& outcome) {
  const Breakdowns own = breakdowns_of_rows(outcome.breakdowns);
  std::ostringstream text;
  text << "shift " << alpha << ": ";
  if (own.count == 0)
    text << "no pivot broke down";
  else
    text << own.count << (own.count == 1 ? " row" : " rows") << " broke down, the first is row "
         << own.first_row + 1 << " with the pivot " << own.first_pivot << " of its diagonal entry";
  return text.str();
}

/// Advice for general matrices with a pivot that broke down, or a diagonal entry that cannot be used.
inline std::string advice_of_matching() {
  return "a matching brings large entries to the diagonal: --match of the command; in C++ "
         "maximum_product_matching, permute_rows, and Scaled with its scales";
}

/// The shifts that are tried, in turn.
inline std::vector<double> shifts_of(const ShiftOptions& options) {
  if (options.shift) return {*options.shift};
  return {0, 1e-3, 1e-2, 1e-1, 1};
}

/// The factors that are kept, with the outcome of their try.
template <class Factors>
struct BestTry {
  Factors factors;
  Outcome outcome;
  double alpha = 0;
  int tries = 0;
};

/// Calls factor(alpha, outcome) with each shift in turn until no row breaks down. \returns the last try;
/// where rows broke down in all, the one with the fewest breakdowns
template <class Factor>
auto try_shifts(const ShiftOptions& options, const Factor& factor, Report& report) {
  BestTry<std::invoke_result_t<const Factor&, double, Outcome&>> best;
  const auto shifts = shifts_of(options);
  for (const double alpha : shifts) {
    Outcome outcome;
    const auto factors = factor(alpha, outcome);
    ++best.tries;
    if (outcome.stalled)
      report.notes.push_back("a row waited too long for another: the factorisation was done again by levels");
    if (shifts.size() > 1 && (count_of(outcome) > 0 || best.tries > 1))
      report.notes.push_back(note_of_try(alpha, outcome));
    if (best.tries == 1 || count_of(outcome) < count_of(best.outcome)) {
      best.factors = factors;
      best.outcome = outcome;
      best.alpha = alpha;
    }
    if (count_of(outcome) == 0) break;
  }
  return best;
}

}  // namespace prekond::impl::ilu
