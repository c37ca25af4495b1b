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
#include <array>
#include <cstdint>

namespace prekond::krylov {

struct BasisTuning {
  static constexpr int host_tile = 512;  ///< rows: a tile of sums stays in the first-level cache
  static constexpr int device_tile = 1024;
  static constexpr int team_threads = 256;
  static constexpr int sum_threads = 512;
  /// A device's inner products: each of a team's vectors of lanes has some columns of a part of a tile.
  static constexpr int vectors = 8;
  static constexpr int lanes = 32;
  static constexpr int column_bytes = 32;  ///< of one row's entries of those columns: 4 of double
  static constexpr int lane_bytes = 64;    ///< of a lane's sums, at most
  static constexpr int most_parts = 8;
  static constexpr double busy_vectors = 0.8;  ///< of a team's: there are so many parts that these work
  static constexpr int bytes_of_sums = 64;     ///< of a host thread's sums: 8 columns of double at a time
  static constexpr int host_rows = 4;          ///< with sums of their own in a host thread; two vectors: half
  static constexpr int host_columns = 4;       ///< columns that a host thread adds in one pass over a tile
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

/// V^H w for `Targets` vectors w: the sums over a tile, or over each of its parts. First, where there is an
/// update: targets[0] -= V update.
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
  int parts;         ///< of a tile
  Scalar* partials;  ///< of value q and part t at q tiles parts + t; value = target columns + column

  /// What `parts` has to be: it is a matter of the number of columns alone.
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

  /// Part k of a tile: as many whole rows of lanes as any other, but the last.
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

