// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The diagonal blocks of triangles, which a host's threads take one by one.
#include <prekond/matrix/csr_graph.hpp>

namespace prekond::impl::levels {

struct RowBlockTuning {
  static constexpr std::int64_t most_blocks = 256;  ///< about; smaller ones are put together
};

/// Blocks of consecutive rows that do not need the rows of other blocks.
template <class Space>
struct RowBlocks {
  Vector<int, Space> bounds;  ///< block b has the rows bounds(b) up to bounds(b + 1)
  int count = 0;              ///< 0: there are no blocks worth a schedule of their own
  explicit operator bool() const { return count > 0; }
};

/// The finest such blocks of L, and of U where it is given, on a host, but small ones put together. None on a
/// device, and none where a block has more than two thirds of L's rows and entries: they do not depend on the
/// number of threads.
///
/// Cost: a pass over the rows by one thread. \pre sorted rows, in columns < num_rows
template <class Space>
RowBlocks<Space> find_row_blocks(const Space& space, const CsrGraph<Space>& lower,
                                 const CsrGraph<Space>& upper = {});

}  // namespace prekond::impl::levels
