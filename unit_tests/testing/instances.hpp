// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/views.hpp>

#include <cstddef>
#include <vector>

namespace prekond::testing {

/// Instances of the default device for `count` threads: on a device each has a stream, and memory for results
/// of reductions, of its own; on a host they may be one.
template <class Space>
std::vector<Space> instances(int count) {
  if (count == 0) return {};
  if constexpr (is_host_space<Space>)
    return std::vector<Space>(static_cast<std::size_t>(count), Space());
  else
    return Kokkos::Experimental::partition_space(Space(),
                                                 std::vector<int>(static_cast<std::size_t>(count), 1));
}

}  // namespace prekond::testing
