// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The longest row of a pattern, for which a setup needs most memory and often most time.
#include <prekond/core/error.hpp>
#include <prekond/core/views.hpp>
#include "matrix/longest_row.hpp"

#include "precond/setup/setup_time.hpp"

#include <cstdint>
#include <string>

namespace prekond::impl {

/// \throws InputError where the working memory of the longest row is more than the budget
inline void check_slab(const std::string& name, const LongestRow& longest, std::size_t bytes,
                       std::int64_t memory_budget) {
  if (bytes <= static_cast<std::size_t>(memory_budget)) return;
  throw InputError(name + ": row " + std::to_string(longest.row) + " (from 0) of the pattern has " +
                       std::to_string(longest.length) + " entries, and its system takes " +
                       std::to_string(bytes) + " bytes; memory_budget = " + std::to_string(memory_budget) +
                       " are allowed. Set memory_budget = " + std::to_string(bytes) +
                       ", or choose a prefilter, a smaller power or a pattern without that row",
                   longest.row);
}

/// Where a setup of rows is long, a sentence that says so. `largest`: the operations of the longest one.
template <class Space>
std::string cost_note(const Space& space, const std::string& name, double flops, double largest,
                      const LongestRow& longest) {
  return cost_note(space, name, DenseWork{flops, largest},
                   "row " + std::to_string(longest.row) + " (from 0), which has " +
                       std::to_string(longest.length) + " entries");
}

}  // namespace prekond::impl
