// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/distributed/buffered_import.hpp>
#include <prekond/distributed/distributed_matrix.hpp>
#include <prekond/distributed/message_memory.hpp>
#include <prekond/distributed/rows_by_number.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

namespace prekond {

/// A rank that messages go to or come from, and the slots of one.
struct Neighbour {
  int rank;
  std::int64_t slots;
};
/// Those that this rank sends to, and those that it receives from, in the order of their slots.
struct Neighbours {
  std::vector<Neighbour> to, from;
};

namespace impl {

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

/// An array of a device, for messages that may not take it: then it has a copy that the host reads too.
template <class T, class Space>
class MessageArray {
 public:
  MessageArray(const Vector<T, Space>& array, bool takes_device_memory) : m_array(array) {
    if constexpr (!is_host_space<Space>) {
      if (!takes_device_memory)
        m_copy = MessageVector<T, Space>(
            Kokkos::view_alloc(Kokkos::WithoutInitializing, "prekond::remote_rows::message"),
            array.extent(0));
    }
  }
  T* data() const { return is_copy() ? m_copy.data() : m_array.data(); }
  void copy_from_device(const Space& space) const {
    if (is_copy()) Kokkos::deep_copy(space, m_copy, m_array);
  }
  void copy_to_device(const Space& space) const {
    if (is_copy()) Kokkos::deep_copy(space, m_array, m_copy);
  }

 private:
  bool is_copy() const { return m_copy.extent(0) > 0; }
  Vector<T, Space> m_array;
  MessageVector<T, Space> m_copy;
};

}  // namespace impl

/// Sends rows to the ranks that asked for them and brings those that this rank asked for. Row s of `sent` is
/// that of slot s of what goes out by `slots`, and slot s of what comes is row places[s] of the result.
/// `make_messages(T(), neighbours)` makes the Messages<T>, std::unique_ptr, of an exchange.
///
/// Collective: three messages a neighbour, with the lengths, the columns and the values. The lengths pass
/// through the host; columns and values do where the messages take no device memory.
template <class Scalar, class Space, class MakeMessages>
RemoteRows<Scalar, Space> exchange_rows(const Space& space, const Neighbours& slots,
                                        const RemoteRows<Scalar, Space>& sent, const std::vector<int>& places,
                                        const MakeMessages& make_messages) {
  space.fence("prekond::remote_rows::sent");
  const auto sent_ptrs = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), sent.row_ptrs);
  std::vector<std::int64_t> sent_lengths(sent.num_rows), lengths(places.size());
  for (std::size_t s = 0; s < sent_lengths.size(); ++s)
    sent_lengths[s] = static_cast<std::int64_t>(sent_ptrs(s + 1) - sent_ptrs(s));
  const auto of_lengths = make_messages(std::int64_t(), slots);
  const bool takes_device_memory = of_lengths->takes_device_memory();
  of_lengths->start(sent_lengths.data(), lengths.data(), 1);
  const impl::MessageArray<std::int64_t, Space> sent_columns(sent.col_idxs, takes_device_memory);
  const impl::MessageArray<Scalar, Space> sent_values(sent.values, takes_device_memory);
  sent_columns.copy_from_device(space);
  sent_values.copy_from_device(space);
  of_lengths->finish();

  const Neighbours entries{impl::with_entries(slots.to, sent_lengths),
                           impl::with_entries(slots.from, lengths)};
  const auto of_columns = make_messages(std::int64_t(), entries);
  const auto of_values = make_messages(Scalar(), entries);
  RemoteRows<Scalar, Space> came;
  came.num_rows = static_cast<std::int64_t>(places.size());
  std::vector<std::size_t> row_ptrs(places.size() + 1, 0);
  std::partial_sum(lengths.begin(), lengths.end(), row_ptrs.begin() + 1);
  came.row_ptrs = impl::copied_to(space, row_ptrs, "prekond::remote_rows::row_ptrs");
  came.col_idxs =
      allocate<Vector<std::int64_t, Space>>(space, "prekond::remote_rows::col_idxs", row_ptrs.back());
  came.values = allocate<Vector<Scalar, Space>>(space, "prekond::remote_rows::values", row_ptrs.back());

  const impl::MessageArray<std::int64_t, Space> columns(came.col_idxs, takes_device_memory);
  const impl::MessageArray<Scalar, Space> values(came.values, takes_device_memory);
  space.fence("prekond::remote_rows::ready");
  of_columns->start(sent_columns.data(), columns.data(), 1);
  of_values->start(sent_values.data(), values.data(), 1);
  std::vector<int> slots_of_rows(places.size());
  for (std::size_t s = 0; s < places.size(); ++s) slots_of_rows[places[s]] = static_cast<int>(s);
  const auto order = impl::copied_to(space, slots_of_rows, "prekond::remote_rows::slots");
  of_columns->finish();
  of_values->finish();
  columns.copy_to_device(space);
  values.copy_to_device(space);
  return reordered_rows<Scalar, Space>(space, came, order);
}

}  // namespace prekond
