// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Matrices whose entries stand in clusters, and what their blocks have to be.
#include "testing/host_matrix.hpp"

#include <gtest/gtest.h>
#include <prekond/matrix/bcsr_matrix.hpp>

#include <algorithm>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace prekond::testing {

inline constexpr BlockOrder both_orders[] = {BlockOrder::by_columns, BlockOrder::by_rows};

/// Entries here and there in clusters, so that blocks are partly full; every seventh row is empty, one is
/// full.
inline HostMatrix<double> clustered(std::int64_t rows, std::int64_t cols, unsigned seed) {
  std::mt19937 random(seed);
  HostMatrix<double> a;
  a.num_rows = rows;
  a.num_cols = cols;
  for (std::int64_t i = 0; i < rows; ++i) {
    std::set<int> own;
    if (i % 7 != 5)
      for (int cluster = 0; cluster < 3; ++cluster) {
        const std::int64_t first = random() % cols, end = first + 1 + random() % 5;
        for (std::int64_t j = first; j < std::min(cols, end); ++j) own.insert(int(j));
      }
    if (i == rows / 2)
      for (int j = 0; j < cols; ++j) own.insert(j);
    for (const int j : own) {
      a.col_idxs.push_back(j);
      a.values.push_back(double(random()) / double(1u << 31) - 1);
    }
    a.row_ptrs.push_back(a.nnz());
  }
  return a;
}

/// A full b x b block for each entry of `a`, with other values in each, none of them 0.
inline HostMatrix<double> of_full_blocks(const HostMatrix<double>& a, int b) {
  HostMatrix<double> blocks;
  blocks.num_rows = a.num_rows * b;
  blocks.num_cols = a.num_cols * b;
  for (std::int64_t row = 0; row < blocks.num_rows; ++row) {
    const std::int64_t i = row / b, p = row % b;
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
      for (int q = 0; q < b; ++q) {
        blocks.col_idxs.push_back(a.col_idxs[k] * b + q);
        blocks.values.push_back(p == q ? a.values[k] * (1 + 0.1 * double(p))
                                       : 0.05 * double((row * 7 + a.col_idxs[k] * 3 + q * 5) % 11 + 1) / b);
      }
    blocks.row_ptrs.push_back(blocks.nnz());
  }
  return blocks;
}

inline std::size_t blocks_of(const HostMatrix<double>& a, int b) {
  std::set<std::pair<std::int64_t, int>> blocks;
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) blocks.insert({i / b, a.col_idxs[k] / b});
  return blocks.size();
}

inline HostMatrix<double> transposed(const HostMatrix<double>& a) {
  std::vector<std::vector<double>> dense(a.num_cols, std::vector<double>(a.num_rows));
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) dense[a.col_idxs[k]][i] = a.values[k];
  return sparse(dense);
}

/// The blocks of a device's matrix are those with an entry of `a`, and have its entries.
template <class Matrix>
void expect_blocks(const HostMatrix<double>& a, const Matrix& blocks) {
  using Space = typename Matrix::template view<double>::execution_space;
  ASSERT_EQ(blocks.num_rows(), a.num_rows);
  ASSERT_EQ(blocks.num_cols(), a.num_cols);
  ASSERT_EQ(std::size_t(blocks.num_blocks()), blocks_of(a, blocks.block_size));
  const auto expanded = expand_blocks<double, Space>(Space(), blocks);
  const auto row_ptrs = to_vector(expanded.row_ptrs);
  const auto col_idxs = to_vector(expanded.col_idxs);
  const auto values = to_vector(expanded.values);
  ASSERT_EQ(row_ptrs.size(), std::size_t(a.num_rows) + 1);
  std::size_t nonzeros = 0;
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = row_ptrs[i]; k < row_ptrs[i + 1]; ++k) {
      ASSERT_LT(col_idxs[k], a.num_cols);
      ASSERT_LT(k > row_ptrs[i] ? col_idxs[k - 1] : -1, col_idxs[k]);
      ASSERT_EQ(values[k], a(i, col_idxs[k])) << i << ", " << col_idxs[k];
      nonzeros += values[k] != 0;
    }
  std::size_t expected = 0;
  for (const double value : a.values) expected += value != 0;
  EXPECT_EQ(nonzeros, expected);
}

}  // namespace prekond::testing
