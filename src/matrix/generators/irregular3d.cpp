// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "matrix/counter_hash.hpp"

#include "common.hpp"
#include "core/instantiate.hpp"

#include <algorithm>
#include <cmath>

namespace prekond::generators {
namespace {

constexpr const char* prefix = "prekond::generate::irregular3d";

/// Who neighbours whom.
struct Lattice {
  std::int64_t size;
  int unknowns;
  int reach;    // of hubs, in steps
  double near;  // probability of neighbours one step away
  double far;   // and of a hub's within its reach
  double hubs, lonely;
  double skew, shift;
  std::uint64_t seed;

  // Independent streams of random numbers.
  enum Stream : std::uint64_t { near_stream = 1, far_stream, hub_stream, lonely_stream, value_stream };

  KOKKOS_FUNCTION std::int64_t num_nodes() const { return size * size * size; }
  KOKKOS_FUNCTION double uniform(Stream stream, std::int64_t a, std::int64_t b = 0) const {
    return impl::unit_interval(impl::counter_hash(seed + stream, a, b));
  }
  KOKKOS_FUNCTION bool is_hub(std::int64_t i) const { return uniform(hub_stream, i) <= hubs; }
  KOKKOS_FUNCTION bool is_lonely(std::int64_t i) const { return uniform(lonely_stream, i) <= lonely; }

  /// Calls sink(j) for node i and its neighbours j, ascending.
  template <class Sink>
  KOKKOS_FUNCTION void neighbours(std::int64_t i, const Sink& sink) const {
    if (is_lonely(i)) return sink(i);
    const bool hub = is_hub(i);
    const std::int64_t x = i % size, y = i / size % size, z = i / (size * size);
    for (std::int64_t c = first(z); c < end(z); ++c)
      for (std::int64_t b = first(y); b < end(y); ++b)
        for (std::int64_t a = first(x); a < end(x); ++a) {
          const std::int64_t j = (c * size + b) * size + a;
          const bool is_near = distance(a, x) <= 1 && distance(b, y) <= 1 && distance(c, z) <= 1;
          if (i == j || (!is_lonely(j) && are_joined(i, j, is_near, hub))) sink(j);
        }
  }

