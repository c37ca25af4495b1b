// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/operator.hpp>
#include <prekond/matrix/sell_matrix.hpp>
#include <prekond/matrix/spmv.hpp>
#include "matrix/dia_matrix.hpp"
#include "matrix/jad_matrix.hpp"

#include <utility>

namespace prekond {

/// y = product A x + direct x + previous y + source b for A = D H, with H stored by SELL, DIA or JAD in the
/// vectors' type or a shorter one, and D = diag(row_scale), or I where that is empty; see RecurrenceStep. x
/// has num_cols x k, y and b num_rows x k, row_scale num_rows or none. Entries are converted, and summed in
/// the vectors' precision, in the order of their columns: a row's bits do not depend on k, nor on the number
/// of threads. One kernel for each group of up to four columns, which reads H once. No allocation, no fence.
/// \throws InputError where the sizes do not fit \pre y shares no memory with x and b
template <class Scalar, class Space, class FormatView>
void format_recurrence(const Space& space, const RecurrenceStep<Scalar>& step,
                       VectorView<const real_type_t<Scalar>, Space> row_scale, const FormatView& a,
                       MultiVectorView<const Scalar, Space> x, MultiVectorView<const Scalar, Space> b,
                       MultiVectorView<Scalar, Space> y);

/// y = A x and dot(0) = sum_{i < num_rows} conj(x_i) y_i: one kernel on a host; on a device the product, then
/// the sum. `workspace` is made for num_rows. Same bits for any number of threads; y has those of
/// format_recurrence. No allocation, no fence. \throws InputError where the sizes do not fit; x needs
/// num_rows too \throws std::logic_error where the workspace was made for fewer rows
template <class Scalar, class Space, class FormatView>
void format_dot(const Space& space, const FormatView& a, VectorView<const Scalar, Space> x,
                VectorView<Scalar, Space> y, VectorView<Scalar, Space> dot,
                const ReduceWorkspace<Scalar, Space>& workspace);

/// y + y_low += alpha A x, added up as if in twice the precision, \see CompensatedOperator.
template <class Scalar, class Space, class FormatView>
void format_compensated(const Space& space, real_type_t<Scalar> alpha, const FormatView& a,
                        MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
                        MultiVectorView<Scalar, Space> y_low);

/// A matrix of one of these formats as an operator, which shares its views.
template <class Matrix, class View, class Scalar, class Space>
class FormatOperator : public CompensatedOperator<Scalar, Space> {
 public:
  explicit FormatOperator(Matrix a) : m_a(std::move(a)) {}

  std::int64_t num_rows() const override { return m_a.num_rows; }
  std::int64_t num_cols() const override { return m_a.num_cols; }
  const Matrix& matrix() const { return m_a; }

  void apply(const Space& space, MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
             Scalar alpha = 1, Scalar beta = 0) const override {
    format_recurrence<Scalar, Space, View>(space, RecurrenceStep<Scalar>{.product = alpha, .previous = beta},
                                           {}, m_a, x, {}, y);
  }
  void apply_dot(const Space& space, VectorView<const Scalar, Space> x, VectorView<Scalar, Space> y,
                 VectorView<Scalar, Space> dot,
                 const ReduceWorkspace<Scalar, Space>& workspace) const override {
    format_dot<Scalar, Space, View>(space, m_a, x, y, dot, workspace);
  }
  void apply_compensated(const Space& space, real_type_t<Scalar> alpha,
                         MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
                         MultiVectorView<Scalar, Space> y_low) const override {
    format_compensated<Scalar, Space, View>(space, alpha, m_a, x, y, y_low);
  }
  void apply_recurrence(const Space& space, const RecurrenceStep<Scalar>& step,
                        MultiVectorView<const Scalar, Space> x, MultiVectorView<const Scalar, Space> b,
                        MultiVectorView<Scalar, Space> y) const override {
    format_recurrence<Scalar, Space, View>(space, step, {}, m_a, x, b, y);
  }

 private:
  Matrix m_a;
};

template <class Scalar, class Space>
using SellOperator = FormatOperator<SellMatrix<Scalar, Space>, SellView<Scalar, Space>, Scalar, Space>;
template <class Scalar, class Space>
using DiaOperator = FormatOperator<DiaMatrix<Scalar, Space>, DiaView<Scalar, Space>, Scalar, Space>;
template <class Scalar, class Space>
using JadOperator = FormatOperator<JadMatrix<Scalar, Space>, JadView<Scalar, Space>, Scalar, Space>;

}  // namespace prekond
