// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// --order: the rows and columns of a problem in another order, which its solution does not show.
#include <prekond/pattern/order_statistics.hpp>
#include <prekond/pattern/permute.hpp>

#include <functional>
#include <string>

#include "problem_matrix.hpp"

namespace prekond::driver {

/// What --order did. Of "none" nothing is measured, and of "auto" only where it looked.
struct OrderFacts {
  std::string name = "none";    ///< what was asked for
  std::string chosen = "none";  ///< what the rows are in
  bool looked = false;          ///< did `auto` look at the pattern? Only for an incomplete factorisation
  double seconds = 0;           ///< to find the order and to permute the matrix, fenced
  OrderStatistics before;
  OrderStatistics after;  ///< of `auto` in rcm, chosen or not

  bool any() const { return name != "none"; }
  /// "--order rcm"; nothing where the rows are in A's own order.
  std::string option() const { return chosen == "none" ? "" : "--order " + name; }
};

/// `auto` takes rcm where that makes the bandwidth this part of what it was, or less. Of 152 matrices with
/// incomplete factorisations (perf_tests/results/cpu/incomplete.md) as many were solved from 0.4 to 0.9; the
/// fewest iterations were from 0.7 to 0.9.
constexpr double narrow_bandwidth = 0.75;

/// What --order takes, with '|' between.
std::string order_names();

/// \throws OptionError for a name that is no order's, and where the order needs a library that the build does
/// not have
void check_order(const std::string& name);

/// A matrix in another order, and what leads back from it.
template <class Scalar>
struct Reordered {
  Matrix<Scalar> a;
  Ordering<Space> ordering;
  OrderFacts facts;
};

/// P A P^T; for "auto" A itself where rcm does not make the bandwidth small enough. \pre check_order(name)
/// passed, the name is not "none", and A is square
template <class Scalar>
Reordered<Scalar> reorder(const Space& space, const Matrix<Scalar>& a, const std::string& name);

/// P x; x itself where the ordering has no rows, which is that of "none".
template <class Scalar>
Vector<Scalar, Space> in_order(const Space& space, const Ordering<Space>& ordering,
                               const Vector<Scalar, Space>& x);
/// P^T x, likewise.
template <class Scalar>
Vector<Scalar, Space> in_original_order(const Space& space, const Ordering<Space>& ordering,
                                        const Vector<Scalar, Space>& x);

/// The row that was at `row` before, by the rows of the one order by those of the other; -1 stays -1, and all
/// rows do where there is no order.
std::int64_t original_row(const Vector<int, Space>& permutation, std::int64_t row);

/// Does `work`, in which rows are counted in the new order: an InputError that names one says so. `options`:
/// "--match --order rcm", what made the order; empty where it is the matrix's own.
void telling_order(const std::string& options, const std::function<void()>& work);

/// Why `auto` chose what it did: "rcm's bandwidth is 0.31 of the matrix's, at most 0.75"
std::string order_reason(const OrderFacts& facts);

/// "rcm in 0.0123 s: bandwidth 9 -> 5, profile 90 -> 60, levels 9 -> 12"; of `auto` with the reason, and
/// where it leaves the rows alone that
std::string order_text(const OrderFacts& facts);

}  // namespace prekond::driver