  KOKKOS_FUNCTION bool are_joined(std::int64_t i, std::int64_t j, bool is_near, bool hub) const {
    const std::int64_t low = i < j ? i : j, high = i < j ? j : i;
    if (is_near && uniform(near_stream, low, high) <= near) return true;
    return far > 0 && (hub || is_hub(j)) && uniform(far_stream, low, high) <= far;
  }
  KOKKOS_FUNCTION std::int64_t first(std::int64_t x) const { return x > reach ? x - reach : 0; }
  KOKKOS_FUNCTION std::int64_t end(std::int64_t x) const { return x + reach < size ? x + reach + 1 : size; }
  KOKKOS_FUNCTION static std::int64_t distance(std::int64_t a, std::int64_t b) {
    return a < b ? b - a : a - b;
  }
};

/// Nodes within r steps of a node, without itself, on the average over the lattice. (Here and below, a
/// product that is added to something is fused with that by fma, so that no compiler chooses.)
double mean_ball(double size, double r) {
  const double along = r >= size ? size : ((2 * r + 1) * size - r * (r + 1)) / size;
  return std::fma(along * along, along, -1.0);
}

Lattice make_lattice(std::int64_t size, const Irregular3dOptions& options) {
  Lattice lattice{};
  lattice.size = size;
  lattice.unknowns = options.unknowns;
  lattice.reach = 1;
  lattice.lonely = options.lonely;
  lattice.skew = options.skew;
  lattice.shift = options.shift;
  lattice.seed = impl::mix_bits(static_cast<std::uint64_t>(options.seed));
  const double sociable = std::max(1 - options.lonely, 1e-12);
  const double candidates = mean_ball(double(size), 1) * sociable;
  const double neighbours = (options.mean / options.unknowns - options.lonely - sociable) / sociable;
  const auto near_without = [&](double hub_edges, double reached) {  // the product are neighbours by hubs
    return candidates > 0 ? std::clamp(std::fma(-hub_edges, reached, neighbours) / candidates, 0.0, 1.0)
                          : 0.0;
  };
  lattice.near = near_without(0, 0);
  if (options.longest == 0) return lattice;
  lattice.hubs = options.hubs;
  const double wanted = static_cast<double>(options.longest) / options.unknowns;
  const auto ball = [](double r) { return std::pow(2 * r + 1, 3); };
  while (ball(lattice.reach) * sociable < wanted && lattice.reach < size) ++lattice.reach;
  // The edges of a hub beyond its near neighbours. Its edges count at both ends.
  for (int pass = 0; pass < 4; ++pass) {
    const double more = std::fma(-26 * lattice.near, sociable, wanted - 1);
    lattice.far = std::clamp(more / ((ball(lattice.reach) - 1) * sociable), 0.0, 1.0);
    lattice.near =
        near_without(2 * lattice.hubs * lattice.far, mean_ball(double(size), lattice.reach) * sociable);
  }
  return lattice;
}

struct CountColumns {
  Lattice lattice;
  KOKKOS_FUNCTION std::size_t operator()(std::int64_t row) const {
    std::size_t count = 0;
    lattice.neighbours(row / lattice.unknowns, [&count](std::int64_t) { ++count; });
    return count * static_cast<std::size_t>(lattice.unknowns);
  }
};

/// A node's rows, one after another.
template <class Scalar, class Space>
struct FillRow {
  Lattice lattice;
  std::int64_t first;  ///< row of the matrix that is row 0 here
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<int, Space> col_idxs;
  VectorView<Scalar, Space> values;

  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    const std::int64_t i = first + k;
    std::size_t place = row_ptrs(k), diagonal = place;
    double sum = 0;
    lattice.neighbours(i / lattice.unknowns, [&](std::int64_t node) {
      for (int u = 0; u < lattice.unknowns; ++u) {
        const std::int64_t j = node * lattice.unknowns + u;
        col_idxs(place) = static_cast<int>(j);
        if (j == i) {
          diagonal = place;
        } else {
          const double size = magnitude(i, j);
          values(place) = static_cast<Scalar>(-size);
          sum = Kokkos::fma(1.0, size, sum);  // not contracted with the product that made it
        }
        ++place;
      }
    });
    values(diagonal) = static_cast<Scalar>(Kokkos::fma(lattice.shift, 1 + sum, sum));
  }

  KOKKOS_FUNCTION double magnitude(std::int64_t i, std::int64_t j) const {
    const double u = lattice.uniform(Lattice::value_stream, i < j ? i : j, i < j ? j : i);
    return u * (i < j ? 1 + lattice.skew : 1 - lattice.skew);
  }
};

double num_nodes(double size) {
  return size * size * size;
}

}  // namespace

template <class Scalar, class Space>
GeneratedMatrix<Scalar, Space> irregular3d(const Space& space, std::int64_t size,
                                           const Irregular3dOptions& options, const ChooseRows& choose) {
  check_size("irregular3d", size, 1, num_nodes);
  if (num_nodes(double(size)) * options.unknowns > 2147483647.0)
    throw OptionError("generator 'irregular3d': SIZE^3 nodes of " + std::to_string(options.unknowns) +
                      " unknowns are too many rows for an int; make SIZE or unknowns smaller");
  const Lattice lattice = make_lattice(size, options);
  const std::int64_t num_rows = lattice.num_nodes() * options.unknowns;
  const RowRange rows = chosen_rows(choose, num_rows);
  const auto a = make_rows<Scalar>(space, prefix, rows, num_rows, CountColumns{lattice});
  Kokkos::parallel_for(std::string(prefix) + "::fill", RowPolicy<Space>(space, 0, a.num_rows),
                       FillRow<Scalar, Space>{lattice, rows.begin, a.row_ptrs, a.col_idxs, a.values});
  return a;
}

#define PREKOND_IRREGULAR3D(Scalar, Space)                            \
  template GeneratedMatrix<Scalar, Space> irregular3d<Scalar, Space>( \
      const Space&, std::int64_t, const Irregular3dOptions&, const ChooseRows&);
PREKOND_INSTANTIATE(PREKOND_IRREGULAR3D)

}  // namespace prekond::generators
