// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/distributed/impl/rows_by_number.hpp>
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/matrix/sort_rows.hpp>

#include <limits>

#include "core/instantiate.hpp"
#include "core/row_teams.hpp"
#include "distributed/number_sets.hpp"

namespace prekond {

using impl::distributed::FlatPolicy;
using impl::distributed::Numbers;

namespace {

/// The listed rows of `a` with those of `other`, the columns by their numbers.
template <class Scalar, class Space>
struct JoinedRows {
  VectorView<const int, Space> list;
  NumberedRows<Scalar, Space> a, other;
  bool has_other;
  std::int64_t num_entries;  ///< of a
  KOKKOS_FUNCTION static std::size_t length(const CsrView<Scalar, Space>& rows, int i) {
    return rows.row_ptrs(i + 1) - rows.row_ptrs(i);
  }
  KOKKOS_FUNCTION std::size_t operator()(std::int64_t r) const {  ///< a row's length
    return length(a.rows, list(r)) + (has_other ? length(other.rows, list(r)) : 0);
  }
};

/// The entries' numbers, and where they come from, see GatherValues.
template <class Scalar, class Space>
struct CopyJoinedRow {
  using Teams = impl::RowTeams<Space>;
  JoinedRows<Scalar, Space> from;
  RemoteRows<Scalar, Space> to;
  VectorView<std::int64_t, Space> origins;
  KOKKOS_FUNCTION void operator()(const typename Teams::Member& team) const {
    Teams{to.num_rows}.for_each_row(team, [&](std::int64_t r) {
      const std::size_t k = copy(team, from.a, 0, from.list(r), to.row_ptrs(r));
      if (from.has_other) copy(team, from.other, from.num_entries, from.list(r), k);
    });
  }

 private:
  KOKKOS_FUNCTION std::size_t copy(const typename Teams::Member& team,
                                   const NumberedRows<Scalar, Space>& part, std::int64_t before, int i,
                                   std::size_t to_first) const {
    const std::size_t first = part.rows.row_ptrs(i), length = part.rows.row_ptrs(i + 1) - first;
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, length), [&](std::size_t k) {
      to.col_idxs(to_first + k) = part.numbers(part.rows.col_idxs(first + k));
      origins(to_first + k) = before + static_cast<std::int64_t>(first + k);
    });
    return to_first + length;
  }
};

template <class Scalar, class Space>
struct CopyListedRow {
  using Teams = impl::RowTeams<Space>;
  VectorView<const int, Space> list;
  RemoteRows<Scalar, Space> from, to;
  KOKKOS_FUNCTION void operator()(const typename Teams::Member& team) const {
    Teams{to.num_rows}.for_each_row(team, [&](std::int64_t r) {
      const std::size_t size = to.entry_size, at = from.row_ptrs(list(r)), first = to.row_ptrs(r);
      const std::size_t length = to.row_ptrs(r + 1) - first;
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, length),
                           [&](std::size_t k) { to.col_idxs(first + k) = from.col_idxs(at + k); });
      if (from.values.extent(0) == 0) return;
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, length * size),
                           [&](std::size_t k) { to.values(first * size + k) = from.values(at * size + k); });
    });
  }
};

/// Room for rows of these lengths.
template <class Scalar, class Space, class RowLength>
RemoteRows<Scalar, Space> room_for(const Space& space, std::int64_t num_rows, const RowLength& row_length,
                                   int entry_size) {
  const auto [row_ptrs, nnz] = impl::scan_row_lengths(space, "prekond::remote_rows", num_rows, row_length);
  return {
      num_rows, row_ptrs, allocate<Vector<std::int64_t, Space>>(space, "prekond::remote_rows::col_idxs", nnz),
      allocate<Vector<Scalar, Space>>(space, "prekond::remote_rows::values", nnz * entry_size), entry_size};
}

}  // namespace

template <class Space>
Vector<std::int64_t, Space> column_numbers(const Space& space, const RowNumbers<Space>& own,
                                           std::int64_t num_rows,
                                           VectorView<const std::int64_t, Space> remote) {
  return impl::distributed::vector_of<std::int64_t>(
      space, "prekond::column_numbers", static_cast<std::size_t>(num_rows) + remote.extent(0),
      KOKKOS_LAMBDA(std::int64_t c) { return c < num_rows ? own(c) : remote(c - num_rows); });
}

