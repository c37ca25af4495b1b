// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <Kokkos_Profiling_ScopedRegion.hpp>
#include <prekond/distributed/impl/buffered_import.hpp>
#include <prekond/distributed/impl/message_memory.hpp>
#include <prekond/distributed/impl/rows_by_number.hpp>
#include <prekond/distributed/remote_rows.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

namespace prekond {

/// A rank that messages go to or come from, and the slots of one.
struct Neighbour {
  int rank;
  std::int64_t slots;
};
/// The ranks that this rank sends to, and the ranks that it receives from, in the order of their slots.
struct Neighbours {
  std::vector<Neighbour> to, from;
};

/// Which rows of other ranks a rank chose, and which of its own other ranks chose.
struct RowPlan {
  Neighbours neighbours;
  std::vector<int> sent_rows;        ///< the own row of each slot that is sent
  std::vector<int> received_places;  ///< of each slot that is received, the place of its row in the choice

  /// The lists where `space` computes. Fences.
  template <class Space>
  std::shared_ptr<const ExchangeLists<Space>> lists(const Space& space) const {
    return std::make_shared<const ExchangeLists<Space>>(space, sent_rows, received_places);
  }
};

namespace impl {

/// slots(places(s)) = s
template <class Space>
struct SlotsOfPlaces {
  VectorView<const int, Space> places;
  VectorView<int, Space> slots;
  KOKKOS_FUNCTION void operator()(int s) const { slots(places(s)) = s; }
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

/// The lengths of rows, of which there may be no pointers, on the host. \pre the work on them is done
template <class Space>
std::vector<std::int64_t> lengths_of(const Vector<std::size_t, Space>& row_ptrs) {
  const auto ptrs = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), row_ptrs);
  std::vector<std::int64_t> lengths(std::max<std::size_t>(ptrs.extent(0), 1) - 1);
  for (std::size_t r = 0; r < lengths.size(); ++r)
    lengths[r] = static_cast<std::int64_t>(ptrs(r + 1) - ptrs(r));
  return lengths;
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

/// An exchange of k numbers a slot, where `space` computes.
template <class T, class Space>
void start(const Space& space, Messages<T>& messages, const T* sent, T* received, int k = 1) {
  messages.use_stream(native_stream(space));
  messages.start(sent, received, k);
}
template <class T, class Space>
void finish(const Space& space, Messages<T>& messages) {
  messages.use_stream(native_stream(space));
  messages.finish();
}

/// An exchange of one number a slot that the host has, and needs. Messages in the order of a stream, which
/// take only device memory, get copies there.
template <class Space>
class LengthExchange {
 public:
  using Lengths = std::vector<std::int64_t>;

  /// `sent` and `messages` live until `finish` has returned.
  LengthExchange(const Space& space, Messages<std::int64_t>& messages, const Lengths& sent,
                 std::size_t num_received)
      : m_space(space), m_messages(messages), m_received(num_received) {
    if (messages.in_stream_order()) {
      m_sent_copy = copied_to(space, sent, "prekond::remote_rows::sent_lengths");
      m_received_copy = allocate<Vector<std::int64_t, Space>>(space, "prekond::remote_rows::received_lengths",
                                                              num_received);
    }
    start<std::int64_t>(space, messages, messages.in_stream_order() ? m_sent_copy.data() : sent.data(),
                        messages.in_stream_order() ? m_received_copy.data() : m_received.data());
  }

  const Lengths& finish() {
    impl::finish(m_space, m_messages);
    if (m_messages.in_stream_order()) {
      Kokkos::deep_copy(
          m_space,
          Kokkos::View<std::int64_t*, Kokkos::LayoutLeft, Kokkos::HostSpace,
                       Kokkos::MemoryTraits<Kokkos::Unmanaged>>(m_received.data(), m_received.size()),
          m_received_copy);
      m_space.fence("prekond::remote_rows::lengths_came");
    }
    return m_received;
  }

