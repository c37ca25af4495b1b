// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/multigrid/over_ranks/aggregate.hpp"

#include <prekond/core/error.hpp>
#include <prekond/distributed/impl/select_entries.hpp>
#include "distributed/row_partition.hpp"

#include "core/concurrent_words.hpp"
#include "core/instantiate.hpp"
#include "precond/distributed/rows_of_ranks.hpp"
#include "precond/multigrid/aggregation/independent_set.hpp"
#include "precond/multigrid/aggregation/join.hpp"

namespace prekond::impl::amg {
namespace {

using aggregation::in_set;
using coarsening::VertexTeams;
using distributed::new_numbers;
using distributed::places_of;

constexpr Word nobody = ~Word(0);  ///< in place of a root

template <class Space>
struct Ascends {
  NumbersView<Space> numbers;
  VectorView<const int, Space> own;
  std::int64_t first;
  KOKKOS_FUNCTION void operator()(std::int64_t k, std::int64_t& gaps) const {
    if (numbers(own(k)) != first + k) ++gaps;
  }
};

template <class Space>
struct CountFrom {
  std::int64_t first;
  VectorView<std::int64_t, Space> numbers;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const { numbers(k) = first + k; }
};

template <class Space>
Numbers<Space> consecutive(const Space& space, std::int64_t begin, std::int64_t end) {
  const auto numbers = allocate<Numbers<Space>>(space, "prekond::amg::consecutive", end - begin);
  Kokkos::parallel_for("prekond::amg::consecutive", FlatPolicy<Space>(space, 0, end - begin),
                       CountFrom<Space>{begin, numbers});
  return numbers;
}

/// Collective. Do the ranks' own nodes ascend from rank to rank, without gaps?
template <class Scalar, class Space>
bool ascends_over_ranks(const Space& space, const DistributedMatrix<Scalar, Space>& a,
                        const RankNodes<Scalar, Space>& nodes) {
  const auto size = static_cast<std::int64_t>(nodes.own.extent(0));
  const std::int64_t first = a.sum_before(size);
  std::int64_t gaps = 0;
  Kokkos::parallel_reduce("prekond::amg::ascends", FlatPolicy<Space>(space, 0, size),
                          Ascends<Space>{nodes.numbers, nodes.own, first}, gaps);
  return a.largest(static_cast<double>(gaps)) == 0;
}

// ------------------------------------------------------------------------------------ independent sets

/// The rounds of a device, see IndependentSet::find_by_teams.
template <class Scalar, class Space>
int find_by_rounds(const Space& space, const DistributedMatrix<Scalar, Space>& a,
                   const RankNodes<Scalar, Space>& nodes, const CsrGraphView<Space>& graph,
                   const Vector<Word, Space>& own) {
  const std::int64_t n = nodes.count();
  const auto least = allocate<Vector<Word, Space>>(space, "prekond::amg::least", n);
  const auto none = allocate<Vector<int, Space>>(space, "prekond::amg::no_parts", n);
  Kokkos::deep_copy(space, none, -1);
  Vector<int, Space> vertices, lists[2];
  for (Vector<int, Space>* list : {&vertices, &lists[0], &lists[1]})
    *list = allocate<Vector<int, Space>>(space, "prekond::amg::list", n);
  const aggregation::Words<Space> words{graph, own, least, nodes.numbers};
  Kokkos::parallel_for("prekond::amg::begin", FlatPolicy<Space>(space, 0, n),
                       aggregation::BeginRounds<Space>{words, none});
  std::int64_t open = static_cast<std::int64_t>(nodes.own.extent(0)), left = open;
  for (int round = 0;; ++round) {
    const VectorView<const int, Space> before = round == 0 ? nodes.own : lists[(round + 1) % 2];
    Word count = 0;
    Kokkos::parallel_scan("prekond::amg::list", FlatPolicy<Space>(space, 0, open),
                          aggregation::ListUndecided<Space>{words, round, before, vertices, lists[round % 2]},
                          count);
    const std::int64_t decided = left - static_cast<std::int64_t>(count & 0xffffffffu);
    open = static_cast<std::int64_t>(count >> 32), left -= decided;
    if (round > 0 && a.largest(static_cast<double>(decided)) == 0)
      throw InputError("amg: the pattern of the matrix is not symmetric");
    if (a.largest(static_cast<double>(left)) == 0) return round;
    nodes.exchange(space, own);
    if (open > 0)
      Kokkos::parallel_for("prekond::amg::least", VertexTeams<Space>::policy(space, open, graph),
                           aggregation::LeastOfNeighbourhoods<Space>{words, {lists[round % 2], open}});
    nodes.exchange(space, least);
    if (left > 0)
      Kokkos::parallel_for("prekond::amg::decide", VertexTeams<Space>::policy(space, left, graph),
                           aggregation::Decide<Space>{words, {vertices, left}});
  }
}

/// The first node of the set in each own node's closed neighbourhood; `nobody`: there is none.
template <class Space>
struct FirstCover {
  CsrGraphView<Space> graph;
  NumbersView<Space> numbers;
  VectorView<const int, Space> own;
  VectorView<const Word, Space> words;
  VectorView<Word, Space> cover;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    const int v = own(k);
    Word first = words(v) == in_set ? static_cast<Word>(numbers(v)) : nobody;
    for (std::size_t at = graph.row_ptrs(v); at < graph.row_ptrs(v + 1); ++at) {
      const int w = graph.col_idxs(at);
      if (words(w) == in_set && static_cast<Word>(numbers(w)) < first) first = static_cast<Word>(numbers(w));
    }
    cover(v) = first;
  }
};

/// One own node after another, where nodes before the first one are covered by the ranks before: see
/// aggregation::EnterInOrder.
template <class Space>
struct EnterAfterRanks {
  CsrGraphView<Space> graph;
  NumbersView<Space> numbers;
  VectorView<const int, Space> own;
  VectorView<const Word, Space> cover;
  VectorView<char, Space> covered;
  VectorView<Word, Space> words;

