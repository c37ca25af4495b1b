// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/krylov_problems.hpp"
#include "testing/reference_lu.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>
#include "precond/multigrid/unknowns_per_node.hpp"

#include <cstdlib>
#include <set>

namespace prekond::testing {
namespace {

using Columns = std::vector<std::set<int>>;

HostMatrix<double> matrix_of(const Columns& rows) {
  HostMatrix<double> a;
  a.num_rows = a.num_cols = static_cast<std::int64_t>(rows.size());
  for (const auto& row : rows) {
    for (const int j : row) a.col_idxs.push_back(j);
    a.values.resize(a.col_idxs.size(), 1.0);
    a.row_ptrs.push_back(a.nnz());
  }
  return a;
}

/// Blocks of d x d for the entries of a matrix, without those that `left_out` says.
template <class LeftOut>
HostMatrix<double> blocks_of(const HostMatrix<double>& nodes, int d, const LeftOut& left_out) {
  Columns rows(nodes.num_rows * d);
  for (std::int64_t i = 0; i < nodes.num_rows; ++i)
    for (std::size_t k = nodes.row_ptrs[i]; k < nodes.row_ptrs[i + 1]; ++k)
      for (int r = 0; r < d; ++r)
        for (int c = 0; c < d; ++c) {
          const int row = static_cast<int>(i) * d + r, col = nodes.col_idxs[k] * d + c;
          if (row == col || !left_out(row, col)) rows[row].insert(col);
        }
  return matrix_of(rows);
}
bool nothing(int, int) {
  return false;
}

template <class Space>
int found(const HostMatrix<double>& a) {
  return find_unknowns_per_node<Space>(Space(), to_device<Space>(a));
}

template <class Space>
class UnknownsPerNodeTest : public ::testing::Test {};
TYPED_TEST_SUITE(UnknownsPerNodeTest, TestSpaces, SpaceNames);

TYPED_TEST(UnknownsPerNodeTest, BlocksAreFound) {
  for (const char* nodes : {"poisson2d:20", "poisson3d:7", "circuit:18", "tridiagonal:350"})
    for (int d = 1; d <= 8; ++d) {
      SCOPED_TRACE(std::string(nodes) + ", " + std::to_string(d));
      EXPECT_EQ(found<TypeParam>(blocks_of(problem(nodes), d, nothing)), d);
    }
  EXPECT_EQ(found<TypeParam>(problem("elasticity3d:6")), 3);
}

TYPED_TEST(UnknownsPerNodeTest, OfMatricesThatAreLargerThanTheSample) {
  for (const int d : {2, 3, 5})
    EXPECT_EQ(found<TypeParam>(blocks_of(problem("poisson2d:90"), d, nothing)), d);
  // Blocks only in the first rows, of which there are more than are looked at, but less than a quarter.
  const HostMatrix<double> system = blocks_of(problem("poisson2d:60"), 2, nothing);
  const HostMatrix<double> scalar = problem("poisson2d:180");
  HostMatrix<double> both = system;
  both.num_rows = both.num_cols = system.num_rows + scalar.num_rows;
  for (std::int64_t i = 0; i < scalar.num_rows; ++i)
    both.row_ptrs.push_back(system.nnz() + scalar.row_ptrs[i + 1]);
  for (const int j : scalar.col_idxs) both.col_idxs.push_back(static_cast<int>(system.num_rows) + j);
  both.values.resize(both.col_idxs.size(), 1.0);
  EXPECT_EQ(found<TypeParam>(both), 1);
}

TYPED_TEST(UnknownsPerNodeTest, BlocksNeedNotBeWhole) {
  const HostMatrix<double> nodes = problem("poisson2d:17");
  const auto every_fourth = [](int i, int j) { return (7 * std::min(i, j) + 3 * std::max(i, j)) % 11 < 2; };
  for (const int d : {2, 3, 6}) EXPECT_EQ(found<TypeParam>(blocks_of(nodes, d, every_fourth)), d);
  // Blocks that are full to 0.7, by rows that have little in common.
  const auto every_third = [](int i, int j) { return (35 * i + 17 * j) % 10 < 3; };
  EXPECT_EQ(found<TypeParam>(blocks_of(nodes, 4, every_third)), 1);
  // Unknowns that are not coupled do not show.
  const auto other_unknown = [](int i, int j) { return i % 3 != j % 3; };
  EXPECT_EQ(found<TypeParam>(blocks_of(nodes, 3, other_unknown)), 1);
}

TYPED_TEST(UnknownsPerNodeTest, ScalarMatricesHaveOne) {
  for (const char* spec : {"poisson2d:24", "poisson3d:12", "anisotropic2d:24,epsilon=0.1", "tridiagonal:840",
                           "circuit:24", "convection_diffusion3d:12", "tridiagonal:1", "tridiagonal:2"})
    EXPECT_EQ(found<TypeParam>(problem(spec)), 1) << spec;
  EXPECT_EQ(found<TypeParam>(diagonal_matrix(std::vector<double>(840, 2.0))), 1);
  EXPECT_EQ(found<TypeParam>(matrix_of(Columns(24))), 1) << "no entries at all";
  // Rows that do not begin at multiples of d: a row before the blocks, and one after.
  HostMatrix<double> moved = blocks_of(problem("poisson2d:20"), 3, nothing);
  Columns rows(moved.num_rows + 3);
  rows[0] = {0};
  for (std::int64_t i = 0; i < moved.num_rows; ++i)
    for (std::size_t k = moved.row_ptrs[i]; k < moved.row_ptrs[i + 1]; ++k)
      rows[i + 1].insert(moved.col_idxs[k] + 1);
  for (int i : {1, 2}) rows[moved.num_rows + i] = {static_cast<int>(moved.num_rows) + i};
  EXPECT_EQ(found<TypeParam>(matrix_of(rows)), 1);
}

/// A stencil of all points that are at most `reach` away along each axis.
HostMatrix<double> stencil(const std::vector<int>& sizes, int reach) {
  int n = 1;
  for (const int size : sizes) n *= size;
  Columns rows(n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      bool near = true;
      for (int k = 0, a = i, b = j; k < int(sizes.size()); a /= sizes[k], b /= sizes[k], ++k)
        near = near && std::abs(a % sizes[k] - b % sizes[k]) <= reach;
      if (near) rows[i].insert(j);
    }
  return matrix_of(rows);
}

TYPED_TEST(UnknownsPerNodeTest, PointsOfALineAreNoUnknowns) {
  // Neighbours in a line are alike, and the ends of lines are not, which is a pattern of the line's length.
  for (int n = 4; n <= 16; ++n) {
    EXPECT_EQ(found<TypeParam>(stencil({n, 24}, 1)), 1) << "9 points, " << n;
    if (n > 5) {
      EXPECT_EQ(found<TypeParam>(stencil({n, 24}, 2)), 1) << "25 points, " << n;
    }
    EXPECT_EQ(found<TypeParam>(stencil({n, 6, 6}, 1)), 1) << "27 points, " << n;
  }
  for (const int d : {2, 3})
    EXPECT_EQ(found<TypeParam>(blocks_of(stencil({8, 8}, 1), d, nothing)), d) << "systems of 9 points";
}

TYPED_TEST(UnknownsPerNodeTest, LongRowsAreComparedByTheirBeginnings) {
  // Rows are alike up to the 256th entry; after that pairs are, and neighbouring pairs have nothing in
  // common.
  Columns rows(1200);
  const auto fill = [&](int from, int in_common, int own) {
    for (int i = 0; i < 1200; ++i) {
      rows[i].clear();
      for (int j = 0; j < in_common; ++j) rows[i].insert(j);
      for (int j = 0; j < own; ++j) rows[i].insert(from + (i / 2) % 2 * own + j);
    }
  };
  fill(256, 256, 400);
  EXPECT_EQ(found<TypeParam>(matrix_of(rows)), 1);
  fill(0, 0, 400);
  EXPECT_EQ(found<TypeParam>(matrix_of(rows)), 2);
}

}  // namespace
}  // namespace prekond::testing
