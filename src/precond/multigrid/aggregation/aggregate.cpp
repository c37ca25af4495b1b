// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/multigrid/aggregation/aggregate.hpp"
#include <prekond/core/impl/list_rows.hpp>

#include "core/instantiate.hpp"
#include "precond/multigrid/aggregation/independent_set.hpp"
#include "precond/multigrid/aggregation/join.hpp"

#include <string>

namespace prekond {
namespace impl::aggregation {

using coarsening::NumberListed;

template <class Space>
Vector<int, Space> no_parts(const Space& space, const char* label, std::int64_t n) {
  const auto part = allocate<Vector<int, Space>>(space, label, n);
  Kokkos::deep_copy(space, part, -1);
  return part;
}

template <class Space>
struct IsInSet {
  VectorView<const Word, Space> words;
  KOKKOS_FUNCTION bool operator()(int v) const { return words(v) == in_set; }
};

/// Numbers aggregates, which have the numbers of their roots, as 0, 1, ...
template <class Space>
void number_in_order(const Space& space, Aggregates<Space>& result) {
  const auto n = static_cast<std::int64_t>(result.part.extent(0));
  const auto number = allocate<Vector<int, Space>>(space, "prekond::aggregate::number", n);
  result.roots = list_rows(space, "prekond::aggregate::roots", n, IsRoot<Space>{result.part});
  result.count = static_cast<std::int64_t>(result.roots.extent(0));
  Kokkos::parallel_for("prekond::aggregate::number_roots", Range<Space>(space, 0, result.count),
                       NumberListed<Space>{result.roots, number});
  Kokkos::parallel_for("prekond::aggregate::renumber", Range<Space>(space, 0, n),
                       Renumber<Space>{number, result.part});
  space.fence("prekond::aggregate::numbered");  // the numbers go away
}

}  // namespace impl::aggregation

template <class Space>
Vector<int, Space> maximal_independent_set2(const Space& space,
                                            const std::type_identity_t<CsrGraphView<Space>>& graph) {
  using namespace impl::aggregation;
  const std::int64_t n = graph.num_rows;
  if (n == 0) return allocate<Vector<int, Space>>(space, "prekond::maximal_independent_set2::set", 0);
  IndependentSet<Space> set(space, graph);
  set.find(space, no_parts(space, "prekond::maximal_independent_set2::no_parts", n));
  const auto list =
      impl::list_rows(space, "prekond::maximal_independent_set2::set", n, IsInSet<Space>{set.words()});
  space.fence("prekond::maximal_independent_set2::listed");  // the words go away
  return list;
}

template <class Space>
Aggregates<Space> aggregate(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& graph) {
  using namespace impl::aggregation;
  const std::int64_t n = graph.num_rows;
  Aggregates<Space> result;
  result.part = no_parts(space, "prekond::aggregate::part", n);
  result.roots = allocate<Vector<int, Space>>(space, "prekond::aggregate::roots", 0);
  if (n == 0) return result;
  const auto size = allocate<Vector<int, Space>>(space, "prekond::aggregate::size", n);
  {
    IndependentSet<Space> set(space, graph);
    const auto rows = impl::RowTeams<Space>::policy(space, n, graph.nnz());
    result.rounds = set.find(space, result.part);
    Kokkos::parallel_for("prekond::aggregate::form", rows,
                         FormAggregates<Space>{graph, set.words(), result.part, size});
    space.fence("prekond::aggregate::formed");  // the words go away
  }
  join_neighbours<Space>(space, graph, size, result.part);
  number_in_order(space, result);
  return result;
}

#define PREKOND_AGGREGATE(Space)                                                                         \
  template Vector<int, Space> maximal_independent_set2<Space>(const Space&, const CsrGraphView<Space>&); \
  template Aggregates<Space> aggregate<Space>(const Space&, const CsrGraphView<Space>&);
PREKOND_INSTANTIATE_SPACES(PREKOND_AGGREGATE)

}  // namespace prekond
