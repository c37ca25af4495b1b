// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Memory for messages, and what the host gives kernels.
#include <prekond/core/views.hpp>

#include <string>
#include <type_traits>
#include <vector>

namespace prekond::impl {

/// Memory that kernels of `Space` and MPI both read and write: of a device, the host's, pinned.
template <class Space>
struct MessageSpace {
#ifdef KOKKOS_HAS_SHARED_HOST_PINNED_SPACE
  using memory_space =
      std::conditional_t<is_host_space<Space>, typename Space::memory_space, Kokkos::SharedHostPinnedSpace>;
#else
  using memory_space = typename Space::memory_space;
#endif
  static_assert(Kokkos::SpaceAccessibility<Kokkos::HostSpace, memory_space>::accessible,
                "this device has no memory that the host can read too");
};

template <class T, class Space>
using MessageVector = Kokkos::View<T*, Kokkos::LayoutLeft, typename MessageSpace<Space>::memory_space>;

/// A copy of `x` where `Space` computes. Fences.
template <class Space, class T>
Vector<T, Space> copied_to(const Space& space, const std::vector<T>& x, const std::string& label) {
  const auto copy = allocate<Vector<T, Space>>(space, label, x.size());
  Kokkos::deep_copy(
      space, copy,
      Kokkos::View<const T*, Kokkos::LayoutLeft, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(
          x.data(), x.size()));
  space.fence("prekond::copied_to");  // x may go away
  return copy;
}

}  // namespace prekond::impl
