// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The blocks of rows that the FSAI setups solve together.
#include <prekond/pattern/impl/supernodes.hpp>
#include <prekond/precond/setup_options.hpp>

#include <cstdio>
#include <string>

namespace prekond::impl {

/// Blocks of rows that are found by their pattern: the share of the united columns that a row and the one
/// before it have in common, and the largest number of rows.
struct SupernodeTuning {
  static constexpr double similarity = 0.8;
  static constexpr int largest = 16;
};

/// The supernodes that the options ask for; there are none with blocks of one row, or where no two rows were
/// found alike. With block_size = 0 they are the nodes, where their unknowns are known, and else those that a
/// search finds.
template <class Space, class Source, class Options>
Supernodes<Space> choose_supernodes(const Space& space, const Source& source, const Options& options) {
  const std::int64_t n = source.num_rows();
  if (options.block_size == 1 || n == 0) return {};
  if (options.block_size > 1) return uniform_supernodes<Space>(space, n, options.block_size);
  const int unknowns = source.unknowns_per_node();
  using Tuning = SupernodeTuning;
  if (unknowns > 1 && unknowns <= Tuning::largest) return uniform_supernodes<Space>(space, n, unknowns);
  const auto found = find_supernodes<Space>(space, source.csr(), Tuning::similarity, Tuning::largest);
  return found.largest > 1 ? found : Supernodes<Space>{};
}

/// The report's note about the supernodes. The united pattern has `fill` times as many entries.
template <class Space>
std::string supernodes_note(const Supernodes<Space>& supernodes, double fill) {
  if (supernodes.count() == 0) return "supernodes: none were found, each row was solved by itself";
  const double mean = static_cast<double>(supernodes.num_rows) / static_cast<double>(supernodes.count());
  char text[96];
  std::snprintf(text, sizeof(text), "supernodes: %lld, mean size %.3g",
                static_cast<long long>(supernodes.count()), mean);
  std::string note = text;
  if (fill > 0) {
    std::snprintf(text, sizeof(text), ", fill ratio %.3g", fill);
    note += text;
  }
  return note;
}

}  // namespace prekond::impl
