// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_graph.hpp>

#include <type_traits>
#include <utility>
#include <vector>

namespace prekond {

/// The order in which a greedy colouring visits the rows: by index; those with most neighbours first, equal
/// ones by a hash of the index; only by the hash.
enum class ColoringOrder { natural, largest_first, hash };

inline std::vector<std::pair<std::string, ColoringOrder>> coloring_orders() {
  return {{"natural", ColoringOrder::natural},
          {"largest_first", ColoringOrder::largest_first},
          {"hash", ColoringOrder::hash}};
}

/// Parameters of a colouring.
struct ColoringOptions {
  int distance = 1;  ///< rows within this number of edges get different colours; 1 or 2
  ColoringOrder order = ColoringOrder::natural;
  /// First looks whether two colours do, of distance 1. The 5- and 7-point Laplacians are such.
  bool two_colors = true;
  /// After this number of rounds the rest is coloured in the order of the hash: a band by index needs n.
  int max_rounds = 2000;
};

/// A colouring of the rows of a matrix, and the order by colours.
template <class Space>
struct Coloring {
  int num_colors = 0;
  Vector<int, Space> colors;          ///< of each row, 0 .. num_colors - 1
  Vector<int, Space> permutation;     ///< the rows by colour, ascending within each
  std::vector<int> color_ptrs = {0};  ///< where each colour's rows begin in it; num_colors + 1
  int rounds = 0;                     ///< of the parallel greedy colouring; 0 where two colours did

  std::int64_t num_rows() const { return static_cast<std::int64_t>(colors.extent(0)); }
};

/// Colours the graph of S + S^T: rows that an entry connects, in either direction, get different colours.
/// Columns >= num_rows are skipped, and the diagonal.
///
/// Two colours are tried first: components are joined by their edges, each row with the parity of its
/// distance from the smallest row of its component, until an edge joins equal parities or none joins two
/// components. That takes about log n readings of S, few where there are more colours to come.
///
/// Else it is the greedy colouring in the given order, each row with the smallest colour that no neighbour
/// before it has, done in rounds as Jones and Plassmann do: a row is coloured when all neighbours before it
/// are. The result is that of one row after another, whatever the threads; no number of colours is too large.
/// By the hash there are some log n / log log n rounds; by index as many as the longest ascending path, 7 n
/// for 27-point stencils on n^3 nodes.
///
/// Cost: the symmetrisation; three readings of the graph (of all paths of two edges, for distance 2).
/// Memory: the symmetric graph, two numbers of 8 bytes and three of 4 a row. Fences once in 16 rounds.
///
/// \pre sorted rows \throws InputError for another distance than 1 and 2, fewer columns than rows, or
/// max_rounds < 0
///
/// Source: Jones, Plassmann, SIAM J. Sci. Comput. 14 (1993).
template <class Space>
Coloring<Space> color_graph(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& s,
                            const ColoringOptions& options = {});

/// The order by colours that were found elsewhere. A colour may have no row. Fences. \throws InputError for a
/// colour that is negative, or not below the number of rows
template <class Space>
Coloring<Space> coloring_of(const Space& space, const Vector<int, Space>& colors);

/// The same colours in another order: by the mean number of entries that S has in a colour's rows, fewest
/// first. Colours of equal means keep their order, those without rows come last. An incomplete factorisation
/// that begins with the rows of few entries drops less: eliminating a row of k entries makes up to k^2.
///
/// Cost: two readings of the rows' numbers. Memory: two numbers of 4 bytes a row. Fences. Deterministic.
///
/// \throws InputError where the colouring and S are not of as many rows
template <class Space>
Coloring<Space> renumber_by_degree(const Space& space, const Coloring<Space>& coloring,
                                   const std::type_identity_t<CsrGraphView<Space>>& s);

namespace impl {
/// \throws InputError as color_graph
template <class Space>
void check_coloring(const std::type_identity_t<CsrGraphView<Space>>& s, const ColoringOptions& options);

/// The same as color_graph, of a graph that is symmetric and square already.
template <class Space>
Coloring<Space> color_symmetric(const Space& space, const CsrGraphView<Space>& s,
                                const ColoringOptions& options);
}  // namespace impl

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
