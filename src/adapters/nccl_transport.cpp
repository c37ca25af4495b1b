// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Messages by NCCL. This file is compiled where it was found, and Kokkos has CUDA.
#include "adapters/nccl_transport.hpp"

#include "adapters/kept_transports.hpp"

#include <prekond/adapters/impl/mpi_agreement.hpp>

#include <cuda_runtime.h>
#include <nccl.h>
#include <Kokkos_Core.hpp>

#include <array>
#include <cstring>
#include <map>
#include <stdexcept>

namespace prekond::mpi {
namespace {

void check(cudaError_t error, const std::string& what) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // it is told here, and not by the next call
  throw std::runtime_error(what + ": " + cudaGetErrorString(error));
}

/// `comm`: nullptr where there is none yet.
void check(ncclResult_t result, ncclComm_t comm, const std::string& what) {
  if (result == ncclSuccess) return;
  const char* details = ncclGetLastError(comm);
  throw std::runtime_error("NCCL could not " + what + ": " + ncclGetErrorString(result) +
                           (details && *details ? " (" + std::string(details) + ")" : std::string()));
}

/// The calling thread's device is `device` until the end of the scope, and then what it was.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    check(cudaGetDevice(&m_before), "there is no current device");
    check(cudaSetDevice(device), "device " + std::to_string(device) + " cannot be selected");
  }
  ~OnDevice() { cudaSetDevice(m_before); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int m_before = 0;
};

class Event {
 public:
  Event() { check(cudaEventCreateWithFlags(&m_event, cudaEventDisableTiming), "CUDA has no event"); }
  ~Event() { cudaEventDestroy(m_event); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(cudaStream_t stream) const {
    check(cudaEventRecord(m_event, stream), "an exchange between devices cannot begin");
  }
  void hold(cudaStream_t stream) const {
    check(cudaStreamWaitEvent(stream, m_event, 0), "an exchange between devices cannot be waited for");
  }

 private:
  cudaEvent_t m_event = nullptr;
};

/// Messages of all communicators go in one stream: kernels of two that wait for other ranks side by side
/// could keep each other from the device. A block of NCCL's runs as soon as one of the rank's own work ends.
class MessageStream {
 public:
  explicit MessageStream(int device) : m_device(device) {
    const OnDevice on(device);
    int least = 0, greatest = 0;
    check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "CUDA does not tell streams' priorities");
    check(cudaStreamCreateWithPriority(&m_stream, cudaStreamNonBlocking, greatest), "CUDA has no stream");
  }
  ~MessageStream() {
    int before = 0;
    cudaGetDevice(&before);
    cudaSetDevice(m_device);
    cudaStreamDestroy(m_stream);
    cudaSetDevice(before);
  }
  MessageStream(const MessageStream&) = delete;
  MessageStream& operator=(const MessageStream&) = delete;

  cudaStream_t get() const { return m_stream; }

  /// That of the process, whose device does not change.
  static std::shared_ptr<const MessageStream> of_process(int device) {
    static std::weak_ptr<const MessageStream> kept;
    auto stream = kept.lock();
    if (!stream) kept = stream = std::make_shared<const MessageStream>(device);
    return stream;
  }

 private:
  int m_device;
  cudaStream_t m_stream = nullptr;
};

/// A communicator of NCCL's, whose messages go in a stream of their own: the kernels of the rank's work run
/// next to them. Between the first of the two events and the second the buffers belong to NCCL; Kokkos frees
/// device memory only when it has waited for the whole device.
class NcclTransport : public DeviceTransport {
 public:
  explicit NcclTransport(int device) : m_device(device), m_stream(MessageStream::of_process(device)) {}
  ~NcclTransport() override {
    int before = 0;
    cudaGetDevice(&before);
    cudaSetDevice(m_device);
    if (m_comm) m_is_agreed ? ncclCommDestroy(m_comm) : ncclCommAbort(m_comm);
    cudaSetDevice(before);
  }
  NcclTransport(const NcclTransport&) = delete;
  NcclTransport& operator=(const NcclTransport&) = delete;

  /// Collective, and blocks.
  void connect(const ncclUniqueId& id, int rank, int size) {
    const OnDevice on(m_device);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 1;
    check(ncclCommInitRankConfig(&m_comm, size, id, rank, &config), nullptr, "connect the ranks' devices");
  }
  /// Every rank is connected.
  void agree() { m_is_agreed = true; }

  std::string name() const override {
    int version = 0;
    ncclGetVersion(&version);
    return "NCCL " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
           std::to_string(version % 100);
  }
  std::unique_ptr<DeviceExchange> make_exchange() override;

  int device() const { return m_device; }
  cudaStream_t stream() const { return m_stream->get(); }

