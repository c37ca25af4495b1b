// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <Kokkos_Core.hpp>

#include <type_traits>

namespace prekond::impl {

/// While one lives, memory that is freed stays with its device's pool (see keep_freed_memory), and the pool
/// is as before once no other one of that device does. Nothing happens where Kokkos takes no memory from a
/// pool.
class SetupMemory {
 public:
  template <class Space>
  explicit SetupMemory(const Space& space) : m_device(device_of(space)) {
    begin();
  }
  ~SetupMemory();
  SetupMemory(const SetupMemory&) = delete;
  SetupMemory& operator=(const SetupMemory&) = delete;

 private:
  template <class Space>
  static int device_of([[maybe_unused]] const Space& space) {
#ifdef KOKKOS_ENABLE_CUDA
    if constexpr (std::is_same_v<Space, Kokkos::Cuda>) return space.cuda_device();
#endif
    return -1;
  }
  void begin();

  int m_device;  ///< -1: a space without a pool
};

}  // namespace prekond::impl
