// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "matrix/counter_hash.hpp"

#include "common.hpp"
#include "core/instantiate.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace prekond::generators {
namespace {

constexpr const char* prefix = "prekond::generate::elasticity3d";
constexpr int num_offsets = 15;
constexpr int cell_unknowns = 24;

/// Coordinate `axis` of the 15 offsets between coupled nodes, in the order of the nodes' numbers, each plus
/// one in two bits: a scalar constant, because device code has no constant arrays at namespace scope.
constexpr unsigned pack_offsets(int axis) {
  unsigned packed = 0;
  int k = 0;
  for (int dz = -1; dz <= 1; ++dz)
    for (int dy = -1; dy <= 1; ++dy)
      for (int dx = -1; dx <= 1; ++dx) {
        const bool forth = dx >= 0 && dy >= 0 && dz >= 0;
        const bool back = dx <= 0 && dy <= 0 && dz <= 0;
        const int d[3] = {dx, dy, dz};
        if (forth || back) packed |= static_cast<unsigned>(d[axis] + 1) << (2 * k++);
      }
  return packed;
}
constexpr unsigned packed_dx = pack_offsets(0);
constexpr unsigned packed_dy = pack_offsets(1);
constexpr unsigned packed_dz = pack_offsets(2);

struct Triple {
  int x, y, z;
};

KOKKOS_INLINE_FUNCTION Triple offset(int k) {
  return {int(packed_dx >> (2 * k) & 3u) - 1, int(packed_dy >> (2 * k) & 3u) - 1,
          int(packed_dz >> (2 * k) & 3u) - 1};
}

/// The free nodes of a cube of size^3 nodes whose face z = 0 is clamped.
struct Grid {
  int size;

  KOKKOS_FUNCTION std::int64_t num_nodes() const { return std::int64_t(size) * size * (size - 1); }
  KOKKOS_FUNCTION Triple node(std::int64_t number) const {
    return {int(number % size), int(number / size % size), int(number / (std::int64_t(size) * size)) + 1};
  }
  KOKKOS_FUNCTION std::int64_t number(Triple at) const {
    return at.x + std::int64_t(size) * (at.y + std::int64_t(size) * (at.z - 1));
  }
  KOKKOS_FUNCTION std::int64_t cell_number(Triple at) const {
    return at.x + std::int64_t(size - 1) * (at.y + std::int64_t(size - 1) * at.z);
  }
  KOKKOS_FUNCTION bool has_cell(Triple at) const {
    return at.x >= 0 && at.y >= 0 && at.z >= 0 && at.x < size - 1 && at.y < size - 1 && at.z < size - 1;
  }
  /// Bit k: the neighbour at offset k exists and is free.
  KOKKOS_FUNCTION unsigned neighbours(Triple at) const {
    unsigned mask = 0;
    for (int k = 0; k < num_offsets; ++k) {
      const Triple d = offset(k);
      const int x = at.x + d.x, y = at.y + d.y, z = at.z + d.z;
      if (x >= 0 && y >= 0 && z >= 1 && x < size && y < size && z < size) mask |= 1u << k;
    }
    return mask;
  }
  /// Entries of a row.
  KOKKOS_FUNCTION std::size_t operator()(std::int64_t row) const {
    return 3 * Kokkos::popcount(neighbours(node(row / 3)));
  }
};

template <class Space>
struct DrawYoungsModulus {
  VectorView<double, Space> young;
  std::int64_t first;  ///< cell
  std::uint64_t seed;
  double log2_contrast;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const std::int64_t cell = first + i;
    young(i) = impl::exp2_of_product(impl::unit_interval(impl::counter_hash(seed, cell)), log2_contrast);
  }
};

/// Fills the three rows of a node, those that are wanted, a lane for each neighbour's 3 x 3 block.
template <class Scalar, class Space>
struct FillElasticity {
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;
  static constexpr int lanes = is_host_space<Space> ? 1 : 16;
  static constexpr int team_size = is_host_space<Space> ? 1 : 16;
  static constexpr int nodes_per_team = is_host_space<Space> ? 256 : 16;

