// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <Kokkos_Profiling_ScopedRegion.hpp>
#include <prekond/core/impl/native_stream.hpp>
#include <prekond/distributed/impl/message_memory.hpp>
#include <prekond/distributed/impl/ordered_lists.hpp>
#include <prekond/distributed/vector_import.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace prekond {

/// The messages of an exchange, between two buffers: what a library for messages has to give. A rank has a
/// buffer of slots that it sends, grouped by the ranks that get them, and one of slots that it receives,
/// grouped by the ranks that they come from; in the reverse direction the two change their parts. A slot has
/// k numbers, side by side.
template <class Scalar>
class Messages {
 public:
  virtual ~Messages() = default;

  /// Are device buffers taken? Else they have to lie in host memory.
  virtual bool takes_device_memory() const { return false; }

  /// Do the messages go in the order of a stream? Then nobody waits on the host: `start` sends what the
  /// stream has written by then, and what follows `finish` in the stream finds what came. The buffers are
  /// then in device memory always, and `takes_device_memory` holds.
  virtual bool in_stream_order() const { return false; }
  /// Said before each start and each finish: that stream (see native_stream).
  virtual void use_stream(void* /*stream*/) {}

  /// Collective. The buffers are untouched from the start to the finish.
  virtual void start(const Scalar* sent, Scalar* received, int k) = 0;
  virtual void finish() = 0;
  virtual void start_reverse(const Scalar* received, Scalar* sent, int k) = 0;
  virtual void finish_reverse() = 0;
};

/// The region (Kokkos::Profiling) of an exchange of vectors' entries, for tools: its start, and its finish.
inline constexpr const char* import_region = "prekond::import";

namespace impl {

/// buffer(k s + v) = x(rows(s), v)
template <class Scalar, class Space>
struct PackSlots {
  VectorView<const int, Space> rows;
  MultiVectorView<const Scalar, Space> x;
  VectorView<Scalar, Space> buffer;
  KOKKOS_FUNCTION void operator()(std::int64_t s) const {
    const auto k = static_cast<std::int64_t>(x.extent(1));
    for (std::int64_t v = 0; v < k; ++v) buffer(s * k + v) = x(rows(s), v);
  }
};

/// x(rows(s), v) = buffer(k s + v); no two slots have the same row.
template <class Scalar, class Space>
struct UnpackSlots {
  VectorView<const int, Space> rows;
  VectorView<const Scalar, Space> buffer;
  MultiVectorView<Scalar, Space> x;
  KOKKOS_FUNCTION void operator()(std::int64_t s) const {
    const auto k = static_cast<std::int64_t>(x.extent(1));
    for (std::int64_t v = 0; v < k; ++v) x(rows(s), v) = buffer(s * k + v);
  }
};

/// y(i, v) += buffer(k s + v) for the slots s of row i, in their order.
template <class Scalar, class Space>
struct AddSlots {
  VectorView<const int, Space> rows;    ///< those that have slots
  VectorView<const int, Space> begins;  ///< of each row's part of `slots`, and its end
  VectorView<const int, Space> slots;
  VectorView<const Scalar, Space> buffer;
  MultiVectorView<Scalar, Space> y;
  KOKKOS_FUNCTION void operator()(std::int64_t r) const {
    const auto k = static_cast<std::int64_t>(y.extent(1));
    for (std::int64_t v = 0; v < k; ++v) {
      Scalar sum = y(rows(r), v);
      for (int s = begins(r); s < begins(r + 1); ++s) sum += buffer(slots(s) * k + v);
      y(rows(r), v) = sum;
    }
  }
};

}  // namespace impl

