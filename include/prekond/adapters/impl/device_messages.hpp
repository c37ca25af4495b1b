// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Messages from device to device, and the choice between them and MPI's.
#include <prekond/adapters/impl/neighbour_messages.hpp>
#include <prekond/adapters/transport.hpp>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace prekond::mpi {

/// Messages between neighbours by a DeviceTransport, in the order of the stream that computes.
template <class Scalar>
class DeviceMessages : public Messages<Scalar> {
 public:
  /// \pre comm.device.transport
  DeviceMessages(MessageComm comm, Neighbours neighbours)
      : m_comm(std::move(comm)),
        m_neighbours(std::move(neighbours)),
        m_exchange(m_comm.device.transport->make_exchange()) {}

  bool takes_device_memory() const override { return true; }
  bool in_stream_order() const override { return true; }
  void use_stream(void* stream) override { m_stream = stream; }

  void start(const Scalar* sent, Scalar* received, int k) override {
    post(m_neighbours.to, sent, m_neighbours.from, received, k);
  }
  void finish() override { m_exchange->finish(m_stream); }
  void start_reverse(const Scalar* received, Scalar* sent, int k) override {
    post(m_neighbours.from, received, m_neighbours.to, sent, k);
  }
  void finish_reverse() override { m_exchange->finish(m_stream); }

 private:
  void post(const std::vector<Neighbour>& to, const Scalar* out, const std::vector<Neighbour>& from,
            Scalar* in, int k) {
    list(to, out, k, m_out);
    list(from, in, k, m_in);
    m_exchange->start(m_stream, m_out, m_in);
  }
  /// The parts of a buffer, one after another.
  template <class T, class Data>
  static void list(const std::vector<Neighbour>& neighbours, T* data, int k,
                   std::vector<DeviceMessage<Data>>& messages) {
    messages.clear();
    for (const Neighbour& other : neighbours) {
      const std::size_t numbers = static_cast<std::size_t>(other.slots) * static_cast<std::size_t>(k);
      messages.push_back({other.rank, data, numbers * sizeof(Scalar)});
      data += numbers;
    }
  }

  MessageComm m_comm;  ///< keeps the transport
  Neighbours m_neighbours;
  std::unique_ptr<DeviceExchange> m_exchange;
  void* m_stream = nullptr;
  std::vector<DeviceMessage<const void>> m_out;
  std::vector<DeviceMessage<void>> m_in;
};

/// The messages that `comm` says.
template <class Scalar>
std::unique_ptr<Messages<Scalar>> make_messages(const MessageComm& comm, Neighbours neighbours) {
  if (comm.device.transport) return std::make_unique<DeviceMessages<Scalar>>(comm, std::move(neighbours));
  return std::make_unique<NeighbourMessages<Scalar>>(comm, std::move(neighbours));
}

}  // namespace prekond::mpi
