// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/impl/device_speed.hpp>

namespace prekond::impl {

/// While one lives, memory that is freed stays with its device's pool, see keep_freed_memory. The pool keeps
/// what it kept before when the last one of that device ends. A pool that cannot do so is left as it is.
/// None of this happens where Kokkos takes no memory from a pool. With or without one, small vectors that the
/// calling thread allocates on a device are parts of larger ones, see SmallViews.
class SetupMemory {
 public:
  template <class Space>
  explicit SetupMemory(const Space& space) : m_device(number_of_device(space)) {
    begin();
  }
  ~SetupMemory();
  SetupMemory(const SetupMemory&) = delete;
  SetupMemory& operator=(const SetupMemory&) = delete;

 private:
  void begin();

  int m_device;  ///< -1: a space without a pool
};

}  // namespace prekond::impl
