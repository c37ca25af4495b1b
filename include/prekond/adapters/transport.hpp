// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The transport of messages between ranks: MPI, or NCCL between GPUs. Needs the target prekond::mpi, which
/// prekond::petsc and prekond::trilinos bring.
#include <prekond/core/impl/native_stream.hpp>
#include <prekond/core/views.hpp>

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace prekond::mpi {

/// `automatic`: MPI where the engine trusts it with device memory; else NCCL where it can be; else MPI from
/// host memory, pinned where there is a device.
///
/// NCCL can be where this build has it, the ranks compute by CUDA, and each has a GPU of its own.
enum class Transport { automatic, mpi, nccl };

/// By the names auto, mpi, nccl.
std::vector<std::pair<std::string, Transport>> transport_choices();
/// \throws OptionError where there is none of that name
Transport transport_named(const std::string& name);

/// The default transport of an engine: that of PETSc for matrices made from now on, that of
/// Tpetra for their imports. The same on all ranks; at first `automatic`.
void set_transport(Transport transport);
void set_transport(const std::string& name);  ///< as transport_named
Transport transport();

/// The end of a message in this rank's device memory, and the rank at its other end.
template <class Data>
struct DeviceMessage {
  int rank;
  Data* data;  ///< void or const void
  std::size_t bytes;
};

/// Exchanges between devices, one after another.
class DeviceExchange {
 public:
  virtual ~DeviceExchange() = default;

  /// Sends `out` once `stream` has come here, and receives `in`; between two ranks in the order of the lists.
  /// Messages of 0 bytes are none. All ranks start a transport's exchanges in the same order.
  /// \throws std::runtime_error with the library's text
  virtual void start(void* stream, const std::vector<DeviceMessage<const void>>& out,
                     const std::vector<DeviceMessage<void>>& in) = 0;
  /// `stream` goes on when all are sent and received. The host does not wait.
  virtual void finish(void* stream) = 0;
};

/// The ranks of a communicator, connected from device to device.
class DeviceTransport {
 public:
  virtual ~DeviceTransport() = default;
  virtual std::string name() const = 0;  ///< of the library, with its version
  /// The transport has to outlive it.
  virtual std::unique_ptr<DeviceExchange> make_exchange() = 0;
};

/// A transport, or why there is none; neither where the ranks compute on hosts.
struct FoundTransport {
  std::shared_ptr<DeviceTransport> transport;
  std::string reason;
};

namespace impl {
/// `refused`: why the execution space cannot have one; may be empty.
FoundTransport device_transport(MPI_Comm comm, Transport wanted, bool mpi_takes_device_memory,
                                const std::string& refused);
}  // namespace impl

/// That of the ranks of `comm`, from `Space`'s default device; none where MPI sends the messages, as on one
/// rank. Connected at the first call for these ranks, which takes some time, and kept until MPI ends.
///
/// Collective, with the same `wanted` on all ranks. \throws on all ranks: OptionError where `nccl` is wanted
/// and cannot be, with the reason; std::runtime_error with the text of NCCL or CUDA where one of them fails.
/// A rank that fails while NCCL connects them may leave the others waiting in NCCL.
template <class Space>
FoundTransport device_transport(MPI_Comm comm, Transport wanted, bool mpi_takes_device_memory) {
  FoundTransport found = impl::device_transport(
      comm, wanted, mpi_takes_device_memory,
      has_native_stream<Space>
          ? std::string()
          : "it sends between CUDA devices, and the ranks compute on " + std::string(Space::name()));
  if constexpr (is_host_space<Space>) found.reason.clear();  // no device sends there
  return found;
}

}  // namespace prekond::mpi
