// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/pattern/coloring.hpp>

namespace prekond {

/// Parameters of a sparsification.
struct SparsifyOptions {
  double threshold = 0.1;  ///< theta in [0, 1]: how weak an edge may be dropped
  int max_colors = 2;      ///< ends where there are no more
  int max_rounds = 10;     ///< colourings after the first
};

/// The result of a sparsification.
template <class Space>
struct SparsifiedColoring {
  Coloring<Space> coloring;        ///< of the graph without the dropped edges
  int num_colors_before = 0;       ///< of the whole graph
  int rounds = 0;                  ///< of sparsification
  std::int64_t dropped_edges = 0;  ///< each counted once
};

/// Colours the graph of A + A^T without edges that are weak, so that there are few colours.
///
/// With p colours, a row of p - 1 neighbours or more loses its weak edges, and the graph is coloured again,
/// until there are `max_colors` or nothing is lost. The weight of the edge {i, j} is w_ij = max(|a_ij|,
/// |a_ji|); it is weak for row i where w_ij < theta max_k w_ik, over all of A's entries off the diagonal.
/// An edge is dropped for both of its rows. Rows of one colour may then be connected, by what is small.
/// Entries that are stored as zeros are no edges from the start.
///
/// Cost: a binary search of A for each entry of the symmetric graph; a reading of it and a colouring a round.
/// Memory: the symmetric graph twice, a number an entry. Deterministic, as color_graph.
///
/// \pre sorted rows \throws InputError as color_graph, for theta outside of [0, 1], max_colors < 1 and
/// max_rounds < 0
///
/// Source: Li, Saad, J. Supercomput. 63 (2013), section 5.3.
template <class Scalar, class Space>
SparsifiedColoring<Space> color_sparsified(const Space& space, const CsrView<Scalar, Space>& a,
                                           const SparsifyOptions& options,
                                           const ColoringOptions& coloring = {});

}  // namespace prekond