  KOKKOS_FUNCTION void operator()(int /*one*/, std::int64_t& changes) const {
    const auto size = static_cast<std::int64_t>(own.extent(0));
    const Word first = size > 0 ? static_cast<Word>(numbers(own(0))) : 0;
    for (std::int64_t v = 0; v < graph.num_rows; ++v) covered(v) = cover(v) < first;
    for (std::int64_t k = 0; k < size; ++k) {
      const int v = own(k);
      bool enters = !covered(v);
      for (std::size_t at = graph.row_ptrs(v); at < graph.row_ptrs(v + 1) && enters; ++at)
        enters = !covered(graph.col_idxs(at));
      const Word word = enters ? in_set : aggregation::out;
      changes += words(v) != word;
      words(v) = word;
      if (!enters) continue;
      covered(v) = 1;
      for (std::size_t at = graph.row_ptrs(v); at < graph.row_ptrs(v + 1); ++at)
        covered(graph.col_idxs(at)) = 1;
    }
  }
};

/// The set that one rank of a host finds.
template <class Scalar, class Space>
int find_in_order(const Space& space, const DistributedMatrix<Scalar, Space>& a,
                  const RankNodes<Scalar, Space>& nodes, const CsrGraphView<Space>& graph,
                  const Vector<Word, Space>& words) {
  const std::int64_t n = nodes.count();
  const auto cover = allocate<Vector<Word, Space>>(space, "prekond::amg::cover", n);
  const auto covered = allocate<Vector<char, Space>>(space, "prekond::amg::covered", n);
  Kokkos::deep_copy(space, words, aggregation::out);
  for (int round = 1;; ++round) {
    nodes.exchange(space, words);
    Kokkos::parallel_for("prekond::amg::first_cover", FlatPolicy<Space>(space, 0, nodes.own.extent(0)),
                         FirstCover<Space>{graph, nodes.numbers, nodes.own, words, cover});
    nodes.exchange(space, cover);
    std::int64_t changes = 0;
    Kokkos::parallel_reduce("prekond::amg::enter_after_ranks", Kokkos::RangePolicy<Space>(space, 0, 1),
                            EnterAfterRanks<Space>{graph, nodes.numbers, nodes.own, cover, covered, words},
                            changes);
    if (a.largest(static_cast<double>(changes)) == 0) return round;
  }
}

// ------------------------------------------------------------------------------------------- aggregates

KOKKOS_FUNCTION inline Word root_word(std::int64_t size, std::int64_t root) {
  return static_cast<Word>(size) << 32 | static_cast<Word>(root);
}
KOKKOS_FUNCTION inline std::int64_t root_of(Word word) {
  return word == nobody ? -1 : static_cast<std::int64_t>(word & 0xffffffffu);
}

/// The size and the number of each root of the rank that has neighbours.
template <class Space>
struct FindRoots {
  CsrGraphView<Space> graph;
  NumbersView<Space> numbers;
  VectorView<const int, Space> own;
  VectorView<const Word, Space> words;
  VectorView<Word, Space> roots;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    const int v = own(k);
    std::int64_t size = 1;
    for (std::size_t at = graph.row_ptrs(v); at < graph.row_ptrs(v + 1); ++at)
      size += graph.col_idxs(at) != v;
    roots(v) = words(v) == in_set && size > 1 ? root_word(size, numbers(v)) : nobody;
  }
};

