// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Rows that a rank fetches from others by their global numbers.
#include <prekond/adapters/impl/tpetra_import.hpp>
#include <prekond/distributed/distributed_matrix.hpp>
#include <prekond/distributed/message_memory.hpp>
#include <prekond/distributed/select_entries.hpp>

#include <numeric>

namespace prekond::tpetra::impl {

/// The global numbers of a map's indices, ascending, and where each index's stands among them.
template <class Space>
struct SortedNumbers {
  Vector<std::int64_t, Space> numbers;
  Vector<int, Space> places;
};

/// The indices of the first `num_own`, and the others, mostly ascend already.
template <class Space, class Map>
SortedNumbers<Space> sorted_numbers(const Map& map, std::size_t num_own) {
  const auto numbers = map.getLocalElementList();
  std::vector<int> order(map.getLocalNumElements()), places(order.size());
  std::vector<std::int64_t> sorted(order.size());
  std::iota(order.begin(), order.end(), 0);
  const auto before = [&](int c, int d) { return numbers[c] < numbers[d]; };
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(std::min(num_own, order.size()));
  if (!std::is_sorted(order.begin(), middle, before)) std::sort(order.begin(), middle, before);
  if (!std::is_sorted(middle, order.end(), before)) std::sort(middle, order.end(), before);
  std::inplace_merge(order.begin(), middle, order.end(), before);
  for (std::size_t k = 0; k < order.size(); ++k) {
    sorted[k] = numbers[order[k]];
    places[order[k]] = static_cast<int>(k);
  }
  return {copied_to<Space>(sorted), copied_to<Space>(places)};
}

/// Column c of an entry becomes numbers(c).
template <class Space>
struct NumberColumns {
  VectorView<const int, Space> columns;
  VectorView<const std::int64_t, Space> numbers;
  VectorView<std::int64_t, Space> result;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const { result(k) = numbers(columns(k)); }
};

/// Row r of the result is what came from begins(r) on.
template <class Scalar, class Space>
struct OrderReceivedRows {
  VectorView<const std::size_t, Space> begins;
  VectorView<const std::int64_t, Space> col_idxs;
  VectorView<const Scalar, Space> values;
  RemoteRows<Scalar, Space> to;
  KOKKOS_FUNCTION void operator()(std::int64_t r) const {
    for (std::size_t k = to.row_ptrs(r), from = begins(r); k < to.row_ptrs(r + 1); ++k, ++from) {
      to.col_idxs(k) = col_idxs(from);
      to.values(k) = values(from);
    }
  }
};

/// The same neighbours, with the entries of the slots as slots.
inline std::vector<Neighbour> with_entries(std::vector<Neighbour> neighbours,
                                           const std::vector<std::int64_t>& lengths) {
  auto length = lengths.begin();
  for (Neighbour& other : neighbours) {
    const auto last = length + other.slots;
    other.slots = std::accumulate(length, last, std::int64_t(0));
    length = last;
  }
  return neighbours;
}

/// Sends the rows of `sent` to the ranks that asked for them, the columns by their numbers, and brings those
/// asked for: `places[s]` is the row of the result in slot s of what comes. Collective: three messages a
/// neighbour, with the lengths, the columns and the values, through the host's memory.
template <class Scalar, class Space>
RemoteRows<Scalar, Space> exchange_rows(
    const Space& space, const Comm& comm, const Neighbours& rows,
    const CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>& sent,
    VectorView<const std::int64_t, Space> numbers, const std::vector<int>& places) {
  using Flat = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;
  const typename prekond::impl::MessageSpace<Space>::memory_space message_space;
  const auto sent_numbers =
      allocate<Vector<std::int64_t, Space>>(space, "prekond::tpetra::remote_rows::sent_col_idxs", sent.nnz());
  Kokkos::parallel_for("prekond::tpetra::remote_rows::number", Flat(space, 0, sent.nnz()),
                       NumberColumns<Space>{sent.col_idxs, numbers, sent_numbers});
  space.fence("prekond::tpetra::remote_rows::number");
  const auto sent_ptrs = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), sent.row_ptrs);
  std::vector<std::int64_t> sent_lengths(sent.num_rows), lengths(places.size());
  for (std::size_t s = 0; s < sent_lengths.size(); ++s)
    sent_lengths[s] = static_cast<std::int64_t>(sent_ptrs(s + 1) - sent_ptrs(s));
  NeighbourMessages<std::int64_t> of_lengths(comm, rows);
  of_lengths.start(sent_lengths.data(), lengths.data(), 1);
  const auto sent_columns = Kokkos::create_mirror_view_and_copy(message_space, sent_numbers);
  const auto sent_values = Kokkos::create_mirror_view_and_copy(message_space, sent.values);
  of_lengths.finish();

  const Neighbours entries{with_entries(rows.to, sent_lengths), with_entries(rows.from, lengths)};
  std::vector<std::size_t> row_ptrs(places.size() + 1, 0), begins(places.size(), 0);
  std::size_t nnz = 0;
  for (std::size_t s = 0; s < places.size(); ++s) {
    begins[places[s]] = nnz;
    row_ptrs[places[s] + 1] = static_cast<std::size_t>(lengths[s]);
    nnz += static_cast<std::size_t>(lengths[s]);
  }
  std::partial_sum(row_ptrs.begin(), row_ptrs.end(), row_ptrs.begin());
  const prekond::impl::MessageVector<std::int64_t, Space> columns(
      Kokkos::view_alloc(Kokkos::WithoutInitializing, "prekond::tpetra::remote_rows::received_col_idxs"),
      nnz);
  const prekond::impl::MessageVector<Scalar, Space> values(
      Kokkos::view_alloc(Kokkos::WithoutInitializing, "prekond::tpetra::remote_rows::received_values"), nnz);
  NeighbourMessages<std::int64_t> of_columns(comm, entries);
  NeighbourMessages<Scalar> of_values(comm, entries);
  of_columns.start(sent_columns.data(), columns.data(), 1);
  of_values.start(sent_values.data(), values.data(), 1);
  const RemoteRows<Scalar, Space> result{
      static_cast<std::int64_t>(places.size()), copied_to<Space>(row_ptrs),
      allocate<Vector<std::int64_t, Space>>(space, "prekond::tpetra::remote_rows::col_idxs", nnz),
      allocate<Vector<Scalar, Space>>(space, "prekond::tpetra::remote_rows::values", nnz)};
  const auto device_begins = copied_to<Space>(begins);
  of_columns.finish();
  of_values.finish();
  const typename Space::memory_space here;
  Kokkos::parallel_for(
      "prekond::tpetra::remote_rows::order", Flat(space, 0, result.num_rows),
      OrderReceivedRows<Scalar, Space>{device_begins, Kokkos::create_mirror_view_and_copy(here, columns),
                                       Kokkos::create_mirror_view_and_copy(here, values), result});
  space.fence("prekond::tpetra::remote_rows");  // what came goes away
  return result;
}

