// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/multigrid/over_ranks/tentative.hpp"

#include <prekond/distributed/row_exchange.hpp>

#include "core/instantiate.hpp"
#include "precond/multigrid/node_patterns.hpp"
#include "sparse_product/transpose_graph.hpp"

namespace prekond::impl::amg {
namespace {

using distributed::FindNumber;
using distributed::new_numbers;
using distributed::places_of;
using distributed::united;

/// The place in `list` of the root of each own node's aggregate, -1 of other nodes of S.
template <class Space>
struct PartOfOthers {
  VectorView<const int, Space> own;
  NumbersView<Space> root;
  FindNumber<Space> list;
  VectorView<int, Space> part;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const { part(own(k)) = list(root(k)); }
};

/// The own nodes that are in an own aggregate, by a scan.
template <class Space>
struct TakeMembers {
  NumbersView<Space> numbers;
  VectorView<const int, Space> own;
  NumbersView<Space> root;
  FindNumber<Space> roots;
  VectorView<std::int64_t, Space> result;
  KOKKOS_FUNCTION void operator()(std::int64_t k, std::int64_t& count, bool final) const {
    if (roots(root(k)) < 0) return;
    if (final && result.extent(0) > 0) result(count) = numbers(own(k));
    ++count;
  }
};

template <class Space>
struct PartOfMembers {
  NumbersView<Space> numbers;
  VectorView<const int, Space> own;
  NumbersView<Space> root;
  FindNumber<Space> roots, members;
  VectorView<int, Space> part;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    const int aggregate = roots(root(k));
    if (aggregate >= 0) part(members(numbers(own(k)))) = aggregate;
  }
};

/// The same for members that other ranks gave: given row r belongs to the aggregate with its root in own row
/// own(r).
template <class Space>
struct PartOfGiven {
  VectorView<const int, Space> own;
  VectorView<const std::size_t, Space> row_ptrs;
  NumbersView<Space> col_idxs, row_numbers;
  int unknowns;
  FindNumber<Space> roots, members;
  VectorView<int, Space> part;
  KOKKOS_FUNCTION void operator()(std::int64_t r) const {
    const int aggregate = roots(row_numbers(own(r)) / unknowns);
    for (std::size_t k = row_ptrs(r); k < row_ptrs(r + 1); ++k) part(members(col_idxs(k))) = aggregate;
  }
};

/// Where a member's row is the rank's own: its place in S has the source.
template <class Space>
struct OwnRowOf {
  VectorView<const int, Space> places, sources;
  VectorView<int, Space> own_row;  ///< -1: another rank's
  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    const int source = places(k) >= 0 ? sources(places(k)) : -1;
    own_row(k) = source >= 0 ? source : -1;
  }
};

template <class Space>
struct IsImported {
  VectorView<const int, Space> own_row;
  KOKKOS_FUNCTION bool operator()(std::int64_t k) const { return own_row(k) < 0; }
};

/// The nodes of the rank's aggregates, ascending, and the aggregate of each.
template <class Space>
struct Members {
  Numbers<Space> nodes;
  Vector<int, Space> part;
};

/// Collective.
template <class Scalar, class Space>
Members<Space> find_members(const Space& space, const DistributedMatrix<Scalar, Space>& a,
                            const RankNodes<Scalar, Space>& nodes,
                            const AggregatesOverRanks<Space>& aggregates) {
  const FlatPolicy<Space> own(space, 0, nodes.own.extent(0));
  const Numbers<Space>& foreign = aggregates.other_roots;
  CsrGraph<Space> rows;
  Vector<Scalar, Space> values;
  a.together([&] {
    const auto part = allocate<Vector<int, Space>>(space, "prekond::amg::part", nodes.count());
    Kokkos::deep_copy(space, part, -1);
    Kokkos::parallel_for("prekond::amg::part_of_others", own,
                         PartOfOthers<Space>{nodes.own, aggregates.root, {foreign}, part});
    const auto count = static_cast<std::int64_t>(foreign.extent(0));
    rows = transpose_graph<Space>(space, membership<Space>(space, {count, part, {}}), count);
    values = allocate_zero<Vector<Scalar, Space>>(space, "prekond::amg::members", rows.nnz());
    space.fence("prekond::amg::members");
  });
  const auto numbers = a.global_numbers(space);
  const CsrView<Scalar, Space> given_rows(rows.num_rows, rows.num_cols, rows.row_ptrs, rows.col_idxs, values);
  const auto given = a.make_row_exchange(space, rows_of_nodes<Space>(space, foreign, nodes.unknowns, 1))
                         ->give(space, {given_rows, nodes.numbers});
  Members<Space> result;
  a.together([&] {
    const auto mine = distributed::taken(space, nodes.own.extent(0), [&](const Numbers<Space>& list) {
      return TakeMembers<Space>{nodes.numbers, nodes.own, aggregates.root, {aggregates.roots}, list};
    });
    result.nodes = united<Space>(space, mine, new_numbers<Space>(space, given.rows.col_idxs, {}));
    result.part = allocate<Vector<int, Space>>(space, "prekond::amg::part", result.nodes.extent(0));
    Kokkos::parallel_for(
        "prekond::amg::part_of_members", own,
        PartOfMembers<Space>{
            nodes.numbers, nodes.own, aggregates.root, {aggregates.roots}, {result.nodes}, result.part});
    Kokkos::parallel_for("prekond::amg::part_of_given", FlatPolicy<Space>(space, 0, given.rows.num_rows),
                         PartOfGiven<Space>{given.own,
                                            given.rows.row_ptrs,
                                            given.rows.col_idxs,
                                            numbers,
                                            nodes.unknowns,
                                            {aggregates.roots},
                                            {result.nodes},
                                            result.part});
    space.fence("prekond::amg::members");  // what was given goes away
  });
  return result;
}

}  // namespace

