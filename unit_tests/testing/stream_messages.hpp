// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/impl/native_stream.hpp>
#include <prekond/distributed/impl/buffered_import.hpp>
#include <prekond/distributed/row_exchange.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace prekond::testing {

/// Messages in the order of a stream, between buffers in the memory of `Space`, as their users see them.
/// Others, for the host's memory, carry them; what comes is there after `finish`, and before it something
/// else is.
template <class Scalar, class Space>
class StreamMessages : public Messages<Scalar> {
 public:
  StreamMessages(std::unique_ptr<Messages<Scalar>> carrier, const Neighbours& neighbours)
      : m_carrier(std::move(carrier)), m_sent(slots(neighbours.to)), m_received(slots(neighbours.from)) {}

  bool takes_device_memory() const override { return true; }
  bool in_stream_order() const override { return true; }
  void use_stream(void* stream) override {
    EXPECT_EQ(stream, native_stream(Space()));
    m_knows_stream = true;
  }

  void start(const Scalar* sent, Scalar* received, int k) override {
    const auto out = begin(sent, m_sent * k, received, m_received * k);
    m_carrier->start(out.data(), m_came.data(), k);
    m_carrier->finish();
  }
  void finish() override { deliver(); }
  void start_reverse(const Scalar* received, Scalar* sent, int k) override {
    const auto out = begin(received, m_received * k, sent, m_sent * k);
    m_carrier->start_reverse(out.data(), m_came.data(), k);
    m_carrier->finish_reverse();
  }
  void finish_reverse() override { deliver(); }

 private:
  template <class T, class Memory>
  using Unmanaged = Kokkos::View<T*, Kokkos::LayoutLeft, Memory, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  template <class T>
  using OnDevice = Unmanaged<T, typename Space::memory_space>;

  static std::size_t slots(const std::vector<Neighbour>& neighbours) {
    std::size_t sum = 0;
    for (const Neighbour& other : neighbours) sum += static_cast<std::size_t>(other.slots);
    return sum;
  }
  void expect_stream() {
    EXPECT_TRUE(m_knows_stream) << "nobody said which stream";
    m_knows_stream = false;
  }
  std::vector<Scalar> begin(const Scalar* from, std::size_t num_out, Scalar* to, std::size_t num_in) {
    expect_stream();
    EXPECT_FALSE(m_is_under_way) << "the exchange before has not ended";
    std::vector<Scalar> out(num_out);
    Space().fence("prekond::testing::stream_messages");
    Kokkos::deep_copy(Unmanaged<Scalar, Kokkos::HostSpace>(out.data(), num_out),
                      OnDevice<const Scalar>(from, num_out));
    Kokkos::deep_copy(OnDevice<Scalar>(to, num_in), std::numeric_limits<Scalar>::lowest());
    m_came.resize(num_in);
    m_to = to;
    m_from = from;
    m_out = out;
    m_is_under_way = true;
    return out;
  }
  void deliver() {
    expect_stream();
    EXPECT_TRUE(m_is_under_way) << "no exchange has begun";
    std::vector<Scalar> out(m_out.size());
    Space().fence("prekond::testing::stream_messages");
    Kokkos::deep_copy(Unmanaged<Scalar, Kokkos::HostSpace>(out.data(), out.size()),
                      OnDevice<const Scalar>(m_from, out.size()));
    EXPECT_EQ(out, m_out) << "written over while it was under way";
    Kokkos::deep_copy(OnDevice<Scalar>(m_to, m_came.size()),
                      Unmanaged<Scalar, Kokkos::HostSpace>(m_came.data(), m_came.size()));
    m_to = nullptr;
    m_is_under_way = false;
  }

  std::unique_ptr<Messages<Scalar>> m_carrier;
  std::size_t m_sent, m_received;
  bool m_knows_stream = false, m_is_under_way = false;
  std::vector<Scalar> m_came, m_out;
  const Scalar* m_from = nullptr;
  Scalar* m_to = nullptr;
};

}  // namespace prekond::testing
