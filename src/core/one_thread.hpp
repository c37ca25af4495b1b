// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/views.hpp>
#include "core/concurrency.hpp"
#include "core/team_scratch.hpp"

namespace prekond::impl {

/// An instance of a host's space whose kernels the calling thread runs by itself: it wakes no other thread
/// and waits for none. On a device, or of a backend without such instances, `space` itself.
template <class Space>
Space by_calling_thread(const Space& space) {
#ifdef KOKKOS_ENABLE_OPENMP
  if constexpr (std::is_same_v<Space, Kokkos::OpenMP>) {
    if (concurrency(space) == 1) return space;
    const Space one_thread(1);
    reserve_team_scratch(one_thread, 0);
    return one_thread;
  }
#endif
  return space;
}

}  // namespace prekond::impl
