// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/multigrid/over_ranks/tentative.hpp"

#include <prekond/distributed/row_exchange.hpp>

#include "core/instantiate.hpp"
#include "precond/multigrid/node_patterns.hpp"
#include "sparse_product/transpose_graph.hpp"

namespace prekond::impl::amg {
namespace {

/// The own nodes, and those of other ranks that are in the rank's aggregates, ascending.
template <class Space>
struct Members {
  Numbers<Space> nodes;
  Vector<int, Space> part;  ///< the aggregate, -1: none of the rank's
  Vector<int, Space> rows;  ///< where their rows are: among the rank's own, or after them the imported ones
  Numbers<Space> imported;  ///< rows
};

/// Collective. For each aggregate of another rank's in which own nodes are, these.
template <class Scalar, class Space>
GivenRows<Scalar, Space> give_members(const Space& space, const DistributedMatrix<Scalar, Space>& a,
                                      const RankNodes<Scalar, Space>& nodes,
                                      const AggregatesOverRanks<Space>& aggregates) {
  CsrGraph<Space> rows;
  Vector<Scalar, Space> values;
  const auto count = static_cast<std::int64_t>(aggregates.other_roots.extent(0));
  a.together([&] {
    const auto own = nodes.own;
    const auto part = aggregates.part, root = aggregates.root;
    const FindNumber<Space> find_own{aggregates.own}, find_root{aggregates.other_roots};
    const auto of_others = allocate<Vector<int, Space>>(space, "prekond::amg::part_of_others", nodes.count());
    Kokkos::deep_copy(space, of_others, -1);
    Kokkos::parallel_for(
        "prekond::amg::part_of_others", FlatPolicy<Space>(space, 0, nodes.num_own()),
        KOKKOS_LAMBDA(std::int64_t k) {
          if (find_own(part(own(k))) < 0) of_others(own(k)) = find_root(root(k));
        });
    rows = transpose_graph<Space>(space, membership<Space>(space, {count, of_others, {}}), count);
    values = allocate_zero<Vector<Scalar, Space>>(space, "prekond::amg::members", rows.nnz());
    space.fence("prekond::amg::give_members");
  });
  const CsrView<Scalar, Space> members(rows.num_rows, rows.num_cols, rows.row_ptrs, rows.col_idxs, values);
  return a.make_row_exchange(space, rows_of_blocks<Space>(space, aggregates.other_roots, nodes.unknowns, 1))
      ->give(space, {members, nodes.numbers});
}

template <class Scalar, class Space>
Members<Space> find_members(const Space& space, const DistributedMatrix<Scalar, Space>& a,
                            const RankNodes<Scalar, Space>& nodes,
                            const AggregatesOverRanks<Space>& aggregates,
                            const GivenRows<Scalar, Space>& given) {
  const auto members =
      united<Space>(space, nodes.own_numbers, new_numbers<Space>(space, given.rows.col_idxs, {}));
  const FindNumber<Space> find_own{nodes.own_numbers}, find_part{aggregates.own}, find_root{aggregates.roots},
      find_member{members};
  const auto own = nodes.own;
  const auto part_in_s = aggregates.part;
  const auto part = vector_of<int>(
      space, "prekond::amg::part_of_members", members.extent(0), KOKKOS_LAMBDA(std::int64_t k) {
        const int mine = find_own(members(k));
        return mine >= 0 ? find_part(part_in_s(own(mine))) : -1;
      });
  const auto numbers = a.global_numbers(space);
  const int unknowns = nodes.unknowns;
  Kokkos::parallel_for(
      "prekond::amg::part_of_given", FlatPolicy<Space>(space, 0, given.rows.num_rows),
      KOKKOS_LAMBDA(std::int64_t r) {
        const int aggregate = find_root(numbers(given.own(r)) / unknowns);
        for (std::size_t k = given.rows.row_ptrs(r); k < given.rows.row_ptrs(r + 1); ++k)
          part(find_member(given.rows.col_idxs(k))) = aggregate;
      });
  space.fence("prekond::amg::members");  // the numbers go away
  return {members, part, {}, {}};
}

/// Where the members' rows are. `sources`: of S's rows.
template <class Scalar, class Space>
void find_rows(const Space& space, const RankNodes<Scalar, Space>& nodes, const Vector<int, Space>& sources,
               std::int64_t num_own, Members<Space>& members) {
  const int unknowns = nodes.unknowns;
  const auto numbers = rows_of_blocks<Space>(space, members.nodes, unknowns, unknowns);
  const auto size = static_cast<std::int64_t>(numbers.extent(0));
  const auto find = distributed::find_from<Space>(space, nodes.numbers, nodes.own_numbers);
  const auto rows = vector_of<int>(
      space, "prekond::amg::own_row_of", size, KOKKOS_LAMBDA(std::int64_t k) {
        const std::int64_t node = find(numbers(k) / unknowns);
        return node < 0 ? -1 : sources(node * unknowns + k % unknowns);
      });
  const auto imported = list_rows(
      space, "prekond::amg::imported", size, KOKKOS_LAMBDA(std::int64_t k) { return rows(k) < 0; });
  Kokkos::parallel_for(
      "prekond::amg::place", FlatPolicy<Space>(space, 0, imported.extent(0)),
      KOKKOS_LAMBDA(std::int64_t k) { rows(imported(k)) = static_cast<int>(num_own + k); });
  members.rows = rows;
  members.imported = listed<std::int64_t, Space>(space, imported, numbers);
  space.fence("prekond::amg::member_rows");  // the list goes away
}

}  // namespace

template <class Scalar, class Space>
TentativeOverRanks<Scalar, Space> tentative_over_ranks(
    const Space& space, const DistributedMatrix<Scalar, Space>& a,
    const distributed::Overlap<Scalar, Space>& overlap, const RankNodes<Scalar, Space>& nodes,
    const AggregatesOverRanks<Space>& aggregates,
    const std::type_identity_t<MultiVectorView<const Scalar, Space>>& near) {
  const GivenRows<Scalar, Space> given = give_members<Scalar, Space>(space, a, nodes, aggregates);
  Members<Space> members;
  a.together([&] {
    members = find_members<Scalar, Space>(space, a, nodes, aggregates, given);
    find_rows<Scalar, Space>(space, nodes, overlap.sources(), a.num_rows(), members);
  });
  const auto brought = a.make_import(space, members.imported);
  const std::size_t m = near.extent(1);
  const auto block = [&](std::int64_t size) {
    return allocate_zero<MultiVector<Scalar, Space>>(space, "prekond::amg::rows_of_members", size, m);
  };
  const MultiVector<Scalar, Space> entries = block(brought->num_cols());
  brought->apply(space, near, entries);

  const auto count = static_cast<std::int64_t>(aggregates.own.extent(0)), num_own = a.num_rows();
  TentativeOverRanks<Scalar, Space> result{block(num_own), block(count * static_cast<std::int64_t>(m))};
  Matrix<Scalar, Space> q;
  a.together([&] {
    if (count == 0) return;
    const Aggregates<Space> own{count, members.part, {}};
    const Tentative<Scalar, Space> found =
        tentative_prolongator<Scalar, Space>(space, own, membership<Space>(space, own), nodes.unknowns,
                                             rows_at<Scalar, Space>(space, members.rows, entries));
    result.near = found.near_null_space;
    q = found.q;
  });
  set_zero(space, entries);
  const auto rows = members.rows;
  if (count > 0)
    Kokkos::parallel_for(
        "prekond::amg::give_members", FlatPolicy<Space>(space, 0, rows.extent(0)),
        KOKKOS_LAMBDA(std::int64_t k) {
          for (std::size_t at = q.row_ptrs(k); at < q.row_ptrs(k + 1); ++at)
            entries(rows(k), at - q.row_ptrs(k)) = q.values(at);
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
