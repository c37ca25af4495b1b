// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/impl/block_reduce.hpp>
#include <prekond/core/operator.hpp>
#include <prekond/matrix/csr_matrix.hpp>

namespace prekond {

/// y = alpha A x + beta y, for x of num_cols x k and y of num_rows x k. With beta = 0, y is not read. On a
/// host a column has the bits that it has by itself. One kernel for each group of up to four: the matrix is
/// read once. No allocation, no fence.
///
/// On a device, rows of up to 8 entries in the mean are added by a thread each; longer ones by teams, which
/// read the entries of a block of rows as one stream, multiply them, and add each row's products from
/// scratch. A row that is too long for a thread is added by its team.
template <class Scalar, class Space>
void spmv(const Space& space, Scalar alpha, const CsrView<Scalar, Space>& a,
          MultiVectorView<const Scalar, Space> x, Scalar beta, MultiVectorView<Scalar, Space> y);

/// y = A x and dot(0) = sum_{i < num_rows} conj(x_i) y_i, in one pass; on a device in two where rows have
/// more than 8 entries. `workspace` is made for num_rows. Same bits for any number of threads; y has those of
/// `spmv`. \throws InputError where the sizes do not fit; x needs num_rows too
template <class Scalar, class Space>
void spmv_dot(const Space& space, const CsrView<Scalar, Space>& a, VectorView<const Scalar, Space> x,
              VectorView<Scalar, Space> y, VectorView<Scalar, Space> dot,
              const ReduceWorkspace<Scalar, Space>& workspace);

/// y = D A x + beta y for a matrix that is stored in another precision than the vectors, D = diag(row_scale),
/// or D = I where that is empty. With beta = 0, y is not read. Entries are converted and summed in the
/// vectors' precision. No allocation, no fence. Compiled for values of type float, Half and BFloat16
/// (<prekond/core/half.hpp>), and vectors of double and float; for complex vectors, for complex<float> and
/// pairs of the others.
template <class Value, class Scalar, class Space>
void spmv_stored(const Space& space, VectorView<const real_type_t<Scalar>, Space> row_scale,
                 const CsrView<Value, Space>& a, MultiVectorView<const Scalar, Space> x,
                 MultiVectorView<Scalar, Space> y, Scalar beta = Scalar(0));

/// y = product D A x + direct x + previous y + source b for a stored matrix, see spmv_stored and
/// RecurrenceStep, in one pass. Compiled for what spmv_stored is compiled for, and for values of the vectors'
/// own type. \throws InputError where the sizes do not fit \pre y shares no memory with x and b
template <class Value, class Scalar, class Space>
void spmv_recurrence(const Space& space, const RecurrenceStep<Scalar>& step,
                     VectorView<const real_type_t<Scalar>, Space> row_scale, const CsrView<Value, Space>& a,
                     MultiVectorView<const Scalar, Space> x, MultiVectorView<const Scalar, Space> b,
                     MultiVectorView<Scalar, Space> y);

/// y + y_low += alpha A x, added up as if in twice the precision, \see CompensatedOperator. Same bits for any
/// number of threads. Cost: about four of spmv on a host. No allocation, no fence. \throws InputError where
/// the sizes do not fit
template <class Scalar, class Space>
void spmv_compensated(const Space& space, real_type_t<Scalar> alpha, const CsrView<Scalar, Space>& a,
                      MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
                      MultiVectorView<Scalar, Space> y_low);

/// An operator that knows its entries. Derive from it where a solver's success is to be one of the exact
/// residual, which the rounding errors of an ordinary product can hide.
template <class Scalar, class Space>
class CompensatedOperator : public Operator<Scalar, Space> {
 public:
  /// y + y_low += alpha A x, for k columns, added up as if in twice the precision; alpha is a power of two,
  /// or minus one. y_low has the digits that y has no place for, and y + y_low is no smaller than the
  /// rounding error that it has all the same.
  virtual void apply_compensated(const Space& space, real_type_t<Scalar> alpha,
                                 MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
                                 MultiVectorView<Scalar, Space> y_low) const = 0;
};

/// A CSR matrix as an operator. It keeps the matrix's views (not a copy of what they point to).
template <class Scalar, class Space>
class CsrOperator : public CompensatedOperator<Scalar, Space> {
 public:
  using matrix_type = CsrMatrix<const Scalar, const int, const std::size_t, typename Space::memory_space>;

  explicit CsrOperator(const matrix_type& a) : m_a(a) {}

  std::int64_t num_rows() const override { return m_a.num_rows; }
  std::int64_t num_cols() const override { return m_a.num_cols; }
  const matrix_type& matrix() const { return m_a; }

  void apply(const Space& space, MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
             Scalar alpha = 1, Scalar beta = 0) const override {
    spmv<Scalar, Space>(space, alpha, m_a, x, beta, y);
  }
  void apply_dot(const Space& space, VectorView<const Scalar, Space> x, VectorView<Scalar, Space> y,
                 VectorView<Scalar, Space> dot,
                 const ReduceWorkspace<Scalar, Space>& workspace) const override {
    spmv_dot<Scalar, Space>(space, m_a, x, y, dot, workspace);
  }
  void apply_compensated(const Space& space, real_type_t<Scalar> alpha,
                         MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
                         MultiVectorView<Scalar, Space> y_low) const override {
    spmv_compensated<Scalar, Space>(space, alpha, m_a, x, y, y_low);
  }
  void apply_recurrence(const Space& space, const RecurrenceStep<Scalar>& step,
                        MultiVectorView<const Scalar, Space> x, MultiVectorView<const Scalar, Space> b,
                        MultiVectorView<Scalar, Space> y) const override {
    spmv_recurrence<Scalar, Scalar, Space>(space, step, {}, m_a, x, b, y);
  }

 private:
  matrix_type m_a;
};

}  // namespace prekond