/// Other nodes of the rank join the root that they are neighbours of.
template <class Space>
struct JoinRoots {
  CsrGraphView<Space> graph;
  VectorView<const int, Space> own;
  VectorView<const Word, Space> words;
  VectorView<Word, Space> roots;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    const int v = own(k);
    if (words(v) == in_set) return;
    Word first = nobody;
    for (std::size_t at = graph.row_ptrs(v); at < graph.row_ptrs(v + 1); ++at) {
      const int w = graph.col_idxs(at);
      if (words(w) == in_set && roots(w) < first) first = roots(w);
    }
    roots(v) = first;
  }
};

template <class Space>
struct NumberOfRoot {
  VectorView<const Word, Space> roots;
  VectorView<std::int64_t, Space> numbers;
  KOKKOS_FUNCTION void operator()(std::int64_t v) const { numbers(v) = root_of(roots(v)); }
};

template <class Space>
struct SizeOfPart {
  VectorView<const Word, Space> roots;
  VectorView<const int, Space> part;
  VectorView<int, Space> size;
  KOKKOS_FUNCTION void operator()(std::int64_t v) const {
    // All have the same.
    if (part(v) >= 0) concurrent_store(size(part(v)), static_cast<int>(roots(v) >> 32));
  }
};

/// list(part(own(k))), or -1
template <class Space>
struct RootOfPart {
  VectorView<const int, Space> own, part;
  NumbersView<Space> list;
  VectorView<std::int64_t, Space> root;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    root(k) = part(own(k)) < 0 ? -1 : list(part(own(k)));
  }
};

