// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/block_matrices.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>
#include "sparse_product/transpose.hpp"

namespace prekond::testing {
namespace {

template <class Space>
class TransposeBlocksTest : public ::testing::Test {};
TYPED_TEST_SUITE(TransposeBlocksTest, TestSpaces, SpaceNames);

TYPED_TEST(TransposeBlocksTest, EveryBlockIsTransposed) {
  for (const int b : {1, 2, 3, 8, 17})
    for (const BlockOrder order : both_orders) {
      SCOPED_TRACE(b);
      const auto a = clustered(61, 61, 21);
      const auto blocks = to_bcsr<double, TypeParam>(TypeParam(), to_device<TypeParam>(a), b, order);
      const auto transpose = transpose_blocks<double, TypeParam>(TypeParam(), blocks);
      EXPECT_EQ(transpose.order, order);
      expect_blocks(transposed(a), transpose);
    }
  const auto wide = clustered(24, 60, 3);
  expect_blocks(transposed(wide),
                transpose_blocks<double, TypeParam>(
                    TypeParam(), to_bcsr<double, TypeParam>(TypeParam(), to_device<TypeParam>(wide), 4)));
}

}  // namespace
}  // namespace prekond::testing
