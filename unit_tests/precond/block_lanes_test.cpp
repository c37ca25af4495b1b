// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/lane_threads.hpp"
#include "testing/reference_block_ilu.hpp"
#include "testing/triangle_side.hpp"

#include <gtest/gtest.h>
#include <prekond/pattern/fill.hpp>
#include <prekond/pattern/level_schedule.hpp>

#include "precond/factorization/block_ilu/factor_row.hpp"
#include "precond/setup/source_blocks.hpp"
#include "precond/triangular/solve_block_row.hpp"

#include <cstring>
#include <thread>
#include <vector>

/// Block rows of factorisations and solves by the lanes of a vector, each a thread of the host's: the code
/// for GPUs where there is none.
namespace prekond::testing {
namespace {

using namespace impl;
using Space = Kokkos::DefaultHostExecutionSpace;

/// row(level, i, memory) for even rows and odd ones at the same time: each waits for values of the other's.
template <int Width, class Row>
void run_rows(const Row& row, int num_rows, std::size_t memory_bytes, bool lower) {
  using LaneGroup = typename LaneThreads<Width>::LaneGroup;
  const auto every_other = [&](int first) {
    std::vector<std::size_t> memory(memory_bytes / 8 + 2, ~std::size_t(0));
    LaneThreads<Width> lanes;
    lanes.run([&](const LaneGroup& lane_group) {
      for (int step = first; step < num_rows; step += 2)
        row(lane_group, lower ? step : num_rows - 1 - step, reinterpret_cast<char*>(memory.data()));
    });
  };
  std::thread odd([&] { every_other(1); });
  every_other(0);
  odd.join();
}

void expect_blocks_near(const std::vector<double>& found, const LongBlockRows& expected, int n) {
  std::size_t k = 0;
  for (std::size_t i = 0; i < expected.size(); ++i)
    for (const auto& [j, block] : expected[i]) {
      for (int e = 0; e < n; ++e)
        ASSERT_NEAR(found[k * n + e], double(block[e]), 1e-12) << "block " << i << ", " << j;
      ++k;
    }
}

template <int Width, int Size>
void check_factors(int b, int rows, int stage_blocks, bool in_scratch) {
  SCOPED_TRACE("b " + std::to_string(b) + ", lanes " + std::to_string(Width) + ", stage " +
               std::to_string(stage_blocks));
  const Space space;
  const auto host = dominant_clusters(rows, b);
  const ReferenceBlockIlu expected = reference_block_ilu(host, b);
  const auto a = to_bcsr<double, Space>(space, to_device<Space>(host), b);
  const auto pattern = fill_pattern<Space>(space, graph_of<Space>(a), 0, std::int64_t(1) << 40, true);
  const int n = b * b, num_rows = static_cast<int>(a.num_block_rows);
  std::vector<double> lower(pattern.lower.nnz() * n), upper(pattern.upper.nnz() * n, missing_value<double>()),
      inverse(num_rows * n), work((pattern.lower.nnz() + pattern.upper.nnz() + num_rows) * n);
  std::vector<triangular::SyncFreeProgress> progress(1, triangular::SyncFreeProgress{});
  std::vector<BreakdownCounter> outcome(1);
  std::memset(outcome.data(), 0, sizeof(BreakdownCounter));
  using Row = block_ilu::FactorBlockRow<double, Space, Size, Width>;
  Row row(b, blocks::BlockStrides(a));
  row.stage_blocks = stage_blocks;
  row.row_blocks = in_scratch ? num_rows : 0;
  row.floor = 1e-8;
  row.num_rows = a.num_rows();
  row.others.max_polls = std::int64_t(1) << 40;
  row.a_ptrs = a.row_ptrs;
  row.a_values = a.values;
  row.diagonal = pattern.diagonal;
  row.lower_ptrs = pattern.lower.row_ptrs;
  row.upper_ptrs = pattern.upper.row_ptrs;
  row.lower_cols = pattern.lower.col_idxs;
  row.upper_cols = pattern.upper.col_idxs;
  row.lower = view_of(lower);
  row.upper = view_of(upper);
  row.inverse = view_of(inverse);
  row.work = view_of(work);
  row.others.progress = view_of(progress);
  row.outcome = view_of(outcome);
  run_rows<Width>(row, num_rows, Row::bytes_of(b, stage_blocks, row.row_blocks), true);
  EXPECT_EQ(progress[0].gave_up, 0);
  EXPECT_EQ(outcome[0].diagonals, static_cast<long long>(expected.broken.size()));
  expect_blocks_near(lower, expected.lower, n);
  expect_blocks_near(upper, expected.upper, n);
  for (int i = 0; i < num_rows; ++i)
    for (int e = 0; e < n; ++e)
      ASSERT_NEAR(inverse[i * n + e], double(expected.inverse[i][e]), 1e-12) << "inverse " << i;
}

class BlockLanesTest : public LanesTest {};

TEST_F(BlockLanesTest, FactorsEqualTheSequentialOnes) {
  check_factors<8, 1>(1, 45, 4, true);
  check_factors<8, 2>(2, 45, 3, true);
  check_factors<32, 3>(3, 45, 28, true);
  check_factors<32, 0>(3, 46, 1, false);
  check_factors<32, 5>(5, 41, 2, false);
  check_factors<32, 0>(17, 60, 1, true);
  check_factors<32, 0>(32, 70, 2, false);
}

template <int Width>
void check_solve(int b, Triangle which, bool with_scale) {
  const bool is_lower = which == Triangle::lower;
  SCOPED_TRACE("b " + std::to_string(b) + ", lanes " + std::to_string(Width));
  const ReferenceBlockIlu factors = reference_block_ilu(dominant_clusters(9 * b + 1, b), b);
  const LongBlockRows& triangle = is_lower ? factors.lower : factors.upper;
  const int num_rows = static_cast<int>(triangle.size()), n = 9 * b + 1;
  std::vector<std::size_t> row_ptrs = {0};
  std::vector<int> cols;
  std::vector<double> values, scale, x(2 * n), y(2 * n, missing_value<double>());
  for (int i = 0; i < num_rows; ++i) {
    for (const auto& [j, block] : triangle[i]) {
      cols.push_back(j);
      values.insert(values.end(), block.begin(), block.end());
    }
    row_ptrs.push_back(cols.size());
    scale.insert(scale.end(), factors.inverse[i].begin(), factors.inverse[i].end());
  }
  for (int i = 0; i < 2 * n; ++i) x[i] = std::sin(1.0 + i);
  std::vector<triangular::SyncFreeProgress> progress(1, triangular::SyncFreeProgress{});
  triangular::SolveBlockRow<double, Space, 1, 0> row(b);
  row.strip = triangular::StripLanes(b, Width);
  row.num_columns = 2;
  row.num_rows = n;
  row.others.max_polls = std::int64_t(1) << 40;
  row.row_ptrs = view_of(row_ptrs);
  row.cols = view_of(cols);
  row.values = view_of(values);
  if (with_scale) row.scale = view_of(scale);
  row.x.pointer = x.data();
  row.x.stride = n;
  row.y.pointer = reinterpret_cast<WordOf<double>*>(y.data());
  row.y.stride = n;
  row.others.progress = view_of(progress);
  run_rows<Width>(row, num_rows, Width * sizeof(double), is_lower);
  EXPECT_EQ(progress[0].gave_up, 0);
  for (int v = 0; v < 2; ++v) {
    LongBlock source(num_rows * b, 0);
    std::copy(x.begin() + v * n, x.begin() + (v + 1) * n, source.begin());
    if (with_scale) source = reference_scale(factors.inverse, b, source);
    const LongBlock expected = reference_solve(triangle, b, source, is_lower);
    for (int i = 0; i < n; ++i) ASSERT_NEAR(y[v * n + i], double(expected[i]), 1e-12) << "row " << i;
  }
}

TEST_F(BlockLanesTest, SolvesEqualTheSequentialOnes) {
  for (const Triangle which : {Triangle::lower, Triangle::upper})
    for (const bool with_scale : {false, true}) {
      for (const int b : {1, 2, 3, 5, 8}) check_solve<8>(b, which, with_scale);
      for (const int b : {1, 2, 3, 4, 7, 17, 32}) check_solve<32>(b, which, with_scale);
    }
}

}  // namespace
}  // namespace prekond::testing
