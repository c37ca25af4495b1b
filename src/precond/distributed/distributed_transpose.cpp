// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/precond/distributed_transpose.hpp>

#include <prekond/core/error.hpp>
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/matrix/sort_rows.hpp>
#include "sparse_product/transpose.hpp"

#include <limits>
#include <string>
#include <utility>

#include "core/instantiate.hpp"
#include "core/row_teams.hpp"
#include "distributed/number_sets.hpp"
#include "precond/distributed/rows_of_ranks.hpp"

namespace prekond {
namespace {

using impl::RowTeams;
using impl::distributed::FlatPolicy;
using impl::distributed::Numbers;

template <class Scalar, class Space>
using Matrix = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;

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
  const auto lengths = impl::distributed::vector_of<int>(
      space, "prekond::distributed_transpose::lengths", n,
      KOKKOS_LAMBDA(std::int64_t i) { return own.row_ptrs(i + 1) - own.row_ptrs(i); });
  Kokkos::parallel_for(
      "prekond::distributed_transpose::count_given", slots, KOKKOS_LAMBDA(std::int64_t r) {
        Kokkos::atomic_add(&lengths(given.own(r)),
                           static_cast<int>(given.rows.row_ptrs(r + 1) - given.rows.row_ptrs(r)));
      });
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
  // The entries that other ranks gave a row follow, in no particular order.
  Kokkos::parallel_for(
      "prekond::distributed_transpose::copy_given", slots, KOKKOS_LAMBDA(std::int64_t r) {
        const RemoteRows<Scalar, Space>& rows = given.rows;
        std::size_t to =
            Kokkos::atomic_fetch_add(&next(given.own(r)), rows.row_ptrs(r + 1) - rows.row_ptrs(r));
        for (std::size_t k = rows.row_ptrs(r); k < rows.row_ptrs(r + 1); ++k, ++to) {
          result.col_idxs(to) = static_cast<int>(n) + places(k);
          result.values(to) = rows.values(k);
        }
      });
  sort_rows(space, result);
  space.fence("prekond::distributed_transpose::merged");  // the lists go away
  return result;
}

}  // namespace

template <class Scalar, class Space>
std::unique_ptr<const DistributedMatrix<Scalar, Space>> distributed_transpose(
    const Space& space, const DistributedMatrix<Scalar, Space>& a) {
  const std::int64_t n = a.num_rows();
  const auto numbers = a.global_numbers(space);
  const auto own = Kokkos::subview(numbers, std::make_pair(std::int64_t(0), n));
  const auto others = Kokkos::subview(numbers, std::make_pair(n, a.num_cols()));
  Matrix<Scalar, Space> local, rows;  // `local` has a row for each of the rank's columns
  Numbers<Space> remote;
  a.together([&] { local = transpose<Scalar, Space>(space, a.own_rows()); });
  const auto given =
      a.make_row_exchange(space, others)->give(space, {rows_of<Scalar, Space>(local, n, a.num_cols()), own});
  a.together([&] {
    remote = impl::distributed::new_numbers<Space>(space, given.rows.col_idxs, {});
    const std::int64_t num_cols = n + static_cast<std::int64_t>(remote.extent(0));
    if (num_cols > std::numeric_limits<int>::max())
      throw InputError("this rank's rows of A^T have " + std::to_string(num_cols) +
                       " columns, more than 31 bits count; use more ranks");
    const bool is_alone = given.rows.num_rows == 0 && local.num_rows == n;
    rows =
        is_alone ? local : merged<Scalar, Space>(space, rows_of<Scalar, Space>(local, 0, n), given, remote);
  });
  return std::make_unique<impl::distributed::RowsOfRanks<Scalar, Space>>(space, a, rows, remote);
}

#define PREKOND_DISTRIBUTED_TRANSPOSE(Scalar, Space)                                      \
  template std::unique_ptr<const DistributedMatrix<Scalar, Space>> distributed_transpose( \
      const Space&, const DistributedMatrix<Scalar, Space>&);
PREKOND_INSTANTIATE(PREKOND_DISTRIBUTED_TRANSPOSE)

}  // namespace prekond
