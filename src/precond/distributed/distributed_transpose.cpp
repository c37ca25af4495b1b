// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/precond/distributed_transpose.hpp>

#include <prekond/core/error.hpp>
#include <prekond/distributed/impl/rows_by_number.hpp>
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/matrix/sort_rows.hpp>
#include <prekond/matrix/spmv.hpp>
#include "sparse_product/transpose.hpp"

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/instantiate.hpp"
#include "core/row_teams.hpp"
#include "distributed/number_sets.hpp"
#include "precond/distributed/same_ranks.hpp"

namespace prekond {
namespace {

using impl::RowTeams;
using impl::distributed::FlatPolicy;
using impl::distributed::Numbers;

template <class Scalar, class Space>
using Matrix = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;

/// The entries of row i that the rank has itself; others are added.
template <class Space>
struct CountOwn {
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<int, Space> lengths;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    lengths(i) = static_cast<int>(row_ptrs(i + 1) - row_ptrs(i));
  }
};

template <class Scalar, class Space>
struct CountGiven {
  GivenRows<Scalar, Space> given;
  VectorView<int, Space> lengths;
  KOKKOS_FUNCTION void operator()(std::int64_t r) const {
    Kokkos::atomic_add(&lengths(given.own(r)),
                       static_cast<int>(given.rows.row_ptrs(r + 1) - given.rows.row_ptrs(r)));
  }
};

/// Own entries come first; `next`: where others of the row may stand.
template <class Scalar, class Space>
struct CopyOwn {
  using Teams = RowTeams<Space>;
  CsrView<Scalar, Space> from;
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<int, Space> col_idxs;
  VectorView<Scalar, Space> values;
  VectorView<std::size_t, Space> next;
  KOKKOS_FUNCTION void operator()(const typename Teams::Member& team) const {
    Teams{from.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const std::size_t begin = from.row_ptrs(i), to = row_ptrs(i);
      const int length = static_cast<int>(from.row_ptrs(i + 1) - begin);
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, length), [&](int k) {
        col_idxs(to + k) = from.col_idxs(begin + k);
        values(to + k) = from.values(begin + k);
      });
      Kokkos::single(Kokkos::PerThread(team), [&] { next(i) = to + static_cast<std::size_t>(length); });
    });
  }
};

/// The entries that other ranks gave a row follow, in no particular order.
template <class Scalar, class Space>
struct CopyGiven {
  GivenRows<Scalar, Space> given;
  VectorView<const int, Space> places;  ///< of each entry's column among the remote ones
  int num_own;
  VectorView<int, Space> col_idxs;
  VectorView<Scalar, Space> values;
  VectorView<std::size_t, Space> next;
  KOKKOS_FUNCTION void operator()(std::int64_t r) const {
    const RemoteRows<Scalar, Space>& rows = given.rows;
    std::size_t to = Kokkos::atomic_fetch_add(&next(given.own(r)), rows.row_ptrs(r + 1) - rows.row_ptrs(r));
    for (std::size_t k = rows.row_ptrs(r); k < rows.row_ptrs(r + 1); ++k, ++to) {
      col_idxs(to) = num_own + places(k);
      values(to) = rows.values(k);
    }
  }
};

/// The rows begin ... end - 1, which keep their entries' places.
template <class Scalar, class Space>
CsrView<Scalar, Space> rows_of(const Matrix<Scalar, Space>& a, std::int64_t begin, std::int64_t end) {
  return {end - begin, a.num_cols, Kokkos::subview(a.row_ptrs, std::make_pair(begin, end + 1)), a.col_idxs,
          a.values};
}

/// `own`, in columns of the rank's own, with what other ranks gave, in columns with the numbers `remote`.
template <class Scalar, class Space>
Matrix<Scalar, Space> merged(const Space& space, const CsrView<Scalar, Space>& own,
                             const GivenRows<Scalar, Space>& given, const Numbers<Space>& remote) {
  const std::int64_t n = own.num_rows;
  const FlatPolicy<Space> slots(space, 0, given.rows.num_rows);
  const auto lengths = allocate<Vector<int, Space>>(space, "prekond::distributed_transpose::lengths", n);
  Kokkos::parallel_for("prekond::distributed_transpose::count_own", FlatPolicy<Space>(space, 0, n),
                       CountOwn<Space>{own.row_ptrs, lengths});
  Kokkos::parallel_for("prekond::distributed_transpose::count_given", slots,
                       CountGiven<Scalar, Space>{given, lengths});
  const auto [row_ptrs, nnz] = impl::scan_row_lengths(space, "prekond::distributed_transpose", n,
                                                      VectorView<const int, Space>(lengths));
  const Matrix<Scalar, Space> result(
      n, n + static_cast<std::int64_t>(remote.extent(0)), row_ptrs,
      allocate<Vector<int, Space>>(space, "prekond::distributed_transpose::col_idxs", nnz),
      allocate<Vector<Scalar, Space>>(space, "prekond::distributed_transpose::values", nnz));
  const auto next = allocate<Vector<std::size_t, Space>>(space, "prekond::distributed_transpose::next", n);
  if (n > 0)
    Kokkos::parallel_for("prekond::distributed_transpose::copy_own",
                         RowTeams<Space>::policy(space, n, static_cast<std::int64_t>(nnz)),
                         CopyOwn<Scalar, Space>{own, result.row_ptrs, result.col_idxs, result.values, next});
  const auto places = impl::distributed::places_of<Space>(space, given.rows.col_idxs, remote);
  Kokkos::parallel_for(
      "prekond::distributed_transpose::copy_given", slots,
      CopyGiven<Scalar, Space>{given, places, static_cast<int>(n), result.col_idxs, result.values, next});
  sort_rows(space, result);
  space.fence("prekond::distributed_transpose::merged");  // the lists go away
  return result;
}

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
    if (m_all.extent(1) < k) {
      m_all = {};
      m_all = allocate<MultiVector<Scalar, Space>>(space, "prekond::distributed_transpose::vectors",
                                                   m_rows.num_cols, k);
    }
    const MultiVectorView<Scalar, Space> all =
        Kokkos::subview(m_all, Kokkos::ALL, std::make_pair(std::size_t(0), k));
    m_columns.apply(space, x, all);
    spmv<Scalar, Space>(space, alpha, m_rows, all, beta, y);
  }

 private:
  CsrView<Scalar, Space> m_rows;
  const VectorImport<Scalar, Space>& m_columns;
  RowNumbers<Space> m_numbers;
  mutable MultiVector<Scalar, Space> m_all;
};

