// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/multigrid/pmis.hpp"
#include <prekond/core/impl/list_rows.hpp>
#include <prekond/pattern/impl/symmetrize.hpp>
#include <prekond/pattern/impl/threshold.hpp>
#include <prekond/sparse_product/spgemm.hpp>
#include "matrix/counter_hash.hpp"
#include "matrix/filter_entries.hpp"

#include "core/instantiate.hpp"
#include "core/row_teams.hpp"
#include "precond/multigrid/renumber_columns.hpp"
#include "precond/multigrid/vertex_lists.hpp"

namespace prekond {
namespace impl::coarsening {

/// Number of influenced vertices in the high half, the hash in the low one.
using Measure = std::uint64_t;
inline constexpr int undecided = -3;  ///< besides the numbers of CoarseFine; a coarse vertex has 0

template <class Space>
struct CountInfluenced {
  using Rows = RowTeams<Space>;
  CsrGraphView<Space> strong;
  VectorView<int, Space> influenced;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{strong.num_rows}.for_each_row(team, [&](std::int64_t i) {
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, strong.row_ptrs(i), strong.row_ptrs(i + 1)),
                           [&](std::size_t k) {
                             const int j = strong.col_idxs(k);
                             if (j != i && j < strong.num_rows) Kokkos::atomic_inc(&influenced(j));
                           });
    });
  }
};

/// The graph and the vertices' states, which the rounds read and write.
template <class Space>
struct Vertices {
  CsrGraphView<Space> strong;
  CsrGraphView<Space> edges;  ///< in either direction
  VectorView<Measure, Space> measure;
  VectorView<int, Space> state;
  VectorView<int, Space> chosen;  ///< 1: has become coarse

  KOKKOS_FUNCTION bool is_before(int v, int w) const {
    return measure(v) != measure(w) ? measure(v) > measure(w) : v > w;
  }
};

template <class Space>
struct BeginRounds {
  Vertices<Space> vertices;
  VectorView<const int, Space> influenced;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const CsrGraphView<Space>& edges = vertices.edges;
    const std::size_t begin = edges.row_ptrs(i), length = edges.row_ptrs(i + 1) - begin;
    const bool is_alone = length == 0 || (length == 1 && edges.col_idxs(begin) == i);
    const auto v = static_cast<std::uint64_t>(i);
    vertices.measure(i) = static_cast<Measure>(influenced(i)) << 32 | counter_hash(0, v) >> 32;
    vertices.chosen(i) = 0;
    vertices.state(i) = is_alone             ? CoarseFine<Space>::unconnected
                        : influenced(i) == 0 ? CoarseFine<Space>::fine
                                             : undecided;
  }
};

/// Chooses the undecided vertices that are before all undecided ones that they have an edge with.
template <class Space>
struct Choose {
  Vertices<Space> vertices;
  VertexTeams<Space> teams;

  KOKKOS_FUNCTION void operator()(const typename VertexTeams<Space>::Member& team) const {
    teams.for_each_vertex(team, [&](int v) {
      const CsrGraphView<Space>& edges = vertices.edges;
      int before = 0;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, edges.row_ptrs(v), edges.row_ptrs(v + 1)),
          [&](std::size_t k, int& sum) {
            const int w = edges.col_idxs(k);
            sum += w != v && vertices.state(w) == undecided && vertices.is_before(w, v);
          },
          before);
      Kokkos::single(Kokkos::PerThread(team), [&] { vertices.chosen(v) = before == 0; });
    });
  }
};

/// Makes the chosen vertices coarse, and the undecided ones that one of them influences fine.
template <class Space>
struct Settle {
  Vertices<Space> vertices;
  VertexTeams<Space> teams;

  KOKKOS_FUNCTION void operator()(const typename VertexTeams<Space>::Member& team) const {
    teams.for_each_vertex(team, [&](int v) {
      const CsrGraphView<Space>& strong = vertices.strong;
      int coarse = 0;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, strong.row_ptrs(v), strong.row_ptrs(v + 1)),
          [&](std::size_t k, int& sum) {
            const int w = strong.col_idxs(k);
            if (w != v && w < strong.num_rows) sum += vertices.chosen(w);
          },
          coarse);
      Kokkos::single(Kokkos::PerThread(team), [&] {
        if (vertices.chosen(v) == 1)
          vertices.state(v) = 0;
        else if (coarse > 0)
          vertices.state(v) = CoarseFine<Space>::fine;
      });
    });
  }
};

