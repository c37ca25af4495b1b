// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <Kokkos_Core.hpp>

namespace prekond::impl {

/// The TeamPolicy of kernels with many members. On CUDA and HIP Kokkos copies a kernel of 512 bytes and more
/// to the one buffer that a device has in constant memory, and the host waits there until the kernel before
/// that lies in it has ended: without an event of Kokkos's tools, and with no kernel queued after it. With
/// this hint up to 4096 bytes are arguments of the launch.
template <class Space, class... Properties>
using KernelPolicy =
    Kokkos::TeamPolicy<Space, Kokkos::Experimental::WorkItemProperty::HintLightWeight_t, Properties...>;

}  // namespace prekond::impl
