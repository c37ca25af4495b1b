// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Aggregates about roots, and the vertices that join them. An aggregate has the number of its root until all
/// are known.
#include <prekond/matrix/sort_rows.hpp>

#include "precond/multigrid/aggregation/independent_set.hpp"

namespace prekond::impl::aggregation {

/// Each vertex of the independent set that has neighbours makes an aggregate of itself and them. No vertex is
/// a neighbour of two, so that none is written twice.
template <class Space>
struct FormAggregates {
  using Rows = RowTeams<Space>;
  CsrGraphView<Space> graph;
  VectorView<const Word, Space> words;
  VectorView<int, Space> part;
  VectorView<int, Space> size;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{graph.num_rows}.for_each_row(team, [&](std::int64_t i) {
      if (words(i) == in_set) form(team, static_cast<int>(i));
    });
  }
  KOKKOS_FUNCTION void form(const typename Rows::Member& team, int root) const {
    const std::size_t begin = graph.row_ptrs(root);
    const auto length = static_cast<int>(graph.row_ptrs(root + 1) - begin);
    int neighbours = 0;
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(team, length),
        [&](int k, int& sum) { sum += is_free(root, graph.col_idxs(begin + k)); }, neighbours);
    if (neighbours == 0) return;
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, length), [&](int k) {
      const int w = graph.col_idxs(begin + k);
      if (is_free(root, w)) part(w) = root;
    });
    Kokkos::single(Kokkos::PerThread(team), [&] {
      part(root) = root;
      size(root) = neighbours + 1;
    });
  }
  KOKKOS_FORCEINLINE_FUNCTION bool is_free(int root, int w) const {
    return w != root && w < graph.num_rows && part(w) < 0;
  }
};

template <class Space>
struct LengthOfListed {
  CsrGraphView<Space> graph;
  VectorView<const int, Space> list;
  KOKKOS_FUNCTION std::size_t operator()(std::int64_t i) const {
    return graph.row_ptrs(list(i) + 1) - graph.row_ptrs(list(i));
  }
};

/// The aggregates of a free vertex's neighbours, -1 of those that are in none.
template <class Space>
struct CopyParts {
  using Rows = RowTeams<Space>;
  CsrGraphView<Space> graph;
  VectorView<const int, Space> part;
  VectorView<const int, Space> list;
  std::int64_t size;
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<int, Space> parts;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{size}.for_each_row(team, [&](std::int64_t i) {
      const std::size_t begin = graph.row_ptrs(list(i)), to = row_ptrs(i);
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, static_cast<int>(row_ptrs(i + 1) - to)),
                           [&](int k) {
                             const int w = graph.col_idxs(begin + k);
                             parts(to + k) = w < graph.num_rows ? part(w) : -1;
                           });
    });
  }
};

/// A free vertex joins the aggregate that is most often among its neighbours': rows are sorted, so that an
/// aggregate's places are side by side.
template <class Space>
struct Join {
  using Rows = RowTeams<Space>;
  CsrGraphView<Space> parts;
  VectorView<const int, Space> size;
  VectorView<const int, Space> list;
  VectorView<int, Space> part;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{parts.num_rows}.for_each_row(team, [&](std::int64_t i) { join(team, i); });
  }
  KOKKOS_FUNCTION void join(const typename Rows::Member& team, std::int64_t i) const {
    const std::size_t begin = parts.first_from(i, 0);
    const auto length = static_cast<int>(parts.row_ptrs(i + 1) - begin);
    if (length == 0) return;
    int most = 0;
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(team, length),
        [&](int k, int& sofar) {
          const int here = places(i, begin, k);
          if (here > sofar) sofar = here;
        },
        Kokkos::Max<int>(most));
    Word best = 0;
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(team, length),
        [&](int k, Word& sofar) {
          if (places(i, begin, k) < most) return;
          const int root = parts.col_idxs(begin + k);
          const Word mine = static_cast<Word>(size(root)) << 32 | static_cast<Word>(root);
          if (mine < sofar) sofar = mine;
        },
        Kokkos::Min<Word>(best));
    Kokkos::single(Kokkos::PerThread(team), [&] { part(list(i)) = static_cast<int>(best & 0xffffffffu); });
  }
  /// How often the aggregate at place k is there from k on: at the first of its places, all of them.
  KOKKOS_FUNCTION int places(std::int64_t i, std::size_t begin, int k) const {
    const int root = parts.col_idxs(begin + k);
    return static_cast<int>(parts.first_from(i, std::int64_t(root) + 1) - begin) - k;
  }
};

/// Phase 2 of `aggregate`.
template <class Space>
void join_neighbours(const Space& space, const CsrGraphView<Space>& graph,
                     const VectorView<const int, Space>& size, const Vector<int, Space>& part) {
  const auto list = allocate<Vector<int, Space>>(space, "prekond::aggregate::free", graph.num_rows);
  const int free = coarsening::list_vertices<Space>(space, "prekond::aggregate::list_free", graph.num_rows,
                                                    coarsening::IsNegative<Space>{part}, list);
  if (free == 0) return;
  const auto [row_ptrs, entries] =
      scan_row_lengths(space, "prekond::aggregate", free, LengthOfListed<Space>{graph, list});
  const auto parts = allocate<Vector<int, Space>>(space, "prekond::aggregate::parts", entries);
  const auto rows = RowTeams<Space>::policy(space, free, static_cast<std::int64_t>(entries));
  Kokkos::parallel_for("prekond::aggregate::copy_parts", rows,
                       CopyParts<Space>{graph, part, list, free, row_ptrs, parts});
  sort_columns<Space>(space, free, row_ptrs, parts);
  const CsrGraph<Space> sorted{free, graph.num_rows, row_ptrs, parts};
  Kokkos::parallel_for("prekond::aggregate::join", rows, Join<Space>{sorted, size, list, part});
  space.fence("prekond::aggregate::joined");  // the lists go away
}

/// The vertices that have the number of their own aggregate.
template <class Space>
struct IsRoot {
  VectorView<const int, Space> part;
  KOKKOS_FUNCTION bool operator()(int v) const { return part(v) == v; }
};

template <class Space>
struct Renumber {
  VectorView<const int, Space> number;
  VectorView<int, Space> part;

  KOKKOS_FUNCTION void operator()(std::int64_t v) const {
    if (part(v) >= 0) part(v) = number(part(v));
  }
};

}  // namespace prekond::impl::aggregation
