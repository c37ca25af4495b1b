// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "testing/host_matrix.hpp"

#include <prekond/distributed/distributed_matrix.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace prekond::testing {

/// Another matrix whose rows have larger numbers, as those of a matrix with more than 2^31 rows.
template <class Space>
class MatrixOfOtherNumbers : public DistributedMatrix<double, Space> {
 public:
  /// Numbers larger by `by`; `more_rows`: what is said of the number of all rows.
  MatrixOfOtherNumbers(std::shared_ptr<const DistributedMatrix<double, Space>> a, std::int64_t by,
                       std::int64_t more_rows)
      : m_a(std::move(a)), m_offset(by), m_more_rows(more_rows) {}

  std::int64_t num_rows() const override { return m_a->num_rows(); }
  std::int64_t num_cols() const override { return m_a->num_cols(); }
  std::int64_t num_global_rows() const override { return m_a->num_global_rows() + m_more_rows; }
  CsrView<double, Space> own_rows() const override { return m_a->own_rows(); }
  std::int64_t global_number(std::int64_t column) const override {
    return m_a->global_number(column) + m_offset;
  }
  Vector<const std::int64_t, Space> global_numbers(const Space& space) const override {
    return shifted(m_a->global_numbers(space), m_offset);
  }
  const Operator<double, Space>& product() const override { return m_a->product(); }
  const Reducer<double, Space>& reducer() const override { return m_a->reducer(); }
  const VectorImport<double, Space>& column_import() const override { return m_a->column_import(); }
  std::unique_ptr<const VectorImport<double, Space>> make_import(
      const Space& space, VectorView<const std::int64_t, Space> global) const override {
    const Vector<const std::int64_t, Space> numbers = shifted(global, -m_offset);
    return m_a->make_import(space, numbers);
  }
  RemoteRows<double, Space> remote_rows(const Space& space,
                                        VectorView<const std::int64_t, Space> global) const override {
    const Vector<const std::int64_t, Space> numbers = shifted(global, -m_offset);
    auto rows = m_a->remote_rows(space, numbers);
    auto columns = to_vector(rows.col_idxs);
    for (auto& column : columns) column += m_offset;
    rows.col_idxs = to_device<Space>(columns);
    return rows;
  }
  std::unique_ptr<const RowExchange<double, Space>> make_row_exchange(
      const Space& space, VectorView<const std::int64_t, Space> global) const override {
    const Vector<const std::int64_t, Space> numbers = shifted(global, -m_offset);
    return m_a->make_row_exchange(space, numbers);
  }
  void together(const std::function<void()>& work) const override { m_a->together(work); }
  double largest(double value) const override { return m_a->largest(value); }
  void scatter(const Space&, VectorView<const double, Space>, VectorView<double, Space>) const override {}
  void gather(const Space&, VectorView<const double, Space>, VectorView<double, Space>) const override {}

 private:
  template <class Numbers>
  static Vector<const std::int64_t, Space> shifted(const Numbers& numbers, std::int64_t by) {
    auto all = to_vector(numbers);
    for (auto& number : all) number += by;
    return to_device<Space>(all);
  }
  std::shared_ptr<const DistributedMatrix<double, Space>> m_a;
  std::int64_t m_offset, m_more_rows;
};

}  // namespace prekond::testing
