// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A matrix that ranks have made, with its product.
#include <prekond/distributed/impl/rows_by_number.hpp>
#include <prekond/matrix/spmv.hpp>

#include <optional>
#include <utility>
#include <vector>

#include "distributed/number_sets.hpp"
#include "precond/distributed/same_ranks.hpp"

namespace prekond::impl::distributed {

/// y = A x by an import of all columns of other ranks. Keeps as many vectors as it was applied to at once.
template <class Scalar, class Space>
class ImportedProduct : public Operator<Scalar, Space> {
 public:
  ImportedProduct(const CsrView<Scalar, Space>& rows, const VectorImport<Scalar, Space>& columns,
                  const RowNumbers<Space>& numbers)
      : m_rows(rows), m_columns(columns), m_numbers(numbers) {}

  std::int64_t num_rows() const override { return m_rows.num_rows; }
  std::int64_t num_cols() const override { return m_rows.num_rows; }
  RowNumbers<Space> row_numbers(const Space& /*space*/) const override { return m_numbers; }

  /// Collective.
  void apply(const Space& space, MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
             Scalar alpha, Scalar beta) const override {
    const std::size_t k = y.extent(1);
    if (k == 0) return;
    reserve(space, k);
    const MultiVectorView<Scalar, Space> all =
        Kokkos::subview(m_all, Kokkos::ALL, std::make_pair(std::size_t(0), k));
    m_columns.apply(space, x, all);
    spmv<Scalar, Space>(space, alpha, m_rows, all, beta, y);
  }

  /// Room for k vectors.
  void reserve(const Space& space, std::size_t k) const {
    m_columns.reserve(space, static_cast<int>(k));
    if (m_all.extent(1) >= k) return;
    m_all = {};
    m_all =
        allocate<MultiVector<Scalar, Space>>(space, "prekond::rows_of_ranks::vectors", m_rows.num_cols, k);
  }

 private:
  CsrView<Scalar, Space> m_rows;
  const VectorImport<Scalar, Space>& m_columns;
  RowNumbers<Space> m_numbers;
  mutable MultiVector<Scalar, Space> m_all;
};

/// The rank's rows of a matrix whose rows are distributed as those of A, which has to outlive it. Sees new
/// values that are written into `rows`.
template <class Scalar, class Space>
class RowsOfRanks : public SameRanks<Scalar, Space> {
 public:
  using Matrix = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;

  /// Collective. `rows`: in A's own columns and, after them, those with the numbers `remote`, ascending.
  RowsOfRanks(const Space& space, const DistributedMatrix<Scalar, Space>& a, const Matrix& rows,
              const Numbers<Space>& remote)
      : SameRanks<Scalar, Space>(a), m_remote(remote), m_rows(rows), m_import(a.make_import(space, remote)) {
    const auto own = allocate<Numbers<Space>>(space, "prekond::rows_of_ranks::own_numbers", rows.num_rows);
    Kokkos::deep_copy(
        space, own, Kokkos::subview(a.global_numbers(space), std::make_pair(std::int64_t(0), rows.num_rows)));
    m_own = own;
    const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), remote);
    m_numbers.assign(host.data(), host.data() + host.extent(0));
    m_product.emplace(m_rows, *m_import, RowNumbers<Space>{a.num_global_rows(), 0, m_own});
  }
  RowsOfRanks(const RowsOfRanks&) = delete;

  std::int64_t num_rows() const override { return m_rows.num_rows; }
  std::int64_t num_cols() const override { return m_rows.num_cols; }
  CsrView<Scalar, Space> own_rows() const override { return m_rows; }

  std::int64_t global_number(std::int64_t column) const override {
    return column < num_rows() ? m_a.global_number(column) : m_numbers[column - num_rows()];
  }
  Vector<const std::int64_t, Space> global_numbers(const Space& space) const override {
    return column_numbers<Space>(space, {m_a.num_global_rows(), 0, m_own}, num_rows(), m_remote);
  }

  const Operator<Scalar, Space>& product() const override { return *m_product; }
  void reserve(const Space& space, int num_vectors) const { m_product->reserve(space, num_vectors); }
  const VectorImport<Scalar, Space>& column_import() const override { return *m_import; }

  RemoteRows<Scalar, Space> remote_rows(const Space& space,
                                        VectorView<const std::int64_t, Space> global) const override {
    return m_a.make_row_exchange(space, global)->fetch(space, {m_rows, global_numbers(space)});
  }

 private:
  using SameRanks<Scalar, Space>::m_a;
  Vector<const std::int64_t, Space> m_own;  ///< the rows' numbers
  Numbers<Space> m_remote;                  ///< of the columns that follow
  std::vector<std::int64_t> m_numbers;      ///< the same on the host
  Matrix m_rows;
  std::unique_ptr<const VectorImport<Scalar, Space>> m_import;
  std::optional<ImportedProduct<Scalar, Space>> m_product;
};

}  // namespace prekond::impl::distributed