/// The rows of `a`, this rank's, whose numbers the ranks give, sorted by the columns' numbers. Collective.
/// (Tpetra's importAndFillCompleteCrsMatrix makes a matrix of them, with maps and plans of its own.)
/// \pre checked_numbers
template <class Scalar, class Node, class Map>
RemoteRows<Scalar, typename Node::execution_space> fetch_rows(
    const typename Node::execution_space& space, const CsrView<Scalar, typename Node::execution_space>& a,
    const SortedNumbers<typename Node::execution_space>& columns, const Teuchos::RCP<const Map>& rows,
    const std::vector<typename Map::global_ordinal_type>& numbers) {
  using Space = typename Node::execution_space;
  const Tpetra::Import<typename Map::local_ordinal_type, typename Map::global_ordinal_type, Node> import(
      rows, map_of(numbers, *rows));
  const auto sent_rows = copied_to<Space>(to_ints(import.getExportLIDs()));
  const auto sent = select_entries<Scalar, Space>(
      space, "prekond::tpetra::remote_rows", a, static_cast<std::int64_t>(sent_rows.extent(0)), sent_rows,
      columns.places, static_cast<std::int64_t>(columns.numbers.extent(0)));
  return exchange_rows<Scalar, Space>(space, rows->getComm()->duplicate(), neighbours_of(import), sent,
                                      columns.numbers, to_ints(import.getRemoteLIDs()));
}

}  // namespace prekond::tpetra::impl