/// The root of the aggregate of each own node: both phases of `aggregate`.
template <class Scalar, class Space>
Numbers<Space> find_roots(const Space& space, const DistributedMatrix<Scalar, Space>& a,
                          const RankNodes<Scalar, Space>& nodes, const CsrGraphView<Space>& graph,
                          bool in_order, int& rounds) {
  const std::int64_t n = nodes.count();
  const auto words = allocate<Vector<Word, Space>>(space, "prekond::amg::words", n);
  rounds = in_order ? find_in_order<Scalar, Space>(space, a, nodes, graph, words)
                    : find_by_rounds<Scalar, Space>(space, a, nodes, graph, words);
  const FlatPolicy<Space> own(space, 0, nodes.own.extent(0)), all(space, 0, n);
  const auto roots = allocate<Vector<Word, Space>>(space, "prekond::amg::roots", n);
  Kokkos::parallel_for("prekond::amg::find_roots", own,
                       FindRoots<Space>{graph, nodes.numbers, nodes.own, words, roots});
  nodes.exchange(space, words);
  nodes.exchange(space, roots);
  Kokkos::parallel_for("prekond::amg::join_roots", own, JoinRoots<Space>{graph, nodes.own, words, roots});
  nodes.exchange(space, roots);
  const auto root = allocate<Numbers<Space>>(space, "prekond::amg::root", nodes.own.extent(0));
  a.together([&] {
    if (n == 0) return;
    const auto numbers = allocate<Numbers<Space>>(space, "prekond::amg::root_numbers", n);
    Kokkos::parallel_for("prekond::amg::number_of_root", all, NumberOfRoot<Space>{roots, numbers});
    // Parts are numbered as their roots are, which decides between two of one size.
    const auto list = new_numbers<Space>(space, numbers, minus_one(space));
    const auto part = places_of<Space>(space, numbers, list);
    const auto size = allocate<Vector<int, Space>>(space, "prekond::amg::sizes", list.extent(0));
    Kokkos::parallel_for("prekond::amg::size_of_part", all, SizeOfPart<Space>{roots, part, size});
    aggregation::join_neighbours<Space>(space, graph, size, part);
    Kokkos::parallel_for("prekond::amg::root_of_part", own, RootOfPart<Space>{nodes.own, part, list, root});
    space.fence("prekond::amg::find_roots");  // the lists go away
  });
  return root;
}

// -------------------------------------------------------------------------------------------- numbering

template <class Space>
struct IsOwnRoot {
  NumbersView<Space> numbers;
  VectorView<const int, Space> own;
  NumbersView<Space> root;
  KOKKOS_FUNCTION bool operator()(std::int64_t k) const { return root(k) == numbers(own(k)); }
};

/// The number of each own node's aggregate.
template <class Space>
struct NumberOfAggregate {
  VectorView<const int, Space> own;
  NumbersView<Space> root;
  distributed::FindNumber<Space> own_roots, other_roots;
  NumbersView<Space> own_numbers, other_numbers;
  VectorView<std::int64_t, Space> part;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    const int place = own_roots(root(k));
    part(own(k)) = root(k) < 0 ? -1 : place >= 0 ? own_numbers(place) : other_numbers(other_roots(root(k)));
  }
};

/// Numbers the aggregates of ranks that ascend.
template <class Scalar, class Space>
void number_aggregates(const Space& space, const DistributedMatrix<Scalar, Space>& a,
                       const RankNodes<Scalar, Space>& nodes, const Vector<int, Space>& places,
                       AggregatesOverRanks<Space>& result) {
  const auto count = static_cast<std::int64_t>(places.extent(0));
  const std::int64_t before = a.sum_before(count);
  result.own = consecutive<Space>(space, before, before + count);
  const auto of_others = words_of_rows<std::int64_t, Scalar, Space>(
      space, a, result.own, listed<int, Space>(space, places, nodes.own_rows),
      rows_of_nodes<Space>(space, result.other_roots, nodes.unknowns, 1));
  Kokkos::parallel_for(
      "prekond::amg::number_of_aggregate", FlatPolicy<Space>(space, 0, nodes.own.extent(0)),
      NumberOfAggregate<Space>{
          nodes.own, result.root, {result.roots}, {result.other_roots}, result.own, of_others, result.part});
  space.fence("prekond::amg::number_aggregates");  // the others' numbers go away
}

// Where ranks do not ascend, the set is found for nodes that are distributed anew, in blocks of their
// numbers.

/// The place in the graph of the node that has its first row in row rows(k).
template <class Space>
struct NodeOfRow {
  VectorView<const int, Space> own, own_rows;
  VectorView<int, Space> nodes;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const { nodes(own_rows(k)) = own(k); }
};

/// The source of a block's node: the rank's row, or ~k for entry k of the list of other ranks' ones.
template <class Space>
struct SourceOfNode {
  NumbersView<Space> block;
  distributed::FindNumber<Space> own, others;
  VectorView<const int, Space> own_rows;
  VectorView<int, Space> sources;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    const int place = own(block(k));
    sources(k) = place >= 0 ? own_rows(place) : ~others(block(k));
  }
};

