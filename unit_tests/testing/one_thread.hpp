// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <Kokkos_Core.hpp>

#include <type_traits>

namespace prekond::testing {

/// A space of the host with one thread. Where OpenMP does not nest, which is its default, Kokkos's
/// partition_space gives spaces that have all threads.
template <class Space>
Space of_one_thread() {
#ifdef KOKKOS_ENABLE_OPENMP
  if constexpr (std::is_same_v<Space, Kokkos::OpenMP>) return Space(1);
#endif
  return Space();
}

}  // namespace prekond::testing
