// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The promises of a DistributedMatrix, by ranks in one process: the reference that other engines are held to,
// and the matrix by which setups that look at other ranks' rows are tested.
#include <prekond/distributed/distributed_matrix.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/distributed/split_operator.hpp>
#include <prekond/krylov/cg.hpp>
#include <prekond/matrix/matrix_format.hpp>
#include "distributed/row_partition.hpp"

#include <numeric>
#include <stdexcept>

#include "testing/block_matrices.hpp"
#include "testing/distributed_cases.hpp"
#include "testing/krylov_problems.hpp"
#include "testing/matrix_of_rank.hpp"
#include "testing/tool_events.hpp"

namespace prekond::testing {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

template <class Space>
class DistributedMatrixTest : public ::testing::Test {};
TYPED_TEST_SUITE(DistributedMatrixTest, TestSpaces, SpaceNames);

Parts equal_parts(std::int64_t num_rows, int size) {
  std::vector<std::int64_t> sizes;
  for (int rank = 0; rank < size; ++rank) sizes.push_back(RowPartition{num_rows, size}.size(rank));
  return consecutive_parts(sizes);
}

std::vector<Parts> all_partitions(std::int64_t n) {
  return {equal_parts(n, 1),
          equal_parts(n, 2),
          equal_parts(n, 4),
          consecutive_parts({0, n}),
          consecutive_parts({n, 0, 0}),
          consecutive_parts({n / 2, 0, n - n / 2}),
          equal_parts(n, static_cast<int>(n) + 2),
          cyclic_parts(n, 3)};
}

/// Rows that are coupled in blocks of two: of many partitions a rank has no remote column.
HostMatrix<double> pairs(std::int64_t n) {
  std::vector<std::vector<double>> dense(n, std::vector<double>(n, 0));
  for (std::int64_t i = 0; i < n; ++i) {
    dense[i][i] = 4 + double(i);
    if (i / 2 * 2 + 1 < n) dense[i][i / 2 * 2 + 1 - i % 2] = -1;
  }
  return sparse(dense);
}

TYPED_TEST(DistributedMatrixTest, RanksInOneProcessKeepThePromises) {
  for (const HostMatrix<double>& whole :
       {problem("poisson2d:4"), pairs(12), diagonal_matrix({1.0, 2.0, 3.0, 4.0, 5.0})}) {
    for (const Parts& parts : all_partitions(whole.num_rows)) {
      SCOPED_TRACE(std::to_string(parts.size()) + " ranks");
      run_ranks(static_cast<int>(parts.size()), [&](const Rank& rank) {
        const MatrixOfRank<double, TypeParam> a(rank, whole, parts);
        expect_distributed<TypeParam>(a, a.rows(), whole, parts[rank.rank], rank.rank);
        expect_transposed<TypeParam>(a, whole, parts[rank.rank], rank.rank);
      });
    }
  }
}

// Nor are their buffers copied. The others are waited for: the names of these fences are the right ones.
TYPED_TEST(DistributedMatrixTest, MessagesInTheOrderOfAStreamAreNotWaitedFor) {
  const auto is_copy =
      AnyOf("prekond::import::host_sent", "prekond::import::host_received", "prekond::remote_rows::message");
  for (const HostMatrix<double>& whole : {problem("poisson2d:5"), pairs(12)}) {
    for (const Parts& parts : {equal_parts(whole.num_rows, 2), consecutive_parts({7, 0, whole.num_rows - 7}),
                               cyclic_parts(whole.num_rows, 3)}) {
      SCOPED_TRACE(std::to_string(parts.size()) + " ranks");
      for (const bool in_stream_order : {false, true}) {
        const ToolEvents events;
        run_ranks(static_cast<int>(parts.size()), [&](const Rank& rank) {
          const MatrixOfRank<double, TypeParam> a(rank, whole, parts, in_stream_order);
          expect_distributed<TypeParam>(a, a.rows(), whole, parts[rank.rank], rank.rank);
          expect_transposed<TypeParam>(a, whole, parts[rank.rank], rank.rank);
        });
        for (const char* fence : {"prekond::import::packed", "prekond::remote_rows::ready"}) {
          if (in_stream_order)
            EXPECT_THAT(events.fences(), Not(Contains(fence)));
          else
            EXPECT_THAT(events.fences(), Contains(fence));
        }
        if (in_stream_order || is_host_space<TypeParam>)
          EXPECT_THAT(events.allocations(), Not(Contains(is_copy)));
        else
          EXPECT_THAT(events.allocations(), Contains(is_copy));
      }
    }
  }
}

TYPED_TEST(DistributedMatrixTest, WrongNumbersAreRefusedOnAllRanks) {
  const HostMatrix<double> whole = problem("poisson2d:3");
  const Parts parts = equal_parts(9, 3);
  run_ranks(3, [&](const Rank& rank) {
    const MatrixOfRank<double, TypeParam> a(rank, whole, parts);
    const auto on_last = [&](std::vector<std::int64_t> list) {
      return rank.rank == 2 ? list : std::vector<std::int64_t>{};
    };
    expect_refused<TypeParam>(a, on_last({9}), "row 9 (counted from 0) does not exist");
    expect_refused<TypeParam>(a, on_last({-1}), "row -1 (counted from 0) does not exist");
    expect_refused<TypeParam>(a, on_last({6}), "row 6 (counted from 0) is the rank's own");
    expect_refused<TypeParam>(a, on_last({1, 0, 1}), "row 1 (counted from 0) stands twice in the list");
    expect_distributed<TypeParam>(a, a.rows(), whole, parts[rank.rank], rank.rank);
  });
}

// The solvers see only product and reducer.
TYPED_TEST(DistributedMatrixTest, CgSolvesAsOnOneRank) {
  const HostMatrix<double> whole = problem("poisson2d:9");
  const auto solve = [&](const Parts& parts) {
    SolveResult result;
    run_ranks(static_cast<int>(parts.size()), [&](const Rank& rank) {
      const TypeParam space;
      const MatrixOfRank<double, TypeParam> a(rank, whole, parts);
      const Vector<double, TypeParam> x("prekond::testing::x", parts[rank.rank].size());
      const auto b = to_device<TypeParam>(entries(parts[rank.rank], 0));
      const SolveResult mine = Cg<double, TypeParam>().solve(space, a.product(), nullptr, b, x,
                                                             StoppingOptions(), Monitor(), a.reducer());
      EXPECT_TRUE(mine.converged);
      if (rank.rank == 0) result = mine;
    });
    return result;
  };
  const SolveResult one = solve(equal_parts(81, 1));
  for (const Parts& parts : {equal_parts(81, 2), consecutive_parts({0, 40, 41, 0}), cyclic_parts(81, 3)}) {
    const SolveResult several = solve(parts);
    EXPECT_NEAR(double(several.iterations), double(one.iterations), 1);
  }
}

// Columns of other ranks apart, in each format of the own ones.
TYPED_TEST(DistributedMatrixTest, SplitProductsAreTheProducts) {
  const TypeParam space;
  for (const HostMatrix<double>& whole : {problem("elasticity3d:3"), pairs(12), problem("poisson2d:5")}) {
    for (const Parts& parts : all_partitions(whole.num_rows)) {
      for (const MatrixFormat format : {MatrixFormat::csr, MatrixFormat::automatic, MatrixFormat::bcsr}) {
        SCOPED_TRACE(std::to_string(parts.size()) + " ranks, " + std::to_string(whole.num_rows) + " rows");
        run_ranks(static_cast<int>(parts.size()), [&](const Rank& rank) {
          const auto& own = parts[rank.rank];
          const MatrixOfRank<double, TypeParam> a(rank, whole, parts);
          const SplitOperator<double, TypeParam> split(space, a, [&](const auto& part) {
            return make_operator<double, TypeParam>(space, part, format);
          });
          EXPECT_EQ(split.num_rows(), a.num_rows());
          EXPECT_EQ(split.num_cols(), a.num_rows());
          EXPECT_EQ(split.row_numbers(space).num_global_rows, whole.num_rows);
          EXPECT_EQ(to_vector(split.row_numbers(space).numbers), own);
          for (const std::size_t k : {1, 0, 3}) {
            MultiVector<double, TypeParam> x_memory, y_memory, z_memory;
            const auto x =
                strided<TypeParam>(x_memory, own.size(), k, [&](std::size_t v) { return entries(own, v); });
            const auto of_y = [&](std::size_t v) { return entries(own, v + 50); };
            const auto y = strided<TypeParam>(y_memory, own.size(), k, of_y);
            const auto z = strided<TypeParam>(z_memory, own.size(), k, of_y);
            split.apply(space, x, y, 0.5, -2.0);
            a.product().apply(space, x, z, 0.5, -2.0);
            space.fence();
            const auto found = columns_of(y), expected = columns_of(z);
            for (std::size_t v = 0; v < k; ++v)
              for (std::size_t i = 0; i < own.size(); ++i)
                EXPECT_NEAR(found[v][i], expected[v][i], 1e-12 * (1 + std::abs(expected[v][i])));
            split.apply(space, x, y);  // y is not read
            a.product().apply(space, x, z, 1, 0);
            space.fence();
            for (std::size_t v = 0; v < k; ++v)
              for (std::size_t i = 0; i < own.size(); ++i)
                EXPECT_NEAR(columns_of(y)[v][i], columns_of(z)[v][i], 1e-12);
          }
        });
      }
    }
  }
}

// ------------------------------------------------------------------------------------------------- by blocks

/// The rows of blocks of b rows.
Parts rows_of(Parts blocks, int b) {
  for (auto& part : blocks) {
    std::vector<std::int64_t> rows;
    for (const std::int64_t block : part)
      for (int p = 0; p < b; ++p) rows.push_back(block * b + p);
    part = rows;
  }
  return blocks;
}

/// A 5 x 5 grid of nodes on 1, 2, 3 and 7 ranks, some without rows, and dealt out in turn.
std::vector<Parts> partitions_of_nodes(int b) {
  std::vector<Parts> all;
  for (const Parts& parts : {equal_parts(25, 1), equal_parts(25, 2), equal_parts(25, 3), equal_parts(25, 7),
                             consecutive_parts({0, 11, 0, 14}), cyclic_parts(25, 3)})
    all.push_back(rows_of(parts, b));
  return all;
}

TYPED_TEST(DistributedMatrixTest, ByBlocksRanksKeepThePromises) {
  for (const int b : {2, 3, 5}) {
    const HostMatrix<double> whole = of_full_blocks(problem("poisson2d:5"), b);
    for (const Parts& parts : partitions_of_nodes(b)) {
      for (const bool in_stream_order : {false, true}) {
        SCOPED_TRACE(std::to_string(parts.size()) + " ranks, blocks of " + std::to_string(b));
        run_ranks(static_cast<int>(parts.size()), [&](const Rank& rank) {
          const MatrixOfRank<double, TypeParam> a(rank, whole, parts, in_stream_order, b);
          expect_blocks_of_ranks<TypeParam>(a, whole, b);
        });
      }
    }
  }
}

TYPED_TEST(DistributedMatrixTest, SplitProductsByBlocksAreTheProducts) {
  const TypeParam space;
  for (const int b : {2, 3, 5}) {
    const HostMatrix<double> whole = of_full_blocks(problem("poisson2d:5"), b);
    for (const Parts& parts : partitions_of_nodes(b)) {
      SCOPED_TRACE(std::to_string(parts.size()) + " ranks, blocks of " + std::to_string(b));
      run_ranks(static_cast<int>(parts.size()), [&](const Rank& rank) {
        const auto& own = parts[rank.rank];
        const MatrixOfRank<double, TypeParam> a(rank, whole, parts);
        const SplitOperator<double, TypeParam> split(space, a, [&](const auto& part) {
          return make_operator<double, TypeParam>(space, part, MatrixFormat::automatic);
        });
        for (const std::size_t k : {1, 0, 3}) {
          MultiVector<double, TypeParam> x_memory, y_memory, z_memory;
          const auto x =
              strided<TypeParam>(x_memory, own.size(), k, [&](std::size_t v) { return entries(own, v); });
          const auto of_y = [&](std::size_t v) { return entries(own, v + 50); };
          const auto y = strided<TypeParam>(y_memory, own.size(), k, of_y);
          const auto z = strided<TypeParam>(z_memory, own.size(), k, of_y);
          split.apply(space, x, y, 0.5, -2.0);
          a.product().apply(space, x, z, 0.5, -2.0);
          space.fence();
          const auto found = columns_of(y), expected = columns_of(z);
          for (std::size_t v = 0; v < k; ++v)
            for (std::size_t i = 0; i < own.size(); ++i)
              EXPECT_NEAR(found[v][i], expected[v][i], 1e-13 * (10 + std::abs(expected[v][i])));
        }
      });
    }
  }
}

TYPED_TEST(DistributedMatrixTest, RemotePartsAreByTheLargestFullBlocks) {
  const TypeParam space;
  const HostMatrix<double> pattern = clustered(40, 24, 3);
  for (const int b : {1, 2, 3, 4, 5, 6, 7, 8}) {
    const HostMatrix<double> full = of_full_blocks(pattern, b);
    RemotePart<double, TypeParam> part(space, to_device<TypeParam>(full));
    EXPECT_EQ(part.block_size(), 1);
    part.find_blocks(space);
    EXPECT_EQ(part.block_size(), b);
    HostMatrix<double> gap = full;  // the last entry is missing
    gap.col_idxs.pop_back(), gap.values.pop_back(), --gap.row_ptrs.back();
    RemotePart<double, TypeParam> with_gap(space, to_device<TypeParam>(gap));
    with_gap.find_blocks(space);
    EXPECT_EQ(with_gap.block_size(), 1);
  }
  RemotePart<double, TypeParam> empty(
      space, to_device<TypeParam>(HostMatrix<double>{8, 0, std::vector<std::size_t>(9, 0), {}, {}}));
  empty.find_blocks(space);
  EXPECT_EQ(empty.block_size(), 1);
}

// Rows and blocks, all columns and the last ones; rows of none, of a few and of many entries.
TYPED_TEST(DistributedMatrixTest, ColumnsFromOneOnAreAdded) {
  const TypeParam space;
  const HostMatrix<double> pattern = clustered(61, 90, 5);
  for (const int b : {1, 2, 3, 5, 11}) {
    const HostMatrix<double> full = of_full_blocks(pattern, b);
    const auto n = static_cast<std::size_t>(full.num_rows);
    for (const BlockOrder order : both_orders) {
      const auto blocks = to_bcsr<double, TypeParam>(space, to_device<TypeParam>(full), b, order);
      for (const int first : {0, 37, 90}) {
        SCOPED_TRACE("blocks of " + std::to_string(b) + ", columns from " + std::to_string(first));
        const RowsWithColumnsFrom<TypeParam> rows(space, prekond::impl::graph_of<TypeParam>(blocks), first);
        std::vector<std::int64_t> of_x(full.num_cols - first * b), of_y(n);
        std::iota(of_x.begin(), of_x.end(), 0);
        std::iota(of_y.begin(), of_y.end(), 0);
        MultiVector<double, TypeParam> x_memory, y_memory;
        const auto x =
            strided<TypeParam>(x_memory, of_x.size(), 2, [&](std::size_t v) { return entries(of_x, v); });
        const auto y =
            strided<TypeParam>(y_memory, n, 2, [&](std::size_t v) { return entries(of_y, v + 5); });
        rows.template add_product<double>(space, -1.5, blocks, x, y);
        space.fence();
        const auto found = columns_of(y);
        for (std::size_t v = 0; v < 2; ++v)
          for (std::size_t i = 0; i < n; ++i) {
            double sum = 0;
            for (std::size_t k = full.row_ptrs[i]; k < full.row_ptrs[i + 1]; ++k)
              if (full.col_idxs[k] >= first * b)
                sum += full.values[k] * entry(full.col_idxs[k] - first * b, v);
            EXPECT_NEAR(found[v][i], entry(std::int64_t(i), v + 5) - 1.5 * sum, 1e-12 * (1 + std::abs(sum)));
          }
      }
    }
  }
}

// ------------------------------------------------------------------------------------- the ranks themselves

TEST(RanksInOneProcess, EveryRankGetsEveryValue) {
  std::vector<int> order;
  run_ranks(4, [&](const Rank& rank) {
    order.push_back(rank.rank);
    EXPECT_EQ(rank.all_gather("squares", rank.rank * rank.rank), (std::vector<int>{0, 1, 4, 9}));
    EXPECT_EQ(rank.all_gather("names", std::string(rank.rank, 'x')),
              (std::vector<std::string>{"", "x", "xx", "xxx"}));
  });
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
}

TEST(RanksInOneProcess, CallsThatDoNotMatchAreAnError) {
  EXPECT_THAT(message_of<std::logic_error>([] {
                run_ranks(3, [](const Rank& rank) { rank.all_gather(rank.rank == 1 ? "sum" : "import", 0); });
              }),
              HasSubstr("rank 0 calls import, rank 1 calls sum"));
  EXPECT_THAT(message_of<std::logic_error>([] {
                run_ranks(3, [](const Rank& rank) {
                  if (rank.rank < 2) rank.all_gather("sum", 0);
                });
              }),
              HasSubstr("sum of rank 0 waits for rank 2, which has ended"));
}

TEST(RanksInOneProcess, TheFirstErrorIsThrown) {
  EXPECT_EQ(message_of<InputError>([] {
              run_ranks(3, [](const Rank& rank) {
                if (rank.rank == 1) throw InputError("of rank 1");
                rank.all_gather("sum", 0);
              });
            }),
            "of rank 1");
}

}  // namespace
}  // namespace prekond::testing