template <class Scalar, class Space>
TentativeOverRanks<Scalar, Space> tentative_over_ranks(
    const Space& space, const DistributedMatrix<Scalar, Space>& a,
    const distributed::Overlap<Scalar, Space>& overlap, const RankNodes<Scalar, Space>& nodes,
    const AggregatesOverRanks<Space>& aggregates,
    const std::type_identity_t<MultiVectorView<const Scalar, Space>>& near) {
  const Members<Space> members = find_members<Scalar, Space>(space, a, nodes, aggregates);
  const int d = nodes.unknowns;
  const std::size_t m = near.extent(1);
  const auto num_rows = static_cast<std::int64_t>(members.nodes.extent(0)) * d;
  const FlatPolicy<Space> all(space, 0, num_rows);
  const auto rows = rows_of_nodes<Space>(space, members.nodes, d, d);
  // Where a member's row is: among the rank's own, or after them among the imported ones.
  const auto place = allocate<Vector<int, Space>>(space, "prekond::amg::place", num_rows);
  Vector<int, Space> imported;
  Numbers<Space> numbers;
  a.together([&] {
    const auto in_s = places_of<Space>(space, rows, overlap.numbers());
    Kokkos::parallel_for("prekond::amg::own_row_of", all, OwnRowOf<Space>{in_s, overlap.sources(), place});
    imported = list_rows(space, "prekond::amg::imported", num_rows, IsImported<Space>{place});
    numbers = listed<std::int64_t, Space>(space, imported, rows);
    space.fence("prekond::amg::member_rows");  // the places go away
  });
  const auto num_own = static_cast<int>(a.num_rows());
  Kokkos::parallel_for(
      "prekond::amg::place", FlatPolicy<Space>(space, 0, imported.extent(0)),
      KOKKOS_LAMBDA(std::int64_t k) { place(imported(k)) = num_own + static_cast<int>(k); });
  const auto brought = a.make_import(space, numbers);
  const auto block = [&](std::int64_t size) {
    return allocate_zero<MultiVector<Scalar, Space>>(space, "prekond::amg::rows_of_members", size, m);
  };
  const MultiVector<Scalar, Space> entries = block(brought->num_cols()), vectors = block(num_rows);
  brought->apply(space, near, entries);
  Kokkos::parallel_for("prekond::amg::take_members", all, TakeRowsAt<Scalar, Space>{place, entries, vectors});

  const auto count = static_cast<std::int64_t>(aggregates.own.extent(0));
  TentativeOverRanks<Scalar, Space> result{block(num_own), block(count * static_cast<std::int64_t>(m))};
  Matrix<Scalar, Space> q;
  a.together([&] {
    if (count == 0) return;
    const Aggregates<Space> own{count, members.part, {}};
    const Tentative<Scalar, Space> found = tentative_prolongator<Scalar, Space>(
        space, own, membership<Space>(space, own), d, MultiVectorView<const Scalar, Space>(vectors));
    result.near = found.near_null_space;
    q = found.q;
  });
  set_zero(space, entries);
  if (count > 0)
    Kokkos::parallel_for(
        "prekond::amg::give_members", all, KOKKOS_LAMBDA(std::int64_t k) {
          for (std::size_t c = 0; c < m; ++c) entries(place(k), c) = q.values(q.row_ptrs(k) + c);
        });
  // A row is in one aggregate: the sum is what one rank has for it.
  const std::pair<std::int64_t, std::int64_t> mine(0, num_own), others(num_own, brought->num_cols());
  Kokkos::deep_copy(space, result.q, Kokkos::subview(entries, mine, Kokkos::ALL));
  brought->start_reverse(space, Kokkos::subview(entries, others, Kokkos::ALL));
  brought->finish_reverse(space, result.q);
  space.fence("prekond::amg::tentative_over_ranks");  // the import goes away
  return result;
}

#define PREKOND_AMG_TENTATIVE_OVER_RANKS(Scalar, Space)                                                  \
  template TentativeOverRanks<Scalar, Space> tentative_over_ranks<Scalar, Space>(                        \
      const Space&, const DistributedMatrix<Scalar, Space>&, const distributed::Overlap<Scalar, Space>&, \
      const RankNodes<Scalar, Space>&, const AggregatesOverRanks<Space>&,                                \
      const MultiVectorView<const Scalar, Space>&);
PREKOND_INSTANTIATE(PREKOND_AMG_TENTATIVE_OVER_RANKS)

}  // namespace prekond::impl::amg
