// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Kernels on a vector and the columns of a basis V. A team has a tile of rows; inner products leave a
/// partial sum for each tile, which a second kernel adds in the order of the tiles: same bits for any number
/// of threads.
#include <prekond/core/block_reduce.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/core/views.hpp>

#include <algorithm>
#include <cstdint>

namespace prekond::krylov {

struct BasisTuning {
  static constexpr int host_tile = 512;  ///< rows: a tile of sums stays in the first-level cache
  static constexpr int device_tile = 1024;
  static constexpr int team_threads = 256;
  static constexpr int sum_threads = 128;
  static constexpr int bytes_of_sums = 64;  ///< of a thread's sums: 8 columns of double at a time
  static constexpr int host_rows = 4;       ///< with sums of their own in a host thread; two vectors: half
  static constexpr int host_columns = 4;    ///< columns that a host thread adds in one pass over a tile
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
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, tile.begin, tile.end), [&](std::int64_t i) {
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

/// V^H w for `Targets` vectors w: the sums over a tile. First, where there is an update: targets[0] -= V
/// update.
template <int Targets, class Scalar, class Space>
struct ProjectTile {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  static constexpr int fitting = BasisTuning::bytes_of_sums / (int(sizeof(Scalar)) * Targets);
  static constexpr int width = fitting > 1 ? fitting : 1;  ///< columns at a time
  Basis<Scalar> basis;
  int columns;
  Scalar* targets[Targets];
  int update_columns;
  const Scalar* update;
  std::int64_t n;
  Scalar* partials;  ///< of value q and tile t at q tiles + t; value = target columns + column

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const Tile tile = Tile::of<Space>(team, n);
    if (update_columns > 0) {
      Scalar* w = targets[0];
      CombineRows<1, Scalar, Space>{basis, update_columns, {update}}(
          team, tile, [&](std::int64_t i, const Scalar* sums) { w[i] -= sums[0]; });
      team.team_barrier();
    }
    for (int first = 0; first < columns; first += width) some_columns(team, tile, first);
  }

  KOKKOS_FUNCTION void some_columns(const Member& team, Tile tile, int first) const {
    const Scalar* v[width];
    for (int p = 0; p < width; ++p) v[p] = basis.column(first + p < columns ? first + p : columns - 1);
    Sums<Scalar, width * Targets> sums;
    if constexpr (is_host_space<Space>)
      sum_on_host(tile, v, sums);
    else
      Kokkos::parallel_reduce(
          Kokkos::TeamThreadRange(team, tile.begin, tile.end),
          [&](std::int64_t i, Sums<Scalar, width * Targets>& sum) {
            for (int q = 0; q < Targets; ++q) {
              const Scalar w = targets[q][i];
              for (int p = 0; p < width; ++p) sum.value[q * width + p] += conjugate(v[p][i]) * w;
            }
          },
          sums);
    const int tiles = team.league_size();
    Kokkos::single(Kokkos::PerTeam(team), [&] {
      for (int q = 0; q < Targets; ++q)
        for (int p = 0; p < width && first + p < columns; ++p)
          partials[std::size_t(q * columns + first + p) * tiles + team.league_rank()] =
              sums.value[q * width + p];
    });
  }

  /// A few rows at a time, each with sums of its own, so that additions do not wait for each other.
  KOKKOS_FUNCTION void sum_on_host(Tile tile, const Scalar* const* v,
                                   Sums<Scalar, width * Targets>& sums) const {
    constexpr int rows = BasisTuning::host_rows / Targets;
    static_assert(rows > 0);
    Scalar parts[width * Targets][rows] = {};
    std::int64_t i = tile.begin;
    for (; i + rows <= tile.end; i += rows)
      for (int q = 0; q < Targets; ++q)
        for (int p = 0; p < width; ++p)
          for (int r = 0; r < rows; ++r)
            parts[q * width + p][r] += conjugate(v[p][i + r]) * targets[q][i + r];
    for (; i < tile.end; ++i)
      for (int q = 0; q < Targets; ++q)
        for (int p = 0; p < width; ++p) parts[q * width + p][0] += conjugate(v[p][i]) * targets[q][i];
    for (int c = 0; c < width * Targets; ++c)
      for (int r = 0; r < rows; ++r) sums.value[c] += parts[c][r];
  }
};

/// result(q) = the sum over the tiles of value q, for team q.
template <class Scalar, class Space>
struct SumPartials {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  const Scalar* partials;
  int tiles;
  Scalar* result;
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const Scalar* mine = partials + std::size_t(team.league_rank()) * tiles;
    Sums<Scalar, 1> total;
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(team, tiles), [&](int t, Sums<Scalar, 1>& sum) { sum.value[0] += mine[t]; },
        total);
    Kokkos::single(Kokkos::PerTeam(team), [&] { result[team.league_rank()] = total.value[0]; });
  }
};