/// to(own(k)), or to(k), is what the rank has for its block, or what another one has for its own.
template <class Space>
struct TakeFromBlock {
  NumbersView<Space> numbers;
  distributed::FindNumber<Space> block, others;
  VectorView<const int, Space> own;
  NumbersView<Space> of_block, of_others;
  VectorView<std::int64_t, Space> to;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    const int place = block(numbers(k));
    to(own.extent(0) > 0 ? own(k) : k) = place >= 0 ? of_block(place) : of_others(others(numbers(k)));
  }
};

/// The graph's rows of own nodes, in the rows of A that are their first ones; other rows are empty.
template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> rows_of_graph(
    const Space& space, const RankNodes<Scalar, Space>& nodes, const CsrGraphView<Space>& graph,
    std::int64_t num_rows) {
  const std::int64_t n = graph.num_rows;
  const auto row_ptrs = allocate<Vector<std::size_t, Space>>(space, "prekond::amg::row_ptrs", n + 2);
  Kokkos::deep_copy(space, row_ptrs, static_cast<std::size_t>(graph.nnz()));
  if (n > 0)
    Kokkos::deep_copy(space, Kokkos::subview(row_ptrs, std::make_pair(std::int64_t(0), n + 1)),
                      graph.row_ptrs);
  const auto values = allocate_zero<Vector<Scalar, Space>>(space, "prekond::amg::no_values", graph.nnz());
  const auto list = allocate<Vector<int, Space>>(space, "prekond::amg::node_of_row", num_rows);
  Kokkos::deep_copy(space, list, static_cast<int>(n));  // an empty row
  Kokkos::parallel_for("prekond::amg::node_of_row", FlatPolicy<Space>(space, 0, nodes.own.extent(0)),
                       NodeOfRow<Space>{nodes.own, nodes.own_rows, list});
  const CsrView<Scalar, Space> all(n + 1, n, row_ptrs, graph.col_idxs, values);
  const auto rows = select_entries<Scalar, Space>(space, "prekond::amg::rows_of_graph", all, num_rows, list,
                                                  own_then_others<Space>(space, n, 0), n);
  space.fence("prekond::amg::rows_of_graph");  // the lists go away
  return rows;
}

/// Collective. The numbers of the own nodes' aggregates, and of their roots.
template <class Scalar, class Space>
void find_in_blocks(const Space& space, const DistributedMatrix<Scalar, Space>& a,
                    const RankNodes<Scalar, Space>& nodes, const CsrGraphView<Space>& graph, bool in_order,
                    AggregatesOverRanks<Space>& result) {
  const std::int64_t rank = a.sum_before(1);
  const RowPartition blocks{a.num_global_rows() / nodes.unknowns,
                            static_cast<int>(a.largest(static_cast<double>(rank))) + 1};
  const auto block =
      consecutive<Space>(space, blocks.begin(static_cast<int>(rank)), blocks.end(static_cast<int>(rank)));
  const auto num_own = static_cast<std::int64_t>(block.extent(0));
  const auto own = listed<std::int64_t, Space>(space, nodes.own, nodes.numbers);
  const auto foreign = new_numbers<Space>(space, block, own), away = new_numbers<Space>(space, own, block);
  const auto rows = rows_of_graph<Scalar, Space>(space, nodes, graph, a.num_rows());
  const auto fetched = a.make_row_exchange(space, rows_of_nodes<Space>(space, foreign, nodes.unknowns, 1))
                           ->fetch(space, {rows, nodes.numbers});
  const auto near = new_numbers<Space>(space, nodes.numbers, block);
  const auto others = distributed::united<Space>(
      space, near, new_numbers<Space>(space, new_numbers<Space>(space, fetched.col_idxs, block), near));
  const auto sources = allocate<Vector<int, Space>>(space, "prekond::amg::sources", num_own);
  Kokkos::parallel_for("prekond::amg::source_of_node", FlatPolicy<Space>(space, 0, num_own),
                       SourceOfNode<Space>{block, {own}, {foreign}, nodes.own_rows, sources});
  const auto anew = a.with_rows(space, block);
  const distributed::RowsOfRanks<Scalar, Space> all(
      space, *anew,
      distributed::rows_at_places<Scalar, Space>(
          space, sources, rows, columns_by_number<Space>(space, nodes.numbers, block, others),
          own_then_others<Space>(space, fetched.num_rows, 0), fetched,
          columns_by_number<Space>(space, fetched.col_idxs, block, others),
          num_own + static_cast<std::int64_t>(others.extent(0))),
      others);
  const distributed::Overlap<Scalar, Space> overlap(space, all, RowReach{.levels = 1}, 1);
  const RankNodes<Scalar, Space> of_block(space, all, overlap, 1);
  const auto found = aggregate_over_ranks<Scalar, Space>(space, all, of_block, overlap.matrix(), in_order);
  result.rounds = found.rounds;
  result.root = allocate<Numbers<Space>>(space, "prekond::amg::root", own.extent(0));
  const auto part = listed<std::int64_t, Space>(space, of_block.own, found.part);
  for (const bool is_part : {true, false}) {
    const auto& mine = is_part ? part : found.root;
    const auto of_others = words_of_rows<std::int64_t, Scalar, Space>(
        space, *anew, mine, own_then_others<Space>(space, num_own, 0), away);
    Kokkos::parallel_for("prekond::amg::take_from_block", FlatPolicy<Space>(space, 0, own.extent(0)),
                         TakeFromBlock<Space>{own,
                                              {block},
                                              {away},
                                              is_part ? nodes.own : Vector<int, Space>(),
                                              mine,
                                              of_others,
                                              is_part ? result.part : result.root});
    space.fence("prekond::amg::find_in_blocks");  // the others' numbers go away
  }
}

}  // namespace

