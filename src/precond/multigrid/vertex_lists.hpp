// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Lists of a graph's vertices, which the rounds of independent sets shorten, and the work on their rows.
#include <prekond/matrix/csr_graph.hpp>

#include "core/row_teams.hpp"

#include <cstdint>

namespace prekond::impl::coarsening {

template <class Space>
using Range = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

/// Calls a step for each vertex of a list; a lane group works on the vertex's row.
template <class Space>
struct VertexTeams {
  using Rows = RowTeams<Space>;
  using Member = typename Rows::Member;
  VectorView<const int, Space> list;
  std::int64_t size;

  static typename Rows::Policy policy(const Space& space, std::int64_t size,
                                      const CsrGraphView<Space>& graph) {
    const std::int64_t mean = graph.nnz() / graph.num_rows + 1;
    return Rows::policy(space, size, size * mean);
  }
  template <class Step>
  KOKKOS_FUNCTION void for_each_vertex(const Member& team, const Step& step) const {
    Rows{size}.for_each_row(team, [&](std::int64_t i) { step(list(i)); });
  }
};

/// The scan that lists the vertices v with is_listed(v), of `before` or, where that is empty, of all.
template <class Space, class Predicate>
struct ListVertices {
  using value_type = int;
  Predicate is_listed;
  VectorView<const int, Space> before;
  VectorView<int, Space> list;

  KOKKOS_FUNCTION void operator()(std::int64_t i, int& count, bool final) const {
    const int v = before.extent(0) > 0 ? before(i) : static_cast<int>(i);
    if (!is_listed(v)) return;
    if (final) list(count) = v;
    ++count;
  }
};

/// Lists the vertices that a predicate holds for, in the order of `before`, the first `size` of which are
/// looked at, or of all `size` vertices where it is empty. \returns how many there are. Fences.
template <class Space, class Predicate>
int list_vertices(const Space& space, const char* label, std::int64_t size, const Predicate& is_listed,
                  const VectorView<int, Space>& list, const VectorView<const int, Space>& before = {}) {
  int count = 0;
  Kokkos::parallel_scan(label, Range<Space>(space, 0, size),
                        ListVertices<Space, Predicate>{is_listed, before, list}, count);
  return count;
}

/// number(list(k)) = k
template <class Space>
struct NumberListed {
  VectorView<const int, Space> list;
  VectorView<int, Space> number;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const { number(list(k)) = static_cast<int>(k); }
};

template <class Space>
struct IsNegative {
  VectorView<const int, Space> number;
  KOKKOS_FUNCTION bool operator()(int v) const { return number(v) < 0; }
};

}  // namespace prekond::impl::coarsening