  /// A few rows at a time, each with sums of its own, so that additions do not wait for each other.
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

/// Columns begin .. begin + Sets - 1 of W = W T - V C: T is upper triangular, of order `block`.
template <int Sets, class Scalar, class Space>
struct UpdateBlockTile {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  Basis<Scalar> basis;
  int columns;  ///< of V, before those of W
  int block, begin;
  const Scalar* t;  ///< by columns
  const Scalar* c;
  std::int64_t n;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    CombineRows<Sets, Scalar, Space> rows{basis, columns, {}};
    for (int q = 0; q < Sets; ++q) rows.coefficients[q] = c + std::size_t(begin + q) * columns;
    rows(team, Tile::of<Space>(team, n), [&](std::int64_t i, const Scalar* sums) {
      Scalar next[Sets];
      for (int q = 0; q < Sets; ++q) next[q] = -sums[q];
      for (int r = 0; r < begin + Sets; ++r) {
        const Scalar w = basis.column(columns + r)[i];
        for (int q = 0; q < Sets; ++q)
          if (r <= begin + q) next[q] += w * t[(begin + q) * block + r];
      }
      for (int q = 0; q < Sets; ++q) basis.column(columns + begin + q)[i] = next[q];
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

/// Launches the kernels above for vectors of n entries. The working memory is made once, for up to
/// `most_values` inner products at a time.
template <class Scalar, class Space>
class BasisKernels {
 public:
  BasisKernels(const Space& space, std::int64_t n, int most_values)
      : m_n(n),
        m_tiles(static_cast<int>(std::max<std::int64_t>(1, (n + tile_rows<Space> - 1) / tile_rows<Space>))),
        m_partials(allocate<Vector<Scalar, Space>>(space, "prekond::krylov::partials",
                                                   most_partials(most_values) * m_tiles)) {}

  /// result = V^H w for the first `columns` columns of V; before that w -= V update, where `update_columns` >
  /// 0. w may be a column of V.
  void project(const Space& space, const char* label, const Basis<Scalar>& basis, int columns, Scalar* w,
               VectorView<Scalar, Space> result, int update_columns = 0,
               const Scalar* update = nullptr) const {
    project_targets<1>(space, label, basis, columns, {w}, result.data(), update_columns, update);
  }
  /// result = V^H u, then V^H w.
  void project_two(const Space& space, const char* label, const Basis<Scalar>& basis, int columns, Scalar* u,
                   Scalar* w, VectorView<Scalar, Space> result) const {
    project_targets<2>(space, label, basis, columns, {u, w}, result.data());
  }
  /// result = V^H w for one vector w after the other, columns first .. first + count - 1 of V.
  void project_block(const Space& space, const char* label, const Basis<Scalar>& basis, int columns,
                     int first, int count, VectorView<Scalar, Space> result) const {
    const auto w = [&](int c) { return basis.column(first + c); };
    int done = 0;
    const auto place = [&] { return result.data() + std::size_t(done) * columns; };
    for (; done + 4 <= count; done += 4)
      project_targets<4>(space, label, basis, columns, {w(done), w(done + 1), w(done + 2), w(done + 3)},
                         place());
    for (; done + 2 <= count; done += 2)
      project_targets<2>(space, label, basis, columns, {w(done), w(done + 1)}, place());
    if (done < count) project_targets<1>(space, label, basis, columns, {w(done)}, place());
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

  /// W = W T - V C for columns first .. first + block - 1 of the basis, W, and those before, V: T, upper
  /// triangular of order `block`, and C, first x block, are stored by columns.
  void update_block(const Space& space, const char* label, const Basis<Scalar>& basis, int first, int block,
                    const Scalar* t, const Scalar* c) const {
    int left = block;  // a column needs those before it as they were
    for (; left >= 4; left -= 4) update_columns<4>(space, label, basis, first, block, left - 4, t, c);
    for (; left >= 2; left -= 2) update_columns<2>(space, label, basis, first, block, left - 2, t, c);
    if (left > 0) update_columns<1>(space, label, basis, first, block, 0, t, c);
  }

 private:
  static std::size_t most_partials(int most_values) {
    std::size_t most = 0;
    for (int columns = 1; columns <= most_values; ++columns)
      most = std::max({most, partials_of<1>(columns, most_values), partials_of<2>(columns, most_values),
                       partials_of<4>(columns, most_values)});
    return most;
  }
  template <int Targets>
  static std::size_t partials_of(int columns, int most_values) {
    if (columns * Targets > most_values) return 0;
    return std::size_t(Targets) * columns * ProjectTile<Targets, Scalar, Space>::parts_for(columns);
  }
  template <class Functor>
  static void launch(const Space& space, const char* label, int teams, const Functor& functor,
                     int threads = BasisTuning::team_threads, int lanes = 1) {
    Kokkos::parallel_for(label,
                         Kokkos::TeamPolicy<Space>(space, teams, is_host_space<Space> ? 1 : threads,
                                                   is_host_space<Space> ? 1 : lanes),
                         functor);
  }
  template <int Targets>
  void project_targets(const Space& space, const char* label, const Basis<Scalar>& basis, int columns,
                       const std::array<Scalar*, Targets>& targets, Scalar* result, int update_columns = 0,
                       const Scalar* update = nullptr) const {
    using Kernel = ProjectTile<Targets, Scalar, Space>;
    Kernel kernel{
        basis, columns, {}, update_columns, update, m_n, Kernel::parts_for(columns), m_partials.data()};
    std::copy(targets.begin(), targets.end(), kernel.targets);
    launch(space, label, m_tiles, kernel, BasisTuning::vectors, BasisTuning::lanes);
    launch(space, "prekond::krylov::sum_partials", Targets * columns,
           SumPartials<Scalar, Space>{m_partials.data(), m_tiles * kernel.parts, result},
           BasisTuning::sum_threads);
  }
  template <int Sets>
  void update_columns(const Space& space, const char* label, const Basis<Scalar>& basis, int first, int block,
                      int begin, const Scalar* t, const Scalar* c) const {
    launch(space, label, m_tiles,
           UpdateBlockTile<Sets, Scalar, Space>{basis, first, block, begin, t, c, m_n});
  }

  std::int64_t m_n;
  int m_tiles;
  Vector<Scalar, Space> m_partials;
};

}  // namespace prekond::krylov
