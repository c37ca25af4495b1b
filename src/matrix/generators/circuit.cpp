// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/matrix/sort_rows.hpp>
#include "matrix/counter_hash.hpp"

#include "common.hpp"
#include "core/instantiate.hpp"

#include <algorithm>
#include <tuple>

namespace prekond::generators {
namespace {

constexpr const char* prefix = "prekond::generate::circuit";

/// The edges as a function of their source: first the nodes, then the hubs' single edges, so that no source
/// has many.
struct Network {
  std::int64_t size;  // nodes an edge of the grid
  std::int64_t num_hubs;
  std::int64_t hub_edges;   // of a hub
  std::int64_t hub_stride;  // nodes from which one edge's end is drawn
  std::int64_t max_extra;
  double degree_power;  // 1 / (exponent - 1)
  double log2_contrast;
  std::uint64_t seed;

  // Independent streams of random numbers.
  enum Stream : std::uint64_t { degree_stream = 1, target_stream, hub_stream, conductance_stream };

  KOKKOS_FUNCTION std::int64_t num_nodes() const { return size * size; }
  KOKKOS_FUNCTION std::int64_t num_sources() const { return num_nodes() + num_hubs * hub_edges; }

  /// Calls sink(i, j) for the edges of a source; an edge can come more than once, or have two equal ends.
  template <class Sink>
  KOKKOS_FUNCTION void edges(std::int64_t source, const Sink& sink) const {
    const std::int64_t n = num_nodes();
    if (source >= n) return hub_edge(source - n, sink);
    if (source % size + 1 < size) sink(source, source + 1);
    if (source + size < n) sink(source, source + size);
    const std::int64_t extra = num_extra(source);
    for (std::int64_t e = 0; e < extra; ++e)
      sink(source, static_cast<std::int64_t>(impl::counter_hash(seed + target_stream, source, e) % n));
  }

  template <class Sink>
  KOKKOS_FUNCTION void hub_edge(std::int64_t number, const Sink& sink) const {
    const std::int64_t hub = (2 * (number / hub_edges) + 1) * num_nodes() / (2 * num_hubs);
    const std::int64_t draw =
        static_cast<std::int64_t>(impl::counter_hash(seed + hub_stream, number) % hub_stride);
    sink(hub, (hub + 1 + number % hub_edges * hub_stride + draw) % num_nodes());
  }

  /// P(K >= k) = (k + 1)^(1 - exponent).
  KOKKOS_FUNCTION std::int64_t num_extra(std::int64_t node) const {
    const double u = impl::unit_interval(impl::counter_hash(seed + degree_stream, node));
    const double k = Kokkos::floor(impl::exp2_of_product(-impl::log2_of(u), degree_power)) - 1;
    return k < static_cast<double>(max_extra) ? static_cast<std::int64_t>(k) : max_extra;
  }

  KOKKOS_FUNCTION double conductance(std::int64_t i, std::int64_t j) const {
    const std::uint64_t hash = impl::counter_hash(seed + conductance_stream, i < j ? i : j, i < j ? j : i);
    return impl::exp2_of_product(impl::unit_interval(hash), log2_contrast);
  }
};

Network make_network(std::int64_t size, const CircuitOptions& options) {
  const std::int64_t n = size * size;
  Network network{};
  network.size = size;
  network.num_hubs = options.hubs;
  network.hub_edges = std::min<std::int64_t>(10000, n / 4);
  // An edge's end is 1 to n - 1 nodes away from the hub: never itself, never twice the same.
  network.hub_stride = network.hub_edges > 0 ? (n - 1) / network.hub_edges : 1;
  network.max_extra = std::min<std::int64_t>(1000, n / 4);
  network.degree_power = 1 / (options.exponent - 1);
  network.log2_contrast = impl::log2_of(options.contrast);
  network.seed = impl::mix_bits(static_cast<std::uint64_t>(options.seed));
  return network;
}

template <class Space>
struct CountEdges {
  Network network;
  VectorView<int, Space> degrees;

  KOKKOS_FUNCTION void operator()(std::int64_t source) const {
    network.edges(source, [this](std::int64_t i, std::int64_t j) {
      Kokkos::atomic_inc(&degrees(i));
      Kokkos::atomic_inc(&degrees(j));
    });
  }
};

template <class Space>
struct DegreePlusOne {
  VectorView<const int, Space> degrees;
  KOKKOS_FUNCTION std::size_t operator()(std::int64_t i) const {
    return 1 + static_cast<std::size_t>(degrees(i));
  }
};

/// Each row's own column comes first; the neighbours are appended after it, in no particular order.
template <class Space>
struct PutDiagonal {
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<std::size_t, Space> next;
  VectorView<int, Space> cols;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    cols(row_ptrs(i)) = static_cast<int>(i);
    next(i) = row_ptrs(i) + 1;
  }
};

template <class Space>
struct AppendEdges {
  Network network;
  VectorView<std::size_t, Space> next;
  VectorView<int, Space> cols;

