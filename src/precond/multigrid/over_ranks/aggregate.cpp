// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/multigrid/over_ranks/aggregate.hpp"

#include <prekond/core/error.hpp>
#include "distributed/row_partition.hpp"
#include "distributed/select_entries.hpp"

#include "core/concurrent_words.hpp"
#include "core/instantiate.hpp"
#include "precond/distributed/rows_of_ranks.hpp"
#include "precond/multigrid/aggregation/independent_set.hpp"
#include "precond/multigrid/aggregation/join.hpp"
#include "precond/multigrid/over_ranks/products.hpp"

namespace prekond::impl::amg {
namespace {

using aggregation::in_set;
using aggregation::Word;

constexpr Word nobody = ~Word(0);  ///< in place of a root

template <class Space>
Numbers<Space> consecutive(const Space& space, std::int64_t begin, std::int64_t end) {
  return vector_of<std::int64_t>(space, "prekond::amg::consecutive", end - begin,
                                 RowNumbers<Space>{0, begin, {}});
}

/// The numbers of a list that `own` has not, nor are negative, ascending. Fences.
template <class Space>
Numbers<Space> other_numbers(const Space& space, const Numbers<Space>& list, const Numbers<Space>& own) {
  const FindNumber<Space> find{own};
  const auto others = numbers_where(
      space, NumbersView<Space>(list),
      KOKKOS_LAMBDA(std::int64_t k) { return list(k) >= 0 && find(list(k)) < 0; });
  return new_numbers<Space>(space, others, {});
}

/// Collective. Do the ranks' own nodes ascend from rank to rank, without gaps?
template <class Scalar, class Space>
bool ascends_over_ranks(const Space& space, const DistributedMatrix<Scalar, Space>& a,
                        const Numbers<Space>& own) {
  const auto size = static_cast<std::int64_t>(own.extent(0));
  const std::int64_t first = a.sum_before(size);
  std::int64_t gaps = 0;
  Kokkos::parallel_reduce(
      "prekond::amg::ascends", FlatPolicy<Space>(space, 0, size),
      KOKKOS_LAMBDA(std::int64_t k, std::int64_t & count) { count += own(k) != first + k; }, gaps);
  return a.largest(static_cast<double>(gaps)) == 0;
}

// ------------------------------------------------------------------------------------ independent sets

/// The pass of one thread of a host over the own nodes, one run of S, as if the set of other ranks were what
/// it seems to be: see aggregation::EnterInOrder.
template <class Space>
struct EnterAfterRanks {
  CsrGraphView<Space> graph;
  NumbersView<Space> numbers;
  VectorView<const int, Space> own, others;
  VectorView<const int, Space> border;  ///< own nodes with neighbours of other ranks
  VectorView<Word, Space> words;
  VectorView<Word, Space> cover;  ///< the first node of the set in the closed neighbourhood, or nobody
  VectorView<Word, Space> found;  ///< that, of the last pass, of nodes up to the rank's last one
  VectorView<char, Space> seen;   ///< what was known of other ranks' nodes
  bool is_first;

  /// `changes`: other ranks' nodes of which something else is known.
  KOKKOS_FUNCTION void operator()(int /*one*/, std::int64_t& changes) const {
    const int begin = own.extent(0) > 0 ? own(0) : 0, end = begin + static_cast<int>(own.extent(0));
    const Word first = begin < end ? static_cast<Word>(numbers(begin)) : 0;
    bool enters = is_first;
    for (std::size_t r = 0; r < others.extent(0); ++r) {
      const int v = others(r);
      const char now = static_cast<char>((words(v) == in_set ? 1 : 0) + (cover(v) < first ? 2 : 0));
      changes += seen(v) != now;
      // Nodes of later ranks cover none for this one.
      enters = enters || ((seen(v) ^ now) & (v < begin ? 3 : 2)) != 0;
      seen(v) = now;
    }
    if (enters) enter(begin, end, first);
    for (int v = begin; v < end; ++v) cover(v) = found(v);
    cover_border(end, static_cast<int>(graph.num_rows), cover);
  }

