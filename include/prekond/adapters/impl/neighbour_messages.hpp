// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Messages by MPI.
#include <prekond/adapters/transport.hpp>
#include <prekond/distributed/impl/buffered_import.hpp>
#include <prekond/distributed/row_exchange.hpp>

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace prekond::mpi {

/// A communicator and a tag that messages have for themselves, and the memory that these may lie in; or what
/// sends them in MPI's place.
struct MessageComm {
  std::shared_ptr<const void> owner;  ///< keeps `comm`
  MPI_Comm comm = MPI_COMM_NULL;
  int tag = 0;
  bool takes_device_memory = false;  ///< does this MPI read and write device memory?
  FoundTransport device;             ///< see device_transport; none where MPI sends

  /// The library that sends messages, and the memory that it sends from: "NCCL 2.28.9", "MPI from device
  /// memory", "MPI from host memory (why not NCCL)".
  std::string in_words() const {
    if (device.transport) return device.transport->name();
    if (takes_device_memory) return "MPI from device memory";
    return "MPI from host memory" + (device.reason.empty() ? "" : " (" + device.reason + ")");
  }
};

/// Messages between neighbours: MPI's own, none of which waits before `finish`. (In the reverse direction
/// those of a Tpetra::Import copy the entries one by one: 1.2 of 4.0 ms of an iteration with fsai,
/// elasticity3d:30 on 2 ranks.)
template <class Scalar>
class NeighbourMessages : public Messages<Scalar> {
 public:
  /// A message has at most `most_slots`; more are sent as several.
  NeighbourMessages(MessageComm comm, Neighbours neighbours, std::int64_t most_slots = 1 << 30)
      : m_comm(std::move(comm)), m_neighbours(std::move(neighbours)), m_most_slots(most_slots) {}

  ~NeighbourMessages() override { forget_type(); }
  NeighbourMessages(const NeighbourMessages&) = delete;
  NeighbourMessages& operator=(const NeighbourMessages&) = delete;

  bool takes_device_memory() const override { return m_comm.takes_device_memory; }

  void start(const Scalar* sent, Scalar* received, int k) override {
    post(m_neighbours.to, sent, m_neighbours.from, received, k);
  }
  void finish() override { wait(); }
  void start_reverse(const Scalar* received, Scalar* sent, int k) override {
    post(m_neighbours.from, received, m_neighbours.to, sent, k);
  }
  void finish_reverse() override { wait(); }

 private:
  void post(const std::vector<Neighbour>& to, const Scalar* out, const std::vector<Neighbour>& from,
            Scalar* in, int k) {
    if (k != m_k) make_type(k);
    for_each_message(from, [&](int rank, int slots) {
      check(MPI_Irecv(in, slots, m_type, rank, m_comm.tag, m_comm.comm, &m_requests.emplace_back()));
      in += std::size_t(slots) * k;
    });
    for_each_message(to, [&](int rank, int slots) {
      check(MPI_Isend(out, slots, m_type, rank, m_comm.tag, m_comm.comm, &m_requests.emplace_back()));
      out += std::size_t(slots) * k;
    });
  }
  template <class Work>
  void for_each_message(const std::vector<Neighbour>& neighbours, const Work& work) const {
    for (const Neighbour& other : neighbours)
      for (std::int64_t begin = 0; begin < other.slots; begin += m_most_slots)
        work(other.rank, static_cast<int>(std::min(m_most_slots, other.slots - begin)));
  }
  void make_type(int k) {
    forget_type();
    check(MPI_Type_contiguous(static_cast<int>(sizeof(Scalar)) * k, MPI_BYTE, &m_type));
    check(MPI_Type_commit(&m_type));
    m_k = k;
  }
  void forget_type() {
    if (m_k > 0) MPI_Type_free(&m_type);
    m_k = 0;
  }
  static void check(int code) {
    if (code != MPI_SUCCESS)
      throw std::runtime_error("MPI could not exchange entries: error " + std::to_string(code));
  }
  void wait() {
    check(MPI_Waitall(static_cast<int>(m_requests.size()), m_requests.data(), MPI_STATUSES_IGNORE));
    m_requests.clear();
  }

  MessageComm m_comm;
  Neighbours m_neighbours;
  std::int64_t m_most_slots;
  MPI_Datatype m_type = MPI_DATATYPE_NULL;  ///< of a slot of m_k numbers
  int m_k = 0;
  std::vector<MPI_Request> m_requests;
};

}  // namespace prekond::mpi