/// w = (w - V h) / norm with norm^2 = (w, w) - ||h||^2, by Pythagoras; (w, w) stands behind h. 0 where that
/// is not positive.
template <class Scalar, class Space>
struct OrthonormalizeTile {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  Basis<Scalar> basis;
  int columns;
  const Scalar* h;
  Scalar* w;
  Scalar* norm;
  std::int64_t n;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    using Real = real_type_t<Scalar>;
    Sums<Real, 1> squares;
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(team, columns),
        [&](int j, Sums<Real, 1>& sum) { sum.value[0] += abs2(h[j]); }, squares);
    const Real norm2 = real_part(h[columns]) - squares.value[0];
    const Real beta = norm2 > Real(0) ? Kokkos::sqrt(norm2) : Real(0);
    const Real inverse = beta > Real(0) ? Real(1) / beta : Real(0);
    if (team.league_rank() == 0) Kokkos::single(Kokkos::PerTeam(team), [&] { *norm = beta; });
    Scalar* target = w;
    CombineRows<1, Scalar, Space>{basis, columns, {h}}(
        team, Tile::of<Space>(team, n),
        [&](std::int64_t i, const Scalar* sums) { target[i] = (target[i] - sums[0]) * inverse; });
  }
};

/// The delayed step: with s = V^H u, z = V^H w, norm^2 = (u, u) - ||s||^2 and t = ((u, w) - s^H z) / norm,
/// u = (u - V s) / norm and w = (w - V z - u t) / norm. (u, u) stands behind s, (u, w) behind z.
template <class Scalar, class Space>
struct DelayedTile {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  Basis<Scalar> basis;
  int columns;
  const Scalar* s;
  const Scalar* z;
  Scalar* u;
  Scalar* w;
  Scalar* norm;
  std::int64_t n;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    using Real = real_type_t<Scalar>;
    Sums<Scalar, 2> sums;
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(team, columns),
        [&](int j, Sums<Scalar, 2>& sum) {
          sum.value[0] += abs2(s[j]);
          sum.value[1] += conjugate(s[j]) * z[j];
        },
        sums);
    const Real norm2 = real_part(s[columns]) - real_part(sums.value[0]);
    const Real beta = norm2 > Real(0) ? Kokkos::sqrt(norm2) : Real(0);
    const Real inverse = beta > Real(0) ? Real(1) / beta : Real(0);
    const Scalar t = (z[columns] - sums.value[1]) * inverse;
    if (team.league_rank() == 0) Kokkos::single(Kokkos::PerTeam(team), [&] { *norm = beta; });
    Scalar *first = u, *second = w;
    CombineRows<2, Scalar, Space>{basis, columns, {s, z}}(
        team, Tile::of<Space>(team, n), [&](std::int64_t i, const Scalar* combined) {
          const Scalar v = (first[i] - combined[0]) * inverse;
          first[i] = v;
          second[i] = (second[i] - combined[1] - v * t) * inverse;
        });
  }
};

/// y = factor y + sign V c, divided by *divisor where there is one.
template <class Scalar, class Space>
struct CombineTile {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  Basis<Scalar> basis;
  int columns;
  const Scalar* coefficients;
  Scalar* y;
  bool keep;  ///< factor 1, else 0
  real_type_t<Scalar> sign;
  const Scalar* divisor;
  std::int64_t n;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    using Real = real_type_t<Scalar>;
    const Real beta = divisor ? real_part(*divisor) : Real(1);
    const Real inverse = beta > Real(0) ? Real(1) / beta : Real(0);
    Scalar* target = y;
    CombineRows<1, Scalar, Space>{basis, columns, {coefficients}}(
        team, Tile::of<Space>(team, n), [&](std::int64_t i, const Scalar* sums) {
          const Scalar old = keep ? target[i] : Scalar(0);
          target[i] = (old + sign * sums[0]) * inverse;
        });
  }
};