  /// By nodes of the set at the places first ... last - 1.
  KOKKOS_FUNCTION void cover_border(int first, int last, const VectorView<Word, Space>& covers) const {
    for (std::size_t r = 0; r < border.extent(0); ++r) {
      const int v = border(r);
      for (std::size_t at = graph.row_ptrs(v); at < graph.row_ptrs(v + 1); ++at) {
        const int w = graph.col_idxs(at);
        if (w >= first && w < last && words(w) == in_set && static_cast<Word>(numbers(w)) < covers(v))
          covers(v) = static_cast<Word>(numbers(w));
      }
    }
  }

  KOKKOS_FUNCTION void enter(int begin, int end, Word first) const {
    for (int v = 0; v < graph.num_rows; ++v)
      found(v) = (v < begin || v >= end) && cover(v) < first ? cover(v) : nobody;
    cover_border(0, begin, found);
    for (int v = begin; v < end; ++v) {
      const std::size_t row = graph.row_ptrs(v), row_end = graph.row_ptrs(v + 1);
      bool enters = found(v) == nobody;
      for (std::size_t at = row; at < row_end && enters; ++at) enters = found(graph.col_idxs(at)) == nobody;
      words(v) = enters ? in_set : aggregation::out;
      if (!enters) continue;
      found(v) = static_cast<Word>(numbers(v));
      for (std::size_t at = row; at < row_end; ++at)
        found(graph.col_idxs(at)) = static_cast<Word>(numbers(v));
    }
  }
};

/// Own nodes with neighbours of other ranks. \pre the own ones are one run of S
template <class Space>
Vector<int, Space> border_of(const Space& space, const CsrGraphView<Space>& graph,
                             const Vector<int, Space>& own) {
  const auto size = static_cast<std::int64_t>(own.extent(0));
  const auto places = list_rows(
      space, "prekond::amg::border", size, KOKKOS_LAMBDA(std::int64_t k) {
        bool is_border = false;
        for (std::size_t at = graph.row_ptrs(own(k)); at < graph.row_ptrs(own(k) + 1); ++at)
          is_border = is_border || graph.col_idxs(at) < own(0) || graph.col_idxs(at) >= own(0) + size;
        return is_border;
      });
  return listed<int, Space>(space, places, own);
}

/// The set that one rank of a host finds. \pre the ranks' own nodes ascend
template <class Scalar, class Space>
int find_in_order(const Space& space, const DistributedMatrix<Scalar, Space>& a,
                  const RankNodes<Scalar, Space>& nodes, const CsrGraphView<Space>& graph,
                  const Vector<Word, Space>& words) {
  const std::int64_t n = nodes.count();
  const auto border = border_of<Space>(space, graph, nodes.own);
  const auto cover = allocate<Vector<Word, Space>>(space, "prekond::amg::cover", n),
             found = allocate<Vector<Word, Space>>(space, "prekond::amg::found", n);
  const auto seen = allocate_zero<Vector<char, Space>>(space, "prekond::amg::seen", n);
  Kokkos::deep_copy(space, words, aggregation::out);
  Kokkos::deep_copy(space, cover, nobody);
  for (int round = 1;; ++round) {
    std::int64_t changes = 0;
    Kokkos::parallel_reduce("prekond::amg::enter_after_ranks", Kokkos::RangePolicy<Space>(space, 0, 1),
                            EnterAfterRanks<Space>{graph, nodes.numbers, nodes.own, nodes.others, border,
                                                   words, cover, found, seen, round == 1},
                            changes);
    if (round > 1 && a.largest(static_cast<double>(changes)) == 0) return round;
    nodes.exchange(space, words);
    nodes.exchange(space, cover);
  }
}

// ------------------------------------------------------------------------------------------- aggregates

KOKKOS_FUNCTION inline std::int64_t root_of(Word word) {
  return word == nobody ? -1 : static_cast<std::int64_t>(word & 0xffffffffu);
}

/// The size and the number of the root that each own node of the set that has neighbours is, or that another
/// one is a neighbour of; `nobody`: of none. Other ranks' nodes likewise.
template <class Scalar, class Space>
Vector<Word, Space> first_roots(const Space& space, const RankNodes<Scalar, Space>& nodes,
                                const CsrGraphView<Space>& graph, const Vector<Word, Space>& words) {
  const auto numbers = nodes.numbers;
  const auto own = nodes.own;
  const auto of_set = allocate<Vector<Word, Space>>(space, "prekond::amg::roots_of_set", nodes.count()),
             roots = allocate<Vector<Word, Space>>(space, "prekond::amg::roots", nodes.count());
  const FlatPolicy<Space> all(space, 0, nodes.num_own());
  Kokkos::parallel_for(
      "prekond::amg::roots_of_set", all, KOKKOS_LAMBDA(std::int64_t k) {
        const int v = own(k);
        Word size = 1;
        for (std::size_t at = graph.row_ptrs(v); at < graph.row_ptrs(v + 1); ++at)
          size += graph.col_idxs(at) != v;
        of_set(v) = words(v) == in_set && size > 1 ? size << 32 | static_cast<Word>(numbers(v)) : nobody;
      });
  nodes.exchange(space, of_set);
  Kokkos::parallel_for(
      "prekond::amg::join_roots", all, KOKKOS_LAMBDA(std::int64_t k) {
        const int v = own(k);
        Word first = of_set(v);
        if (words(v) != in_set)
          for (std::size_t at = graph.row_ptrs(v); at < graph.row_ptrs(v + 1); ++at)
            if (of_set(graph.col_idxs(at)) < first) first = of_set(graph.col_idxs(at));
        roots(v) = first;
      });
  nodes.exchange(space, roots);
  return roots;
}

/// The root of the aggregate of each own node, by phase 2 of `aggregate`.
template <class Scalar, class Space>
Numbers<Space> joined_roots(const Space& space, const RankNodes<Scalar, Space>& nodes,
                            const CsrGraphView<Space>& graph, const Vector<Word, Space>& roots) {
  const std::int64_t n = nodes.count();
  const auto numbers = vector_of<std::int64_t>(
      space, "prekond::amg::numbers_of_roots", n,
      KOKKOS_LAMBDA(std::int64_t v) { return root_of(roots(v)); });
  // Parts are numbered as nodes that may be roots are, which decides between two of one size.
  const auto others = other_numbers<Space>(space, numbers, nodes.own_numbers);
  const auto all = united<Space>(space, nodes.own_numbers, others);
  const auto find = distributed::find_from<Space>(space, all, nodes.own_numbers);
  const auto size = allocate<Vector<int, Space>>(space, "prekond::amg::sizes", all.extent(0));
  const auto part = vector_of<int>(
      space, "prekond::amg::part", n, KOKKOS_LAMBDA(std::int64_t v) {
        const int place = find(numbers(v));
        if (place >= 0) concurrent_store(size(place), static_cast<int>(roots(v) >> 32));  // all have the same
        return place;
      });
  aggregation::join_neighbours<Space>(space, graph, size, part);
  const auto own = nodes.own;
  const auto joined = vector_of<std::int64_t>(
      space, "prekond::amg::root", nodes.num_own(),
      KOKKOS_LAMBDA(std::int64_t k) { return part(own(k)) < 0 ? std::int64_t(-1) : all(part(own(k))); });
  space.fence("prekond::amg::joined_roots");  // the lists go away
  return joined;
}

/// The number of the aggregate of each own node, and the roots of the rank's. \pre the ranks' nodes ascend
template <class Scalar, class Space>
Numbers<Space> number_aggregates(const Space& space, const DistributedMatrix<Scalar, Space>& a,
                                 const RankNodes<Scalar, Space>& nodes, const Vector<int, Space>& places,
                                 std::int64_t first, AggregatesOverRanks<Space>& result) {
  const auto count = static_cast<std::int64_t>(places.extent(0)), num_own = nodes.num_own();
  const std::int64_t before = a.sum_before(count);
  result.own = consecutive<Space>(space, before, before + count);
  const auto number = allocate<Numbers<Space>>(space, "prekond::amg::number_of_root", num_own);
  Kokkos::parallel_for(
      "prekond::amg::number_of_root", FlatPolicy<Space>(space, 0, count),
      KOKKOS_LAMBDA(std::int64_t k) { number(places(k)) = before + k; });
  const auto of_others =
      numbers_of_rows<Scalar, Space>(space, a, result.own, listed<int, Space>(space, places, nodes.own_rows),
                                     rows_of_blocks<Space>(space, result.other_roots, nodes.unknowns, 1));
  const auto root = result.root;
  const FindNumber<Space> find{result.other_roots};
  const auto part = vector_of<std::int64_t>(
      space, "prekond::amg::number_of_aggregate", num_own, KOKKOS_LAMBDA(std::int64_t k) {
        const std::int64_t place = root(k) - first;
        if (root(k) < 0) return root(k);
        return place >= 0 && place < num_own ? number(place) : of_others(find(root(k)));
      });
  space.fence("prekond::amg::number_aggregates");  // the others' numbers go away
  return part;
}

// Where ranks do not ascend, the set is found for nodes that are distributed anew, in blocks of their
// numbers.

/// The graph's rows of own nodes, in the rows of A that are their first ones; other rows are empty.
template <class Scalar, class Space>
Matrix<Scalar, Space> rows_of_graph(const Space& space, const RankNodes<Scalar, Space>& nodes,
                                    const CsrGraphView<Space>& graph, std::int64_t num_rows) {
  const std::int64_t n = graph.num_rows;
  const auto row_ptrs = vector_of<std::size_t>(
      space, "prekond::amg::row_ptrs", n + 2,
      KOKKOS_LAMBDA(std::int64_t i) { return n == 0 ? std::size_t(0) : graph.row_ptrs(i < n ? i : n); });
  const auto values = allocate_zero<Vector<Scalar, Space>>(space, "prekond::amg::no_values", graph.nnz());
  const auto list = allocate<Vector<int, Space>>(space, "prekond::amg::node_of_row", num_rows);
  Kokkos::deep_copy(space, list, static_cast<int>(n));  // an empty row
  const auto own = nodes.own, own_rows = nodes.own_rows;
  Kokkos::parallel_for(
      "prekond::amg::node_of_row", FlatPolicy<Space>(space, 0, nodes.num_own()),
      KOKKOS_LAMBDA(std::int64_t k) { list(own_rows(k)) = own(k); });
  const CsrView<Scalar, Space> all(n + 1, n, row_ptrs, graph.col_idxs, values);
  const auto rows = select_entries<Scalar, Space>(space, "prekond::amg::rows_of_graph", all, num_rows, list,
                                                  own_then_others<Space>(space, n, 0), n);
  space.fence("prekond::amg::rows_of_graph");  // the lists go away
  return rows;
}

/// Collective. The numbers of the own nodes' aggregates, and of their roots.
template <class Scalar, class Space>
Numbers<Space> find_in_blocks(const Space& space, const DistributedMatrix<Scalar, Space>& a,
                              const RankNodes<Scalar, Space>& nodes, const CsrGraphView<Space>& graph,
                              bool in_order, AggregatesOverRanks<Space>& result) {
  const auto rank = static_cast<int>(a.sum_before(1));
  const RowPartition blocks{a.num_global_rows() / nodes.unknowns, static_cast<int>(a.largest(rank)) + 1};
  const auto block = consecutive<Space>(space, blocks.begin(rank), blocks.end(rank));
  const auto own = nodes.own_numbers;
  const auto foreign = new_numbers<Space>(space, block, own), away = new_numbers<Space>(space, own, block);
  const auto rows = rows_of_graph<Scalar, Space>(space, nodes, graph, a.num_rows());
  const auto fetched = a.make_row_exchange(space, rows_of_blocks<Space>(space, foreign, nodes.unknowns, 1))
                           ->fetch(space, {rows, nodes.numbers});
  const auto columns =
      ColumnNumbers<Space>{block, {}}.with(space, nodes.numbers).with(space, fetched.col_idxs);
  const FindNumber<Space> find_own{own}, find_foreign{foreign}, find_block{block}, find_away{away};
  const auto own_rows = nodes.own_rows;
  const auto sources = vector_of<int>(
      space, "prekond::amg::source_of_node", block.extent(0), KOKKOS_LAMBDA(std::int64_t k) {
        const int place = find_own(block(k));
        return place >= 0 ? own_rows(place) : ~find_foreign(block(k));
      });
  const auto anew = a.with_rows(space, block);
  const distributed::RowsOfRanks<Scalar, Space> all(
      space, *anew, joined_rows<Scalar, Space>(space, sources, {rows, nodes.numbers}, fetched, columns),
      columns.others);
  const distributed::Overlap<Scalar, Space> overlap(space, all, RowReach{.levels = 1}, 1);
  const RankNodes<Scalar, Space> of_block(space, all, overlap, 1);
  const auto found = aggregate_over_ranks<Scalar, Space>(space, all, of_block, overlap.matrix(), in_order);
  result.rounds = found.rounds;
  /// For the own nodes, where the rank has `mine` for its block.
  const auto brought = [&](const Numbers<Space>& mine) {
    const auto of_others = numbers_of_rows<Scalar, Space>(
        space, *anew, mine, own_then_others<Space>(space, static_cast<std::int64_t>(block.extent(0)), 0),
        away);
    const auto numbers = vector_of<std::int64_t>(
        space, "prekond::amg::take_from_block", own.extent(0), KOKKOS_LAMBDA(std::int64_t k) {
          const int place = find_block(own(k));
          return place >= 0 ? mine(place) : of_others(find_away(own(k)));
        });
    space.fence("prekond::amg::find_in_blocks");  // the others' numbers go away
    return numbers;
  };
  result.root = brought(found.root);
  return brought(listed<std::int64_t, Space>(space, of_block.own, found.part));
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
  Numbers<Space> part;  // of own nodes
  const bool ascends = ascends_over_ranks<Scalar, Space>(space, a, nodes.own_numbers);
  const std::int64_t first = a.sum_before(nodes.num_own());
  if (ascends) {
    aggregation::IndependentSet<Space> set(space, graph, nodes.numbers);
    result.rounds = in_order
                        ? find_in_order<Scalar, Space>(space, a, nodes, graph, set.words())
                        : set.find_by_teams(
                              space, {}, nodes.own, [&](const auto& words) { nodes.exchange(space, words); },
                              [&](std::int64_t count) { return a.largest(static_cast<double>(count)); });
    const auto roots = first_roots<Scalar, Space>(space, nodes, graph, set.words());
    a.together([&] {
      if (nodes.count() > 0) result.root = joined_roots<Scalar, Space>(space, nodes, graph, roots);
    });
  } else {
    part = find_in_blocks<Scalar, Space>(space, a, nodes, graph, in_order, result);
  }
  const auto root = result.root, own = nodes.own_numbers;
  const auto places = list_rows(
      space, "prekond::amg::own_roots", nodes.num_own(),
      KOKKOS_LAMBDA(std::int64_t k) { return root(k) == own(k); });
  result.roots = listed<std::int64_t, Space>(space, places, own);
  result.other_roots = other_numbers<Space>(space, root, own);
  if (ascends)
    part = number_aggregates<Scalar, Space>(space, a, nodes, places, first, result);
  else
    result.own = listed<std::int64_t, Space>(space, places, part);
  const auto all = allocate<Numbers<Space>>(space, "prekond::amg::part", nodes.count());
  const auto own_places = nodes.own;
  Kokkos::parallel_for(
      "prekond::amg::part", FlatPolicy<Space>(space, 0, nodes.num_own()),
      KOKKOS_LAMBDA(std::int64_t k) { all(own_places(k)) = part(k); });
  nodes.exchange(space, all);
  result.others = other_numbers<Space>(space, all, result.own);
  result.part = all;
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