template <class Scalar, class Space>
class TransposedMatrix : public impl::distributed::SameRanks<Scalar, Space> {
 public:
  using Distributed = DistributedMatrix<Scalar, Space>;

  TransposedMatrix(const Space& space, const Distributed& a)
      : impl::distributed::SameRanks<Scalar, Space>(a) {
    const auto numbers = a.global_numbers(space);
    const auto own = Kokkos::subview(numbers, std::make_pair(std::int64_t(0), a.num_rows()));
    const auto others = Kokkos::subview(numbers, std::make_pair(a.num_rows(), a.num_cols()));
    Matrix<Scalar, Space> local;  // a row for each of the rank's columns
    a.together([&] { local = transpose<Scalar, Space>(space, a.own_rows()); });
    const auto given = a.make_row_exchange(space, others)
                           ->give(space, {rows_of<Scalar, Space>(local, a.num_rows(), a.num_cols()), own});
    a.together([&] { take(space, local, given, own); });
    m_import = a.make_import(space, m_remote);
    m_product.emplace(m_rows, *m_import, RowNumbers<Space>{a.num_global_rows(), 0, m_own});
  }
  TransposedMatrix(const TransposedMatrix&) = delete;

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
  const VectorImport<Scalar, Space>& column_import() const override { return *m_import; }

  RemoteRows<Scalar, Space> remote_rows(const Space& space,
                                        VectorView<const std::int64_t, Space> global) const override {
    return m_a.make_row_exchange(space, global)->fetch(space, {m_rows, global_numbers(space)});
  }

 private:
  /// Makes the rank's rows.
  void take(const Space& space, const Matrix<Scalar, Space>& local, const GivenRows<Scalar, Space>& given,
            const VectorView<const std::int64_t, Space>& own) {
    const std::int64_t n = m_a.num_rows();
    m_remote = impl::distributed::new_numbers<Space>(space, given.rows.col_idxs, {});
    const std::int64_t num_cols = n + static_cast<std::int64_t>(m_remote.extent(0));
    if (num_cols > std::numeric_limits<int>::max())
      throw InputError("this rank's rows of A^T have " + std::to_string(num_cols) +
                       " columns, more than 31 bits count; use more ranks");
    const bool is_alone = given.rows.num_rows == 0 && local.num_rows == n;
    m_rows =
        is_alone ? local : merged<Scalar, Space>(space, rows_of<Scalar, Space>(local, 0, n), given, m_remote);
    const auto own_numbers =
        allocate<Numbers<Space>>(space, "prekond::distributed_transpose::own_numbers", n);
    Kokkos::deep_copy(space, own_numbers, own);
    m_own = own_numbers;
    const auto remote = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), m_remote);
    m_numbers.assign(remote.data(), remote.data() + remote.extent(0));
  }

  using impl::distributed::SameRanks<Scalar, Space>::m_a;
  Vector<const std::int64_t, Space> m_own;  ///< the rows' numbers
  Numbers<Space> m_remote;                  ///< of the columns that follow, ascending
  std::vector<std::int64_t> m_numbers;      ///< the same on the host
  Matrix<Scalar, Space> m_rows;
  std::unique_ptr<const VectorImport<Scalar, Space>> m_import;
  std::optional<ImportedProduct<Scalar, Space>> m_product;
};

}  // namespace

template <class Scalar, class Space>
std::unique_ptr<const DistributedMatrix<Scalar, Space>> distributed_transpose(
    const Space& space, const DistributedMatrix<Scalar, Space>& a) {
  return std::make_unique<TransposedMatrix<Scalar, Space>>(space, a);
}

#define PREKOND_DISTRIBUTED_TRANSPOSE(Scalar, Space)                                      \
  template std::unique_ptr<const DistributedMatrix<Scalar, Space>> distributed_transpose( \
      const Space&, const DistributedMatrix<Scalar, Space>&);
PREKOND_INSTANTIATE(PREKOND_DISTRIBUTED_TRANSPOSE)

}  // namespace prekond