  KOKKOS_FUNCTION void operator()(std::int64_t source) const {
    network.edges(source, [this](std::int64_t i, std::int64_t j) {
      cols(Kokkos::atomic_fetch_add(&next(i), std::size_t(1))) = static_cast<int>(j);
      cols(Kokkos::atomic_fetch_add(&next(j), std::size_t(1))) = static_cast<int>(i);
    });
  }
};

/// The graph with repeated columns, rows sorted.
template <class Space>
struct RepeatedColumns {
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<const int, Space> cols;

  /// Number of different columns of a row.
  KOKKOS_FUNCTION std::size_t operator()(std::int64_t i) const {
    std::size_t count = 0;
    for (std::size_t k = row_ptrs(i); k < row_ptrs(i + 1); ++k) count += is_first(i, k);
    return count;
  }
  KOKKOS_FUNCTION bool is_first(std::int64_t i, std::size_t k) const {
    return k == row_ptrs(i) || cols(k) != cols(k - 1);
  }
};

template <class Scalar, class Space>
struct FillLaplacian {
  Network network;
  double ground;
  RepeatedColumns<Space> graph;
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<int, Space> col_idxs;
  VectorView<Scalar, Space> values;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::size_t place = row_ptrs(i);
    std::size_t diagonal = place;
    double sum = ground;
    for (std::size_t k = graph.row_ptrs(i); k < graph.row_ptrs(i + 1); ++k) {
      if (!graph.is_first(i, k)) continue;
      const int j = graph.cols(k);
      if (j == i) {
        diagonal = place;
      } else {
        const double g = network.conductance(i, j);
        values(place) = static_cast<Scalar>(-g);
        sum += g;
      }
      col_idxs(place++) = j;
    }
    values(diagonal) = static_cast<Scalar>(sum);
  }
};

/// Counts the edges of each node, scans, appends, sorts.
template <class Space>
RepeatedColumns<Space> connect(const Space& space, const Network& network,
                               Vector<std::size_t, Space>& row_ptrs, Vector<int, Space>& cols) {
  const std::string label = prefix;
  const std::int64_t n = network.num_nodes();
  const RowPolicy<Space> sources(space, 0, network.num_sources());
  const auto degrees = allocate_zero<Vector<int, Space>>(space, label + "::degrees", n);
  Kokkos::parallel_for(label + "::count", sources, CountEdges<Space>{network, degrees});
  std::size_t total = 0;
  std::tie(row_ptrs, total) =
      impl::scan_row_lengths(space, label + "::graph", n, DegreePlusOne<Space>{degrees});
  cols = allocate<Vector<int, Space>>(space, label + "::graph::col_idxs", total);
  const auto next = allocate<Vector<std::size_t, Space>>(space, label + "::next", n);
  Kokkos::parallel_for(label + "::put_diagonal", RowPolicy<Space>(space, 0, n),
                       PutDiagonal<Space>{row_ptrs, next, cols});
  Kokkos::parallel_for(label + "::append", sources, AppendEdges<Space>{network, next, cols});
  sort_columns(space, n, row_ptrs, cols);
  return {row_ptrs, cols};
}

double num_rows(double size) {
  return size * size;
}

}  // namespace

template <class Scalar, class Space>
GeneratedMatrix<Scalar, Space> circuit(const Space& space, std::int64_t size, const CircuitOptions& options) {
  check_size("circuit", size, 1, num_rows);
  const Network network = make_network(size, options);
  Vector<std::size_t, Space> graph_row_ptrs;
  Vector<int, Space> graph_cols;
  const RepeatedColumns<Space> graph = connect(space, network, graph_row_ptrs, graph_cols);
  const auto a =
      make_rows<Scalar>(space, prefix, RowRange{0, network.num_nodes()}, network.num_nodes(), graph);
  Kokkos::parallel_for(
      std::string(prefix) + "::fill", RowPolicy<Space>(space, 0, a.num_rows),
      FillLaplacian<Scalar, Space>{network, options.ground, graph, a.row_ptrs, a.col_idxs, a.values});
  return a;
}

#define PREKOND_CIRCUIT(Scalar, Space)                                                       \
  template GeneratedMatrix<Scalar, Space> circuit<Scalar, Space>(const Space&, std::int64_t, \
                                                                 const CircuitOptions&);
PREKOND_INSTANTIATE(PREKOND_CIRCUIT)

}  // namespace prekond::generators