 private:
  Space m_space;
  Messages<std::int64_t>& m_messages;
  Lengths m_received;
  Vector<std::int64_t, Space> m_sent_copy, m_received_copy;
};

}  // namespace impl

/// Row s of `sent` is that of slot s of what goes out by `slots`, and row s of the result that of slot s of
/// what comes; all ranks have entries of one size. `make_messages(T(), neighbours)` makes the Messages<T>,
/// std::unique_ptr, of an exchange.
///
/// Collective: three messages a neighbour, with the lengths, the columns and the values. The lengths pass
/// through the host; columns and values do where the messages take no device memory. Fences, but not between
/// columns and values and their messages where these go in the order of the stream.
template <class Scalar, class Space, class MakeMessages>
RemoteRows<Scalar, Space> exchange_rows(const Space& space, const Neighbours& slots,
                                        const RemoteRows<Scalar, Space>& sent,
                                        const MakeMessages& make_messages) {
  const Kokkos::Profiling::ScopedRegion region("prekond::exchange_rows");
  space.fence("prekond::remote_rows::sent");
  RemoteRows<Scalar, Space> came;
  came.entry_size = sent.entry_size;
  for (const Neighbour& other : slots.from) came.num_rows += other.slots;
  const std::vector<std::int64_t> sent_lengths = impl::lengths_of<Space>(sent.row_ptrs);
  const auto of_lengths = make_messages(std::int64_t(), slots);
  const bool takes_device_memory = of_lengths->takes_device_memory();
  impl::LengthExchange<Space> exchange(space, *of_lengths, sent_lengths,
                                       static_cast<std::size_t>(came.num_rows));
  const impl::MessageArray<std::int64_t, Space> sent_columns(sent.col_idxs, takes_device_memory);
  const impl::MessageArray<Scalar, Space> sent_values(sent.values, takes_device_memory);
  sent_columns.copy_from_device(space);
  sent_values.copy_from_device(space);
  const std::vector<std::int64_t>& lengths = exchange.finish();

  const Neighbours entries{impl::with_entries(slots.to, sent_lengths),
                           impl::with_entries(slots.from, lengths)};
  const auto of_columns = make_messages(std::int64_t(), entries);
  const auto of_values = make_messages(Scalar(), entries);
  std::vector<std::size_t> row_ptrs(lengths.size() + 1, 0);
  std::partial_sum(lengths.begin(), lengths.end(), row_ptrs.begin() + 1);
  came.row_ptrs = impl::copied_to(space, row_ptrs, "prekond::remote_rows::row_ptrs");
  came.col_idxs =
      allocate<Vector<std::int64_t, Space>>(space, "prekond::remote_rows::col_idxs", row_ptrs.back());
  came.values = allocate<Vector<Scalar, Space>>(space, "prekond::remote_rows::values",
                                                row_ptrs.back() * came.entry_size);

  const impl::MessageArray<std::int64_t, Space> columns(came.col_idxs, takes_device_memory);
  const impl::MessageArray<Scalar, Space> values(came.values, takes_device_memory);
  if (!of_columns->in_stream_order()) space.fence("prekond::remote_rows::ready");
  impl::start<std::int64_t>(space, *of_columns, sent_columns.data(), columns.data());
  impl::start<Scalar>(space, *of_values, sent_values.data(), values.data(), came.entry_size);
  impl::finish(space, *of_columns);
  impl::finish(space, *of_values);
  columns.copy_to_device(space);
  values.copy_to_device(space);
  space.fence("prekond::remote_rows::came");  // the messages' memory goes away
  return came;
}

/// The same where `before` came of rows with the lengths and columns that they have now: only values pass, in
/// one message a neighbour. Fences likewise.
template <class Scalar, class Space, class MakeMessages>
RemoteRows<Scalar, Space> exchange_values(const Space& space, const Neighbours& slots,
                                          const RemoteRows<Scalar, Space>& sent,
                                          const RemoteRows<Scalar, Space>& before,
                                          const MakeMessages& make_messages) {
  const Kokkos::Profiling::ScopedRegion region("prekond::exchange_values");
  space.fence("prekond::remote_rows::sent");
  const Neighbours entries{impl::with_entries(slots.to, impl::lengths_of<Space>(sent.row_ptrs)),
                           impl::with_entries(slots.from, impl::lengths_of<Space>(before.row_ptrs))};
  const auto messages = make_messages(Scalar(), entries);
  RemoteRows<Scalar, Space> came = before;
  came.values = allocate<Vector<Scalar, Space>>(space, "prekond::remote_rows::values",
                                                before.col_idxs.extent(0) * before.entry_size);
  const bool takes_device_memory = messages->takes_device_memory();
  const impl::MessageArray<Scalar, Space> sent_values(sent.values, takes_device_memory),
      values(came.values, takes_device_memory);
  sent_values.copy_from_device(space);
  if (!messages->in_stream_order()) space.fence("prekond::remote_rows::ready");
  impl::start<Scalar>(space, *messages, sent_values.data(), values.data(), came.entry_size);
  impl::finish(space, *messages);
  values.copy_to_device(space);
  space.fence("prekond::remote_rows::came");  // the messages' memory goes away
  return came;
}

/// A RowExchange by its neighbours and lists; `MakeMessages` as exchange_rows takes it. Rows are chosen,
/// numbered and sorted where they are.
template <class Scalar, class Space, class MakeMessages>
class PlannedRowExchange : public RowExchange<Scalar, Space> {
 public:
  using Lists = ExchangeLists<Space>;

