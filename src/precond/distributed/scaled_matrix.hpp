// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// R A C over ranks, for diagonal matrices R and C of powers of two.
#include <prekond/distributed/distributed_matrix.hpp>
#include <prekond/precond/scaled.hpp>

#include <memory>

#include "distributed/number_sets.hpp"
#include "precond/distributed/same_ranks.hpp"
#include "precond/scaling/scaling.hpp"

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
/// scaled when they have come, by scales that are imported with them; a RowExchange's are as they are given.
template <class Scalar, class Space>
class ScaledMatrix : public SameRanks<Scalar, Space> {
 public:
  using Distributed = DistributedMatrix<Scalar, Space>;
  using Real = real_type_t<Scalar>;
  using Exponents = scaled::Exponents<Space>;

  /// Collective. `own`: of the rank's own rows.
  ScaledMatrix(const Space& space, const Distributed& a, const Exponents& own);
  ScaledMatrix(const ScaledMatrix&) = delete;

  std::int64_t num_rows() const override { return m_a.num_rows(); }
  std::int64_t num_cols() const override { return m_a.num_cols(); }
  CsrView<Scalar, Space> own_rows() const override { return m_rows; }
  std::int64_t global_number(std::int64_t column) const override { return m_a.global_number(column); }
  Vector<const std::int64_t, Space> global_numbers(const Space& space) const override {
    return m_a.global_numbers(space);
  }
  const Operator<Scalar, Space>& product() const override { return m_product; }
  const VectorImport<Scalar, Space>& column_import() const override { return m_a.column_import(); }
  /// One message a neighbour more than A's, with the scales of these rows and of their columns.
  RemoteRows<Scalar, Space> remote_rows(const Space& space,
                                        VectorView<const std::int64_t, Space> global) const override;

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

  using SameRanks<Scalar, Space>::m_a;
  Exponents m_own;
  Vector<Scalar, Space> m_values;
  CsrView<Scalar, Space> m_rows;  ///< with A's pattern
  Product m_product;
};

}  // namespace prekond::impl::distributed