/// Launches the kernels above for vectors of n entries. The working memory is made once.
template <class Scalar, class Space>
class BasisKernels {
 public:
  BasisKernels(const Space& space, std::int64_t n, int most_values)
      : m_n(n),
        m_tiles(static_cast<int>(std::max<std::int64_t>(1, (n + tile_rows<Space> - 1) / tile_rows<Space>))),
        m_partials(allocate<Vector<Scalar, Space>>(space, "prekond::krylov::partials",
                                                   std::size_t(most_values) * m_tiles)) {}

  /// result = V^H w for the first `columns` columns of V; before that w -= V update, where `update_columns` >
  /// 0. w may be a column of V.
  void project(const Space& space, const char* label, const Basis<Scalar>& basis, int columns, Scalar* w,
               VectorView<Scalar, Space> result, int update_columns = 0,
               const Scalar* update = nullptr) const {
    launch(
        space, label, m_tiles,
        ProjectTile<1, Scalar, Space>{basis, columns, {w}, update_columns, update, m_n, m_partials.data()});
    sum(space, columns, result);
  }
  /// result = V^H u, then V^H w.
  void project_two(const Space& space, const char* label, const Basis<Scalar>& basis, int columns, Scalar* u,
                   Scalar* w, VectorView<Scalar, Space> result) const {
    launch(space, label, m_tiles,
           ProjectTile<2, Scalar, Space>{basis, columns, {u, w}, 0, nullptr, m_n, m_partials.data()});
    sum(space, 2 * columns, result);
  }
  void orthonormalize(const Space& space, const char* label, const Basis<Scalar>& basis, int columns,
                      const Scalar* h, Scalar* w, Scalar* norm) const {
    launch(space, label, m_tiles, OrthonormalizeTile<Scalar, Space>{basis, columns, h, w, norm, m_n});
  }
  void delayed_step(const Space& space, const char* label, const Basis<Scalar>& basis, int columns,
                    const Scalar* s, const Scalar* z, Scalar* u, Scalar* w, Scalar* norm) const {
    launch(space, label, m_tiles, DelayedTile<Scalar, Space>{basis, columns, s, z, u, w, norm, m_n});
  }
  /// y = V c
  void combine(const Space& space, const char* label, const Basis<Scalar>& basis, int columns,
               const Scalar* c, Scalar* y) const {
    launch(space, label, m_tiles, CombineTile<Scalar, Space>{basis, columns, c, y, false, 1, nullptr, m_n});
  }
  /// y += V c
  void add(const Space& space, const char* label, const Basis<Scalar>& basis, int columns, const Scalar* c,
           Scalar* y) const {
    launch(space, label, m_tiles, CombineTile<Scalar, Space>{basis, columns, c, y, true, 1, nullptr, m_n});
  }
  /// y = (y - V c) / *divisor
  void subtract(const Space& space, const char* label, const Basis<Scalar>& basis, int columns,
                const Scalar* c, Scalar* y, const Scalar* divisor) const {
    launch(space, label, m_tiles, CombineTile<Scalar, Space>{basis, columns, c, y, true, -1, divisor, m_n});
  }

 private:
  template <class Functor>
  static void launch(const Space& space, const char* label, int teams, const Functor& functor,
                     int threads = BasisTuning::team_threads) {
    Kokkos::parallel_for(label, Kokkos::TeamPolicy<Space>(space, teams, is_host_space<Space> ? 1 : threads),
                         functor);
  }
  void sum(const Space& space, int values, VectorView<Scalar, Space> result) const {
    launch(space, "prekond::krylov::sum_partials", values,
           SumPartials<Scalar, Space>{m_partials.data(), m_tiles, result.data()}, BasisTuning::sum_threads);
  }

  std::int64_t m_n;
  int m_tiles;
  Vector<Scalar, Space> m_partials;
};

}  // namespace prekond::krylov