template <class Scalar, class Space>
AggregatesOverRanks<Space> aggregate_over_ranks(const Space& space, const DistributedMatrix<Scalar, Space>& a,
                                                const RankNodes<Scalar, Space>& nodes,
                                                const std::type_identity_t<CsrGraphView<Space>>& graph,
                                                bool in_order) {
  if (a.num_global_rows() / nodes.unknowns >= std::int64_t(0xffffffff))
    throw InputError("amg: more nodes than 32 bits count");
  AggregatesOverRanks<Space> result;
  result.part = allocate<Numbers<Space>>(space, "prekond::amg::part", nodes.count());
  const bool ascends = ascends_over_ranks<Scalar, Space>(space, a, nodes);
  if (ascends)
    result.root = find_roots<Scalar, Space>(space, a, nodes, graph, in_order, result.rounds);
  else
    find_in_blocks<Scalar, Space>(space, a, nodes, graph, in_order, result);
  const auto places =
      list_rows(space, "prekond::amg::own_roots", static_cast<std::int64_t>(nodes.own.extent(0)),
                IsOwnRoot<Space>{nodes.numbers, nodes.own, result.root});
  const auto roots = listed<int, Space>(space, places, nodes.own);
  result.roots = listed<std::int64_t, Space>(space, roots, nodes.numbers);
  result.other_roots = new_numbers<Space>(space, result.root,
                                          distributed::united<Space>(space, minus_one(space), result.roots));
  if (ascends)
    number_aggregates<Scalar, Space>(space, a, nodes, places, result);
  else
    result.own = listed<std::int64_t, Space>(space, roots, result.part);
  nodes.exchange(space, result.part);
  const auto count = static_cast<std::int64_t>(places.extent(0));
  result.num_global = static_cast<std::int64_t>(a.largest(static_cast<double>(a.sum_before(count) + count)));
  return result;
}

#define PREKOND_AMG_AGGREGATE_OVER_RANKS(Scalar, Space)                                       \
  template AggregatesOverRanks<Space> aggregate_over_ranks<Scalar, Space>(                    \
      const Space&, const DistributedMatrix<Scalar, Space>&, const RankNodes<Scalar, Space>&, \
      const CsrGraphView<Space>&, bool);
PREKOND_INSTANTIATE(PREKOND_AMG_AGGREGATE_OVER_RANKS)

}  // namespace prekond::impl::amg
