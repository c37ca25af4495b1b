// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/preconditioner.hpp>
#include <prekond/matrix/csr_matrix.hpp>

namespace prekond {

/// A preconditioner made from a matrix in two phases.
///
/// `symbolic(space, A)` looks at the pattern; `numeric(space, A)` at the values, and may be called again when only the
/// values changed. A is not kept: it may go away after the call. A failed phase throws and leaves the preconditioner as
/// it was.
template <class Scalar, class Space, class Ordinal = int, class Offset = std::size_t>
class MatrixPreconditioner : public Preconditioner<Scalar, Space> {
 public:
  using matrix_view = CsrView<Scalar, Space, Ordinal, Offset>;

  virtual void symbolic(const Space& space, const matrix_view& a) = 0;
  virtual void numeric(const Space& space, const matrix_view& a) = 0;

  std::int64_t num_rows() const override { return m_num_rows; }
  const Report& report() const override { return m_report; }

 protected:
  std::int64_t m_num_rows = 0;
  Report m_report;
};

}  // namespace prekond
