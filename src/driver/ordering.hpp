// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// --match and --order: the rows and columns of a problem in another order, which its solution does not show.
/// Problem::match and Problem::put_in_order do it.
#include <prekond/pattern/order_statistics.hpp>

#include <string>
#include <utility>
#include <vector>

#include "kokkos_session.hpp"
#include "settings.hpp"
#include "text.hpp"

namespace prekond::driver {

/// `--order auto` takes rcm where that makes the bandwidth this part of what it was, or less. In 152 runs
/// with incomplete factorisations (perf_tests/results/cpu/incomplete.md) as many matrices were solved from
/// 0.4 to 0.9; the fewest iterations were from 0.7 to 0.9.
constexpr double narrow_bandwidth = 0.75;

/// `--match=auto` takes an entry of the diagonal for weak where it is smaller than this, and the largest ones
/// of its row and column are in [1, 4).
constexpr double weak_diagonal = 1e-2;

/// The values of --order, with '|' between.
std::string order_names();

/// \throws OptionError where the order needs a library that the build does not have
void check_order(const Settings& settings);

/// Bandwidth, profile and levels of a pattern.
Json order_facts(const Space& space, const CsrGraphView<Space>& a);

/// The report's `match` and `order` in words, where they are asked for, each with its name: "4711 of 5005
/// rows moved in 0.0123 s, log product 17.5"; "rcm in 0.0123 s: bandwidth 9 -> 5, profile 90 -> 60, levels 9
/// -> 12".
std::vector<std::pair<std::string, std::string>> order_texts(const Json& report);

}  // namespace prekond::driver
