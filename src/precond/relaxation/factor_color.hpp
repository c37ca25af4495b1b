// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Factorisations in the order of the colours, in place: one launch a colour.
#include "precond/factorization/ilu/ic_row.hpp"
#include "precond/factorization/ilu/ilu_row.hpp"

namespace prekond::impl::sweeps {

/// The rows of a colour.
template <class Row, class Space>
struct FactorColor {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  Row row;
  std::int64_t begin, end, rows_per_team;
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const std::int64_t first = begin + team.league_rank() * rows_per_team;
    const std::int64_t last = first + rows_per_team < end ? first + rows_per_team : end;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, first, last),
                         [&](std::int64_t i) { row(typename Row::lane_group_type(team), i); });
  }
};

}  // namespace prekond::impl::sweeps
