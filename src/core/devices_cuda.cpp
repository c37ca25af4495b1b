// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// CUDA's devices. This file is compiled where Kokkos has that backend.
#include <prekond/core/devices.hpp>
#include <prekond/core/error.hpp>
#include <prekond/core/impl/device_speed.hpp>
#include <prekond/core/impl/setup_memory.hpp>
#include <prekond/core/impl/small_views.hpp>

#include <map>
#include <mutex>
#include <stdexcept>

namespace prekond {
namespace {

void check(cudaError_t error, const std::string& what) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // it is told here, and not by the next call
  throw std::runtime_error(what + ": " + cudaGetErrorString(error));
}

void select(int device) {
  check(cudaSetDevice(device), "device " + std::to_string(device) + " cannot be selected");
}

/// The calling thread's device is what it was again at the end of the scope.
class SameDevice {
 public:
  SameDevice() { check(cudaGetDevice(&m_device), "there is no current device"); }
  ~SameDevice() { cudaSetDevice(m_device); }
  SameDevice(const SameDevice&) = delete;
  SameDevice& operator=(const SameDevice&) = delete;

 private:
  int m_device = 0;
};

cudaDeviceProp properties_of(int device) {
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, device),
        "device " + std::to_string(device) + " does not say what it is");
  return properties;
}

/// The pool that cudaMallocAsync takes a device's memory from; null where it has none.
cudaMemPool_t pool_of(int device) {
  cudaMemPool_t pool = nullptr;
  if (cudaDeviceGetDefaultMemPool(&pool, device) == cudaSuccess) return pool;
  cudaGetLastError();
  return nullptr;
}

void keep_freed(cudaMemPool_t pool, std::uint64_t bytes) {
  if (pool == nullptr) return;
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &bytes),
        "a device's memory pool does not keep what is freed");
}

std::uint64_t kept_bytes(cudaMemPool_t pool) {
  std::uint64_t bytes = 0;
  if (pool != nullptr)
    check(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &bytes),
          "a device's memory pool does not say what it keeps");
  return bytes;
}

/// `from` may read and write the memory of `to`, where the hardware can: else copies go by the host.
void enable_access(int from, int to) {
  int possible = 0;
  check(cudaDeviceCanAccessPeer(&possible, from, to), "the devices do not say whether they are connected");
  if (possible == 0) return;
  const std::string failed =
      "devices " + std::to_string(from) + " and " + std::to_string(to) + " cannot be connected";
  select(from);
  const cudaError_t error = cudaDeviceEnablePeerAccess(to, 0);
  if (error == cudaErrorPeerAccessAlreadyEnabled)
    cudaGetLastError();
  else
    check(error, failed);
  cudaMemAccessDesc access = {};
  access.location.type = cudaMemLocationTypeDevice;
  access.location.id = from;
  access.flags = cudaMemAccessFlagsProtReadWrite;
  if (const cudaMemPool_t pool = pool_of(to)) check(cudaMemPoolSetAccess(pool, &access, 1), failed);
}

/// The setups of a device that are under way.
struct Setups {
  int count = 0;
  std::uint64_t kept_before = 0;
};
std::mutex of_setups;
std::map<int, Setups> setups_of_device;

/// The bytes that a device's pool keeps where no setup is under way.
std::uint64_t kept_without_setups(int device) {
  const std::scoped_lock lock(of_setups);
  const Setups& setups = setups_of_device[device];
  return setups.count > 0 ? setups.kept_before : kept_bytes(pool_of(device));
}

}  // namespace

struct Devices::Streams {
  std::vector<int> devices;
  std::vector<cudaStream_t> streams;

  cudaStream_t add(int device) {
    select(device);
    cudaStream_t stream = nullptr;
    // One that waits for the device's default stream, where Kokkos clears its scratch memory.
    check(cudaStreamCreate(&stream), "device " + std::to_string(device) + " has no stream");
    devices.push_back(device);
    streams.push_back(stream);
    return stream;
  }
  ~Streams() {
    int before = 0;
    cudaGetDevice(&before);
    for (std::size_t k = 0; k < streams.size(); ++k) {
      cudaSetDevice(devices[k]);
      cudaStreamDestroy(streams[k]);
    }
    cudaSetDevice(before);
  }
};

