// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/operator.hpp>
#include <prekond/precond/impl/stored_matrix.hpp>

#include <utility>

namespace prekond::impl {

/// A stored matrix as a solver or Lanczos's method reads it.
template <class Scalar, class Space>
class StoredOperator : public Operator<Scalar, Space> {
 public:
  using View = MultiVectorView<Scalar, Space>;
  using ConstView = MultiVectorView<const Scalar, Space>;

  explicit StoredOperator(StoredMatrix<Scalar, Space> a) : m_a(std::move(a)) {}

  std::int64_t num_rows() const override { return m_a.num_rows(); }
  std::int64_t num_cols() const override { return m_a.num_cols(); }
  void apply(const Space& space, ConstView x, View y, Scalar alpha = 1, Scalar beta = 0) const override {
    if (alpha == Scalar(1) && beta == Scalar(0)) return m_a.multiply(space, x, y);
    m_a.multiply_recurrence(space, {.product = alpha, .previous = beta}, x, {}, y);
  }
  void apply_recurrence(const Space& space, const RecurrenceStep<Scalar>& step, ConstView x, ConstView b,
                        View y) const override {
    m_a.multiply_recurrence(space, step, x, b, y);
  }

 private:
  StoredMatrix<Scalar, Space> m_a;
};

}  // namespace prekond::impl
