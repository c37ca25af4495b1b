// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Inner products with the columns of a basis: sums of each tile, and their sums.
#include <prekond/core/impl/team_sum.hpp>

#include "basis_tiles.hpp"

#include <algorithm>

namespace prekond::krylov {

/// V^H w for `Targets` vectors w: the sums over a tile, or over each of its parts. With an update,
/// targets[0] -= V update comes first.
template <int Targets, class Scalar, class Space>
struct ProjectTile {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  static constexpr int bytes_of_sums =
      is_host_space<Space> ? BasisTuning::bytes_of_sums
                           : std::min(BasisTuning::lane_bytes, BasisTuning::column_bytes* Targets);
  static constexpr int fitting = bytes_of_sums / (int(sizeof(Scalar)) * Targets);
  static constexpr int width = fitting > 1 ? fitting : 1;  ///< columns at a time
  using SumsOf = Sums<Scalar, width * Targets>;
  Basis<Scalar> basis;
  int columns;
  Scalar* targets[Targets];
  int update_columns;
  const Scalar* update;
  std::int64_t n;
  int parts;         ///< parts of a tile
  Scalar* partials;  ///< value q of part t at q tiles parts + t; q = target columns + column

  /// The value of `parts`, which depends only on the number of columns.
  static int parts_for(int columns) {
    if (is_host_space<Space>) return 1;
    constexpr int vectors = BasisTuning::vectors;
    const int groups = std::max(1, (columns + width - 1) / width);
    for (int parts = 1; parts < BasisTuning::most_parts; ++parts) {
      const int items = groups * parts, rounds = (items + vectors - 1) / vectors;
      if (items >= BasisTuning::busy_vectors * rounds * vectors) return parts;
    }
    return BasisTuning::most_parts;
  }

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const Tile tile = Tile::of<Space>(team, n);
    if (update_columns > 0) {
      Scalar* w = targets[0];
      CombineRows<1, Scalar, Space>{basis, update_columns, {update}}(
          team, tile, [&](std::int64_t i, const Scalar* sums) { w[i] -= sums[0]; });
      team.team_barrier();
    }
    const int groups = (columns + width - 1) / width;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, groups * parts), [&](int item) {
      some_columns(team, part_of(tile, item / groups), item % groups * width,
                   team.league_rank() * parts + item / groups);
    });
  }

  /// Part k of a tile. All parts but the last have the same number of whole rows of lanes.
  KOKKOS_FUNCTION Tile part_of(Tile tile, int k) const {
    constexpr int lanes = BasisTuning::lanes;
    const std::int64_t rows = ((tile_rows<Space> + parts - 1) / parts + lanes - 1) / lanes * lanes;
    const std::int64_t begin = tile.begin + k * rows, end = begin + rows;
    return {begin < tile.end ? begin : tile.end, end < tile.end ? end : tile.end};
  }

  KOKKOS_FUNCTION void some_columns(const Member& team, Tile rows, int first, int place) const {
    const Scalar* v[width];
    for (int p = 0; p < width; ++p) v[p] = basis.column(first + p < columns ? first + p : columns - 1);
    SumsOf sums;
    if constexpr (is_host_space<Space>)
      sum_on_host(rows, v, sums);
    else
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, rows.begin, rows.end),
          [&](std::int64_t i, SumsOf& sum) {
            for (int q = 0; q < Targets; ++q) {
              const Scalar w = targets[q][i];
              for (int p = 0; p < width; ++p) sum.value[q * width + p] += conjugate(v[p][i]) * w;
            }
          },
          sums);
    const std::size_t places = std::size_t(team.league_size()) * parts;
    Kokkos::single(Kokkos::PerThread(team), [&] {
      for (int q = 0; q < Targets; ++q)
        for (int p = 0; p < width && first + p < columns; ++p)
          partials[std::size_t(q * columns + first + p) * places + place] = sums.value[q * width + p];
    });
  }

  /// A few rows at a time, each with separate sums, so that additions do not wait for each other.
  KOKKOS_FUNCTION void sum_on_host(Tile tile, const Scalar* const* v, SumsOf& sums) const {
    constexpr int rows = Targets < BasisTuning::host_rows ? BasisTuning::host_rows / Targets : 1;
    Scalar own[width * Targets][rows] = {};
    std::int64_t i = tile.begin;
    for (; i + rows <= tile.end; i += rows)
      for (int q = 0; q < Targets; ++q)
        for (int p = 0; p < width; ++p)
          for (int r = 0; r < rows; ++r) own[q * width + p][r] += conjugate(v[p][i + r]) * targets[q][i + r];
    for (; i < tile.end; ++i)
      for (int q = 0; q < Targets; ++q)
        for (int p = 0; p < width; ++p) own[q * width + p][0] += conjugate(v[p][i]) * targets[q][i];
    for (int c = 0; c < width * Targets; ++c)
      for (int r = 0; r < rows; ++r) sums.value[c] += own[c][r];
  }
};

/// result(q) = the sum over the `places` of value q, for team q.
template <class Scalar, class Space>
struct SumPartials {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  const Scalar* partials;
  int places;
  Scalar* result;
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const Scalar* mine = partials + std::size_t(team.league_rank()) * places;
    Sums<Scalar, 1> total;
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(team, places), [&](int t, Sums<Scalar, 1>& sum) { sum.value[0] += mine[t]; },
        total);
    Kokkos::single(Kokkos::PerTeam(team), [&] { result[team.league_rank()] = total.value[0]; });
  }
};

}  // namespace prekond::krylov
