// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_graph.hpp>

#include <type_traits>
#include <vector>

namespace prekond {

enum class Triangle { lower, upper };

/// The rows of a triangular matrix by levels: row i needs the rows of its columns, and has the level
/// 1 + max of theirs, 0 where it needs none. Rows of one level do not need each other.
template <class Space>
struct LevelSchedule {
  Vector<int, Space> rows;                 ///< by level, in a level by their index
  Vector<int, Space> level_ptrs;           ///< of each level its first place in `rows`, and num_rows
  std::vector<int> host_level_ptrs = {0};  ///< the same

  int num_levels() const { return static_cast<int>(host_level_ptrs.size()) - 1; }
  std::int64_t num_rows() const { return static_cast<std::int64_t>(rows.extent(0)); }
};

/// The levels of a triangle of a square pattern, in any order within the rows. Entries on the diagonal, of
/// the other triangle and in columns >= num_rows (of other ranks) are skipped.
///
/// On a host one thread reads the pattern once. On a device one launch finds all levels: a thread has a row,
/// and asks for the levels of the rows that it needs until they are there. Teams take blocks of rows in their
/// own order by an atomic counter, so that what a row needs is held by a team that runs. A sort of the rows
/// follows.
///
/// Cost: a reading of the pattern, and on a device as many steps as there are levels among the rows that are
/// in progress at a time; a chain of n rows takes n steps, most of them within a team. Memory besides the
/// result, on a device: 20 n bytes. Fences.
///
/// Source: Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., section 11.6; Li, Saad, J.
/// Supercomput. 63 (2013), section 5.1.
template <class Space>
LevelSchedule<Space> level_schedule(const Space& space,
                                    const std::type_identity_t<CsrGraphView<Space>>& graph, Triangle which);

/// The levels from the last to the first, in each the rows as they are: those of the transposed triangle, in
/// which every row is later than those that it needs, though its level may be higher than it has to be. As
/// many levels as there were. Cost: one pass over the rows. Fences.
template <class Space>
LevelSchedule<Space> reversed_levels(const Space& space, const LevelSchedule<Space>& schedule);

}  // namespace prekond
