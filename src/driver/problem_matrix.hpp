// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/report.hpp>
#include <prekond/distributed/distributed_matrix.hpp>
#include <prekond/matrix/csr_matrix.hpp>

#include <memory>
#include <string>

#include "market_rows.hpp"
#include "partition_choice.hpp"
#include "processes.hpp"
#include "session.hpp"

namespace prekond::driver {

using Complex = Kokkos::complex<double>;

template <class Scalar>
using Matrix = CsrMatrix<const Scalar, const int, const std::size_t, Space::memory_space>;

/// How A is multiplied by.
struct ProductFacts {
  std::string format = "csr";  ///< or "kokkoskernels"
  std::string reason;          ///< of a choice by `auto`
  double seconds = 0;          ///< to choose it and to convert A, fenced
};

/// A problem's square matrix, each row one process's.
template <class Scalar>
struct ProblemMatrix {
  Matrix<Scalar> whole;         ///< of a process that is alone; otherwise empty
  CsrView<Scalar, Space> rows;  ///< this process's, its own columns first
  std::unique_ptr<const DistributedMatrix<Scalar, Space>> distributed;
  std::unique_ptr<const Operator<Scalar, Space>> split;  ///< of several processes, see choose_product
  ProductFacts product;
  DistributionFacts distribution;
  Vector<Scalar, Space> times_ones;  ///< A*1, where distribute_rows was to make it

  /// A, as the solver applies it.
  const Operator<Scalar, Space>& op() const { return split ? *split : distributed->product(); }
};

/// All processes: hands out the rows of the matrix that rank 0 has (elsewhere it is not looked at), whose
/// copy is then freed. Complex matrices are for one process.
///
/// \throws InputError for more rows than a global index can count
template <class Scalar>
ProblemMatrix<Scalar> distribute(const Space& space, const Processes& processes, Matrix<Scalar> whole,
                                 const std::string& spmv, const PartitionChoice& choice);

/// All processes: the matrix of their blocks of rows (see read_rows), sent to where the partition has them.
/// The numbers of the rows stay, so that what depends on their order is that of one process.
ProblemMatrix<double> distribute_rows(const Space& space, const Processes& processes, HostRows block,
                                      const PartitionChoice& choice, bool with_sums);

/// All processes: of several, the product whose messages are under way while each multiplies its own columns,
/// these in the format of --spmv. Nothing where a process is alone, whose product is there.
template <class Scalar>
void choose_product(const Space& space, const Processes& processes, ProblemMatrix<Scalar>& a,
                    const std::string& spmv);

/// The matrix of a process that is alone.
template <class Scalar>
ProblemMatrix<Scalar> undistributed(const Space& space, const Matrix<Scalar>& whole, const std::string& spmv);

/// All processes: this process's part of a vector that rank 0 has; the vector itself where it is alone.
template <class Scalar>
Vector<Scalar, Space> own_part(const Space& space, const Processes& processes, const ProblemMatrix<Scalar>& a,
                               const Vector<Scalar, Space>& whole);

/// All processes: the vector of all parts, on rank 0; empty elsewhere.
template <class Scalar>
Vector<Scalar, Space> all_parts(const Space& space, const Processes& processes,
                                const ProblemMatrix<Scalar>& a, const Vector<Scalar, Space>& own);

/// All processes: one report of all their setups: sums, the first row that broke down counted in all rows,
/// and what the setups left out because it couples two processes' rows.
template <class Scalar>
Report report_of_all(const Processes& processes, const ProblemMatrix<Scalar>& a, Report own);

}  // namespace prekond::driver
