// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// --match: the rows of a problem in the order of a matching, which its solution does not show.
#include <cstdint>
#include <string>

#include "kokkos_session.hpp"
#include "settings.hpp"

namespace prekond::driver {

template <class Scalar>
struct Problem;

/// The result of --match. With "none" nothing is known.
struct MatchFacts {
  std::string name = "none";  ///< as given
  bool done = false;          ///< are the rows in another order, and is the preconditioner scaled by it?
  bool looked = false;        ///< did `auto` look at the diagonal? Not where a method needs symmetry
  std::int64_t weak = 0;      ///< diagonal entries that are too small, which `auto` goes by
  double seconds = 0;         ///< to find the matching and to permute the matrix, fenced
  std::int64_t num_rows = 0;
  std::int64_t rank = 0;          ///< matched rows
  std::int64_t rows_moved = 0;    ///< rows that are not where they were
  std::int64_t rows_on_host = 0;  ///< see Matching
  std::int64_t rounds = 0;        ///< likewise
  double log_product = 0;         ///< likewise

  bool is_asked() const { return name != "none"; }
};

/// An entry of the diagonal is weak where it is smaller than this, and the largest ones of its row and column
/// are in [1, 4).
constexpr double weak_diagonal = 1e-2;

/// The values of --match, with '|' between. \throws OptionError for another name
std::string match_names();
void check_match(const Settings& settings);

/// Permutes the rows of the whole of a problem, A and b, by a matching of largest product, and keeps its
/// scales: Q A x = Q b; for "auto" only where an entry of the diagonal is missing, 0 or weak. \pre A is
/// square, the name is not "none"
template <class Scalar>
void match_problem(const Space& space, const std::string& name, Problem<Scalar>& problem);

/// "4711 of 5005 rows moved in 0.0123 s, log product 17.5"
std::string match_text(const MatchFacts& facts);

}  // namespace prekond::driver
