// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The small kernels around the growth of a chunk of rows: which are sampled, and which outgrew their
/// workspace.
#include <prekond/core/views.hpp>

#include "precond/approximate_inverse/adaptive_fsai/kernel.hpp"

#include <cstdint>

namespace prekond::impl::adaptive_fsai {

/// The k-th of `list.extent(0)` places spread evenly over [0, size).
template <class Space>
struct SpreadEvenly {
  VectorView<int, Space> list;
  std::int64_t size;
  KOKKOS_FUNCTION void operator()(int k) const {
    list(k) = static_cast<int>((2ll * k + 1) * size / (2ll * static_cast<std::int64_t>(list.extent(0))));
  }
};

template <class Space>
struct SeeShortage {
  std::int64_t first;
  VectorView<const int, Space> list;
  VectorView<const int, Space> length;
  KOKKOS_FUNCTION void operator()(int k, int& seen) const { seen |= 1 << -length(list(k) - first); }
};

/// Lists the rows that have no length, where the list has room.
template <class Space>
struct ListOutgrown {
  std::int64_t first;
  VectorView<const int, Space> length;
  VectorView<int, Space> list;
  KOKKOS_FUNCTION void operator()(int k, std::int64_t& sum, bool final) const {
    if (length(k) >= 0) return;
    if (final && list.extent(0) > 0) list(sum) = static_cast<int>(first) + k;
    ++sum;
  }
  KOKKOS_FUNCTION void operator()(int k, std::int64_t& sum) const { sum += length(k) < 0; }
};

/// Row pointers of a chunk's rows, after `begin` entries.
template <class Space>
struct ScanLengths {
  std::int64_t first;
  VectorView<const int, Space> length;
  std::size_t begin;
  VectorView<std::size_t, Space> row_ptrs;
  KOKKOS_FUNCTION void operator()(int k, std::size_t& sum, bool final) const {
    sum += static_cast<std::size_t>(length(k));
    if (final) row_ptrs(first + k + 1) = begin + sum;
  }
};

}  // namespace prekond::impl::adaptive_fsai
