// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <Kokkos_Core.hpp>

#include <type_traits>

namespace prekond {

/// How many threads an instance of an execution space has. In Kokkos 4, where it has its deprecated code,
/// `space.concurrency()` is that of the default instance, whatever `space` is.
template <class Space>
int concurrency(const Space& space) {
#if KOKKOS_VERSION < 50000 && defined(KOKKOS_ENABLE_OPENMP)
  if constexpr (std::is_same_v<Space, Kokkos::OpenMP>) return space.impl_thread_pool_size();
#endif
  return space.concurrency();
}

}  // namespace prekond
