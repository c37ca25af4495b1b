// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// --order: the rows and columns of a problem in another order, which its solution does not show.
#include <prekond/pattern/order_statistics.hpp>
#include <prekond/pattern/permute.hpp>

#include <string>

#include "kokkos_session.hpp"
#include "settings.hpp"

namespace prekond::driver {

template <class Scalar>
struct Problem;

/// The result of --order. With "none" nothing is measured, and with "auto" only where it looked.
struct OrderFacts {
  std::string name = "none";    ///< as given
  std::string chosen = "none";  ///< the order of the rows
  bool looked = false;          ///< did `auto` look at the pattern? Only for an incomplete factorisation
  double seconds = 0;           ///< to find the order and to permute the matrix, fenced
  OrderStatistics before;
  OrderStatistics after;  ///< of `auto` in rcm, chosen or not

  bool is_asked() const { return name != "none"; }
};

/// `auto` takes rcm where that makes the bandwidth this part of what it was, or less. In 152 runs
/// with incomplete factorisations (perf_tests/results/cpu/incomplete.md) as many matrices were solved from
/// 0.4 to 0.9; the fewest iterations were from 0.7 to 0.9.
constexpr double narrow_bandwidth = 0.75;

/// The values of --order, with '|' between.
std::string order_names();

/// \throws OptionError for a name that is no order's, and where the order needs a library that the build does
/// not have
void check_order(const Settings& settings);

/// Puts the whole of a problem, A, b, x0 and scales, into the order: P A P^T; for "auto" only where rcm makes
/// the bandwidth small enough. \pre A is square, the name is not "none"
template <class Scalar>
void order_problem(const Space& space, const std::string& name, Problem<Scalar>& problem);

/// Entry i becomes entry rows(i); nothing changes without rows or entries.
template <class Scalar>
void take_rows(const Space& space, const Vector<int, Space>& rows, Vector<Scalar, Space>& x);

/// Why `auto` chose what it did: "rcm's bandwidth is 0.31 of the matrix's, at most 0.75"
std::string order_reason(const OrderFacts& facts);

/// "rcm in 0.0123 s: bandwidth 9 -> 5, profile 90 -> 60, levels 9 -> 12"; of `auto` with the reason, and
/// only the reason where it leaves the rows as they are
std::string order_text(const OrderFacts& facts);

}  // namespace prekond::driver
