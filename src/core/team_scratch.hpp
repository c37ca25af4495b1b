// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/scalar.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>

namespace prekond::impl {

template <class Space>
struct NoTeamWork {
  KOKKOS_FUNCTION void operator()(const typename Kokkos::TeamPolicy<Space>::member_type&) const {}
};

/// A host's space allocates its teams' scratch memory at the first launch that asks for so much: done here,
/// for an application that allocates nothing. On a device a launch's scratch of level 0 is its own.
template <class Space>
void reserve_team_scratch(const Space& space, std::size_t bytes) {
  if constexpr (is_host_space<Space>)
    Kokkos::parallel_for(
        "prekond::reserve_team_scratch",
        Kokkos::TeamPolicy<Space>(space, 1, 1).set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(bytes))),
        NoTeamWork<Space>());
}

}  // namespace prekond::impl