template <class Scalar, class Space>
RemoteRows<Scalar, Space> rows_by_number(const Space& space, VectorView<const int, Space> list,
                                         const NumberedRows<Scalar, Space>& a,
                                         const NumberedRows<Scalar, Space>& other) {
  const JoinedRows<Scalar, Space> joined{list, a, other, other.rows.num_rows > 0, a.rows.nnz()};
  const auto result =
      room_for<Scalar, Space>(space, static_cast<std::int64_t>(list.extent(0)), joined, a.entry_size);
  const auto origins = allocate<Vector<std::int64_t, Space>>(space, "prekond::rows_by_number::origins",
                                                             result.col_idxs.extent(0));
  if (result.num_rows > 0)
    Kokkos::parallel_for("prekond::rows_by_number::copy",
                         impl::RowTeams<Space>::policy(space, result.num_rows, result.col_idxs.extent(0)),
                         CopyJoinedRow<Scalar, Space>{joined, result, origins});
  // Rows are sorted by numbers that an int holds: distances from the least one, or places among all.
  const Numbers<Space> numbers = result.col_idxs;
  const auto size = numbers.extent(0);
  const auto range = impl::distributed::extremes_of<Space>(space, numbers);
  const std::int64_t least = range.first;
  Numbers<Space> all;
  if (size > 0 && range.second - least >= std::numeric_limits<int>::max())
    all = impl::distributed::new_numbers<Space>(space, numbers, {});
  const impl::distributed::FindNumber<Space> find{all};
  const auto keys = impl::distributed::vector_of<int>(
      space, "prekond::rows_by_number::keys", size,
      KOKKOS_LAMBDA(std::int64_t k) { return all.extent(0) > 0 ? find(numbers(k)) : numbers(k) - least; });
  sort_rows(space, CsrMatrix<std::int64_t, int, std::size_t, typename Space::memory_space>(
                       result.num_rows, std::numeric_limits<int>::max(), result.row_ptrs, keys, origins));
  Kokkos::parallel_for(
      "prekond::rows_by_number::number", FlatPolicy<Space>(space, 0, size),
      KOKKOS_LAMBDA(std::int64_t k) { numbers(k) = all.extent(0) > 0 ? all(keys(k)) : least + keys(k); });
  Kokkos::parallel_for(
      "prekond::rows_by_number::values", FlatPolicy<Space>(space, 0, result.values.extent(0)),
      impl::distributed::GatherValues<Scalar, Space>{origins, a.rows.values, other.rows.values, a.rows.nnz(),
                                                     a.entry_size, result.values});
  space.fence("prekond::rows_by_number");  // the keys and origins go away
  return result;
}

template <class Scalar, class Space>
RemoteRows<Scalar, Space> reordered_rows(const Space& space, const RemoteRows<Scalar, Space>& rows,
                                         VectorView<const int, Space> slots) {
  const auto row_ptrs = rows.row_ptrs;
  const auto result = room_for<Scalar, Space>(
      space, static_cast<std::int64_t>(slots.extent(0)),
      KOKKOS_LAMBDA(std::int64_t r) { return row_ptrs(slots(r) + 1) - row_ptrs(slots(r)); }, rows.entry_size);
  if (result.num_rows > 0)
    Kokkos::parallel_for("prekond::reordered_rows",
                         impl::RowTeams<Space>::policy(space, result.num_rows, result.values.extent(0)),
                         CopyListedRow<Scalar, Space>{slots, rows, result});
  space.fence("prekond::reordered_rows");  // `rows` may go away
  return result;
}

#define PREKOND_COLUMN_NUMBERS(Space)                                                                       \
  template Vector<std::int64_t, Space> column_numbers(const Space&, const RowNumbers<Space>&, std::int64_t, \
                                                      VectorView<const std::int64_t, Space>);
PREKOND_INSTANTIATE_SPACES(PREKOND_COLUMN_NUMBERS)

#define PREKOND_ROWS_BY_NUMBER(Scalar, Space)                                                       \
  template RemoteRows<Scalar, Space> rows_by_number(const Space&, VectorView<const int, Space>,     \
                                                    const NumberedRows<Scalar, Space>&,             \
                                                    const NumberedRows<Scalar, Space>&);            \
  template RemoteRows<Scalar, Space> reordered_rows(const Space&, const RemoteRows<Scalar, Space>&, \
                                                    VectorView<const int, Space>);
PREKOND_INSTANTIATE(PREKOND_ROWS_BY_NUMBER)

}  // namespace prekond
