// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "adapters/nccl_transport.hpp"

#include <prekond/core/error.hpp>

#include <algorithm>
#include <array>

namespace prekond::mpi {
namespace {

Transport chosen = Transport::automatic;

[[noreturn]] void refuse(const std::string& reason) {
  throw OptionError("transport: nccl cannot be: " + reason + "; take mpi, or auto");
}

/// The requests of the ranks, and whether MPI takes the device memory of all of them.
struct Requests {
  bool are_the_same, mpi_takes_device_memory;
};
Requests requests_of_all(MPI_Comm comm, Transport wanted, bool mpi_takes_device_memory) {
  const int number = static_cast<int>(wanted);
  std::array<int, 3> least = {mpi_takes_device_memory ? 1 : 0, number, -number};
  MPI_Allreduce(MPI_IN_PLACE, least.data(), static_cast<int>(least.size()), MPI_INT, MPI_MIN, comm);
  return {least[1] == -least[2], least[0] == 1};
}

}  // namespace

std::vector<std::pair<std::string, Transport>> transport_choices() {
  return {{"auto", Transport::automatic}, {"mpi", Transport::mpi}, {"nccl", Transport::nccl}};
}

void set_transport(Transport transport) {
  chosen = transport;
}

Transport transport_named(const std::string& name) {
  const auto choices = transport_choices();
  const auto found =
      std::find_if(choices.begin(), choices.end(), [&](const auto& choice) { return choice.first == name; });
  if (found == choices.end()) throw OptionError("transport: auto, mpi or nccl, not " + name);
  return found->second;
}

void set_transport(const std::string& name) {
  set_transport(transport_named(name));
}

Transport transport() {
  return chosen;
}

FoundTransport impl::device_transport(MPI_Comm comm, Transport wanted, bool mpi_takes_device_memory,
                                      const std::string& refused) {
  if (!refused.empty()) {
    if (wanted == Transport::nccl) refuse(refused);
    return {nullptr, refused};
  }
  if (!has_nccl) {
    const std::string reason = "this build has no NCCL (CMake: PREKOND_ENABLE_NCCL, NCCL_ROOT)";
    if (wanted == Transport::nccl) refuse(reason);
    return {nullptr, reason};
  }
  int size = 1;
  MPI_Comm_size(comm, &size);
  if (size == 1) return {nullptr, "one rank sends no messages"};
  const Requests all = requests_of_all(comm, wanted, mpi_takes_device_memory);
  if (!all.are_the_same) throw OptionError("transport: the ranks ask for different ones");
  if (wanted == Transport::mpi) return {nullptr, "transport is mpi"};
  if (wanted == Transport::automatic && all.mpi_takes_device_memory)
    return {nullptr, "MPI takes device memory"};
  FoundTransport found = nccl_transport(comm);
  if (!found.transport && wanted == Transport::nccl) refuse(found.reason);
  return found;
}

}  // namespace prekond::mpi