  Grid grid;
  RowRange rows;
  std::int64_t first_cell;  ///< of `young`
  VectorView<const double, Space> young;
  VectorView<const double, Space> stiffness;  // of a cell with E = 1, 24 x 24
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<int, Space> col_idxs;
  VectorView<Scalar, Space> values;

  static Policy policy(const Space& space, std::int64_t num_nodes) {
    return Policy(space, static_cast<int>((num_nodes + nodes_per_team - 1) / nodes_per_team), team_size,
                  lanes);
  }

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const std::int64_t begin = rows.begin / 3 + std::int64_t(team.league_rank()) * nodes_per_team;
    const std::int64_t rest = (rows.end + 2) / 3 - begin;
    const int count = rest < nodes_per_team ? int(rest) : nodes_per_team;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count), [&](int i) {
      const Triple at = grid.node(begin + i);
      const unsigned neighbours = grid.neighbours(at);
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, num_offsets), [&](int k) {
        if (neighbours >> k & 1u) fill_block(begin + i, at, neighbours, k);
      });
    });
  }

  KOKKOS_FUNCTION void fill_block(std::int64_t node, Triple at, unsigned neighbours, int k) const {
    const Triple d = offset(k);
    double block[9] = {};
    // The cells around the node in ascending order, from either end of the coupling: bitwise symmetric sums.
    for (int corner = 7; corner >= 0; --corner) {
      const int cx = corner & 1, cy = corner >> 1 & 1, cz = corner >> 2;
      const int ox = cx + d.x, oy = cy + d.y, oz = cz + d.z;
      const Triple cell = {at.x - cx, at.y - cy, at.z - cz};
      if (((ox | oy | oz) & ~1) == 0 && grid.has_cell(cell))
        add_cell(young(grid.cell_number(cell) - first_cell), corner, ox + 2 * oy + 4 * oz, block);
    }
    const int place = 3 * Kokkos::popcount(neighbours & ((1u << k) - 1u));
    const std::int64_t col = 3 * grid.number({at.x + d.x, at.y + d.y, at.z + d.z});
    for (int p = 0; p < 3; ++p) {
      const std::int64_t row = 3 * node + p;
      if (row < rows.begin || row >= rows.end) continue;
      const std::size_t begin = row_ptrs(row - rows.begin) + place;
      for (int q = 0; q < 3; ++q) {
        col_idxs(begin + q) = static_cast<int>(col + q);
        values(begin + q) = static_cast<Scalar>(block[3 * p + q]);
      }
    }
  }

  KOKKOS_FUNCTION void add_cell(double youngs_modulus, int corner, int other_corner, double* block) const {
    for (int p = 0; p < 3; ++p)
      for (int q = 0; q < 3; ++q)
        block[3 * p + q] =
            Kokkos::fma(youngs_modulus, stiffness((3 * corner + p) * cell_unknowns + 3 * other_corner + q),
                        block[3 * p + q]);
  }
};

using CellMatrix = std::array<double, cell_unknowns * cell_unknowns>;

/// Adds a tetrahedron's products of gradients (times h^2, integers): g_a,p g_b,q to `div`, and g_a,q g_b,p +
/// delta_pq g_a . g_b to `shear`.
void add_tetrahedron(const int (&axes)[3], CellMatrix& div, CellMatrix& shear) {
  int corner[4] = {0, 0, 0, 7};
  int g[4][3] = {};
  for (int v = 0; v < 3; ++v) {
    corner[v + 1] = corner[v] | 1 << axes[v];
    g[v][axes[v]] -= 1;
    g[v + 1][axes[v]] += 1;
  }
  for (int a = 0; a < 4; ++a)
    for (int b = 0; b < 4; ++b) {
      const int dot = g[a][0] * g[b][0] + g[a][1] * g[b][1] + g[a][2] * g[b][2];
      for (int p = 0; p < 3; ++p)
        for (int q = 0; q < 3; ++q) {
          const int at = (3 * corner[a] + p) * cell_unknowns + 3 * corner[b] + q;
          div[at] += g[a][p] * g[b][q];
          shear[at] += g[a][q] * g[b][p] + (p == q ? dot : 0);
        }
    }
}

