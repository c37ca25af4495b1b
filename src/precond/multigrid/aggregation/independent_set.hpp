// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Maximal independent sets of distance 2: in rounds, and in the order of the vertices.
#include <prekond/core/error.hpp>

#include "precond/multigrid/aggregation/priority_words.hpp"
#include "precond/multigrid/vertex_lists.hpp"

#include <string>

namespace prekond::impl::aggregation {

using coarsening::Range;
using coarsening::VertexTeams;

template <class Space>
struct BeginRounds {
  Words<Space> words;
  VectorView<const int, Space> part;  ///< empty: of no vertex

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const int v = static_cast<int>(i);
    const bool present = part.extent(0) == 0 || part(v) < 0;
    words.own(v) = present ? undecided(0, words.number(v)) : absent;
    words.least(v) = present ? in_set : absent;
  }
};

/// The least word of each closed neighbourhood.
template <class Space>
struct LeastOfNeighbourhoods {
  using Member = typename VertexTeams<Space>::Member;
  Words<Space> words;
  VertexTeams<Space> vertices;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    vertices.for_each_vertex(team, [&](int v) {
      const CsrGraphView<Space>& graph = words.graph;
      const std::size_t begin = graph.row_ptrs(v);
      Word least = out;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, words.length(v)),
          [&](int k, Word& sofar) {
            const int w = graph.col_idxs(begin + k);
            if (w < graph.num_rows && words.own(w) < sofar) sofar = words.own(w);
          },
          Kokkos::Min<Word>(least));
      Kokkos::single(Kokkos::PerThread(team), [&] {
        if (words.own(v) < least) least = words.own(v);
        words.least(v) = is_undecided(least) ? least : out;
      });
    });
  }
};

/// Whether an undecided vertex enters the set, is out of it, or waits for the next round.
template <class Space>
struct Decide {
  using Member = typename VertexTeams<Space>::Member;
  Words<Space> words;
  VertexTeams<Space> vertices;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    vertices.for_each_vertex(team, [&](int v) {
      const CsrGraphView<Space>& graph = words.graph;
      const std::size_t begin = graph.row_ptrs(v);
      const Word own = words.own(v);
      int verdict = enters;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, words.length(v)),
          [&](int k, int& sofar) {
            const int w = graph.col_idxs(begin + k);
            const int of_neighbour = w < graph.num_rows ? verdict_of(words.least(w), own) : enters;
            if (of_neighbour > sofar) sofar = of_neighbour;
          },
          Kokkos::Max<int>(verdict));
      Kokkos::single(Kokkos::PerThread(team), [&] {
        const int of_itself = verdict_of(words.least(v), own);
        const int last = of_itself > verdict ? of_itself : verdict;
        if (last != waits) words.own(v) = last == enters ? in_set : out;
      });
    });
  }
};

/// The lists of the next round, and its words: vertices that are undecided, in the low half of the count, and
/// neighbourhoods that are not out, in the high one. The first are among the second.
template <class Space>
struct ListUndecided {
  using value_type = Word;
  Words<Space> words;
  int round;
  VectorView<const int, Space> before;  ///< the neighbourhoods so far; none: all
  VectorView<int, Space> vertices;
  VectorView<int, Space> neighbourhoods;

  KOKKOS_FUNCTION void operator()(std::int64_t i, Word& count, bool final) const {
    const int v = before.extent(0) > 0 ? before(i) : static_cast<int>(i);
    const bool open = words.least(v) < absent, waits = is_undecided(words.own(v));
    if (final && open) neighbourhoods(count >> 32) = v;
    if (final && waits) {
      vertices(count & 0xffffffffu) = v;
      words.own(v) = undecided(round, words.number(v));
    }
    count += static_cast<Word>(open) << 32 | static_cast<Word>(waits);
  }
};

/// One vertex after another: it enters the set where none of its closed neighbourhood is in one of a vertex
/// of the set.
template <class Space>
struct EnterInOrder {
  CsrGraphView<Space> graph;
  VectorView<const int, Space> part;
  VectorView<Word, Space> words;
  VectorView<char, Space> covered;  ///< in the closed neighbourhood of a vertex of the set

  void operator()(int /*one*/) const {
    for (int v = 0; v < graph.num_rows; ++v) {
      covered(v) = 0;
      words(v) = part(v) < 0 ? out : absent;
    }
    for (int v = 0; v < graph.num_rows; ++v) {
      if (words(v) == absent || covered(v)) continue;
      const std::size_t begin = graph.row_ptrs(v), end = graph.row_ptrs(v + 1);
      bool enters = true;
      for (std::size_t k = begin; k < end && enters; ++k)
        enters = !is_vertex(graph.col_idxs(k)) || !covered(graph.col_idxs(k));
      if (!enters) continue;
      words(v) = in_set;
      covered(v) = 1;
      for (std::size_t k = begin; k < end; ++k)
        if (is_vertex(graph.col_idxs(k))) covered(graph.col_idxs(k)) = 1;
    }
  }
  bool is_vertex(int w) const { return w < graph.num_rows && words(w) != absent; }
};

