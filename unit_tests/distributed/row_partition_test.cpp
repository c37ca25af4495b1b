// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "distributed/row_partition.hpp"

#include <gtest/gtest.h>

namespace prekond {
namespace {

TEST(RowPartition, BlocksAreContiguousAndDifferByOneRowAtMost) {
  for (const std::int64_t num_rows : {std::int64_t(0), std::int64_t(1), std::int64_t(3), std::int64_t(7),
                                      std::int64_t(1000), std::int64_t(5) << 40}) {
    for (const int num_blocks : {1, 2, 3, 7, 100}) {
      const RowPartition partition{num_rows, num_blocks};
      EXPECT_EQ(partition.begin(0), 0);
      EXPECT_EQ(partition.end(num_blocks - 1), num_rows);
      for (int block = 0; block < num_blocks; ++block) {
        EXPECT_GE(partition.size(block), num_rows / num_blocks);
        EXPECT_LE(partition.size(block), (num_rows + num_blocks - 1) / num_blocks);
        for (const std::int64_t row : {partition.begin(block), partition.end(block) - 1})
          if (partition.size(block) > 0) {
            EXPECT_EQ(partition.block_of(row), block);
          }
        if (block > 0) {
          EXPECT_EQ(partition.begin(block), partition.end(block - 1));
          EXPECT_LE(partition.size(block), partition.size(block - 1));
        }
      }
    }
  }
}

}  // namespace
}  // namespace prekond
