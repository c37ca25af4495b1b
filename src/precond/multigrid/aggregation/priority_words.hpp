// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The words of vertices in the rounds of a maximal independent set.
#include <prekond/matrix/csr_graph.hpp>
#include "matrix/counter_hash.hpp"

namespace prekond::impl::aggregation {

/// A vertex's status, its priority of the round and its number in one word, so that they are compared at
/// once: in the set < undecided, by priority, equal ones by number < absent < out.
using Word = std::uint64_t;
inline constexpr Word in_set = 0;
inline constexpr Word absent = ~Word(1);  ///< not a vertex of the graph that is looked at
inline constexpr Word out = ~Word(0);

KOKKOS_FORCEINLINE_FUNCTION Word undecided(int round, Word v) {
  const Word priority = counter_hash(static_cast<Word>(round), v) >> 32;
  return priority << 32 | (v + 1);
}
KOKKOS_FORCEINLINE_FUNCTION bool is_undecided(Word word) {
  return word != in_set && word < absent;
}

/// The graph of the vertices that are in no part, with a word of each, and the least word of each closed
/// neighbourhood: `out` where that has a vertex of the set or nothing undecided.
template <class Space>
struct Words {
  CsrGraphView<Space> graph;
  VectorView<Word, Space> own;
  VectorView<Word, Space> least;
  VectorView<const std::int64_t, Space> numbers{};  ///< by which vertices have priorities; empty: their own

  KOKKOS_FORCEINLINE_FUNCTION Word number(int v) const {
    return static_cast<Word>(numbers.extent(0) > 0 ? numbers(v) : v);
  }
  KOKKOS_FORCEINLINE_FUNCTION int length(int v) const {
    return static_cast<int>(graph.row_ptrs(v + 1) - graph.row_ptrs(v));
  }
};

/// The verdict of a round on a vertex: the largest of its own and all neighbours'.
enum Verdict { enters, waits, is_out };

KOKKOS_FORCEINLINE_FUNCTION Verdict verdict_of(Word least, Word own) {
  if (least == out) return is_out;
  return least == own || least == absent ? enters : waits;
}

}  // namespace prekond::impl::aggregation
