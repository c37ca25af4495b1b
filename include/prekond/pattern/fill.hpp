// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_graph.hpp>

#include <cstdint>
#include <type_traits>

namespace prekond {

/// The pattern of the factors of ILU(k): the strict triangles, with sorted rows, and where in A their entries
/// come from.
template <class Space>
struct FillPattern {
  CsrGraph<Space> lower, upper;  ///< num_rows x num_rows, without the diagonal
  /// Where in A's row an entry stands; -1: it is fill. Empty of A's own triangles, whose rows stand in A's as
  /// they are: that of L, the diagonal where it is stored, that of U.
  Vector<int, Space> lower_source, upper_source;
  Vector<int, Space> diagonal;  ///< likewise; -1 where it is not stored
  bool is_symmetric = false;    ///< A's pattern is, and so is this; where that was looked at
  std::int64_t added = 0;       ///< entries that A does not have
  std::int64_t foreign = 0;     ///< A's entries in columns >= num_rows, which are left out
  std::int64_t nnz_of_a = 0;    ///< what A has to have in a numeric phase

  std::int64_t num_rows() const { return lower.num_rows; }
  std::int64_t bytes() const;
};

/// The pattern of ILU(k) for k = `level`, of a square A whose diagonal is taken as present. u_ij with j > i
/// is in it if and only if A's graph has a way from i to j of at most k + 1 edges whose inner nodes are all
/// below i; l_ij with j < i, if and only if there is one from i to j whose inner nodes are all below j, that
/// is a way of A^T's graph from j to i. So each row of U, and each column of L, is found by its own
/// breadth-first search, all at the same time, and the result has the same bits whatever the threads and
/// `slab_bytes`. For k = 0 these are A's own triangles, and nothing is searched.
///
/// `looks_at_symmetry`: finds out whether A's pattern is symmetric, which is done for k > 0 always. L's
/// pattern is then that of U^T, and one search does. Columns >= num_rows are skipped; rows may be empty.
///
/// Cost: of k = 0 two readings of A; else twice a reading of the rows of A within k steps of each row, below
/// it, and binary searches of the result's entries in A's rows. Memory: the result, 8 bytes an entry, of k =
/// 0 four, and 20 a row, and workspaces of `slab_bytes` together; of a pattern that is not symmetric, A^T's.
/// Fences a few times.
///
/// \pre sorted rows
/// \throws InputError for k < 0, and, before it is allocated, for a result of more than `most_bytes`
///
/// Source: Hysom, Pothen, SIAM J. Sci. Comput. 22 (2001), theorem 2; Saad, Iterative Methods for Sparse
/// Linear Systems, 2nd ed., section 10.3.3.
template <class Space>
FillPattern<Space> fill_pattern(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& a,
                                int level, std::int64_t most_bytes, bool looks_at_symmetry,
                                std::int64_t slab_bytes = std::int64_t(256) << 20);

}  // namespace prekond
