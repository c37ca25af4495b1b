// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// R A C over ranks, for diagonal matrices R and C of powers of two.
#include <prekond/distributed/distributed_matrix.hpp>
#include <prekond/precond/scaled.hpp>

#include <functional>
#include <memory>

#include "distributed/number_sets.hpp"
#include "precond/common/scaling.hpp"

namespace prekond::impl::distributed {

/// How a distributed matrix is scaled; `row` and `column` are the rank's part of scales that are given.
template <class Space>
struct Scaling {
  ScaledOptions options;
  Vector<double, Space> row, column;
};

/// Collective. R and C of the rank's own rows, by their exponents: what one rank finds for the whole matrix.
/// Cost of `equilibrate`: A^T, and two exchanges of one number an entry in each sweep. \throws InputError
/// where there are not as many given scales as rows
template <class Scalar, class Space>
scaled::Exponents<Space> scaling_of(const Space& space, const DistributedMatrix<Scalar, Space>& a,
                                    const Scaling<Space>& scaling);

/// R A C of another matrix A, which has to outlive it. A rank's rows are a copy; those of other ranks are
/// scaled when they have come, by scales that are imported with them.
template <class Scalar, class Space>
class ScaledMatrix : public DistributedMatrix<Scalar, Space> {
 public:
  using Distributed = DistributedMatrix<Scalar, Space>;
  using Real = real_type_t<Scalar>;
  using Exponents = scaled::Exponents<Space>;

  /// Collective. `own`: of the rank's own rows.
  ScaledMatrix(const Space& space, const Distributed& a, const Exponents& own);
  ScaledMatrix(const ScaledMatrix&) = delete;

  std::int64_t num_rows() const override { return m_a.num_rows(); }
  std::int64_t num_cols() const override { return m_a.num_cols(); }
  std::int64_t num_global_rows() const override { return m_a.num_global_rows(); }
  CsrView<Scalar, Space> own_rows() const override { return m_rows; }
  std::int64_t global_number(std::int64_t column) const override { return m_a.global_number(column); }
  Vector<const std::int64_t, Space> global_numbers(const Space& space) const override {
    return m_a.global_numbers(space);
  }
  const Operator<Scalar, Space>& product() const override { return m_product; }
  const Reducer<Scalar, Space>& reducer() const override { return m_a.reducer(); }
  const VectorImport<Scalar, Space>& column_import() const override { return m_a.column_import(); }
  std::unique_ptr<const VectorImport<Scalar, Space>> make_import(
      const Space& space, VectorView<const std::int64_t, Space> global) const override {
    return m_a.make_import(space, global);
  }
  /// One message a neighbour more than A's, with the scales of these rows and of their columns.
  RemoteRows<Scalar, Space> remote_rows(const Space& space,
                                        VectorView<const std::int64_t, Space> global) const override;
  /// Of rows as they are.
  std::unique_ptr<const RowExchange<Scalar, Space>> make_row_exchange(
      const Space& space, VectorView<const std::int64_t, Space> global) const override {
    return m_a.make_row_exchange(space, global);
  }
  void together(const std::function<void()>& work) const override { m_a.together(work); }
  double largest(double value) const override { return m_a.largest(value); }
  void scatter(const Space& space, VectorView<const Scalar, Space> whole,
               VectorView<Scalar, Space> own) const override {
    m_a.scatter(space, whole, own);
  }
  void gather(const Space& space, VectorView<const Scalar, Space> own,
              VectorView<Scalar, Space> whole) const override {
    m_a.gather(space, own, whole);
  }

 private:
  /// y = alpha R A C x + beta y, by A's product. Allocates two blocks of vectors, and fences.
  class Product : public Operator<Scalar, Space> {
   public:
    Product(const Operator<Scalar, Space>& a, const Exponents& exponents) : m_a(a), m_exponents(exponents) {}
    std::int64_t num_rows() const override { return m_a.num_rows(); }
    std::int64_t num_cols() const override { return m_a.num_cols(); }
    RowNumbers<Space> row_numbers(const Space& space) const override { return m_a.row_numbers(space); }
    void apply(const Space& space, MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
               Scalar alpha, Scalar beta) const override;

   private:
    const Operator<Scalar, Space>& m_a;
    Exponents m_exponents;
  };

  const Distributed& m_a;
  Exponents m_own;
  Vector<Scalar, Space> m_values;
  CsrView<Scalar, Space> m_rows;  ///< with A's pattern
  Product m_product;
};

}  // namespace prekond::impl::distributed
