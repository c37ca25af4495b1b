// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <Kokkos_Core.hpp>
#include <prekond/core/views.hpp>
#include "core/host_thread_group.hpp"

#include "testing/one_thread.hpp"

#include <vector>

namespace prekond::testing {

/// The levels of all threads and of one, for a space of the host; none for a device's.
template <class Space>
std::vector<HostThreadGroup<Space>> host_threads() {
  std::vector<HostThreadGroup<Space>> levels;
  if constexpr (is_host_space<Space>)
    for (const Space& space : {Space(), of_one_thread<Space>()})
      levels.emplace_back(space, "prekond::testing::host_threads");
  return levels;
}

}  // namespace prekond::testing
