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
/// On a host one thread reads the pattern once. On a device by frontiers: the rows that need no other are the
/// first; each row of a frontier takes one from the count of needs of every row that needs it, which is in
/// the next frontier when that is 0. A frontier is a launch; many small ones make one launch of one team.
/// The result does not depend on the order of atomics.
///
/// Cost: two readings of the pattern, one of its transpose; on a device a launch a level, about 5 us, or a
/// step of one team, about 3 us; a sort of the rows. A chain of n rows takes n steps.
/// Memory beside the result, on a device: the triangle's transposed pattern, 8 + 4 n bytes for it, 16 n more.
/// Fences.
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
