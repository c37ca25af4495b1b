// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The same work on several execution spaces at a time.
#include <prekond/core/views.hpp>

#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "precond/distributed/devices/held_views.hpp"

namespace prekond::impl::devices {

/// How the host serves several execution spaces.
enum class Manner {
  /// One after another, by the calling thread.
  in_sequence,
  /// A thread for each.
  threads,
  /// A thread for each, of which one at a time calls Kokkos: the others wait for their devices. See
  /// `turns.hpp`.
  turns
};

/// How to serve instances of a space.
///
/// - OpenMP and Serial: Kokkos locks an instance while a kernel runs on it, so that several threads may
///   launch on the same one or on different ones. Not where Kokkos was built only for Serial, without
///   atomics (KOKKOS_ENABLE_ATOMICS_BYPASS): threads would lose count of a view's users.
/// - Devices: `turns`. Kokkos 4.6 to 5.2 keep what the driver says of a kernel in one table for each kernel,
///   with an entry a device, and write it without a lock when the kernel is launched on a device for the
///   first time (CUDA, get_cuda_kernel_func_attributes): two threads must not do so at once. One after
///   another without threads would leave all devices but one idle, since a setup waits for totals that its
///   next kernel needs.
/// - Others (Threads, HPX) launch from one thread only.
template <class Space>
Manner manner_of() {
#ifdef KOKKOS_ENABLE_ATOMICS_BYPASS
  return Manner::in_sequence;
#endif
  if constexpr (!is_host_space<Space>) return Manner::turns;
  const std::string name = Space::name();
  return name == "OpenMP" || name == "Serial" ? Manner::threads : Manner::in_sequence;
}

/// `work(k)` for 0 <= k < count, the first by the calling thread. `fences[k]` waits for what the k-th one's
/// kernels do; by turns `held[k]`, where there are any, gets what it allocates. \returns what each one has
/// thrown, or null
std::vector<std::exception_ptr> side_by_side(Manner manner, int count, const std::function<void(int)>& work,
                                             const std::vector<std::function<void()>>& fences,
                                             const std::vector<HeldViews*>& held = {});

}  // namespace prekond::impl::devices
