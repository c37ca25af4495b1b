// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The columns of a basis, by tiles of rows, and sums of its columns with factors.
#include <prekond/core/scalar.hpp>
#include <prekond/core/views.hpp>

#include <cstdint>

namespace prekond::krylov {

struct BasisTuning {
  static constexpr int host_tile = 512;  ///< rows: a tile of sums stays in the first-level cache
  static constexpr int device_tile = 1024;
  static constexpr int team_threads = 256;
  static constexpr int sum_threads = 512;
  /// Inner products on a device: each vector of lanes of a team has some columns of a part of a tile.
  static constexpr int vectors = 8;
  static constexpr int lanes = 32;
  static constexpr int column_bytes = 32;  ///< entries of those columns in one row: 4 of double
  static constexpr int lane_bytes = 64;    ///< limit for the sums of a lane
  static constexpr int most_parts = 8;
  static constexpr double busy_vectors = 0.8;  ///< share of a team's vectors that at least work
  static constexpr int bytes_of_sums = 64;     ///< sums of a host thread: 8 columns of double at a time
  static constexpr int host_rows = 4;     ///< rows of a host thread with separate sums; half for two vectors
  static constexpr int host_columns = 4;  ///< columns that a host thread adds in one pass over a tile
};

/// Column j begins at data + j stride.
template <class Scalar>
struct Basis {
  Scalar* data = nullptr;
  std::size_t stride = 0;
  KOKKOS_FORCEINLINE_FUNCTION Scalar* column(int j) const { return data + std::size_t(j) * stride; }
};

template <class Space>
inline constexpr int tile_rows = is_host_space<Space> ? BasisTuning::host_tile : BasisTuning::device_tile;

/// A team's rows.
struct Tile {
  std::int64_t begin, end;
  template <class Space, class Member>
  KOKKOS_FUNCTION static Tile of(const Member& team, std::int64_t n) {
    const std::int64_t begin = std::int64_t(team.league_rank()) * tile_rows<Space>;
    return {begin, begin + tile_rows<Space> < n ? begin + tile_rows<Space> : n};
  }
};

/// For each row i of the tile, put(i, sums) with sums[q] = sum over j < columns of V(i, j) c_q(j), q < Sets.
/// V is read once.
template <int Sets, class Scalar, class Space>
struct CombineRows {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  Basis<Scalar> basis;
  int columns;
  const Scalar* coefficients[Sets];

  template <class Put>
  KOKKOS_FUNCTION void operator()(const Member& team, Tile tile, const Put& put) const {
    if constexpr (is_host_space<Space>)
      on_host(tile, put);
    else
      Kokkos::parallel_for(Kokkos::TeamVectorRange(team, tile.begin, tile.end), [&](std::int64_t i) {
        Scalar sums[Sets] = {};
        for (int j = 0; j < columns; ++j) {
          const Scalar v = basis.column(j)[i];
          for (int q = 0; q < Sets; ++q) sums[q] += v * coefficients[q][j];
        }
        put(i, sums);
      });
  }

  /// A few columns at a time, so that a thread follows few streams through memory.
  template <class Put>
  KOKKOS_FUNCTION void on_host(Tile tile, const Put& put) const {
    constexpr int width = BasisTuning::host_columns;
    Scalar sums[Sets][BasisTuning::host_tile] = {};
    const int rows = static_cast<int>(tile.end - tile.begin);
    for (int first = 0; first < columns; first += width) {
      const Scalar* v[width];
      Scalar c[Sets][width];
      for (int p = 0; p < width; ++p) {
        const int j = first + p < columns ? first + p : columns - 1;  // once more, with factor 0
        v[p] = basis.column(j) + tile.begin;
        for (int q = 0; q < Sets; ++q) c[q][p] = first + p < columns ? coefficients[q][j] : Scalar(0);
      }
      for (int q = 0; q < Sets; ++q)
        for (int i = 0; i < rows; ++i)
          sums[q][i] += (v[0][i] * c[q][0] + v[1][i] * c[q][1]) + (v[2][i] * c[q][2] + v[3][i] * c[q][3]);
    }
    for (int i = 0; i < rows; ++i) {
      Scalar row[Sets];
      for (int q = 0; q < Sets; ++q) row[q] = sums[q][i];
      put(tile.begin + i, row);
    }
  }
};

}  // namespace prekond::krylov