/// The stiffness of a cell of edge h with E = 1: (h / 6) (lambda div + mu shear), as six tetrahedra of volume
/// h^3 / 6. All sums are of integers: bitwise symmetric, the same on every machine.
CellMatrix cell_stiffness(double h) {
  constexpr double nu = 0.3;
  constexpr double lambda = nu / ((1 + nu) * (1 - 2 * nu));
  constexpr double mu = 1 / (2 * (1 + nu));
  CellMatrix div = {};
  CellMatrix shear = {};
  const int permutations[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (const auto& axes : permutations) add_tetrahedron(axes, div, shear);
  CellMatrix k;
  for (std::size_t i = 0; i < k.size(); ++i) k[i] = (h / 6) * std::fma(lambda, div[i], mu * shear[i]);
  return k;
}

double num_rows(double size) {
  return 3 * size * size * (size - 1);
}

}  // namespace

template <class Scalar, class Space>
GeneratedMatrix<Scalar, Space> elasticity3d(const Space& space, std::int64_t size,
                                            const Elasticity3dOptions& options, const ChooseRows& choose) {
  check_size("elasticity3d", size, 2, num_rows);
  const Grid grid{static_cast<int>(size)};
  const RowRange rows = chosen_rows(choose, 3 * grid.num_nodes());
  const auto a = make_rows<Scalar>(space, prefix, rows, 3 * grid.num_nodes(), grid);
  if (a.num_rows == 0) return a;

  // The layers of cells below and above the nodes' layers.
  const std::int64_t layer = (size - 1) * (size - 1), first_cell = layer * (grid.node(rows.begin / 3).z - 1),
                     last_layer = std::min<std::int64_t>(grid.node((rows.end - 1) / 3).z, size - 2),
                     cells = layer * (last_layer + 1) - first_cell;
  const auto young = allocate<Vector<double, Space>>(space, std::string(prefix) + "::young", cells);
  Kokkos::parallel_for(std::string(prefix) + "::draw_youngs_modulus", RowPolicy<Space>(space, 0, cells),
                       DrawYoungsModulus<Space>{young, first_cell, static_cast<std::uint64_t>(options.seed),
                                                impl::log2_of(options.contrast)});

  const CellMatrix host_stiffness = cell_stiffness(1.0 / static_cast<double>(size - 1));
  const auto stiffness =
      allocate<Vector<double, Space>>(space, std::string(prefix) + "::stiffness", host_stiffness.size());
  Kokkos::deep_copy(space, stiffness,
                    VectorView<const double, Kokkos::DefaultHostExecutionSpace>(host_stiffness.data(),
                                                                                host_stiffness.size()));
  using Fill = FillElasticity<Scalar, Space>;
  Kokkos::parallel_for(std::string(prefix) + "::fill",
                       Fill::policy(space, (rows.end + 2) / 3 - rows.begin / 3),
                       Fill{grid, rows, first_cell, young, stiffness, a.row_ptrs, a.col_idxs, a.values});
  // `host_stiffness` ends here; the copy may be reading it still.
  space.fence("prekond::generate::elasticity3d::end");
  return a;
}

#define PREKOND_ELASTICITY3D(Scalar, Space)                            \
  template GeneratedMatrix<Scalar, Space> elasticity3d<Scalar, Space>( \
      const Space&, std::int64_t, const Elasticity3dOptions&, const ChooseRows&);
PREKOND_INSTANTIATE(PREKOND_ELASTICITY3D)

}  // namespace prekond::generators
