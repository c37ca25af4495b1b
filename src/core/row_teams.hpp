// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/views.hpp>

#include <cstdint>

namespace prekond::impl {

/// A team's block of rows, a vector of lanes a row.
template <class Space>
struct RowTeams {
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;
  static constexpr int rows_per_team = is_host_space<Space> ? 256 : 32;
  static constexpr int team_threads = 256;

  std::int64_t num_rows;

  static Policy policy(const Space& space, std::int64_t num_rows, std::int64_t nnz) {
    const int teams = static_cast<int>((num_rows + rows_per_team - 1) / rows_per_team);
    if (is_host_space<Space>) return Policy(space, teams, 1, 1);
    int lanes = 2;
    while (lanes < 32 && lanes * num_rows < nnz) lanes *= 2;
    return Policy(space, teams, team_threads / lanes < rows_per_team ? team_threads / lanes : rows_per_team,
                  lanes);
  }

  /// Calls body(row) for the rows of this team's block.
  template <class Body>
  KOKKOS_FUNCTION void for_each_row(const Member& team, const Body& body) const {
    const std::int64_t begin = std::int64_t(team.league_rank()) * rows_per_team;
    const std::int64_t end = begin + rows_per_team < num_rows ? begin + rows_per_team : num_rows;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, begin, end), body);
  }
};

}  // namespace prekond::impl
