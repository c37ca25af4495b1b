// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_graph.hpp>

#include <type_traits>

namespace prekond {

/// Disjoint sets of vertices, each a root, its neighbours and some of theirs.
template <class Space>
struct Aggregates {
  std::int64_t count = 0;
  Vector<int, Space> part;   ///< aggregate of each vertex; -1: in none
  Vector<int, Space> roots;  ///< of each aggregate, ascending
  int rounds = 0;            ///< of both independent sets; on a host one each
};

/// A maximal set of vertices no two of which are within two edges of each other: the vertices, ascending.
/// Every other vertex is within two edges of one of them; a vertex without neighbours is in the set.
///
/// On a host one thread looks at the vertices in the order of their numbers: one enters the set where none of
/// the set is within two edges. Sets of meshes that are numbered along lines are packed more densely so, and
/// multigrid takes fewer iterations, than with random priorities.
///
/// On a device it is found in rounds. Each gives the undecided vertices new random priorities, a hash of the
/// round and the vertex. A vertex that has the first priority within two edges enters the set: those of its
/// neighbours and its own least priority are all its own. One that has a vertex of the set within two edges
/// is out. Lists of what is undecided, and of the neighbourhoods that still have something undecided, shrink
/// from round to round. There are about log n rounds.
///
/// The graph has to be symmetric: of another the set may have vertices within two edges, and on devices
/// depend on the threads. Diagonal entries, and columns >= num_rows, are ignored. The result has the same
/// bits whatever the threads, on every host and on every device.
///
/// Cost: two readings a round of the rows that are left; on a host one pass by one thread, which reads the
/// rows of the set twice and others up to a neighbour of the set. Memory: 28 bytes a vertex, on a host 9, and
/// the result. Fences once a round.
///
/// \throws InputError where a device's round decides nothing, which happens only to nonsymmetric graphs
///
/// Source: rounds: Kelley, Rajamanickam, IPDPS 2022; in order: Vanek, Mandel, Brezina, Computing 56 (1996),
/// whose first pass over the vertices it is.
template <class Space>
Vector<int, Space> maximal_independent_set2(const Space& space,
                                            const std::type_identity_t<CsrGraphView<Space>>& graph);

/// Aggregates for algebraic multigrid, in two phases:
///   1. the vertices of a maximal independent set of distance 2 are roots, each with all its neighbours;
///   2. a vertex that is left, which has a neighbour in an aggregate, joins the one to which most of its
///      edges go: of equal ones the smallest, of equal sizes the one of the smaller number.
/// Aggregates are numbered in the order of their roots. A vertex without neighbours is in none, every other
/// in one: connected, all within two edges of the root.
///
/// The graph, its diagonal, the bits of the result and the error: as of `maximal_independent_set2`.
///
/// Cost: an independent set; two readings of the roots' rows; the rows of what is left after phase 1, once
/// read and once sorted. Memory: 32 bytes a vertex, 4 bytes an entry of the rows left after phase 1, and the
/// result. Fences once a round of a device.
///
/// Source: Kelley, Rajamanickam, IPDPS 2022.
template <class Space>
Aggregates<Space> aggregate(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& graph);

}  // namespace prekond