template <class Space>
struct IsUndecided {
  VectorView<const int, Space> state;
  KOKKOS_FUNCTION bool operator()(int v) const { return state(v) == undecided; }
};

template <class Space>
struct IsCoarse {
  VectorView<const int, Space> number;
  KOKKOS_FUNCTION bool operator()(int v) const { return number(v) >= 0; }
};

/// Gives coarse vertices their numbers. \pre `result.number` is 0 or more for them, and for no others
template <class Space>
void number_coarse(const Space& space, CoarseFine<Space>& result) {
  const auto n = static_cast<std::int64_t>(result.number.extent(0));
  result.coarse = list_rows(space, "prekond::pmis::coarse", n, IsCoarse<Space>{result.number});
  result.count = static_cast<std::int64_t>(result.coarse.extent(0));
  Kokkos::parallel_for("prekond::pmis::number", Range<Space>(space, 0, result.count),
                       NumberListed<Space>{result.coarse, result.number});
}

template <class Space>
int run_rounds(const Space& space, const Vertices<Space>& vertices) {
  const std::int64_t n = vertices.strong.num_rows;
  Vector<int, Space> lists[2];
  for (auto& list : lists) list = allocate<Vector<int, Space>>(space, "prekond::pmis::undecided", n);
  std::int64_t size = n;
  for (int round = 0;; ++round) {
    const VectorView<const int, Space> before =
        round > 0 ? VectorView<const int, Space>(lists[(round + 1) % 2]) : VectorView<const int, Space>();
    size = list_vertices<Space>(space, "prekond::pmis::list_undecided", size,
                                IsUndecided<Space>{vertices.state}, lists[round % 2], before);
    if (size == 0) return round;
    using Teams = VertexTeams<Space>;
    const Teams teams{lists[round % 2], size};
    Kokkos::parallel_for("prekond::pmis::choose", Teams::policy(space, size, vertices.edges),
                         Choose<Space>{vertices, teams});
    Kokkos::parallel_for("prekond::pmis::settle", Teams::policy(space, size, vertices.strong),
                         Settle<Space>{vertices, teams});
  }
}

/// The edges from coarse vertices.
template <class Space>
struct LengthOfCoarse {
  CsrGraphView<Space> graph;
  VectorView<const int, Space> coarse;
  KOKKOS_FUNCTION std::size_t operator()(std::int64_t i) const {
    return graph.row_ptrs(coarse(i) + 1) - graph.row_ptrs(coarse(i));
  }
};

template <class Space>
struct CopyCoarse {
  using Rows = RowTeams<Space>;
  CsrGraphView<Space> graph;
  VectorView<const int, Space> coarse;
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<int, Space> col_idxs;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{static_cast<std::int64_t>(coarse.extent(0))}.for_each_row(team, [&](std::int64_t i) {
      const std::size_t from = graph.row_ptrs(coarse(i)), to = row_ptrs(i);
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, static_cast<int>(row_ptrs(i + 1) - to)),
                           [&](int k) { col_idxs(to + k) = graph.col_idxs(from + k); });
    });
  }
};

template <class Space>
CsrGraph<Space> coarse_rows(const Space& space, const CsrGraph<Space>& graph,
                            const Vector<int, Space>& coarse) {
  const auto count = static_cast<std::int64_t>(coarse.extent(0));
  const auto [row_ptrs, nnz] =
      scan_row_lengths(space, "prekond::pmis::coarse_rows", count, LengthOfCoarse<Space>{graph, coarse});
  const auto col_idxs = allocate<Vector<int, Space>>(space, "prekond::pmis::coarse_rows::col_idxs", nnz);
  Kokkos::parallel_for("prekond::pmis::copy_coarse",
                       RowTeams<Space>::policy(space, count, static_cast<std::int64_t>(nnz)),
                       CopyCoarse<Space>{graph, coarse, row_ptrs, col_idxs});
  return {count, graph.num_cols, row_ptrs, col_idxs};
}

