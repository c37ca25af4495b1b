// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A matrix in the order of groups of rows that do not depend on each other: colours, or levels of a
/// triangle.
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/pattern/coloring.hpp>
#include <prekond/pattern/level_schedule.hpp>

#include <cstdint>
#include <vector>

namespace prekond::impl::sweeps {

/// A's rows and columns in the order of the groups, as strictly lower and strictly upper block triangles by
/// group. Entries between two rows of one group are left out, as are columns >= num_rows.
template <class Space>
struct GroupedTriangles {
  int num_groups = 0;
  std::vector<int> group_ptrs;          ///< of the rows
  std::vector<std::size_t> lower_ptrs;  ///< of the triangles' entries, by group
  std::vector<std::size_t> upper_ptrs;
  Vector<int, Space> device_group_ptrs;
  Vector<int, Space> permutation;  ///< the row of A at a place
  CsrGraph<Space> lower, upper;    ///< those of colours have sorted rows
  CsrGraph<Space> mirrored;        ///< that of A + A^T, which they are of; without rows: A's own
  /// The row pointers once more, from 0 on for each group: those of group c begin at group_ptrs[c] + c.
  Vector<std::size_t, Space> lower_row_ptrs, upper_row_ptrs;
  Vector<int, Space> lower_source, upper_source;  ///< the place of an entry in A's row
  Vector<int, Space> diagonal;                    ///< likewise; -1 where it is not stored
  std::int64_t within_groups = 0;                 ///< entries between rows of one group
  std::int64_t foreign = 0;                       ///< entries in columns >= num_rows
  std::int64_t nnz_of_a = 0;                      ///< the number of A's entries in a numeric phase

  std::int64_t num_rows() const { return static_cast<std::int64_t>(permutation.extent(0)); }
  std::int64_t bytes() const;
};

/// The triangles of A with the colours as groups. Fences.
template <class Space>
GroupedTriangles<Space> make_grouped_triangles(const Space& space, const CsrGraphView<Space>& a,
                                               const Coloring<Space>& coloring);

/// The strict triangle `n` in the order of its levels: their triangle `lower`, whichever `n` is, whose rows
/// keep the order of their entries. Fences.
template <class Space>
GroupedTriangles<Space> make_level_triangle(const Space& space, const CsrGraphView<Space>& n,
                                            const LevelSchedule<Space>& levels);

}  // namespace prekond::impl::sweeps