/// The lists of an exchange of rows, where `Space` computes: shared by all exchanges of the same rows.
template <class Space>
struct ExchangeLists {
  /// `sent`: the own row of each slot that is sent. `received`: of each slot that is received, the place of
  /// its row among those that were wanted, each once. Fences. Cost: see ascending_places.
  ExchangeLists(const Space& space, const std::vector<int>& sent, const std::vector<int>& received)
      : sent_rows(on_device(space, sent)),
        places(on_device(space, received)),
        is_in_order(std::is_sorted(received.begin(), received.end())) {  // each place is there once
    const std::vector<int> in_order = impl::ascending_places(sent);
    std::vector<int> rows, first;
    for (std::size_t k = 0; k < in_order.size(); ++k) {
      if (k > 0 && sent[in_order[k]] == sent[in_order[k - 1]]) continue;
      rows.push_back(sent[in_order[k]]);
      first.push_back(static_cast<int>(k));
    }
    first.push_back(static_cast<int>(in_order.size()));
    shared_rows = on_device(space, rows);
    begins = on_device(space, first);
    slots = on_device(space, in_order);
  }

  Vector<int, Space> sent_rows, places;
  bool is_in_order;                               ///< are the places 0, 1, 2, ...?
  Vector<int, Space> shared_rows, begins, slots;  ///< see AddSlots

 private:
  static Vector<int, Space> on_device(const Space& space, const std::vector<int>& list) {
    return impl::copied_to(space, list, "prekond::exchange::list");
  }
};

/// A VectorImport by two buffers that are packed and unpacked here, where the vectors are, and sent by
/// `Messages`. Messages that do not take device memory get copies of the buffers in pinned host memory: one
/// copy of a buffer in each direction. For messages in the order of a stream nothing is copied, and no start
/// fences.
///
/// Memory: the lists of slots, which imports of the same rows may share, and the buffers for as many vectors
/// as were ever exchanged at once.
template <class Scalar, class Space>
class BufferedImport : public VectorImport<Scalar, Space> {
 public:
  BufferedImport(const Space& space, std::int64_t num_rows, std::shared_ptr<const ExchangeLists<Space>> lists,
                 std::unique_ptr<Messages<Scalar>> messages)
      : m_num_rows(num_rows), m_lists(std::move(lists)), m_messages(std::move(messages)) {
    make_room(space, 1);
  }
  BufferedImport(const BufferedImport&) = delete;
  BufferedImport& operator=(const BufferedImport&) = delete;

  std::int64_t num_rows() const override { return m_num_rows; }
  std::int64_t num_cols() const override { return m_num_rows + num_received(); }
  /// Entries that a vector sends, one for each rank that needs it.
  std::int64_t num_sent() const { return static_cast<std::int64_t>(m_lists->sent_rows.extent(0)); }

  void reserve(const Space& space, int k) const override {
    if (static_cast<std::size_t>(k) > m_most) make_room(space, static_cast<std::size_t>(k));
  }

  void start(const Space& space, MultiVectorView<const Scalar, Space> x) const override {
    const Kokkos::Profiling::ScopedRegion region(import_region);
    const int k = begin(space, x.extent(1));
    if (k == 0) return;
    Kokkos::parallel_for("prekond::import::pack", policy(space, num_sent()),
                         impl::PackSlots<Scalar, Space>{m_lists->sent_rows, x, m_sent});
    m_messages->start(to_send(space, m_sent, m_host_sent, num_sent() * k),
                      to_receive(m_received, m_host_received), k);
  }

  void finish(const Space& space, MultiVectorView<Scalar, Space> remote) const override {
    const Kokkos::Profiling::ScopedRegion region(import_region);
    if (remote.extent(1) == 0) return;
    m_messages->use_stream(native_stream(space));
    m_messages->finish();
    came(space, m_received, m_host_received, num_received() * std::int64_t(remote.extent(1)));
    Kokkos::parallel_for("prekond::import::unpack", policy(space, num_received()),
                         impl::UnpackSlots<Scalar, Space>{m_lists->places, m_received, remote});
  }