int Devices::available() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

Devices::Devices(int count) : m_streams(std::make_unique<Streams>()) {
  const int all = available();
  if (count < 1 || count > all)
    throw OptionError(std::to_string(count) + " devices were asked for, and Kokkos (" + Space::name() +
                      ") sees " + std::to_string(all) +
                      ": ask for 1 to as many, or look at what CUDA_VISIBLE_DEVICES hides");
  const SameDevice same;
  const int first = Space().cuda_device();
  const cudaDeviceProp model = properties_of(first);
  std::vector<int> devices;
  for (int k = 0; k < count; ++k) {
    const int device = (first + k) % all;
    const cudaDeviceProp own = properties_of(device);
    m_names.push_back(std::string(own.name) + " (number " + std::to_string(device) + ")");
    if (own.major != model.major || own.minor != model.minor)
      throw OptionError("the devices " + m_names.front() + " and " + m_names.back() +
                        " have different architectures: choose some of one by CUDA_VISIBLE_DEVICES");
    devices.push_back(device);
  }
  for (const int from : devices)
    for (const int to : devices)
      if (from != to) enable_access(from, to);
  const std::uint64_t kept = kept_without_setups(first);
  devices.erase(devices.begin());
  for (const int other : devices) {
    keep_freed(pool_of(other), kept);
    m_others.emplace_back(m_streams->add(other));
  }
}

Devices::~Devices() = default;

void keep_freed_memory(std::uint64_t bytes) {
  const int device = Kokkos::Cuda().cuda_device();
  const std::scoped_lock lock(of_setups);
  Setups& setups = setups_of_device[device];
  if (setups.count > 0)
    setups.kept_before = bytes;
  else
    keep_freed(pool_of(device), bytes);
}

namespace impl {

namespace {

/// The pool keeps what is freed, for one setup more; -1 where it cannot.
void keep_pool(int& device) {
#ifdef KOKKOS_ENABLE_IMPL_CUDA_MALLOC_ASYNC
  const cudaMemPool_t pool = device < 0 ? nullptr : pool_of(device);
#else
  const cudaMemPool_t pool = nullptr;  // Kokkos allocates elsewhere
#endif
  if (pool == nullptr) device = -1;
  if (device < 0) return;
  const std::scoped_lock lock(of_setups);
  Setups& setups = setups_of_device[device];
  if (setups.count == 0) {
    std::uint64_t all = ~std::uint64_t(0);
    if (cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &setups.kept_before) != cudaSuccess ||
        cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all) != cudaSuccess) {
      cudaGetLastError();  // the setup goes on without
      device = -1;
      return;
    }
  }
  ++setups.count;
}

}  // namespace

void SetupMemory::begin() {
  const int device = m_device;
  keep_pool(m_device);
  if (device >= 0) begin_small_views(this, device);  // after what may throw
}

SetupMemory::~SetupMemory() {
  end_small_views(this);
  if (m_device < 0) return;
  const std::scoped_lock lock(of_setups);
  Setups& setups = setups_of_device[m_device];
  if (--setups.count > 0) return;
  if (cudaMemPoolSetAttribute(pool_of(m_device), cudaMemPoolAttrReleaseThreshold, &setups.kept_before) !=
      cudaSuccess)
    cudaGetLastError();
}

std::int64_t speed_of_device(int device) {
  if (device < 0) return 0;
  int processors = 0, kilohertz = 0;
  if (cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) == cudaSuccess &&
      cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, device) == cudaSuccess)
    return std::int64_t(processors) * (kilohertz / 1000);
  cudaGetLastError();
  return 0;
}

}  // namespace impl
}  // namespace prekond
