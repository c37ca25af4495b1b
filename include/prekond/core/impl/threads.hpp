// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/views.hpp>

namespace prekond {

/// Do as many threads of the host run as Kokkos counts on? Kokkos shares the work of a team kernel out among
/// `concurrency(space)` threads; where OpenMP starts fewer (OMP_THREAD_LIMIT, or OMP_DYNAMIC on a loaded
/// machine), the shares of the others are never worked on, and a kernel that waits for them waits for ever.
///
/// A calling thread's first check launches one kernel of `concurrency(space)` teams; later ones read two
/// numbers. Any thread may call it.
///
/// \throws OptionError that names the variable to unset, also where OpenMP may give fewer threads later on
void check_threads(const Kokkos::DefaultHostExecutionSpace& space);

/// For an execution space of a device: the threads of the host, which prepares what the device works on.
/// Other spaces of the host have no threads that could be missing.
template <class Space>
void check_threads(const Space&) {
  if constexpr (!is_host_space<Space>) check_threads(Kokkos::DefaultHostExecutionSpace());
}

}  // namespace prekond
