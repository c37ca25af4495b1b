// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A x = b, read or made, put in order, and handed out to the processes.
#include <prekond/core/error.hpp>
#include <prekond/distributed/distributed_matrix.hpp>
#include <prekond/matrix/csr_matrix.hpp>
#include <prekond/matrix/io/matrix_market.hpp>
#include <prekond/matrix/matrix_source.hpp>

#include <memory>
#include <optional>
#include <string>

#include "kokkos_session.hpp"
#include "matching.hpp"
#include "ordering.hpp"
#include "partition.hpp"
#include "processes.hpp"
#include "progress.hpp"
#include "settings.hpp"

namespace prekond::driver {

using Complex = Kokkos::complex<double>;

template <class Scalar>
using Matrix = CsrMatrix<const Scalar, const int, const std::size_t, Space::memory_space>;

/// A matrix's origin and its size.
struct Source {
  std::string name;  ///< the path, or NAME:SIZE[,key=value...]
  std::int64_t num_rows = 0;
  std::int64_t num_cols = 0;
  std::int64_t nnz = 0;
  bool complex = false;
  double seconds = 0;  ///< to read or generate it, copy to the device included
};

/// The product with A.
struct ProductFacts {
  std::string format = "csr";  ///< or "kokkoskernels"
  std::string reason;          ///< of a choice by `auto`
  double seconds = 0;          ///< to choose it and to convert A, fenced
};

/// The facts about the whole of a problem. Known on rank 0 only, but for `order.chosen`, `match.done` and the
/// near null space, which all know.
struct ProblemFacts {
  Source source;
  bool symmetric = false;  ///< Hermitian, where it is complex
  std::string not_spd;     ///< why a method for positive definite matrices must refuse this one
  double norm_b = 0;
  ProductFacts product;
  DistributionFacts distribution;
  OrderFacts order;
  MatchFacts match;
  std::string near_null_space;  ///< the file, or `grid`; empty: none
  std::int64_t num_near_vectors = 0;
  int unknowns_per_node = 1;

  /// An error of a setup, which counts rows in the order of the problem, with a word on that order.
  InputError in_order(const InputError& error) const;
};

/// A x = b, each row one process's.
template <class Scalar>
struct Problem : ProblemFacts {
  Matrix<Scalar> whole;         ///< A on rank 0, until its rows are handed out; a serial process keeps it
  CsrView<Scalar, Space> rows;  ///< this process's, its own columns first
  std::unique_ptr<const DistributedMatrix<Scalar, Space>> distributed;
  std::unique_ptr<const Operator<Scalar, Space>> split;  ///< A's product on several processes
  Vector<Scalar, Space> b;
  Vector<Scalar, Space> x0;                       ///< of a file; else empty
  Ordering<Space> ordering;                       ///< on rank 0; without rows where A has its own order
  Vector<int, Space> matched_rows;                ///< on rank 0, the rows of A before the ordering; or empty
  Vector<double, Space> row_scale, column_scale;  ///< of a matching
  NearNullSpace<double, Space> near;              ///< of this process's rows

  /// A, as the solver applies it.
  const Operator<Scalar, Space>& op() const { return split ? *split : distributed->product(); }
  /// A's row of this number in the problem's order, on rank 0; -1 stays -1.
  std::int64_t original_row(std::int64_t row) const;
};

/// The check that a method needs: a matrix that is visibly not symmetric positive definite is taken, noted in
/// `not_spd`, or refused.
enum class SpdCheck { none, report, require };

/// The needs of the methods that a problem is made for.
struct MethodNeeds {
  SpdCheck check = SpdCheck::none;
  bool factors_in_order = false;  ///< of one of them, see Properties
};

/// The matrix that settings name, before it is read or generated.
struct MatrixInput {
  std::optional<MatrixMarketFile> file;  ///< open, its first lines read; none where the matrix is generated
  bool complex = false;
};

/// Opens the file that `settings` name, if it is one. \throws InputError
MatrixInput open_matrix(const Settings& settings);

/// Reads or generates the matrix, once. \throws InputError
template <class Scalar>
Matrix<Scalar> load_matrix(const Space& space, const Settings& settings, MatrixInput& input,
                           Progress& progress, Source& source);

/// \throws InputError for a matrix that is empty or not square
void check_shape(const Source& source);

/// check_spd_input, whose message begins with the matrix's name. \throws InputError
template <class Scalar>
void check_spd(const Space& space, const std::string& name, const Matrix<Scalar>& a);

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
Problem<Scalar> make_problem(const Space& space, const Processes& processes, const Settings& settings,
                             MatrixInput& input, const MethodNeeds& needs, Progress& progress);

/// Entry `number` of --rhs random: uniform in (-1, 1], a function of the number; likewise its imaginary part.
/// `numbers`: of b's entries; empty: 0, 1, ...
template <class Scalar>
void fill_random(const Space& space, const Vector<Scalar, Space>& b,
                 const VectorView<const std::int64_t, Space>& numbers = {});

/// Collective. This process's part of a vector that rank 0 has; the vector itself where it is serial.
template <class Scalar>
Vector<Scalar, Space> own_part(const Space& space, const Processes& processes, const Problem<Scalar>& problem,
                               const Vector<Scalar, Space>& whole);

/// Collective. The vector of all parts, on rank 0 and in the order of A as it was given; empty elsewhere.
template <class Scalar>
Vector<Scalar, Space> whole_solution(const Space& space, const Processes& processes,
                                     const Problem<Scalar>& problem, const Vector<Scalar, Space>& x);

}  // namespace prekond::driver