  /// In the stream.
  void send_and_receive(const std::vector<DeviceMessage<const void>>& out,
                        const std::vector<DeviceMessage<void>>& in) {
    ncclResult_t failed = ncclSuccess;
    check(ncclCommGetAsyncError(m_comm, &failed), m_comm, "say how the exchanges before went");
    check(failed, m_comm, "exchange entries");
    check(ncclGroupStart(), m_comm, "begin an exchange");
    for (const auto& message : out)
      if (failed == ncclSuccess && message.bytes > 0)
        failed = ncclSend(message.data, message.bytes, ncclInt8, message.rank, m_comm, stream());
    for (const auto& message : in)
      if (failed == ncclSuccess && message.bytes > 0)
        failed = ncclRecv(message.data, message.bytes, ncclInt8, message.rank, m_comm, stream());
    const ncclResult_t ended = ncclGroupEnd();  // whatever has failed: the next group is another one
    check(failed, m_comm, "exchange entries");
    check(ended, m_comm, "exchange entries");
  }

 private:
  int m_device;
  std::shared_ptr<const MessageStream> m_stream;
  ncclComm_t m_comm = nullptr;
  bool m_is_agreed = false;
};

class NcclExchange : public DeviceExchange {
 public:
  explicit NcclExchange(NcclTransport& transport) : m_transport(transport) {}

  void start(void* stream, const std::vector<DeviceMessage<const void>>& out,
             const std::vector<DeviceMessage<void>>& in) override {
    m_is_under_way = false;
    if (!has_bytes(out) && !has_bytes(in)) return;
    const OnDevice on(m_transport.device());
    m_written.record(static_cast<cudaStream_t>(stream));
    m_written.hold(m_transport.stream());
    m_transport.send_and_receive(out, in);
    m_came.record(m_transport.stream());
    m_is_under_way = true;
  }
  void finish(void* stream) override {
    if (m_is_under_way) m_came.hold(static_cast<cudaStream_t>(stream));
    m_is_under_way = false;
  }

 private:
  static bool has_bytes(const auto& messages) {
    for (const auto& message : messages)
      if (message.bytes > 0) return true;
    return false;
  }

  NcclTransport& m_transport;
  Event m_written, m_came;
  bool m_is_under_way = false;
};

std::unique_ptr<DeviceExchange> NcclTransport::make_exchange() {
  const OnDevice on(m_device);
  return std::make_unique<NcclExchange>(*this);
}

// ------------------------------------------------------------------------------------------ between ranks

/// A device's own number, which no other one has, wherever it is.
std::string number_of(int device) {
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, device),
        "device " + std::to_string(device) + " does not say which it is");
  std::string text;
  for (const char byte : properties.uuid.bytes) {
    constexpr const char* digits = "0123456789abcdef";
    text += digits[static_cast<unsigned char>(byte) / 16];
    text += digits[static_cast<unsigned char>(byte) % 16];
  }
  return text;
}

/// Which ranks have the same device, in words; empty where none have. Collective.
std::string shared_device(MPI_Comm comm, int size, int device) {
  constexpr std::size_t width = 40;
  std::array<char, width> mine{};
  together(comm, [&] { std::strncpy(mine.data(), number_of(device).c_str(), width - 1); });
  std::vector<char> all(width * static_cast<std::size_t>(size));
  MPI_Allgather(mine.data(), width, MPI_CHAR, all.data(), width, MPI_CHAR, comm);
  std::map<std::string, int> ranks;
  for (int rank = 0; rank < size; ++rank) {
    const std::string number = all.data() + width * static_cast<std::size_t>(rank);
    const auto [other, is_new] = ranks.emplace(number, rank);
    if (!is_new)
      return "ranks " + std::to_string(other->second) + " and " + std::to_string(rank) + " share the GPU " +
             number + ", and it takes one rank a GPU";
  }
  return "";
}

/// Collective.
std::shared_ptr<DeviceTransport> connected(MPI_Comm comm, int size, int device) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  ncclUniqueId id{};
  std::shared_ptr<NcclTransport> made;
  // No rank waits in `connect` for one that failed before.
  together(comm, [&] {
    made = std::make_shared<NcclTransport>(device);
    if (rank == 0) check(ncclGetUniqueId(&id), nullptr, "begin");
  });
  MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, comm);
  together(comm, [&] { made->connect(id, rank, size); });
  made->agree();
  return made;
}

FoundTransport find_transport(MPI_Comm comm) {
  int size = 1;
  MPI_Comm_size(comm, &size);
  const int device = Kokkos::device_id();
  const std::string reason = shared_device(comm, size, device);
  if (!reason.empty()) return {nullptr, reason};
  return {connected(comm, size, device), ""};
}

}  // namespace

const bool has_nccl = true;

FoundTransport nccl_transport(MPI_Comm comm) {
  return kept_transport(comm, find_transport);
}

}  // namespace prekond::mpi
