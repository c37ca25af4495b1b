// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The longest row of a pattern, for which a setup needs most memory and often most time.
#include <prekond/core/error.hpp>
#include <prekond/core/views.hpp>

#include "precond/setup/setup_time.hpp"

#include <cstdint>
#include <string>

namespace prekond::impl {

struct LongestRow {
  std::int64_t length = 0;
  std::int64_t row = 0;  ///< the first of them
};

/// Length and row in one number, so that a maximum finds both.
template <class Space>
struct MaxRowLength {
  VectorView<const std::size_t, Space> row_ptrs;
  static constexpr std::uint64_t low = 0xffffffffu;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::uint64_t& most) const {
    const auto length = static_cast<std::uint64_t>(row_ptrs(i + 1) - row_ptrs(i));
    const std::uint64_t key = length << 32 | (low - static_cast<std::uint64_t>(i));
    if (key > most) most = key;
  }
};

/// The longest row of a pattern whose rows have fewer than 2^31 entries. Fences once.
template <class Space>
LongestRow longest_row(const Space& space, VectorView<const std::size_t, Space> row_ptrs) {
  if (row_ptrs.extent(0) < 2) return {};
  std::uint64_t most = 0;
  Kokkos::parallel_reduce("prekond::longest_row",
                          Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(
                              space, 0, static_cast<std::int64_t>(row_ptrs.extent(0)) - 1),
                          MaxRowLength<Space>{row_ptrs}, Kokkos::Max<std::uint64_t>(most));
  const std::uint64_t low = MaxRowLength<Space>::low;
  return {static_cast<std::int64_t>(most >> 32), static_cast<std::int64_t>(low - (most & low))};
}

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
