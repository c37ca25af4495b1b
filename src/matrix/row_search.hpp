// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Walking over all entries of a matrix, and finding single ones.
#include <prekond/core/scalar.hpp>
#include <prekond/matrix/csr_matrix.hpp>
#include <prekond/matrix/find_entry.hpp>
#include <prekond/matrix/impl/geometric_mean.hpp>

#include <cstdint>

namespace prekond::impl {

/// A team's block of rows, a vector of lanes a row.
template <class Space>
struct RowBlocks {
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

/// sqrt(|a_ii a_jj|), which neither overflows nor underflows on the way.
KOKKOS_INLINE_FUNCTION double diagonal_scale(double a_ii, double a_jj) {
  return geometric_mean(Kokkos::abs(a_ii), Kokkos::abs(a_jj));
}

/// The symmetry condition of check_spd_input, a_ji conjugated where it is complex; false for a NaN.
template <class Scalar>
KOKKOS_INLINE_FUNCTION bool is_symmetric_pair(Scalar a_ij, Scalar a_ji, double scale, double tolerance) {
  return a_ij == a_ji || Kokkos::abs(a_ij - a_ji) <= tolerance * scale;
}

/// Is the imaginary part at most rounding? (False where it is not a number.)
template <class Scalar>
KOKKOS_INLINE_FUNCTION bool is_real(Scalar a_ii, double tolerance) {
  const double real = static_cast<double>(real_part(a_ii)),
               imaginary = static_cast<double>(imaginary_part(a_ii));
  return Kokkos::abs(imaginary) <= tolerance * Kokkos::abs(real);
}

}  // namespace prekond::impl
