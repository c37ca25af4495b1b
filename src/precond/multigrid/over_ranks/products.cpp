// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/multigrid/over_ranks/products.hpp"

#include <prekond/distributed/impl/rows_by_number.hpp>
#include <prekond/distributed/impl/select_entries.hpp>
#include <prekond/distributed/split_operator.hpp>
#include <prekond/sparse_product/spgemm.hpp>
#include "precond/distributed/overlap.hpp"
#include "precond/multigrid/over_ranks/nodes.hpp"
#include "sparse_product/transpose.hpp"

#include "core/concurrent_words.hpp"
#include "core/instantiate.hpp"

namespace prekond::impl::amg {
namespace {

using distributed::FlatPolicy;
using distributed::new_numbers;
using distributed::NumbersView;
using distributed::united;

template <class Space>
struct MarkColumns {
  VectorView<const int, Space> col_idxs;
  VectorView<int, Space> used;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const { raise_flag(used(col_idxs(k)), 1); }
};

template <class Space>
struct TakeUsed {
  VectorView<const int, Space> used;
  NumbersView<Space> others;
  std::int64_t num_own;
  VectorView<std::int64_t, Space> result;
  KOKKOS_FUNCTION void operator()(std::int64_t k, std::int64_t& count, bool final) const {
    if (used(num_own + k) == 0) return;
    if (final && result.extent(0) > 0) result(count) = others(k);
    ++count;
  }
};

/// The numbers of `others`, the columns after the own ones, in which there are entries.
template <class Scalar, class Space>
Numbers<Space> used_numbers(const Space& space, const Matrix<Scalar, Space>& a, std::int64_t num_own,
                            const Numbers<Space>& others) {
  const auto used = allocate_zero<Vector<int, Space>>(space, "prekond::amg::used", a.num_cols);
  Kokkos::parallel_for("prekond::amg::mark_columns", FlatPolicy<Space>(space, 0, a.nnz()),
                       MarkColumns<Space>{a.col_idxs, used});
  return distributed::taken(space, others.extent(0), [&](const Numbers<Space>& result) {
    return TakeUsed<Space>{used, others, num_own, result};
  });
}

/// `known` and those of the list that neither it nor `own` has.
template <class Space>
Numbers<Space> extended(const Space& space, const Numbers<Space>& known, const Numbers<Space>& own,
                        const Numbers<Space>& list) {
  return united<Space>(space, known, new_numbers<Space>(space, new_numbers<Space>(space, list, own), known));
}

template <class Space>
Numbers<Space> together(const Space& space, const Numbers<Space>& a, const Numbers<Space>& b) {
  return column_numbers<Space>(space, {0, 0, a}, static_cast<std::int64_t>(a.extent(0)), b);
}

/// C = A B on C's pattern or, where that is not known, on its own.
template <class Scalar, class Space>
void multiply_into(const Space& space, const CsrView<Scalar, Space>& a, const CsrView<Scalar, Space>& b,
                   Matrix<Scalar, Space>& c) {
  if (a.nnz() == 0 || b.nnz() == 0) {
    c = Matrix<Scalar, Space>(
        a.num_rows, b.num_cols,
        allocate_zero<Vector<std::size_t, Space>>(space, "prekond::amg::product::row_ptrs", a.num_rows + 1),
        Vector<int, Space>(), Vector<Scalar, Space>());
    return;
  }
  if (c.row_ptrs.extent(0) == 0) {
    c = spgemm<Scalar, Space>(space, a, b);
    return;
  }
  if (c.values.extent(0) == 0)
    c.values = allocate<Vector<Scalar, Space>>(space, "prekond::amg::product::values", c.nnz());
  spgemm_values<Scalar, Space>(space, a, b, c);
}

/// Row r of the transpose of the matrix that sums rows: one entry, where the r-th of the own rows, and then
/// of those given, is added to.
template <class Scalar, class Space>
struct SumOfRows {
  VectorView<const int, Space> given;
  std::int64_t num_own;
  Matrix<Scalar, Space> transposed;
  KOKKOS_FUNCTION void operator()(std::int64_t r) const {
    transposed.row_ptrs(r) = static_cast<std::size_t>(r);
    if (r == transposed.num_rows) return;
    transposed.col_idxs(r) = r < num_own ? static_cast<int>(r) : given(r - num_own);
    transposed.values(r) = Scalar(1);
  }
};

}  // namespace

template <class Scalar, class Space>
Matrix<Scalar, Space> part_of_columns(const Space& space, const CsrView<Scalar, Space>& a,
                                      std::int64_t num_own, bool own) {
  const auto columns = allocate<Vector<int, Space>>(space, "prekond::amg::columns", a.num_cols);
  Kokkos::parallel_for("prekond::amg::number_columns", FlatPolicy<Space>(space, 0, a.num_cols),
                       NumberPart<Space>{static_cast<int>(num_own), own, columns});
  const auto part = select_entries<Scalar, Space>(space, "prekond::amg::part_of_columns", a, a.num_rows, {},
                                                  columns, own ? num_own : a.num_cols - num_own);
  space.fence("prekond::amg::part_of_columns");  // the columns go away
  return part;
}

template <class Scalar, class Space>
CoarseProduct<Scalar, Space>::CoarseProduct(const Space& space, const Distributed& a,
                                            const Distributed& coarse, const Numbers<Space>& remote)
    : m_remote(remote) {
  m_own = allocate<Numbers<Space>>(space, "prekond::amg::coarse_numbers", coarse.num_rows());
  Kokkos::deep_copy(
      space, m_own,
      Kokkos::subview(coarse.global_numbers(space), std::make_pair(std::int64_t(0), coarse.num_rows())));
  const auto numbers = a.global_numbers(space);
  m_rows_of_p =
      a.make_row_exchange(space, Kokkos::subview(numbers, std::make_pair(a.num_rows(), a.num_cols())));
  m_contributions = coarse.make_row_exchange(space, remote);
}

template <class Scalar, class Space>
void CoarseProduct<Scalar, Space>::multiply(const Space& space, const Distributed& a,
                                            const Distributed& coarse, const CsrView<Scalar, Space>& p,
                                            const Matrix<Scalar, Space>& own_r,
                                            const Matrix<Scalar, Space>& remote_r) {
  const auto fetched = m_rows_of_p->fetch(space, {p, together<Space>(space, m_own, m_remote)});
  a.together([&] {
    find_times_p(space, a, p, fetched);
    multiply_into<Scalar, Space>(space, own_r, m_times_p, m_own_part);
    multiply_into<Scalar, Space>(space, remote_r, m_times_p, m_remote_part);
    space.fence("prekond::amg::coarse_product");
    m_times_p.values = {};
  });
  const auto given = m_contributions->give(space, {m_remote_part, together<Space>(space, m_own, m_columns)});
  a.together([&] { add_given(space, given); });
  m_own_part.values = m_remote_part.values = {};
  if (!m_matrix)
    m_matrix =
        std::make_unique<distributed::RowsOfRanks<Scalar, Space>>(space, coarse, m_rows, m_coarse_remote);
}

/// A P, with a row of P for each of the rank's columns of A.
template <class Scalar, class Space>
void CoarseProduct<Scalar, Space>::find_times_p(const Space& space, const Distributed& a,
                                                const CsrView<Scalar, Space>& p,
                                                const RemoteRows<Scalar, Space>& fetched) {
  m_columns = extended<Space>(space, m_remote, m_own, fetched.col_idxs);
  const auto num_cols = static_cast<std::int64_t>(m_own.extent(0) + m_columns.extent(0));
  const Matrix<Scalar, Space> rows = distributed::rows_at_places<Scalar, Space>(
      space, own_then_others<Space>(space, p.num_rows, fetched.num_rows), p,
      columns_by_number<Space>(space, together<Space>(space, m_own, m_remote), m_own, m_columns),
      own_then_others<Space>(space, fetched.num_rows, 0), fetched,
      columns_by_number<Space>(space, fetched.col_idxs, m_own, m_columns), num_cols);
  multiply_into<Scalar, Space>(space, a.own_rows(), rows, m_times_p);
  space.fence("prekond::amg::times_p");  // P's rows go away
}

/// The rows of A_c: the own contributions, and those that were given.
template <class Scalar, class Space>
void CoarseProduct<Scalar, Space>::add_given(const Space& space, const GivenRows<Scalar, Space>& given) {
  const auto num_own = static_cast<std::int64_t>(m_own.extent(0));
  m_coarse_remote = extended<Space>(space, used_numbers<Scalar, Space>(space, m_own_part, num_own, m_columns),
                                    m_own, given.rows.col_idxs);
  const Matrix<Scalar, Space> rows = distributed::rows_at_places<Scalar, Space>(
      space, own_then_others<Space>(space, num_own, given.rows.num_rows), m_own_part,
      columns_by_number<Space>(space, together<Space>(space, m_own, m_columns), m_own, m_coarse_remote),
      own_then_others<Space>(space, given.rows.num_rows, 0), given.rows,
      columns_by_number<Space>(space, given.rows.col_idxs, m_own, m_coarse_remote),
      num_own + static_cast<std::int64_t>(m_coarse_remote.extent(0)));
  const Matrix<Scalar, Space> transposed(
      rows.num_rows, num_own,
      allocate<Vector<std::size_t, Space>>(space, "prekond::amg::sum_of_rows::row_ptrs", rows.num_rows + 1),
      allocate<Vector<int, Space>>(space, "prekond::amg::sum_of_rows::col_idxs", rows.num_rows),
      allocate<Vector<Scalar, Space>>(space, "prekond::amg::sum_of_rows::values", rows.num_rows));
  Kokkos::parallel_for("prekond::amg::sum_of_rows", FlatPolicy<Space>(space, 0, rows.num_rows + 1),
                       SumOfRows<Scalar, Space>{given.own, num_own, transposed});
  multiply_into<Scalar, Space>(space, transpose<Scalar, Space>(space, transposed), rows, m_rows);
  space.fence("prekond::amg::coarse_product");  // the contributions go away
}

#define PREKOND_AMG_PRODUCTS(Scalar, Space)                                                                 \
  template Matrix<Scalar, Space> part_of_columns(const Space&, const CsrView<Scalar, Space>&, std::int64_t, \
                                                 bool);                                                     \
  template class CoarseProduct<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_AMG_PRODUCTS)

}  // namespace prekond::impl::amg
