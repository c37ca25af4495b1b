// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_matrix.hpp>

namespace prekond {

/// Sorts the entries of every row by column, in place, the values along.
///
/// A row that is sorted already costs one reading of its columns. Equal columns keep their order in rows of
/// up to 256 entries; in longer rows they end side by side in an order that depends only on the row. The
/// result has the same bits whatever the threads. Memory: on a device, a list of the longer rows.
///
/// On a device a row of up to 256 entries is ranked by a vector of lanes in scratch, one reading and one
/// writing of the matrix (131 M entries in rows of ~44 on an H200: 3.6 ms shuffled, 0.8 ms sorted already); a
/// longer one, of n entries, passes a bitonic network of log2(n) (log2(n) + 1) / 2 steps in global memory by
/// one team. On the host: insertion sort, or heap sort.
/// Compiled for double, float, their complex numbers, int and int64 values with int columns and size_t
/// offsets, on the default and the host execution space.
template <class Space, class Scalar, class Ordinal, class Offset, class MemorySpace, class Traits>
void sort_rows(const Space& space, const CsrMatrix<Scalar, Ordinal, Offset, MemorySpace, Traits>& a);

/// The same for a pattern without values. Compiled for int columns and size_t offsets.
template <class Space>
void sort_columns(const Space& space, std::int64_t num_rows, const Vector<std::size_t, Space>& row_ptrs,
                  const Vector<int, Space>& col_idxs);

}  // namespace prekond
