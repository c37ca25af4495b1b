// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/general_matrices.hpp"
#include "testing/tpetra_matrices.hpp"

#include <gtest/gtest.h>
#include <prekond/adapters/tpetra_blocks.hpp>

namespace prekond::testing {
namespace {

TEST(TpetraBlocks, ARanksBlocksAreViewed) {
  const auto host = generated("elasticity3d:4");
  const std::int64_t nodes = host.num_rows / 3;
  const auto mesh = Teuchos::rcp(new TpetraMap(nodes, 0, Tpetra::getDefaultComm()));
  const auto matrix = block_matrix(host, mesh);
  const auto found = tpetra::to_bcsr_matrix(*matrix);
  EXPECT_EQ(found.block_size, 3);
  EXPECT_EQ(found.order, BlockOrder::by_rows);
  EXPECT_EQ(found.num_block_rows, static_cast<std::int64_t>(mesh->getLocalNumElements()));
  EXPECT_EQ(found.num_block_cols, static_cast<std::int64_t>(matrix->getColMap()->getLocalNumElements()));
  EXPECT_EQ(found.values.data(), matrix->getValuesDevice().data());
  const auto row_ptrs = to_vector(found.row_ptrs);
  const auto cols = to_vector(found.col_idxs);
  const auto values = to_vector(found.values);
  for (std::int64_t i = 0; i < found.num_block_rows; ++i) {
    const auto row = mesh->getGlobalElement(static_cast<int>(i)) * 3;
    for (std::size_t k = row_ptrs[i]; k < row_ptrs[i + 1]; ++k) {
      const auto col = matrix->getColMap()->getGlobalElement(cols[k]) * 3;
      for (int p = 0; p < 3; ++p)
        for (int q = 0; q < 3; ++q) ASSERT_EQ(values[k * 9 + p * 3 + q], host(row + p, col + q));
    }
  }
}

}  // namespace
}  // namespace prekond::testing
