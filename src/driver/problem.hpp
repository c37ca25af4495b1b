// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/io/matrix_market.hpp>

#include <functional>
#include <optional>
#include <string>

#include "matched_rows.hpp"
#include "near_null_space.hpp"
#include "ordering.hpp"
#include "problem_matrix.hpp"
#include "progress.hpp"
#include "settings.hpp"

namespace prekond::driver {

/// Where a matrix came from, and its size.
struct Source {
  std::string name;  ///< the path, or NAME:SIZE[,key=value...]
  std::int64_t num_rows = 0;
  std::int64_t num_cols = 0;
  std::int64_t nnz = 0;
  bool complex = false;
  double seconds = 0;  ///< to read or generate it, copy to the device included
};

/// A whole matrix where it is computed with.
template <class Scalar>
struct LoadedMatrix {
  Source source;
  Matrix<Scalar> a;
};

/// The matrix that settings name, before it is read or generated.
struct MatrixInput {
  std::optional<MatrixMarketFile> file;  ///< open, its first lines read; none where the matrix is generated
  bool complex = false;
};

/// Opens the file that `settings` name, if it is one. \throws InputError
MatrixInput open_matrix(const Settings& settings);

/// All processes: opens it on rank 0.
///
/// \throws OptionError for a complex matrix on several processes, or with another product than the native one
MatrixInput open_matrix(const Settings& settings, const Processes& processes);

/// \throws InputError for a matrix that is empty or not square
void check_shape(const Source& source);

/// Does a check of the matrix: where it throws an InputError, the message begins with the matrix's name.
void named(const std::string& name, const std::function<void()>& check);

/// Reads or generates the matrix, once. \throws InputError
template <class Scalar>
LoadedMatrix<Scalar> load_matrix(const Space& space, const Settings& settings, MatrixInput& input,
                                 Progress& progress);

/// What describes the whole of a problem, known on rank 0 only.
struct ProblemFacts {
  Source source;
  bool symmetric = false;  ///< Hermitian, where it is complex
  std::string not_spd;     ///< why a method for positive definite matrices must refuse this one
  double norm_b = 0;
  ProductFacts product;
  DistributionFacts distribution;
  OrderFacts order;               ///< its name and `chosen` are known to all
  MatchFacts match;               ///< its name and `done` are known to all
  NearNullSpace near_null_space;  ///< known to all

  /// The options that put the rows into another order; empty where they are in A's own.
  std::string order_options() const;
};

/// A x = b, each row one process's.
template <class Scalar>
struct Problem : ProblemFacts {
  ProblemMatrix<Scalar> a;
  Vector<Scalar, Space> b;
  Vector<Scalar, Space> x0;  ///< of a file; empty for the initial vectors that have a name
  Ordering<Space> ordering;  ///< what A and the vectors are in; on rank 0, and no rows where that is A's own
  Vector<int, Space>
      matched_rows;  ///< of A by those before the ordering; on rank 0, and none where unmatched
  Vector<double, Space> row_scale, column_scale;  ///< of a matching: this process's part
};

/// A's row of this number in the problem's order; -1 stays -1.
template <class Scalar>
std::int64_t original_row(const Problem<Scalar>& problem, std::int64_t row) {
  return original_row(problem.matched_rows, original_row(problem.ordering.permutation, row));
}

/// What has to be looked at while one process has the whole matrix: what is visibly not symmetric positive
/// definite is refused, or noted in `not_spd`.
enum class SpdCheck { none, report, require };

/// What the methods are that a problem is made for.
struct MethodNeeds {
  SpdCheck check = SpdCheck::none;
  bool factors_in_order = false;  ///< of one of them, see Properties
};

/// Are the rows to be permuted? `auto` leaves alone what has to stay symmetric.
bool is_to_be_matched(const Settings& settings, SpdCheck check);

/// Are the rows to be put in order? `auto` leaves alone what does not depend much on the order.
bool is_to_be_ordered(const Settings& settings, const MethodNeeds& needs);

/// All processes: the matrix and the vectors that `settings` name, which do not depend on the number of
/// processes. A matrix that stays in its order is read by all of them (see problem_of_parts.hpp); any other
/// one rank 0 reads or makes, matches, and puts into the order that they name. \throws
/// InputError also for a matrix that is empty or not square, and for a vector of another length
template <class Scalar>
Problem<Scalar> make_problem(const Space& space, const Processes& processes, const Settings& settings,
                             MatrixInput& input, const MethodNeeds& needs, Progress& progress);

}  // namespace prekond::driver
