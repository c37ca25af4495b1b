// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/operator.hpp>
#include <prekond/matrix/bcsr_matrix.hpp>
#include <prekond/matrix/spmv.hpp>

#include <type_traits>
#include <utility>

namespace prekond {

/// y = product A x + direct x + previous y + source b for A by blocks; see RecurrenceStep. x has num_cols() x
/// k, y and b num_rows() x k, of padded matrices too.
///
/// On a device a thread has a row of the matrix; one of more than 256 blocks is added by a team. On a host a
/// thread has a block row. Loops have a fixed length for b up to 8. A row's bits do not depend on k, nor on
/// the number of threads.
///
/// Cost: 2 b^2 operations a block and column; it reads 8 b^2 + 4 bytes a block, in double precision, and 8 a
/// block row, for all columns. No allocation, no fence. Blocks of up to 32.
///
/// \throws InputError where the sizes do not fit \pre y shares no memory with x and b
template <class Scalar, class Space>
void bcsr_recurrence(const Space& space, const RecurrenceStep<Scalar>& step,
                     const std::type_identity_t<BcsrView<Scalar, Space>>& a,
                     MultiVectorView<const Scalar, Space> x, MultiVectorView<const Scalar, Space> b,
                     MultiVectorView<Scalar, Space> y);

/// y = A x, as bcsr_recurrence, and dot(0) = sum_{i < num_rows()} conj(x_i) y_i, in a kernel of its own.
/// `workspace` is made for num_rows(). No allocation, no fence. \throws InputError where the sizes do not
/// fit; x needs num_rows() too \throws std::logic_error where the workspace was made for fewer rows
template <class Scalar, class Space>
void bcsr_dot(const Space& space, const std::type_identity_t<BcsrView<Scalar, Space>>& a,
              VectorView<const Scalar, Space> x, VectorView<Scalar, Space> y, VectorView<Scalar, Space> dot,
              const ReduceWorkspace<Scalar, Space>& workspace);

/// y + y_low += alpha A x, added up as if in twice the precision, \see CompensatedOperator.
template <class Scalar, class Space>
void bcsr_compensated(const Space& space, real_type_t<Scalar> alpha,
                      const std::type_identity_t<BcsrView<Scalar, Space>>& a,
                      MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
                      MultiVectorView<Scalar, Space> y_low);

/// A matrix by blocks as an operator, which shares its views.
template <class Scalar, class Space>
class BcsrOperator : public CompensatedOperator<Scalar, Space> {
 public:
  using Matrix = BcsrMatrix<const Scalar, const int, const std::size_t, typename Space::memory_space>;

  explicit BcsrOperator(Matrix a) : m_a(std::move(a)) {}

  std::int64_t num_rows() const override { return m_a.num_rows(); }
  std::int64_t num_cols() const override { return m_a.num_cols(); }
  const Matrix& matrix() const { return m_a; }

  void apply(const Space& space, MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
             Scalar alpha = 1, Scalar beta = 0) const override {
    bcsr_recurrence<Scalar, Space>(space, RecurrenceStep<Scalar>{.product = alpha, .previous = beta}, m_a, x,
                                   {}, y);
  }
  void apply_dot(const Space& space, VectorView<const Scalar, Space> x, VectorView<Scalar, Space> y,
                 VectorView<Scalar, Space> dot,
                 const ReduceWorkspace<Scalar, Space>& workspace) const override {
    bcsr_dot<Scalar, Space>(space, m_a, x, y, dot, workspace);
  }
  void apply_compensated(const Space& space, real_type_t<Scalar> alpha,
                         MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
                         MultiVectorView<Scalar, Space> y_low) const override {
    bcsr_compensated<Scalar, Space>(space, alpha, m_a, x, y, y_low);
  }
  void apply_recurrence(const Space& space, const RecurrenceStep<Scalar>& step,
                        MultiVectorView<const Scalar, Space> x, MultiVectorView<const Scalar, Space> b,
                        MultiVectorView<Scalar, Space> y) const override {
    bcsr_recurrence<Scalar, Space>(space, step, m_a, x, b, y);
  }

 private:
  Matrix m_a;
};

}  // namespace prekond
