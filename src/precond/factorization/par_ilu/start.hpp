// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The values with which sweeps begin.
#include "core/row_teams.hpp"
#include "precond/factorization/par_ilu/sweep_entries.hpp"

namespace prekond::impl::par_ilu {

/// A's triangles, where L's is divided by the diagonal, for kind `ic` by its root.
template <class Scalar, class Space>
struct StartFromMatrix {
  using Rows = RowTeams<Space>;
  SweepMatrix<Scalar, Space> a;
  bool symmetric;
  SweepValues<Scalar, Space> to;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    const Scalar inverse = Scalar(1) / (symmetric ? Kokkos::sqrt(a.diagonal) : a.diagonal);
    Rows{a.lower.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const std::size_t first = a.lower.row_ptrs(i), behind = a.upper.row_ptrs(i);
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, static_cast<int>(a.lower.row_ptrs(i + 1) - first)),
                           [&](int k) { to.lower(first + k) = a.a_lower(first + k) * inverse; });
      const int of_upper = symmetric ? 0 : static_cast<int>(a.upper.row_ptrs(i + 1) - behind);
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, of_upper), [&](int k) {
        const std::size_t column = a.columns.row_ptrs(a.upper.col_idxs(behind + k));
        to.columns(column + a.places(behind + k)) = a.a_upper(behind + k);
      });
      Kokkos::single(Kokkos::PerThread(team), [&] { to.pivots(i) = inverse; });
    });
  }
};

}  // namespace prekond::impl::par_ilu
