// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/host_matrix.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/matrix_source.hpp>

#include <cstddef>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace prekond::testing {
namespace {

using ::testing::HasSubstr;

template <class Space>
class MatrixSourceTest : public ::testing::Test {};
TYPED_TEST_SUITE(MatrixSourceTest, TestSpaces, SpaceNames);

/// Blocks on the host, as BcsrMatrix has them.
struct HostBlocks {
  int block_size = 1;
  int block_cols = 0;
  std::vector<std::size_t> row_ptrs = {0};
  std::vector<int> col_idxs;
  std::vector<double> values;

  int block_rows() const { return static_cast<int>(row_ptrs.size()) - 1; }

  double entry(int row, int col) const {
    const std::size_t b = block_size, p = row % block_size, q = col % block_size;
    for (std::size_t k = row_ptrs[row / block_size]; k < row_ptrs[row / block_size + 1]; ++k)
      if (col_idxs[k] == col / block_size) return values[(k * b + p) * b + q];
    return 0;
  }
};

/// Random blocks; some block rows are empty, one is full.
HostBlocks random_blocks(int block_size, int block_rows, int block_cols, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> number(-1, 1);
  HostBlocks blocks;
  blocks.block_size = block_size;
  blocks.block_cols = block_cols;
  for (int i = 0; i < block_rows; ++i) {
    for (int j = 0; j < block_cols; ++j)
      if (i == block_rows / 2 || (i % 5 != 3 && (i == j || random() % 4 == 0))) blocks.col_idxs.push_back(j);
    blocks.row_ptrs.push_back(blocks.col_idxs.size());
  }
  for (std::size_t k = 0; k < blocks.col_idxs.size() * block_size * block_size; ++k)
    blocks.values.push_back(k % 7 == 5 ? 0 : number(random));  // a block's zeros are entries too
  return blocks;
}

template <class Space>
auto on_device(const HostBlocks& blocks) {
  return BcsrMatrix<double, int, std::size_t, typename Space::memory_space>(
      blocks.block_size, BlockOrder::by_rows, blocks.block_rows(), blocks.block_cols,
      to_device<Space>(blocks.row_ptrs), to_device<Space>(blocks.col_idxs), to_device<Space>(blocks.values));
}

TYPED_TEST(MatrixSourceTest, BlocksAreExpandedRowByRow) {
  for (const int b : {1, 2, 3, 5, 32}) {
    for (const int rows : {1, 2, 7, 61}) {
      const HostBlocks blocks = random_blocks(b, rows, rows + 3, 17 * b + rows);
      const auto a = expand_blocks<double, TypeParam>(TypeParam(), on_device<TypeParam>(blocks));
      SCOPED_TRACE(std::to_string(b) + " x " + std::to_string(b) + ", " + std::to_string(rows) + " rows");
      ASSERT_EQ(a.num_rows, rows * b);
      ASSERT_EQ(a.num_cols, (rows + 3) * b);
      const auto row_ptrs = to_vector(a.row_ptrs);
      const auto col_idxs = to_vector(a.col_idxs);
      const auto values = to_vector(a.values);
      ASSERT_EQ(row_ptrs.size(), std::size_t(rows * b + 1));
      ASSERT_EQ(row_ptrs.front(), 0u);
      ASSERT_EQ(row_ptrs.back(), values.size());
      for (int i = 0; i < rows * b; ++i) {
        const std::size_t of_block = blocks.row_ptrs[i / b + 1] - blocks.row_ptrs[i / b];
        ASSERT_EQ(row_ptrs[i + 1] - row_ptrs[i], of_block * b) << "row " << i;
        for (std::size_t k = row_ptrs[i]; k < row_ptrs[i + 1]; ++k) {
          if (k > row_ptrs[i]) {
            ASSERT_LT(col_idxs[k - 1], col_idxs[k]) << "row " << i;
          }
          ASSERT_EQ(values[k], blocks.entry(i, col_idxs[k])) << "row " << i << ", column " << col_idxs[k];
        }
      }
    }
  }
}

TYPED_TEST(MatrixSourceTest, ExpandsNoBlocks) {
  const HostBlocks none;
  const auto a = expand_blocks<double, TypeParam>(TypeParam(), on_device<TypeParam>(none));
  EXPECT_EQ(a.num_rows, 0);
  EXPECT_EQ(to_vector(a.row_ptrs), std::vector<std::size_t>{0});
  EXPECT_EQ((expand_blocks<double, TypeParam>(TypeParam(), BcsrView<double, TypeParam>()).num_rows), 0);
}

TYPED_TEST(MatrixSourceTest, RefusesBlocksWhoseArraysDoNotFit) {
  const auto refusal = [](const auto& blocks) {
    return message_of<InputError>([&] { expand_blocks<double, TypeParam>(TypeParam(), blocks); });
  };
  auto blocks = on_device<TypeParam>(random_blocks(2, 4, 4, 1));
  blocks.block_size = 0;
  EXPECT_THAT(refusal(blocks), HasSubstr("a block size of 0"));
  blocks.block_size = 3;
  EXPECT_THAT(refusal(blocks), HasSubstr("blocks of 3 x 3 have"));
  blocks.block_size = 2;
  blocks.num_block_rows = 5;
  EXPECT_THAT(refusal(blocks), HasSubstr("5 block rows have 5 row pointers"));
  blocks.num_block_rows = 4;
  blocks.num_block_cols = 1 << 30;
  EXPECT_THAT(refusal(blocks), HasSubstr("2147483648 columns"));
}

TYPED_TEST(MatrixSourceTest, AnyMatrixConvertsAndKnowsNothingMore) {
  const auto a = generate<double>(TypeParam(), "poisson2d:4");
  const MatrixSource<double, TypeParam> source = a;
  EXPECT_EQ(source.csr().values.data(), a.values.data());
  EXPECT_EQ(source.csr().num_rows, 16);
  EXPECT_EQ(source.blocks(), nullptr);
  EXPECT_EQ(source.unknowns_per_node(), 1);
  EXPECT_EQ(source.near_null_space().size(), 0u);
}

TYPED_TEST(MatrixSourceTest, ASourceOfBlocksOwnsTheirRows) {
  const auto blocks = on_device<TypeParam>(random_blocks(3, 4, 5, 2));
  const MatrixSource<double, TypeParam> source(TypeParam(), blocks);
  ASSERT_NE(source.blocks(), nullptr);
  EXPECT_EQ(source.blocks()->values.data(), blocks.values.data());
  EXPECT_EQ(source.unknowns_per_node(), 3);
  const MatrixSource<double, TypeParam> copy = source;
  EXPECT_EQ(copy.csr().num_rows, 12);
  EXPECT_EQ(copy.csr().num_cols, 15);
  EXPECT_EQ(to_vector(copy.csr().values).size(), blocks.values.extent(0));
}

/// Did somebody expand blocks?
bool has_expanded(const ToolEvents& events) {
  for (const auto* list : {&events.kernels(), &events.allocations()})
    for (const std::string& name : *list)
      if (name.find("prekond::expand_blocks") != std::string::npos) return true;
  return false;
}

TYPED_TEST(MatrixSourceTest, BlocksAreExpandedOnceAndWhenTheirRowsAreWanted) {
  const auto host = random_blocks(3, 4, 5, 2);
  const auto blocks = on_device<TypeParam>(host);
  const ToolEvents events;
  MatrixSource<double, TypeParam> source(TypeParam(), blocks);
  source.set_unknowns_per_node(3);
  const MatrixSource<double, TypeParam> copy = source;
  EXPECT_EQ(source.num_rows(), 12);
  EXPECT_EQ(copy.num_rows(), 12);
  EXPECT_EQ(copy.num_cols(), 15);
  EXPECT_FALSE(has_expanded(events));
  EXPECT_EQ(events.allocated_bytes(), 0u);
  const double* const values = copy.csr().values.data();
  EXPECT_TRUE(has_expanded(events));
  EXPECT_FALSE(events.fences().empty());
  const auto bytes = events.allocated_bytes();
  EXPECT_EQ(copy.csr().values.data(), values);
  EXPECT_EQ(source.csr().values.data(), values) << "copies share the rows";
  EXPECT_EQ(&copy.csr(), &source.csr());
  EXPECT_EQ(events.allocated_bytes(), bytes);
}

TYPED_TEST(MatrixSourceTest, TheRowsOutliveTheSourceThatMadeThem) {
  const auto host = random_blocks(2, 6, 6, 4);
  const auto blocks = on_device<TypeParam>(host);
  auto source = std::make_unique<MatrixSource<double, TypeParam>>(TypeParam(), blocks);
  source->csr();
  const MatrixSource<double, TypeParam> copy = *source;
  source.reset();
  const auto values = to_vector(copy.csr().values);
  const auto col_idxs = to_vector(copy.csr().col_idxs);
  EXPECT_EQ(values[0], host.entry(0, col_idxs[0]));
  EXPECT_EQ(values.size(), blocks.values.extent(0));
}

TYPED_TEST(MatrixSourceTest, RefusesBlocksThatDoNotFitBeforeTheyAreExpanded) {
  auto blocks = on_device<TypeParam>(random_blocks(2, 4, 4, 1));
  blocks.block_size = 3;
  EXPECT_THAT(message_of<InputError>([&] { MatrixSource<double, TypeParam>(TypeParam(), blocks); }),
              HasSubstr("MatrixSource: 4 block rows have 5 row pointers, and"));
}

TYPED_TEST(MatrixSourceTest, WhatIsKnownMoreHasToFit) {
  const auto a = generate<double>(TypeParam(), "elasticity3d:3");
  MatrixSource<double, TypeParam> source = a;
  const auto refusal = [](const auto& call) { return message_of<InputError>(call); };
  source.set_unknowns_per_node(3);
  EXPECT_EQ(source.unknowns_per_node(), 3);
  const std::string rows = std::to_string(a.num_rows);
  EXPECT_EQ(refusal([&] { source.set_unknowns_per_node(7); }),
            "MatrixSource: " + rows + " rows are not nodes of 7 unknowns each");
  EXPECT_THAT(refusal([&] { source.set_unknowns_per_node(0); }), HasSubstr("nodes of 0"));
  EXPECT_EQ(source.unknowns_per_node(), 3);

  const MultiVector<double, TypeParam> modes("modes", a.num_rows, 6), short_ones("short", a.num_rows - 1, 6);
  source.set_near_null_space(modes);
  EXPECT_EQ(source.near_null_space().data(), modes.data());
  EXPECT_EQ(source.near_null_space().extent(1), 6u);
  EXPECT_THAT(refusal([&] { source.set_near_null_space(short_ones); }), HasSubstr("vectors have"));

  const MatrixSource<double, TypeParam> in_blocks(TypeParam(),
                                                  on_device<TypeParam>(random_blocks(2, 6, 6, 3)));
  auto changed = in_blocks;
  EXPECT_THAT(refusal([&] { changed.set_unknowns_per_node(3); }),
              HasSubstr("3 unknowns a node, and blocks of 2"));
}

}  // namespace
}  // namespace prekond::testing