/// Finds sets, one after another, with the same memory.
template <class Space>
class IndependentSet {
 public:
  /// `numbers`: by which vertices have priorities; empty: their own.
  IndependentSet(const Space& space, const CsrGraphView<Space>& graph,
                 const VectorView<const std::int64_t, Space>& numbers = {})
      : m_graph(graph),
        m_numbers(numbers),
        m_own(allocate<Vector<Word, Space>>(space, label("own"), graph.num_rows)) {}

  /// Finds a set in the graph of the vertices with part(v) < 0; the word of a vertex of the set is `in_set`.
  /// \returns the rounds
  int find(const Space& space, const VectorView<const int, Space>& part) {
    if constexpr (is_host_space<Space>)
      return find_in_order(space, part);
    else
      return find_by_teams(space, part);
  }

  /// As a device does. Tests run it on a host too.
  int find_by_teams(const Space& space, const VectorView<const int, Space>& part) {
    return find_by_teams(
        space, part, {}, [](const Vector<Word, Space>&) {}, [](std::int64_t count) { return count; });
  }
  /// The same for vertices that are distributed over ranks, collective where `exchange` and `largest` are.
  /// `vertices`: the rank's own, empty: all; `exchange(words)`: other ranks' become what these have for them;
  /// `largest(count)`: over ranks.
  template <class Exchange, class Largest>
  int find_by_teams(const Space& space, const VectorView<const int, Space>& part,
                    const VectorView<const int, Space>& vertices, const Exchange& exchange,
                    const Largest& largest) {
    using Teams = VertexTeams<Space>;
    allocate_lists(space);
    const Words<Space> words{m_graph, m_own, m_least, m_numbers};
    Kokkos::parallel_for(label("begin"), Range<Space>(space, 0, m_graph.num_rows),
                         BeginRounds<Space>{words, part});
    const bool is_part = m_numbers.extent(0) > 0;
    VectorView<const int, Space> open = vertices;
    auto num_open = is_part ? static_cast<std::int64_t>(vertices.extent(0)) : m_graph.num_rows,
         left = num_open;
    for (int round = 0;; ++round) {
      const Word count = list(space, words, round, open, num_open);
      open = m_neighbourhoods[round % 2];
      num_open = static_cast<std::int64_t>(count >> 32);
      const std::int64_t decided = left - static_cast<std::int64_t>(count & 0xffffffffu);
      left -= decided;
      if (largest(left) == 0) return round;
      // In a symmetric graph the vertex with the least word of all is decided.
      if (round > 0 && largest(decided) == 0)
        throw InputError("maximal_independent_set2: the graph is not symmetric; symmetrize() makes it so");
      exchange(m_own);
      if (num_open > 0)
        Kokkos::parallel_for(label("least"), Teams::policy(space, num_open, m_graph),
                             LeastOfNeighbourhoods<Space>{words, {open, num_open}});
      exchange(m_least);
      if (left > 0)
        Kokkos::parallel_for(label("decide"), Teams::policy(space, left, m_graph),
                             Decide<Space>{words, {m_vertices, left}});
    }
  }

  const Vector<Word, Space>& words() const { return m_own; }

 private:
  /// As a host does.
  int find_in_order(const Space& space, const VectorView<const int, Space>& part) {
    if (m_covered.extent(0) == 0)
      m_covered = allocate<Vector<char, Space>>(space, label("covered"), m_graph.num_rows);
    Kokkos::parallel_for(label("in_order"), Kokkos::RangePolicy<Space>(space, 0, 1),
                         EnterInOrder<Space>{m_graph, part, m_own, m_covered});
    return m_graph.num_rows > 0 ? 1 : 0;
  }
  void allocate_lists(const Space& space) {
    if (m_least.extent(0) > 0) return;
    m_least = allocate<Vector<Word, Space>>(space, label("least"), m_graph.num_rows);
    for (Vector<int, Space>* list : {&m_vertices, &m_neighbourhoods[0], &m_neighbourhoods[1]})
      *list = allocate<Vector<int, Space>>(space, label("list"), m_graph.num_rows);
  }
  static std::string label(const char* what) {
    return std::string("prekond::maximal_independent_set2::") + what;
  }
  Word list(const Space& space, const Words<Space>& words, int round,
            const VectorView<const int, Space>& before, std::int64_t size) {
    Word count = 0;
    Kokkos::parallel_scan(label("list"), Range<Space>(space, 0, size),
                          ListUndecided<Space>{words, round, before, m_vertices, m_neighbourhoods[round % 2]},
                          count);
    return count;
  }

  CsrGraphView<Space> m_graph;
  VectorView<const std::int64_t, Space> m_numbers;
  Vector<Word, Space> m_own;
  Vector<char, Space> m_covered;                       ///< of a host
  Vector<Word, Space> m_least;                         ///< of rounds
  Vector<int, Space> m_vertices, m_neighbourhoods[2];  ///< likewise
};

}  // namespace prekond::impl::aggregation
