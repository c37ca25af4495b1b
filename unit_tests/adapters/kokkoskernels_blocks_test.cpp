// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/block_matrices.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/adapters/kokkoskernels_blocks.hpp>

namespace prekond::testing {
namespace {

using kokkoskernels::to_bcsr_matrix;
using kokkoskernels::to_bsr_matrix;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

template <class Space>
class KokkosKernelsBlocksTest : public ::testing::Test {};
TYPED_TEST_SUITE(KokkosKernelsBlocksTest, TestSpaces, SpaceNames);

TYPED_TEST(KokkosKernelsBlocksTest, ViewsAreSharedBothWays) {
  const TypeParam space;
  const auto host = clustered(60, 60, 4);
  for (const int b : {1, 3, 5}) {
    const auto ours = to_bcsr<double, TypeParam>(space, to_device<TypeParam>(host), b, BlockOrder::by_rows);
    ToolEvents events;
    const auto theirs = to_bsr_matrix("theirs", ours);
    const auto again = to_bcsr_matrix(theirs);
    EXPECT_THAT(events.allocations(), IsEmpty());
    EXPECT_EQ(theirs.blockDim(), b);
    EXPECT_EQ(theirs.numRows(), 60 / b);
    EXPECT_EQ(theirs.numCols(), 60 / b);
    EXPECT_EQ(again.block_size, b);
    EXPECT_EQ(again.order, BlockOrder::by_rows);
    EXPECT_EQ(again.values.data(), ours.values.data());
    EXPECT_EQ(again.col_idxs.data(), ours.col_idxs.data());
    EXPECT_EQ(again.row_ptrs.data(), ours.row_ptrs.data());
    expect_blocks(host, again);
  }
}

TYPED_TEST(KokkosKernelsBlocksTest, WhatTheyDoNotHaveIsRefused) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(clustered(61, 61, 4));
  const auto padded = to_bcsr<double, TypeParam>(space, a, 3, BlockOrder::by_rows);
  EXPECT_THAT(message_of<InputError>([&] { to_bsr_matrix("", padded); }), HasSubstr("padding"));
  const auto by_columns = to_bcsr<double, TypeParam>(space, to_device<TypeParam>(clustered(60, 60, 4)), 3,
                                                     BlockOrder::by_columns);
  EXPECT_THAT(message_of<InputError>([&] { to_bsr_matrix("", by_columns); }), HasSubstr("by columns"));
}

}  // namespace
}  // namespace prekond::testing
