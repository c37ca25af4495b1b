// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The diagonal blocks of a triangle, which a host's threads take one by one.
#include <prekond/pattern/level_schedule.hpp>

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

/// The finest such blocks of a triangle on a host, but small ones put together. None on a device, and none
/// where a block has more than two thirds of the rows and entries: they do not depend on the number of
/// threads.
///
/// Cost: a pass over the rows by one thread. \pre sorted rows
template <class Space>
RowBlocks<Space> find_row_blocks(const Space& space, const CsrGraph<Space>& triangle, Triangle which);

}  // namespace prekond::impl::levels
