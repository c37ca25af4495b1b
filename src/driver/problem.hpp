// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A x = b, read or made, put in order, and handed out to the processes.
#include <prekond/core/error.hpp>
#include <prekond/distributed/distributed_matrix.hpp>
#include <prekond/matrix/csr_matrix.hpp>
#include <prekond/matrix/io/matrix_market.hpp>
#include <prekond/matrix/matrix_source.hpp>
#include <prekond/pattern/permute.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "context.hpp"
#include "right_hand_side.hpp"
#include "text.hpp"

namespace prekond::driver {

/// The matrix that settings name, before it is read or generated.
struct MatrixInput {
  std::optional<MatrixMarketFile> file;  ///< open, its first lines read; none where the matrix is generated
  bool complex = false;
};

/// Opens the file that `settings` name, if it is one. \throws InputError
MatrixInput open_matrix(const Settings& settings);

/// The check that a method needs: a matrix that is visibly not symmetric positive definite is taken, noted in
/// `not_spd`, or refused.
enum class SpdCheck { none, report, require };

/// The needs of the methods that a problem is made for.
struct MethodNeeds {
  SpdCheck check = SpdCheck::none;
  bool factors_in_order = false;  ///< of one of them, see Properties
  /// The advice for a matrix that is refused, where a preconditioner needs a positive definite one and the
  /// solver does not.
  std::string instead = {};
};

struct SymmetryFacts {
  bool symmetric = false;  ///< as MatrixStatistics::symmetric_values
  std::string not_spd;     ///< the message of check_spd_input; empty: none, or not looked at
};

/// A x = b, each row one process's. Rank 0 knows the facts on the whole, but for `matched`, `order` and the
/// near null space, which all know.
template <class Scalar>
struct Problem {
  explicit Problem(const Settings& settings);

  Json facts;        ///< the parts of the report that say what the problem is and how it was made
  std::string name;  ///< the path, or NAME:SIZE[,key=value...]
  std::int64_t num_rows = 0;
  std::int64_t num_cols = 0;
  std::int64_t nnz = 0;
  std::string not_spd;       ///< why a method for positive definite matrices must refuse this one
  bool is_singular = false;  ///< a column has no entry
  double norm_b = 0;

  Matrix<Scalar> whole;         ///< A on rank 0, until its rows are handed out; a serial process keeps it
  CsrView<Scalar, Space> rows;  ///< this process's, its own columns first
  std::unique_ptr<const DistributedMatrix<Scalar, Space>> distributed;
  std::unique_ptr<const Operator<Scalar, Space>> split;  ///< A's product on several processes
  Vector<Scalar, Space> b;
  Vector<Scalar, Space> x0;                       ///< of a file; else empty
  NearNullSpace<double, Space> near;              ///< of this process's rows
  bool matched = false;                           ///< are the rows permuted by a matching?
  Vector<int, Space> matched_rows;                ///< on rank 0, the rows of A before the ordering; or empty
  Vector<double, Space> row_scale, column_scale;  ///< of a matching
  std::string order = "none";                     ///< of the rows, after that
  Ordering<Space> ordering;                       ///< on rank 0; without rows where A has its own order

  /// A, as the solver applies it.
  const Operator<Scalar, Space>& op() const { return split ? *split : distributed->product(); }

  /// Reads or generates the whole matrix, once. \throws InputError
  void load(const Context& context, MatrixInput& input);
  /// Keeps the sizes, and the seconds of reading or generating.
  void set_size(std::int64_t height, std::int64_t width, std::int64_t entries, double seconds);
  /// \throws InputError for a matrix that is empty or not square
  void check_shape() const;
  /// Refuses a row without entries where b is not zero, so that there is no solution; notes one where b is
  /// zero. Both are the first of their kind, from 0, or -1. \throws InputError
  void check_zero_rows(std::int64_t row_without_solution, std::int64_t row);
  /// Notes the first column without entries, from 0, or -1.
  void note_zero_column(std::int64_t column);
  /// A remark on the problem, for the report and the summary.
  void add_note(const std::string& note) { facts["notes"].push_back(note); }
  /// Keeps what is known of the symmetry. \throws InputError for a matrix that the check refuses
  void take_symmetry(const MethodNeeds& needs, const SymmetryFacts& found);

  /// --match: permutes the rows of the whole problem, A and b, by a matching of largest product, and keeps
  /// its scales: Q A x = Q b; for "auto" only where an entry of the diagonal is missing, 0 or weak.
  /// \throws InputError for a matrix that is not square
  void match(const Context& context);
  /// --order: puts the whole problem, A, b, x0 and scales, into the order: P A P^T; for "auto" only where rcm
  /// makes the bandwidth small enough. \throws InputError for a matrix that is not square
  void put_in_order(const Context& context);

  /// Collective. This process's part of a vector that rank 0 has; the vector itself where it is serial.
  Vector<Scalar, Space> own_part(const Context& context, const Vector<Scalar, Space>& all) const;
  /// Collective. The vector of all parts, on rank 0 and in the order of A as it was given; empty elsewhere.
  Vector<Scalar, Space> whole_solution(const Context& context, const Vector<Scalar, Space>& x) const;
  /// A's row of this number in the problem's order, on rank 0; -1 stays -1.
  std::int64_t original_row(std::int64_t row) const;
  /// An error of a setup, which counts rows in the order of the problem, with a word on that order.
  InputError in_order(const InputError& error) const;
};

/// Symmetry and definiteness of a matrix that one process has.
template <class Scalar>
SymmetryFacts symmetry_of(const Space& space, const Matrix<Scalar>& a, SpdCheck check);

/// Are the rows to be matched, or put in order? `auto` does neither where the matrix has to stay symmetric,
/// or the methods do not depend much on the order.
bool is_to_be_matched(const Settings& settings, SpdCheck check);
bool is_to_be_ordered(const Settings& settings, const MethodNeeds& needs);

/// Collective. The matrix and the vectors that `settings` name, which do not depend on the number of
/// processes. All read or make their rows together where the matrix stays in its order (see
/// rows_of_ranks.hpp); else rank 0 reads or makes the matrix, matches it, orders it, and hands it out.
///
/// \throws InputError also for a matrix that is empty or not square, and for a vector of another length
template <class Scalar>
Problem<Scalar> make_problem(const Context& context, const MethodNeeds& needs, MatrixInput& input);

/// The whole of the problem, read or made by one process. A right-hand side that has a name is made of A as
/// it was before it is matched and ordered.
template <class Scalar>
void make_whole(const Context& context, const MethodNeeds& needs, MatrixInput& input,
                Problem<Scalar>& problem);

/// A vector of a file. \throws InputError for another length
template <class Scalar>
Vector<Scalar, Space> read_vector(const std::string& path, std::int64_t length);

}  // namespace prekond::driver
