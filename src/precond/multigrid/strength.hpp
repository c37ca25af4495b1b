// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_graph.hpp>

namespace prekond {

/// The graph of strong couplings between nodes of d = unknowns_per_node unknowns, rows d k to d k + d - 1 the
/// node k: nodes I and J != I are connected where, in the Frobenius norm,
///   ||A_IJ|| > theta sqrt(||A_II|| ||A_JJ||)  or  ||A_JI|| > theta sqrt(||A_II|| ||A_JJ||).
/// num_rows / d x num_rows / d, symmetric, sorted, without the diagonal.
///
/// The norms are taken in double, and neither overflow nor underflow. A diagonal block that is not stored has
/// the norm 0. Zeros are never strong, stored ones neither: theta = 0 connects all that is not zero. Columns
/// >= num_rows are skipped. Same bits whatever the threads and on every backend.
///
/// Cost: two readings of A (on a host one) and one of the strong pattern, or, where that is not symmetric,
/// three, with a binary search an entry; for d > 1, once, A
/// by blocks (`to_bcsr`), unless A has all entries of its blocks, and one reading of it. Memory: the result,
/// the strong pattern once more, two numbers of 4 and 8 bytes a node; for d > 1, one double a block, and A by
/// blocks unless these are whole. Fences.
///
/// \pre sorted rows \throws InputError for theta < 0 or NaN, and where d is not from 1 to 32 or does not
/// divide the rows
///
/// Source: Vanek, Mandel, Brezina, Computing 56 (1996), with norms of blocks for the entries.
template <class Scalar, class Space>
CsrGraph<Space> strong_connections(const Space& space, const CsrView<Scalar, Space>& a, int unknowns_per_node,
                                   double theta);

/// The strong couplings of rows, with the diagonal.
template <class Space>
struct StrongRows {
  CsrGraph<Space> pattern;  ///< strong_connections of one unknown a node, and (i, i) of all rows
  bool is_part = false;     ///< A has all of its entries
};

/// Likewise, with the diagonal: what smoothed aggregation keeps of A, for a pass over it less.
template <class Scalar, class Space>
StrongRows<Space> strong_rows(const Space& space, const CsrView<Scalar, Space>& a, double theta);

/// Graphs of nodes.
template <class Space>
struct NodeConnections {
  CsrGraph<Space> all;     ///< I and J where a block A_IJ has entries, the diagonal included where it has
  CsrGraph<Space> strong;  ///< see strong_connections
  bool whole = false;      ///< A has all entries of its blocks, d rows with the same columns each
};

/// The pattern by blocks of `rows` x `cols` of one that has all entries of these; else 0 x 0. Cost: two
/// readings of A's columns. Fences. \pre rows and cols are positive; sorted rows, no column twice
template <class Space>
CsrGraph<Space> whole_blocks(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& a, int rows,
                             int cols);

/// The first of them where A has all entries of its blocks; else 0 x 0, for the cost of whole_blocks.
/// \throws InputError where d is not from 1 to 32 or does not divide the rows
template <class Space>
CsrGraph<Space> nodes_of_whole_blocks(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& a,
                                      int unknowns_per_node);

/// Both graphs of nodes, for the cost of the second; columns of A after the last node's are in a node more.
/// `nodes`: the first one, where A is known to have all entries of its blocks.
template <class Scalar, class Space>
NodeConnections<Space> node_connections(const Space& space, const CsrView<Scalar, Space>& a,
                                        int unknowns_per_node, double theta,
                                        const std::type_identity_t<CsrGraph<Space>>& nodes = {});

/// Exceptions and unknowns of strong_influences.
template <class Space>
struct InfluenceOptions {
  double theta = 0.25;
  /// Rows with |sum_j a_ij| > max_row_sum |a_ii| are influenced by none; 1: no row is an exception.
  double max_row_sum = 0.9;
  /// The unknown that each row is a value of, of a system of equations; empty: all of the same one.
  VectorView<const int, Space> unknown_of = {};
};

/// The graph of strong influences, which classical multigrid coarsens: row i has the columns j != i with
///   -a_ij >= theta max_{k != i} (-a_ik)  and  -a_ij > 0,
/// for a_ii >= 0; a row with a_ii < 0 is taken with the opposite sign. num_rows x num_rows, sorted, in
/// general not symmetric.
///
/// With `unknown_of` the entries between rows of different unknowns are taken as not there, also in the row's
/// sum. Rows whose sum is nearly their diagonal, see InfluenceOptions, are solved by a sweep of any smoother.
/// Stored zeros, and entries of the diagonal's sign, are never strong. Columns >= num_rows are skipped. Same
/// bits whatever the threads.
///
/// Cost: three readings of A. Memory: the result, a double and an int a row. Fences once, inside the scan.
///
/// \pre sorted rows
/// \throws InputError for theta or max_row_sum that is not from 0 to 1, and for `unknown_of` of another
/// length than A has rows
///
/// Source: Ruge, Stueben, Algebraic multigrid, in: Multigrid Methods, SIAM (1987).
template <class Scalar, class Space>
CsrGraph<Space> strong_influences(const Space& space, const CsrView<Scalar, Space>& a,
                                  const InfluenceOptions<Space>& options = {});

}  // namespace prekond