/// The edges to coarse vertices.
template <class Space>
struct IsToCoarse {
  CsrGraphView<Space> graph;
  VectorView<const int, Space> number;
  KOKKOS_FUNCTION bool operator()(std::int64_t, std::size_t k) const {
    return number(graph.col_idxs(k)) >= 0;
  }
};

template <class Space>
CsrGraph<Space> coarse_columns(const Space& space, const CsrGraph<Space>& graph,
                               const CoarseFine<Space>& points) {
  const CsrView<double, Space> pattern(graph.num_rows, graph.num_cols, graph.row_ptrs, graph.col_idxs, {});
  CsrGraph<Space> result =
      filter_pattern<double, Space>(space, pattern, IsToCoarse<Space>{graph, points.number});
  impl::renumber_columns<Space>(space, points.number, points.count, result);
  return result;
}

/// Vertices that are coarse in `first` and in the graph of those.
template <class Space>
struct CoarseTwice {
  VectorView<const int, Space> coarse;  ///< of `first`
  VectorView<const int, Space> again;
  VectorView<int, Space> number;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    number(coarse(i)) = again(i) == CoarseFine<Space>::fine ? CoarseFine<Space>::fine : 0;
  }
};

}  // namespace impl::coarsening

template <class Space>
CoarseFine<Space> pmis(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& strong) {
  using namespace impl::coarsening;
  const std::int64_t n = strong.num_rows;
  CoarseFine<Space> result;
  result.number = allocate<Vector<int, Space>>(space, "prekond::pmis::number", n);
  result.coarse = allocate<Vector<int, Space>>(space, "prekond::pmis::coarse", 0);
  if (n == 0) return result;
  const CsrGraph<Space> edges = symmetrize<Space>(space, strong);
  const auto influenced = allocate_zero<Vector<int, Space>>(space, "prekond::pmis::influenced", n);
  Kokkos::parallel_for("prekond::pmis::count_influenced",
                       impl::RowTeams<Space>::policy(space, n, strong.nnz()),
                       CountInfluenced<Space>{strong, influenced});
  const auto measure = allocate<Vector<Measure, Space>>(space, "prekond::pmis::measure", n);
  const auto chosen = allocate<Vector<int, Space>>(space, "prekond::pmis::chosen", n);
  const Vertices<Space> vertices{strong, edges, measure, result.number, chosen};
  Kokkos::parallel_for("prekond::pmis::begin", Range<Space>(space, 0, n),
                       BeginRounds<Space>{vertices, influenced});
  result.rounds = run_rounds(space, vertices);
  number_coarse(space, result);
  return result;
}

template <class Space>
CoarseFine<Space> pmis_of_coarse(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& strong,
                                 const CoarseFine<Space>& first, std::int64_t max_bytes,
                                 std::int64_t slab_bytes) {
  using namespace impl::coarsening;
  const CsrGraph<Space> steps = with_diagonal<Space>(space, strong);  // one edge, or none
  const CsrGraph<Space> near =
      product_pattern<Space>(space, coarse_rows(space, steps, first.coarse),
                             coarse_columns(space, steps, first), max_bytes, slab_bytes);
  const CoarseFine<Space> again = pmis<Space>(space, near);
  CoarseFine<Space> result;
  result.rounds = again.rounds;
  result.number = allocate<Vector<int, Space>>(space, "prekond::pmis::number", first.number.extent(0));
  Kokkos::deep_copy(space, result.number, first.number);
  Kokkos::parallel_for("prekond::pmis::coarse_twice", Range<Space>(space, 0, first.count),
                       CoarseTwice<Space>{first.coarse, again.number, result.number});
  number_coarse(space, result);
  return result;
}

#define PREKOND_PMIS(Space)                                                                  \
  template CoarseFine<Space> pmis<Space>(const Space&, const CsrGraphView<Space>&);          \
  template CoarseFine<Space> pmis_of_coarse<Space>(const Space&, const CsrGraphView<Space>&, \
                                                   const CoarseFine<Space>&, std::int64_t, std::int64_t);
PREKOND_INSTANTIATE_SPACES(PREKOND_PMIS)

}  // namespace prekond
