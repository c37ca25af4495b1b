// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// --match: the rows of a problem in the order of a matching, which its solution does not show.
#include <prekond/pattern/matching.hpp>

#include <cstdint>
#include <string>

#include "problem_matrix.hpp"

namespace prekond::driver {

/// What --match did. Of "none" nothing is known.
struct MatchFacts {
  std::string name = "none";  ///< what was asked for
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
};

/// What --match takes, with '|' between. \throws OptionError for another name
std::string match_names();
void check_match(const std::string& name);

/// A matrix whose rows were permuted, Q A, and what leads back from it; all in its order.
template <class Scalar>
struct MatchedRows {
  Matrix<Scalar> a;
  Vector<int, Space> rows;  ///< the row of A by that of Q A
  Vector<double, Space> row_scale;
  Vector<double, Space> column_scale;
  MatchFacts facts;
};

/// An entry of the diagonal is weak where it is smaller than this, and the largest ones of its row and column
/// are in [1, 4).
constexpr double weak_diagonal = 1e-2;

/// Q A where the name is "product", or "auto" and an entry of the diagonal is missing, 0 or weak; else A as
/// it is. \pre check_match(name) passed, the name is not "none", and A is square
template <class Scalar>
MatchedRows<Scalar> match_rows(const Space& space, const Matrix<Scalar>& a, const std::string& name);

/// Q b; b itself where no rows were permuted.
template <class Scalar>
Vector<Scalar, Space> in_matched_rows(const Space& space, const Vector<int, Space>& rows,
                                      const Vector<Scalar, Space>& b);

/// "4711 of 5005 rows moved in 0.0123 s, log product 17.5"
std::string match_text(const MatchFacts& facts);

}  // namespace prekond::driver
