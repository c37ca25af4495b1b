// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_graph.hpp>

#include <cstdint>
#include <type_traits>

namespace prekond {

/// Consecutive rows in blocks (supernodes): block k has the rows begins(k) .. begins(k + 1) - 1, at least
/// one.
template <class Space>
struct Supernodes {
  std::int64_t count() const {
    return begins.extent(0) > 0 ? static_cast<std::int64_t>(begins.extent(0)) - 1 : 0;
  }

  std::int64_t num_rows = 0;
  int largest = 0;            ///< rows of the largest block
  Vector<int, Space> begins;  ///< count() + 1, the last one num_rows
};

/// Blocks of `size` rows each; the last one has what is left.
///
/// \pre size > 0
template <class Space>
Supernodes<Space> uniform_supernodes(const Space& space, std::int64_t num_rows, int size);

/// The maximal runs of rows of which each has nearly the pattern of the one before it: |P_i n P_(i+1)| >=
/// similarity |P_i u P_(i+1)| for the columns < num_rows of rows i and i + 1 (Jaccard's measure). A run of
/// more than `most` rows is cut, from its first row on, into blocks of `most` and the rest.
///
/// Whole rows are compared, not lower triangles: where the pattern is symmetric they say the same of
/// neighbouring rows, and short lower rows at the matrix's beginning are alike in any matrix.
///
/// Cost: each row is read twice, with a binary search an entry. Memory: two ints a row and the result. Fences
/// three times.
///
/// \pre sorted rows, most > 0
///
/// Source: Janna, Ferronato, Gambolati, SIAM J. Sci. Comput. 37 (2015), on supernodes in FSAI.
template <class Space>
Supernodes<Space> find_supernodes(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& s,
                                  double similarity, int most);

/// The pattern of a lower triangle whose rows of a block share their columns: row i of a block with the rows
/// i0 .. has the union of the block's columns < i0, then i0 .. i. Sorted, the diagonal last; row i is the
/// beginning of the block's later rows.
///
/// Cost: for each entry a binary search in the rows of its block before its own, twice, and a sort. Memory:
/// the result and an int a row. Fences twice.
///
/// \pre sorted rows; what is on and above the diagonal is ignored
///
/// \throws InputError, before it is allocated, for a result of more than `max_bytes`
template <class Space>
CsrGraph<Space> merge_supernodes(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& lower,
                                 const Supernodes<Space>& supernodes, std::int64_t max_bytes);

}  // namespace prekond
