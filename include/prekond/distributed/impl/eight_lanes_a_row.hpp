// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/views.hpp>

#include <cstdint>

namespace prekond::impl {

/// Teams of a kernel that copies parts of rows: eight lanes take a row, and one thread does on a host.
template <class Space>
struct EightLanesARow {
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;
  static constexpr int rows_per_team = is_host_space<Space> ? 256 : 32, lanes = is_host_space<Space> ? 1 : 8;

  std::int64_t num_rows;

  Policy policy(const Space& space) const {
    const auto teams = static_cast<int>((num_rows + rows_per_team - 1) / rows_per_team);
    return Policy(space, teams, is_host_space<Space> ? 1 : rows_per_team, lanes);
  }
  /// Calls body(row) for the rows of this team.
  template <class Body>
  KOKKOS_FUNCTION void for_each_row(const Member& team, const Body& body) const {
    const std::int64_t begin = std::int64_t(team.league_rank()) * rows_per_team, end = begin + rows_per_team;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, begin, end < num_rows ? end : num_rows), body);
  }
};

}  // namespace prekond::impl
