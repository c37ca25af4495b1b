// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Two colours, where they do: parities by joining components.
#include <prekond/matrix/csr_graph.hpp>

#include "core/concurrent_words.hpp"
#include "core/row_teams.hpp"

namespace prekond::impl::coloring {

/// A row's link is 2 p + q: it hangs on row p <= it at a distance of parity q. A root hangs on itself.
struct Link {
  KOKKOS_FORCEINLINE_FUNCTION static unsigned root(unsigned row) { return 2 * row; }
  KOKKOS_FORCEINLINE_FUNCTION static unsigned row(unsigned link) { return link >> 1; }
  KOKKOS_FORCEINLINE_FUNCTION static unsigned parity(unsigned link) { return link & 1u; }
};

/// The findings of the edges: those of equal parities in one component, of two components.
struct EdgesFound {
  int conflicts;
  int joins;
};

/// Hangs each component's root on the smallest root that an edge leads to. \pre links are to roots
template <class Space>
struct JoinComponents {
  using Rows = RowTeams<Space>;
  CsrGraphView<Space> s;
  VectorView<const unsigned, Space> links;
  VectorView<unsigned, Space> joined;  ///< begins as `links`
  VectorView<EdgesFound, Space> found;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{s.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const std::size_t begin = s.row_ptrs(i);
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, static_cast<int>(s.row_ptrs(i + 1) - begin)),
                           [&](int k) {
                             const int j = s.col_idxs(begin + k);
                             if (j < i) join(links(i), links(j));
                           });
    });
  }

  KOKKOS_FUNCTION void join(unsigned a, unsigned b) const {
    const unsigned u = Link::row(a), v = Link::row(b), parity = Link::parity(a) ^ Link::parity(b) ^ 1u;
    if (u == v) {
      if (parity == 1u) raise_flag(found(0).conflicts, 1);
      return;
    }
    raise_flag(found(0).joins, 1);
    Kokkos::atomic_min(&joined(u < v ? v : u), Link::root(u < v ? u : v) | parity);
  }
};

/// One step of pointer jumping; counts the rows that do not hang on a root yet.
template <class Space>
struct JumpLinks {
  VectorView<const unsigned, Space> from;
  VectorView<unsigned, Space> to;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& unfinished) const {
    const unsigned link = from(i), above = from(Link::row(link));
    const unsigned next = Link::root(Link::row(above)) | (Link::parity(link) ^ Link::parity(above));
    to(i) = next;
    if (Link::row(next) != Link::row(link)) ++unfinished;
  }
};

template <class Space>
struct MakeRoots {
  VectorView<unsigned, Space> links;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { links(i) = Link::root(static_cast<unsigned>(i)); }
};

template <class Space>
struct ColorsOfLinks {
  VectorView<const unsigned, Space> links;
  VectorView<int, Space> colors;
  KOKKOS_FUNCTION void operator()(std::int64_t i, int& most) const {
    colors(i) = static_cast<int>(Link::parity(links(i)));
    if (colors(i) > most) most = colors(i);
  }
};

/// A graph of which each round joins few components may have more; then it is left to the greedy colouring.
inline constexpr int max_joins = 64;

/// Colours of a symmetric graph by parity. \returns their number, 0 where two do not do (or it takes too long
/// to find out). Fences.
template <class Space>
int color_by_parity(const Space& space, const CsrGraphView<Space>& s, const Vector<int, Space>& colors) {
  const std::int64_t n = s.num_rows;
  const Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>> rows(space, 0, n);
  auto links = allocate<Vector<unsigned, Space>>(space, "prekond::coloring::links", n);
  auto joined = allocate<Vector<unsigned, Space>>(space, "prekond::coloring::joined", n);
  const auto found = allocate_zero<Vector<EdgesFound, Space>>(space, "prekond::coloring::edges_found", 1);
  Kokkos::parallel_for("prekond::coloring::make_roots", rows, MakeRoots<Space>{links});
  for (int round = 0; round < max_joins; ++round) {
    Kokkos::deep_copy(space, joined, links);
    Kokkos::deep_copy(space, found, EdgesFound{0, 0});
    Kokkos::parallel_for("prekond::coloring::join", RowTeams<Space>::policy(space, n, s.nnz()),
                         JoinComponents<Space>{s, links, joined, found});
    EdgesFound seen{};
    Kokkos::deep_copy(space, Kokkos::View<EdgesFound, Kokkos::HostSpace>(&seen), Kokkos::subview(found, 0));
    space.fence("prekond::coloring::joined");
    if (seen.conflicts) return 0;
    if (!seen.joins) {
      int most = 0;
      Kokkos::parallel_reduce("prekond::coloring::colors_of_links", rows, ColorsOfLinks<Space>{links, colors},
                              Kokkos::Max<int>(most));
      return most + 1;
    }
    std::int64_t unfinished = 1;
    while (unfinished > 0) {
      Kokkos::parallel_reduce("prekond::coloring::jump", rows, JumpLinks<Space>{joined, links}, unfinished);
      std::swap(links, joined);
    }
    std::swap(links, joined);
  }
  return 0;
}

}  // namespace prekond::impl::coloring
