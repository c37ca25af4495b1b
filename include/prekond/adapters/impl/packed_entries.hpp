// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Entries of vectors in a row, as messages carry them: the k entries of a row of k vectors side by side.
#include <prekond/core/views.hpp>

#include <cstdint>

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

template <class Scalar, class Space>
struct PackEntries {
  VectorView<const int, Space> rows;
  MultiVectorView<const Scalar, Space> x;
  MessageVector<Scalar, Space> packed;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const std::size_t k = x.extent(1);
    for (std::size_t v = 0; v < k; ++v) packed(i * k + v) = x(rows(i), v);
  }
};

template <class Scalar, class Space>
struct UnpackEntries {
  MessageVector<Scalar, Space> packed;
  MultiVectorView<Scalar, Space> x;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const std::size_t k = x.extent(1);
    for (std::size_t v = 0; v < k; ++v) x(i, v) = packed(i * k + v);
  }
};

/// packed(i k + v) = x(rows(i), v). Does not fence.
template <class Scalar, class Space>
void pack_entries(const Space& space, const Vector<const int, Space>& rows,
                  const MultiVectorView<const Scalar, Space>& x, const MessageVector<Scalar, Space>& packed) {
  Kokkos::parallel_for("prekond::pack_entries",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, rows.extent(0)),
                       PackEntries<Scalar, Space>{rows, x, packed});
}

/// x(i, v) = packed(i k + v). Does not fence.
template <class Scalar, class Space>
void unpack_entries(const Space& space, const MessageVector<Scalar, Space>& packed,
                    const MultiVectorView<Scalar, Space>& x) {
  Kokkos::parallel_for("prekond::unpack_entries",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, x.extent(0)),
                       UnpackEntries<Scalar, Space>{packed, x});
}

}  // namespace prekond::impl
