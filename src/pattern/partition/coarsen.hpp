// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Coarser graphs of a graph, for a partition on the execution space.
#include <prekond/matrix/csr_graph.hpp>

namespace prekond::impl::partition {

/// A graph whose vertices are sets of rows. Two vertices have an edge for each edge between their rows, and
/// none to themselves.
template <class Space>
struct WeightedGraph {
  std::int64_t size() const { return graph.num_rows; }

  CsrGraphView<Space> graph;
  Vector<int, Space> weight;  ///< the number of a vertex's rows
  CsrGraph<Space> owned;      ///< the arrays of a graph that was made here
};

template <class Space>
struct Coarsened {
  WeightedGraph<Space> graph;
  Vector<int, Space> vertex;  ///< of each vertex of the finer graph, that it is in
};

/// Each vertex points at that of its neighbours and itself which has the largest number, by a hash of `level`
/// and the vertex; the trees of these pointers are the vertices of the result. In a grid they have about as
/// many vertices as a row has entries.
///
/// Cost: four readings of the graph, and a sort of its vertices. Memory: the result, and 24 bytes a vertex.
/// The bits do not depend on the threads.
///
/// \pre a symmetric pattern
template <class Space>
Coarsened<Space> coarsen(const Space& space, const WeightedGraph<Space>& fine, int level);

}  // namespace prekond::impl::partition
