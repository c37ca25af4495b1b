// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/views.hpp>

namespace prekond {

/// Runs of consecutive rows with equal columns, as unknowns of one node have: element i of the result is the
/// first row of row i's run (i itself where the row before has other columns).
///
/// Cost: one reading of the columns, and of those of the row before. Memory: an int and a byte a row. Does
/// not fence.
///
/// \pre sorted rows
template <class Space>
Vector<int, Space> equal_row_representatives(const Space& space,
                                             VectorView<const std::size_t, Space> row_ptrs,
                                             VectorView<const int, Space> col_idxs);

}  // namespace prekond
