// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Kernels on a vector and the columns of a basis V. A team has a tile of rows; inner products leave a
/// partial sum for each tile, and a second kernel adds these in the order of the tiles, which gives the same
/// bits for any number of threads.
#include <prekond/core/scalar.hpp>
#include <prekond/core/views.hpp>

#include "basis_products.hpp"
#include "basis_tiles.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace prekond::krylov {

/// w = (w - V h) / norm with norm^2 = (w, w) - ||h||^2, by Pythagoras; w = 0 where that is not positive. (w,
/// w) follows h in memory.
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
/// u = (u - V s) / norm and w = (w - V z - u t) / norm. (u, u) follows s in memory, and (u, w) follows z.
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
  int columns;  ///< columns of V, which come before those of W
  int block, begin;
  const Scalar* t;  ///< stored by columns
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

/// Launches the kernels above for vectors of n entries. The working memory is allocated once, for up to
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
  /// result = V^H w for each vector w, columns first .. first + count - 1 of V.
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
