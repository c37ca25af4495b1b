// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <algorithm>
#include <cstdint>

namespace prekond {

/// Rows in contiguous blocks, one a rank. Sizes differ by one at most, the larger blocks come first; with
/// fewer rows than blocks the last ones are empty.
struct RowPartition {
  std::int64_t num_rows = 0;
  int num_blocks = 1;

  std::int64_t begin(int block) const {
    return block * (num_rows / num_blocks) + std::min<std::int64_t>(block, num_rows % num_blocks);
  }
  std::int64_t end(int block) const { return begin(block + 1); }
  std::int64_t size(int block) const { return end(block) - begin(block); }

  /// The block that has the row. \pre 0 <= row < num_rows
  int block_of(std::int64_t row) const {
    const std::int64_t small = num_rows / num_blocks, num_large = num_rows % num_blocks;
    const std::int64_t behind = row - num_large * (small + 1);
    return static_cast<int>(behind < 0 ? row / (small + 1) : num_large + behind / small);
  }
};

}  // namespace prekond
