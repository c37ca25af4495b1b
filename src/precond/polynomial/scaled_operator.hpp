// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/operator.hpp>
#include <prekond/matrix/spmv.hpp>

#include "precond/polynomial/row_kernels.hpp"
#include "precond/polynomial/scaled_rows.hpp"

namespace prekond::impl::polynomial {

/// y = L A R x with diagonal matrices L and R, R = I where it is empty, for Lanczos's method. With L = R =
/// D^-1/2 it has the spectrum of D^-1 A and is of ordinary size whatever A's is. On several ranks `apply` is
/// collective: own columns are multiplied while the entries of other ranks are under way.
template <class Scalar, class Space>
class ScaledOperator : public Operator<Scalar, Space> {
 public:
  using Real = real_type_t<Scalar>;
  ScaledOperator(const Space& space, const RowsOf<Scalar, Space>& a, const ScaledRows<Scalar, Space>& rows,
                 VectorView<const Real, Space> left, VectorView<const Real, Space> right)
      : m_all(a.all),
        m_rows(rows),
        m_left(left),
        m_right(right),
        m_scaled(allocate<Vector<Scalar, Space>>(space, "prekond::polynomial::scaled", right.extent(0))),
        m_received(allocate<Vector<Scalar, Space>>(space, "prekond::polynomial::received",
                                                   rows.remote.matrix().num_cols)) {}

  std::int64_t num_rows() const override { return m_rows.num_rows(); }
  std::int64_t num_cols() const override { return m_rows.num_rows(); }
  RowNumbers<Space> row_numbers(const Space& space) const override {
    return m_all ? m_all->product().row_numbers(space) : Operator<Scalar, Space>::row_numbers(space);
  }
  /// \pre one vector, alpha = 1 and beta = 0, as Lanczos's method has it
  void apply(const Space& space, MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
             Scalar /*alpha*/, Scalar /*beta*/) const override {
    MultiVectorView<const Scalar, Space> from = x;
    if (m_right.extent(0) > 0) {
      scale(space, m_right, x, as_multivector(m_scaled));
      from = as_multivector(VectorView<const Scalar, Space>(m_scaled));
    }
    if (m_all) m_all->column_import().start(space, from);
    spmv<Scalar, Space>(space, Scalar(1), m_rows.own, from, Scalar(0), y);
    if (m_all) {
      m_all->column_import().finish(space, as_multivector(m_received));
      m_rows.remote.add_product(space, Scalar(1), as_multivector(VectorView<const Scalar, Space>(m_received)),
                                y);
    }
    scale(space, m_left, y, y);
  }

 private:
  static void scale(const Space& space, VectorView<const Real, Space> diagonal,
                    MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y) {
    Kokkos::parallel_for("prekond::polynomial::numeric::apply_diagonal",
                         Kokkos::RangePolicy<Space>(space, 0, y.extent(0)),
                         ApplyDiagonal<Scalar, Space>{diagonal, x, y, 1});
  }

  const DistributedMatrix<Scalar, Space>* m_all;
  const ScaledRows<Scalar, Space>& m_rows;
  VectorView<const Real, Space> m_left, m_right;
  Vector<Scalar, Space> m_scaled, m_received;
};

}  // namespace prekond::impl::polynomial
