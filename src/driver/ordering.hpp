// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// --match and --order: the rows and columns of a problem in another order, which its solution does not show.
/// Problem::match and Problem::put_in_order do it.
#include <prekond/matrix/csr_matrix.hpp>
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

/// A saddle-point matrix may have one row that does not fit for each of this number of weak rows. Where
/// coefficients jump by 1e8 some other rows are weak, too (mixed elements for flow through rock: one for
/// 130).
constexpr std::int64_t weak_rows_an_exception = 20;

/// The parts of a matrix that `--match=auto` looks at, once rows and columns are equilibrated.
///
/// A saddle-point matrix has a symmetric pattern in its weak rows W and columns W, only weak entries between
/// two rows of W, and for each of them a strong row j that gives it a pivot: |a_ij a_ji / a_jj| is not weak.
/// An incomplete factorisation of such a matrix as it is has good pivots. A matching would exchange rows of W
/// for others, and take the large, often definite block of the strong rows apart.
struct DiagonalFacts {
  std::int64_t weak = 0;  ///< entries that are missing, zero, not finite or weak
  bool is_saddle_point = false;
};
template <class Scalar>
DiagonalFacts diagonal_facts(const Space& space, const CsrView<Scalar, Space>& a);

/// The advice for a diagonal with zeros, in words.
std::string advice_for(const DiagonalFacts& facts);

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
