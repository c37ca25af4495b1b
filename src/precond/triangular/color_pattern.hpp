// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The matrix in the order of its colours: where its entries go.
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/pattern/coloring.hpp>

#include <cstdint>
#include <vector>

namespace prekond::impl::relaxation {

/// A's rows and columns in the order of the colours, as strictly lower and strictly upper block triangles by
/// colour. Entries between two rows of one colour are left out, as are columns >= num_rows.
template <class Space>
struct ColorPattern {
  int num_colors = 0;
  std::vector<int> color_ptrs;          ///< of the rows
  std::vector<std::size_t> lower_ptrs;  ///< of the triangles' entries, by colour
  std::vector<std::size_t> upper_ptrs;
  Vector<int, Space> device_color_ptrs;
  Vector<int, Space> permutation;  ///< the row of A at a place
  CsrGraph<Space> lower, upper;    ///< sorted rows
  /// The row pointers once more, from 0 on for each colour: those of colour c begin at color_ptrs[c] + c.
  Vector<std::size_t, Space> lower_row_ptrs, upper_row_ptrs;
  Vector<int, Space> lower_source, upper_source;  ///< where in A's row an entry stands
  Vector<int, Space> diagonal;                    ///< likewise; -1 where it is not stored
  std::int64_t within_colors = 0;                 ///< entries between rows of one colour
  std::int64_t foreign = 0;                       ///< entries in columns >= num_rows
  std::int64_t nnz_of_a = 0;                      ///< what A has to have in a numeric phase

  std::int64_t num_rows() const { return static_cast<std::int64_t>(permutation.extent(0)); }
  std::int64_t bytes() const;
};

/// Fences.
template <class Space>
ColorPattern<Space> make_color_pattern(const Space& space, const CsrGraphView<Space>& a,
                                       const Coloring<Space>& coloring);

}  // namespace prekond::impl::relaxation
