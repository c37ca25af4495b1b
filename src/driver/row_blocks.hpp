// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/operator.hpp>
#include <prekond/core/reducer.hpp>
#include <prekond/core/report.hpp>
#include <prekond/matrix/csr_matrix.hpp>

#include <memory>
#include <string>

#include "processes.hpp"
#include "session.hpp"

namespace prekond::driver {

using Complex = Kokkos::complex<double>;

template <class Scalar>
using Matrix = CsrMatrix<const Scalar, const int, const std::size_t, Space::memory_space>;

/// A square matrix in contiguous blocks of rows, one a process: what a preconditioner is made from and a
/// solver multiplies with. `scatter`, `gather`, `merged` and the product are called by all processes.
template <class Scalar>
class RowBlocks {
 public:
  virtual ~RowBlocks() = default;

  /// This process's rows. Its first num_rows columns are these rows' own.
  virtual CsrView<Scalar, Space> rows() const = 0;
  virtual const Operator<Scalar, Space>& product() const = 0;
  virtual const Reducer<Scalar, Space>& reducer() const = 0;

  /// This process's part of a vector that rank 0 has.
  virtual Vector<Scalar, Space> scatter(const Space& space, const Vector<Scalar, Space>& whole) const = 0;

  /// The vector of all parts, on rank 0; empty elsewhere.
  virtual Vector<Scalar, Space> gather(const Space& space, const Vector<Scalar, Space>& own) const = 0;

  /// One report of all processes' setups: sums, the first row that broke down counted in all rows, and what
  /// the setups left out because it couples two processes' rows.
  virtual Report merged(const Space& space, Report own) const = 0;
};

/// All processes: hands out the rows of the matrix that rank 0 has (elsewhere it is not looked at), whose
/// copy is then freed. Complex matrices are for one process.
///
/// \throws InputError for more rows than a global index can count
template <class Scalar>
std::unique_ptr<RowBlocks<Scalar>> distribute(const Space& space, const Processes& processes,
                                              Matrix<Scalar> whole, const std::string& spmv);

/// The matrix as the one block of a process that is alone.
template <class Scalar>
std::unique_ptr<RowBlocks<Scalar>> one_block(const Matrix<Scalar>& whole, const std::string& spmv);

}  // namespace prekond::driver