  PlannedRowExchange(Neighbours neighbours, std::shared_ptr<const Lists> lists, MakeMessages make_messages)
      : m_neighbours(std::move(neighbours)),
        m_lists(std::move(lists)),
        m_make_messages(std::move(make_messages)) {}

  RemoteRows<Scalar, Space> fetch(const Space& space, const NumberedRows<Scalar, Space>& a,
                                  const NumberedRows<Scalar, Space>& other = {},
                                  const RemoteRows<Scalar, Space>* before = nullptr) const override {
    const auto sent = rows_by_number<Scalar, Space>(space, m_lists->sent_rows, a, other);
    if (m_lists->is_in_order) return exchanged(space, m_neighbours, sent, before);
    const auto places = m_lists->places;
    RemoteRows<Scalar, Space> by_slots;  // `before`, as it came
    if (before) by_slots = reordered_rows<Scalar, Space>(space, *before, places);
    const auto came = exchanged(space, m_neighbours, sent, before ? &by_slots : nullptr);
    const auto slots =
        allocate<Vector<int, Space>>(space, "prekond::remote_rows::slots", m_lists->places.extent(0));
    Kokkos::parallel_for("prekond::remote_rows::slots",
                         Kokkos::RangePolicy<Space, Kokkos::IndexType<int>>(space, 0, places.extent(0)),
                         impl::SlotsOfPlaces<Space>{places, slots});
    return reordered_rows<Scalar, Space>(space, came, slots);
  }

  GivenRows<Scalar, Space> give(const Space& space, const NumberedRows<Scalar, Space>& a,
                                const GivenRows<Scalar, Space>* before = nullptr) const override {
    const auto sent = rows_by_number<Scalar, Space>(space, m_lists->places, a);
    const Neighbours reverse{m_neighbours.from, m_neighbours.to};
    return {m_lists->sent_rows, exchanged(space, reverse, sent, before ? &before->rows : nullptr)};
  }

 private:
  RemoteRows<Scalar, Space> exchanged(const Space& space, const Neighbours& slots,
                                      const RemoteRows<Scalar, Space>& sent,
                                      const RemoteRows<Scalar, Space>* before) const {
    return before ? exchange_values<Scalar, Space>(space, slots, sent, *before, m_make_messages)
                  : exchange_rows<Scalar, Space>(space, slots, sent, m_make_messages);
  }

  Neighbours m_neighbours;
  std::shared_ptr<const Lists> m_lists;
  MakeMessages m_make_messages;
};

/// An exchange of the rows of a plan.
template <class Scalar, class Space, class MakeMessages>
std::unique_ptr<const RowExchange<Scalar, Space>> planned_row_exchange(
    Neighbours neighbours, std::shared_ptr<const ExchangeLists<Space>> lists, MakeMessages make_messages) {
  return std::make_unique<PlannedRowExchange<Scalar, Space, MakeMessages>>(
      std::move(neighbours), std::move(lists), std::move(make_messages));
}

}  // namespace prekond
