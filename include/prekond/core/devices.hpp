// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <Kokkos_Core.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace prekond {

/// Execution spaces on several devices of this host, for what is shared out over them (SeveralDevices). The
/// first is the device that Kokkos was initialised on, the next ones follow it by their numbers, and
/// then from number 0 on. Each has a stream of its own, and reads and writes the others' memory directly
/// where the hardware can. Their memory pools keep as much as the first one's, see keep_freed_memory.
///
/// With CUDA; any other backend has one device. It must outlive all copies of its spaces, and end before
/// Kokkos does.
class Devices {
 public:
  using Space = Kokkos::DefaultExecutionSpace;

  /// How many there are.
  static int available();

  /// \throws OptionError for fewer than one, or more than there are, and for devices of different
  /// architectures: Kokkos launches on all as on the first
  explicit Devices(int count);
  ~Devices();
  Devices(const Devices&) = delete;
  Devices& operator=(const Devices&) = delete;

  /// The spaces of all devices but the first, whose space is `Space()`.
  const std::vector<Space>& others() const { return m_others; }
  /// The names of all devices, as the driver gives them: "NVIDIA H100 (number 1)". Empty on the host.
  const std::vector<std::string>& names() const { return m_names; }

 private:
  struct Streams;
  std::unique_ptr<Streams> m_streams;  ///< older than the spaces, which are made of them
  std::vector<Space> m_others;
  std::vector<std::string> m_names;
};

/// Memory that is freed stays with the pool of Kokkos's device, up to `bytes`, and serves later allocations:
/// what goes back to the driver is mapped anew. A setup, which allocates and frees hundreds of arrays, keeps
/// them by itself while it lasts; this keeps them from one setup to the next. With CUDA, where Kokkos
/// allocates from that pool (Kokkos_ENABLE_IMPL_CUDA_MALLOC_ASYNC, which the preset cuda sets); else nothing
/// changes. Other libraries of the process, which allocate by themselves, do not see the memory kept. After
/// Kokkos::initialize.
void keep_freed_memory(std::uint64_t bytes = ~std::uint64_t(0));

}  // namespace prekond
