// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pattern/partition/coarsen.hpp"
#include <prekond/core/impl/list_rows.hpp>
#include "matrix/counter_hash.hpp"

#include "core/instantiate.hpp"
#include "core/row_teams.hpp"
#include "pattern/sorted_rows.hpp"

namespace prekond::impl::partition {
namespace {

template <class Space>
using Rows = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

/// A vertex with the largest hash of its neighbourhood points at itself; no pointers make a circle.
template <class Space>
struct PointAtLargest {
  using Teams = RowTeams<Space>;
  CsrGraphView<Space> graph;
  std::uint64_t level;
  VectorView<int, Space> pointer;

  KOKKOS_FUNCTION std::uint64_t key(std::int64_t v) const {
    const auto number = static_cast<std::uint64_t>(v);
    return sort_key(counter_hash(level, number) >> 32, number);
  }
  KOKKOS_FUNCTION void operator()(const typename Teams::Member& team) const {
    Teams{graph.num_rows}.for_each_row(team, [&](std::int64_t v) {
      const std::size_t begin = graph.row_ptrs(v);
      std::uint64_t most = 0;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, static_cast<int>(graph.row_ptrs(v + 1) - begin)),
          [&](int k, std::uint64_t& sofar) {
            const std::uint64_t other = key(graph.col_idxs(begin + static_cast<std::size_t>(k)));
            if (other > sofar) sofar = other;
          },
          Kokkos::Max<std::uint64_t>(most));
      if (key(v) > most) most = key(v);
      Kokkos::single(Kokkos::PerThread(team), [&] { pointer(v) = static_cast<int>(most & 0xffffffffu); });
    });
  }
};

template <class Space>
struct IsRoot {
  VectorView<const int, Space> pointer;
  KOKKOS_FUNCTION bool operator()(std::int64_t v) const { return pointer(v) == v; }
};

template <class Space>
struct NumberRoots {
  VectorView<const int, Space> roots;
  VectorView<int, Space> number;
  KOKKOS_FUNCTION void operator()(std::int64_t c) const { number(roots(c)) = static_cast<int>(c); }
};

/// Follows the pointers to the root.
template <class Space>
struct JoinRoots {
  VectorView<const int, Space> pointer, number, weight;
  VectorView<int, Space> vertex, coarse_weight;
  VectorView<std::uint64_t, Space> keys;

  KOKKOS_FUNCTION void operator()(std::int64_t v) const {
    int root = pointer(v);
    while (pointer(root) != root) root = pointer(root);
    vertex(v) = number(root);
    keys(v) = sort_key(static_cast<std::uint64_t>(number(root)), static_cast<std::uint64_t>(v));
    Kokkos::atomic_add(&coarse_weight(number(root)), weight(v));
  }
};

/// The edges that leave the vertices' sets, the vertices one set after another: counts them, or writes them
/// where there are row pointers.
template <class Space>
struct LeavingEdges {
  using Teams = RowTeams<Space>;
  CsrGraphView<Space> graph;
  VectorView<const int, Space> order, vertex;
  VectorView<int, Space> length;
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<int, Space> col_idxs;

  KOKKOS_FUNCTION void operator()(const typename Teams::Member& team) const {
    Teams{graph.num_rows}.for_each_row(team, [&](std::int64_t q) {
      const int v = order(q), own = vertex(v);
      const std::size_t begin = graph.row_ptrs(v);
      const auto entries = static_cast<int>(graph.row_ptrs(v + 1) - begin);
      const auto end_of = [&](int k) { return vertex(graph.col_idxs(begin + static_cast<std::size_t>(k))); };
      if (row_ptrs.extent(0) == 0) {
        int count = 0;
        Kokkos::parallel_reduce(
            Kokkos::ThreadVectorRange(team, entries), [&](int k, int& sum) { sum += end_of(k) != own; },
            count);
        Kokkos::single(Kokkos::PerThread(team), [&] { length(q) = count; });
        return;
      }
      Kokkos::parallel_scan(Kokkos::ThreadVectorRange(team, entries), [&](int k, int& place, bool final) {
        const int other = end_of(k);
        if (other == own) return;
        if (final) col_idxs(row_ptrs(q) + static_cast<std::size_t>(place)) = other;
        ++place;
      });
    });
  }
};