  void start_reverse(const Space& space, MultiVectorView<const Scalar, Space> remote) const override {
    const Kokkos::Profiling::ScopedRegion region(import_region);
    const int k = begin(space, remote.extent(1));
    if (k == 0) return;
    Kokkos::parallel_for("prekond::import::pack_reverse", policy(space, num_received()),
                         impl::PackSlots<Scalar, Space>{m_lists->places, remote, m_received});
    m_messages->start_reverse(to_send(space, m_received, m_host_received, num_received() * k),
                              to_receive(m_sent, m_host_sent), k);
  }

  void finish_reverse(const Space& space, MultiVectorView<Scalar, Space> y) const override {
    const Kokkos::Profiling::ScopedRegion region(import_region);
    if (y.extent(1) == 0) return;
    m_messages->use_stream(native_stream(space));
    m_messages->finish_reverse();
    came(space, m_sent, m_host_sent, num_sent() * std::int64_t(y.extent(1)));
    const ExchangeLists<Space>& lists = *m_lists;
    Kokkos::parallel_for(
        "prekond::import::add", policy(space, lists.shared_rows.extent(0)),
        impl::AddSlots<Scalar, Space>{lists.shared_rows, lists.begins, lists.slots, m_sent, y});
  }

 private:
  using Host = impl::MessageVector<Scalar, Space>;
  using Policy = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

  static Policy policy(const Space& space, std::size_t size) { return Policy(space, 0, size); }
  std::int64_t num_received() const { return static_cast<std::int64_t>(m_lists->places.extent(0)); }
  bool is_staged() const { return !is_host_space<Space> && !m_messages->takes_device_memory(); }

  int begin(const Space& space, std::size_t k) const {
    if (k > m_most) make_room(space, k);
    return static_cast<int>(k);
  }
  void make_room(const Space& space, std::size_t k) const {
    m_sent = m_received = {};
    m_host_sent = m_host_received = {};
    m_sent =
        allocate<Vector<Scalar, Space>>(space, "prekond::import::sent", m_lists->sent_rows.extent(0) * k);
    m_received =
        allocate<Vector<Scalar, Space>>(space, "prekond::import::received", m_lists->places.extent(0) * k);
    if (is_staged()) {
      m_host_sent = Host(Kokkos::view_alloc(Kokkos::WithoutInitializing, "prekond::import::host_sent"),
                         m_sent.extent(0));
      m_host_received =
          Host(Kokkos::view_alloc(Kokkos::WithoutInitializing, "prekond::import::host_received"),
               m_received.extent(0));
    }
    m_most = k;
  }

  static auto part(const auto& buffer, std::int64_t count) {
    return Kokkos::subview(buffer, std::make_pair(std::int64_t(0), count));
  }
  /// Where the messages read the first numbers of `buffer`, once they are there, or the stream will have
  /// written them.
  const Scalar* to_send(const Space& space, const Vector<Scalar, Space>& buffer, const Host& host,
                        std::int64_t count) const {
    if (is_staged()) Kokkos::deep_copy(space, part(host, count), part(buffer, count));
    m_messages->use_stream(native_stream(space));
    if (!m_messages->in_stream_order()) space.fence("prekond::import::packed");
    return is_staged() ? host.data() : buffer.data();
  }
  Scalar* to_receive(const Vector<Scalar, Space>& buffer, const Host& host) const {
    return is_staged() ? host.data() : buffer.data();
  }
  void came(const Space& space, const Vector<Scalar, Space>& buffer, const Host& host,
            std::int64_t count) const {
    if (is_staged()) Kokkos::deep_copy(space, part(buffer, count), part(host, count));
  }

  std::int64_t m_num_rows;
  std::shared_ptr<const ExchangeLists<Space>> m_lists;
  std::unique_ptr<Messages<Scalar>> m_messages;
  mutable std::size_t m_most = 0;  ///< vectors that the buffers have room for
  mutable Vector<Scalar, Space> m_sent, m_received;
  mutable Host m_host_sent, m_host_received;
};

}  // namespace prekond
