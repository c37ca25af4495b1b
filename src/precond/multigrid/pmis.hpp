// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_graph.hpp>

#include <cstdint>
#include <type_traits>

namespace prekond {

/// The vertices of a graph, parted into those that a coarser level has and those that are interpolated.
template <class Space>
struct CoarseFine {
  static constexpr int fine = -1;         ///< number of a fine vertex
  static constexpr int unconnected = -2;  ///< and of one that is fine because it has no edge at all

  std::int64_t count = 0;     ///< of coarse vertices
  Vector<int, Space> number;  ///< of each vertex: a coarse one's place in `coarse`, `fine` or `unconnected`
  Vector<int, Space> coarse;  ///< the coarse vertices, ascending
  int rounds = 0;
};

/// Coarse vertices of classical multigrid by PMIS. `strong` has in row i what influences i; what i influences
/// is in its columns. The measure of a vertex is the number of others that it influences plus a random number
/// in (0, 1), a hash of the vertex's own.
///
/// Vertices that influence none are fine. Then, in rounds: every undecided vertex whose measure is larger
/// than that of all undecided ones it has an edge with, in either direction, becomes coarse, and all
/// undecided ones that are influenced by one of these become fine. No two coarse vertices have an edge with
/// each other where the graph is symmetric, and every fine vertex that influences another is influenced by a
/// coarse one.
///
/// Diagonal entries, and columns >= num_rows, are ignored. Same bits whatever the threads, and on every
/// backend.
///
/// Cost: `symmetrize`, and in each of about log n rounds two readings of the undecided rows. Memory: S + S^T,
/// 24 bytes a vertex, and the result. Fences once a round.
///
/// \pre sorted rows
///
/// Source: De Sterck, Yang, Heys, SIAM J. Matrix Anal. Appl. 27 (2006), algorithm PMIS.
template <class Space>
CoarseFine<Space> pmis(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& strong);

/// Aggressive coarsening: of the coarse vertices in `first`, those that PMIS makes coarse again in their
/// graph of distance two, where j influences i if there is a path of one edge or two from i to j in `strong`.
/// A coarse vertex without such a path stays coarse. The others of `first` are fine.
///
/// Cost: `product_pattern` of the coarse rows and the coarse columns, with its budgets, and `pmis`.
///
/// \pre sorted rows \throws InputError as product_pattern
template <class Space>
CoarseFine<Space> pmis_of_coarse(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& strong,
                                 const CoarseFine<Space>& first,
                                 std::int64_t max_bytes = std::int64_t(1) << 40,
                                 std::int64_t slab_bytes = std::int64_t(256) << 20);

}  // namespace prekond