/// Row pointers of the sets from those of their vertices.
template <class Space>
struct BeginSets {
  VectorView<const int, Space> order, vertex;
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<std::size_t, Space> coarse_ptrs;

  KOKKOS_FUNCTION void operator()(std::int64_t q) const {
    const auto n = static_cast<std::int64_t>(order.extent(0));
    if (q == n)
      coarse_ptrs(coarse_ptrs.extent(0) - 1) = row_ptrs(n);
    else if (q == 0 || vertex(order(q)) != vertex(order(q - 1)))
      coarse_ptrs(vertex(order(q))) = row_ptrs(q);
  }
};

template <class Space>
CsrGraph<Space> coarse_graph(const Space& space, const CsrGraphView<Space>& fine, std::int64_t count,
                             const Vector<int, Space>& vertex, const Vector<int, Space>& order) {
  const std::int64_t n = fine.num_rows;
  const auto length = allocate<Vector<int, Space>>(space, "prekond::partition::coarsen::length", n);
  const auto policy = RowTeams<Space>::policy(space, n, fine.nnz());
  LeavingEdges<Space> edges{fine, order, vertex, length, {}, {}};
  Kokkos::parallel_for("prekond::partition::coarsen::count", policy, edges);
  const auto [row_ptrs, nnz] =
      scan_row_lengths(space, "prekond::partition::coarsen", n, VectorView<const int, Space>(length));
  CsrGraph<Space> result{
      count, count,
      allocate<Vector<std::size_t, Space>>(space, "prekond::partition::coarsen::ptrs", count + 1),
      allocate<Vector<int, Space>>(space, "prekond::partition::coarsen::col_idxs", nnz)};
  edges.row_ptrs = row_ptrs;
  edges.col_idxs = result.col_idxs;
  Kokkos::parallel_for("prekond::partition::coarsen::write", policy, edges);
  Kokkos::parallel_for("prekond::partition::coarsen::begin_sets", Rows<Space>(space, 0, n + 1),
                       BeginSets<Space>{order, vertex, row_ptrs, result.row_ptrs});
  space.fence("prekond::partition::coarsen::wrote");  // the lists go away
  return result;
}

}  // namespace

template <class Space>
Coarsened<Space> coarsen(const Space& space, const WeightedGraph<Space>& fine, int level) {
  const std::int64_t n = fine.size();
  const auto ints = [&](const char* label) { return allocate<Vector<int, Space>>(space, label, n); };
  const auto pointer = ints("prekond::partition::coarsen::pointer");
  Kokkos::parallel_for("prekond::partition::coarsen::point",
                       RowTeams<Space>::policy(space, n, fine.graph.nnz()),
                       PointAtLargest<Space>{fine.graph, static_cast<std::uint64_t>(level), pointer});
  const auto roots = list_rows(space, "prekond::partition::coarsen::roots", n, IsRoot<Space>{pointer});
  const auto count = static_cast<std::int64_t>(roots.extent(0));
  const auto number = ints("prekond::partition::coarsen::number");
  Kokkos::parallel_for("prekond::partition::coarsen::number_roots", Rows<Space>(space, 0, count),
                       NumberRoots<Space>{roots, number});
  Coarsened<Space> result;
  result.vertex = ints("prekond::partition::coarsen::vertex");
  result.graph.weight =
      allocate_zero<Vector<int, Space>>(space, "prekond::partition::coarsen::weight", count);
  const auto keys = allocate<Vector<std::uint64_t, Space>>(space, "prekond::partition::coarsen::keys", n);
  Kokkos::parallel_for(
      "prekond::partition::coarsen::join", Rows<Space>(space, 0, n),
      JoinRoots<Space>{pointer, number, fine.weight, result.vertex, result.graph.weight, keys});
  result.graph.graph = result.graph.owned =
      coarse_graph<Space>(space, fine.graph, count, result.vertex, sorted_rows<Space>(space, keys));
  return result;
}

#define PREKOND_COARSEN(Space) \
  template Coarsened<Space> coarsen<Space>(const Space&, const WeightedGraph<Space>&, int);
PREKOND_INSTANTIATE_SPACES(PREKOND_COARSEN)

}  // namespace prekond::impl::partition
