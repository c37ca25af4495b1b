// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/error.hpp>
#include <prekond/distributed/distributed_matrix.hpp>
#include <prekond/distributed/impl/rows_by_number.hpp>

#include <memory>
#include <string>
#include <utility>

namespace prekond {

namespace impl {

/// Without other ranks nothing is imported.
template <class Scalar, class Space>
class NoImport : public VectorImport<Scalar, Space> {
 public:
  explicit NoImport(std::int64_t num_rows) : m_num_rows(num_rows) {}
  std::int64_t num_rows() const override { return m_num_rows; }
  std::int64_t num_cols() const override { return m_num_rows; }
  void start(const Space&, MultiVectorView<const Scalar, Space>) const override {}
  void finish(const Space&, MultiVectorView<Scalar, Space>) const override {}
  void start_reverse(const Space&, MultiVectorView<const Scalar, Space>) const override {}
  void finish_reverse(const Space&, MultiVectorView<Scalar, Space>) const override {}

 private:
  std::int64_t m_num_rows;
};

template <class Scalar, class Space>
class NoRowExchange : public RowExchange<Scalar, Space> {
 public:
  RemoteRows<Scalar, Space> fetch(const Space& space, const NumberedRows<Scalar, Space>&,
                                  const NumberedRows<Scalar, Space>& = {},
                                  const RemoteRows<Scalar, Space>* = nullptr) const override {
    RemoteRows<Scalar, Space> none;
    none.row_ptrs = allocate_zero<Vector<std::size_t, Space>>(space, "prekond::one_rank_matrix::row_ptrs", 1);
    return none;
  }
  GivenRows<Scalar, Space> give(const Space& space, const NumberedRows<Scalar, Space>& a,
                                const GivenRows<Scalar, Space>* = nullptr) const override {
    return {{}, fetch(space, a)};
  }
};

}  // namespace impl

/// The matrix of a single rank, so that one source serves it and many ranks. Row i has the global
/// number i.
template <class Scalar, class Space>
class OneRankMatrix : public DistributedMatrix<Scalar, Space> {
 public:
  /// `rows`: what own_rows() returns, which need not be known where no setup asks for it. \throws InputError
  /// where the operator is not square
  explicit OneRankMatrix(std::shared_ptr<const Operator<Scalar, Space>> product,
                         const CsrView<Scalar, Space>& rows = {})
      : m_product(std::move(product)), m_rows(rows), m_import(m_product->num_rows()) {
    if (m_product->num_cols() != m_product->num_rows())
      throw InputError("a distributed matrix has to be square; this one has " +
                       std::to_string(m_product->num_rows()) + " rows and " +
                       std::to_string(m_product->num_cols()) + " columns");
  }

  std::int64_t num_rows() const override { return m_product->num_rows(); }
  std::int64_t num_cols() const override { return num_rows(); }
  std::int64_t num_global_rows() const override { return num_rows(); }
  CsrView<Scalar, Space> own_rows() const override { return m_rows; }
  std::int64_t global_number(std::int64_t column) const override { return column; }

  Vector<const std::int64_t, Space> global_numbers(const Space& space) const override {
    return column_numbers<Space>(space, {num_rows(), 0, {}}, num_rows(), {});
  }

  const Operator<Scalar, Space>& product() const override { return *m_product; }
  const Reducer<Scalar, Space>& reducer() const override { return m_reducer; }
  const VectorImport<Scalar, Space>& column_import() const override { return m_import; }

  std::unique_ptr<const VectorImport<Scalar, Space>> make_import(
      const Space& /*space*/, VectorView<const std::int64_t, Space> global) const override {
    check_empty(global);
    return std::make_unique<impl::NoImport<Scalar, Space>>(num_rows());
  }

  RemoteRows<Scalar, Space> remote_rows(const Space& space,
                                        VectorView<const std::int64_t, Space> global) const override {
    return make_row_exchange(space, global)->fetch(space, {});
  }

  std::unique_ptr<const RowExchange<Scalar, Space>> make_row_exchange(
      const Space& /*space*/, VectorView<const std::int64_t, Space> global) const override {
    check_empty(global);
    return std::make_unique<impl::NoRowExchange<Scalar, Space>>();
  }

  void together(const std::function<void()>& work) const override { work(); }
  double largest(double value) const override { return value; }

  void scatter(const Space& space, VectorView<const Scalar, Space> whole,
               VectorView<Scalar, Space> own) const override {
    Kokkos::deep_copy(space, own, whole);
  }
  void gather(const Space& space, VectorView<const Scalar, Space> own,
              VectorView<Scalar, Space> whole) const override {
    Kokkos::deep_copy(space, whole, own);
  }

 private:
  static void check_empty(const VectorView<const std::int64_t, Space>& global) {
    if (global.extent(0) > 0)
      throw InputError("rows of other ranks were asked for, and there is one rank, which has all");
  }

  std::shared_ptr<const Operator<Scalar, Space>> m_product;
  CsrView<Scalar, Space> m_rows;
  Reducer<Scalar, Space> m_reducer;
  impl::NoImport<Scalar, Space> m_import;
};

}  // namespace prekond
