// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/all_reduces.hpp"
#include "testing/block_matrices.hpp"
#include "testing/distributed_cases.hpp"
#include "testing/engine_cases.hpp"
#include "testing/messages.hpp"
#include "testing/tpetra_matrices.hpp"
#include "testing/transport_of_scope.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/adapters/tpetra_distributed.hpp>

#include <set>
#include <string>
#include <vector>

namespace prekond::testing {
namespace {

using ::testing::HasSubstr;

using DistributedCrsMatrix = tpetra::DistributedCrsMatrix<double, int, GlobalIndex, TpetraMap::node_type>;
using MatrixOperator = tpetra::MatrixOperator<double, int, GlobalIndex, TpetraMap::node_type>;
using OperatorView = tpetra::OperatorView<double, int, GlobalIndex, TpetraMap::node_type>;

std::vector<std::int64_t> own_rows(const TpetraMap& map) {
  const auto mine = own_indices(map);
  return {mine.begin(), mine.end()};
}

TEST(TpetraDistributed, KeepsThePromises) {
  for (const HostMatrix<double>& whole : {irregular_matrix(53), shift_matrix(29), problem("poisson2d:5"),
                                          diagonal(13), half_coupled(24), diagonal(2), gapped(31)}) {
    for (const auto& [name, map] : all_maps(whole.num_rows)) {
      SCOPED_TRACE(name + ", " + std::to_string(whole.num_rows) + " rows");
      for (const auto& matrix :
           {distribute(whole, map), distribute(whole, map, descending_columns(whole, map)),
            distribute(whole, map, remote_columns_first(whole, map), false)}) {
        const DistributedCrsMatrix a(TpetraSpace(), matrix);
        expect_distributed<TpetraSpace>(a, a.rows().view(), whole, own_rows(*map), my_rank());
        expect_transposed<TpetraSpace>(a, whole, own_rows(*map), my_rank());
      }
    }
  }
}

// By blocks where own columns come first on all ranks: each node of the shift has no entry of its own.
TEST(TpetraDistributed, BlocksKeepThePromises) {
  for (const HostMatrix<double>& nodes :
       {irregular_matrix(53), shift_matrix(29), problem("poisson2d:5"), half_coupled(24)}) {
    const HostMatrix<double> whole = of_full_blocks(nodes, 3);
    for (const auto& [name, mesh] : all_maps(nodes.num_rows)) {
      SCOPED_TRACE(name + ", " + std::to_string(nodes.num_rows) + " nodes");
      const auto matrix = block_matrix(whole, mesh);
      const auto own = own_rows(*points_of(*mesh));
      const DistributedCrsMatrix a(TpetraSpace(), matrix);
      const bool is_first =
          on_all_ranks(tpetra::impl::begins_with(*matrix->getColMap(), *matrix->getRowMap()));
      EXPECT_EQ(a.block_size(), is_first ? 3 : 1);
      if (is_first) {
        expect_blocks_of_ranks<TpetraSpace>(a, whole, 3);
        EXPECT_EQ(a.own_blocks().values.data(), matrix->getValuesDevice().data());
        EXPECT_EQ(a.rows().copied(), "");
      }
      expect_distributed<TpetraSpace>(a, a.rows().view(), whole, own, my_rank());
      expect_transposed<TpetraSpace>(a, whole, own, my_rank());
    }
  }
}

TEST(TpetraDistributed, ProductsByBlocksOverlap) {
  if (num_ranks() == 1) GTEST_SKIP() << "one rank sends no messages";
  const HostMatrix<double> whole = problem("elasticity3d:4");
  const auto matrix = block_matrix(whole, contiguous_map(whole.num_rows / 3));
  const DistributedCrsMatrix a(TpetraSpace(), matrix);
  ASSERT_EQ(a.block_size(), 3);
  expect_overlap<TpetraSpace>(a);
}

TEST(TpetraDistributed, InversesHaveTheBitsOfOneRank) {
  if (num_ranks() == 1) GTEST_SKIP() << "that is one rank";
  const HostMatrix<double> whole = problem("elasticity3d:3");
  for (const auto& [name, map] : all_maps(whole.num_rows)) {
    SCOPED_TRACE(name);
    const DistributedCrsMatrix a(TpetraSpace(), distribute(whole, map));
    expect_inverses_of_one_rank<TpetraSpace>(a, whole, own_rows(*map));
  }
}

TEST(TpetraDistributed, MultigridTakesTheIterationsOfOneRank) {
  if (num_ranks() == 1) GTEST_SKIP() << "that is one rank";
  const HostMatrix<double> whole = problem("poisson3d:8");
  for (const auto& [name, map] : all_maps(whole.num_rows)) {
    SCOPED_TRACE(name);
    const DistributedCrsMatrix a(TpetraSpace(), distribute(whole, map));
    expect_multigrid_of_one_rank<TpetraSpace>(a, whole, own_rows(*map));
  }
}

TEST(TpetraDistributed, RanksMultiplyWhileMessagesTravel) {
  if (num_ranks() == 1) GTEST_SKIP() << "one rank sends no messages";
  const auto matrix = distribute(problem("poisson2d:14"), contiguous_map(196));
  const DistributedCrsMatrix a(TpetraSpace(), matrix);
  expect_overlap<TpetraSpace>(a);
}

TEST(TpetraDistributed, NoRowsAtAll) {
  const HostMatrix<double> whole;
  const DistributedCrsMatrix a(TpetraSpace(), distribute(whole, contiguous_map(0)));
  expect_distributed<TpetraSpace>(a, a.rows().view(), whole, {}, my_rank());
  expect_transposed<TpetraSpace>(a, whole, {}, my_rank());
}

TEST(TpetraDistributed, WrongNumbersAreRefusedOnAllRanks) {
  const HostMatrix<double> whole = problem("poisson2d:6");
  const auto map = contiguous_map(36);
  const DistributedCrsMatrix a(TpetraSpace(), distribute(whole, map));
  const auto on_last = [&](std::vector<std::int64_t> list) {
    return my_rank() == num_ranks() - 1 ? list : std::vector<std::int64_t>{};
  };
  const std::string last = num_ranks() == 1 ? "" : "rank " + std::to_string(num_ranks() - 1) + " of ";
  expect_refused<TpetraSpace>(a, on_last({36}), "row 36 (counted from 0) does not exist");
  expect_refused<TpetraSpace>(a, on_last({-1}), "row -1 (counted from 0) does not exist");
  expect_refused<TpetraSpace>(a, on_last({35}), "row 35 (counted from 0) is the rank's own");
  expect_refused<TpetraSpace>(a, on_last({35}), last);
  if (num_ranks() > 1)
    expect_refused<TpetraSpace>(a, on_last({1, 0, 1}), "row 1 (counted from 0) stands twice in the list");
  expect_distributed<TpetraSpace>(a, a.rows().view(), whole, own_rows(*map), my_rank());
}

TEST(TpetraDistributed, SeesNewValues) {
  HostMatrix<double> whole = irregular_matrix(41);
  const auto map = contiguous_map(41);
  const auto matrix = distribute(whole, map);
  const DistributedCrsMatrix a(TpetraSpace(), matrix);
  matrix->resumeFill();
  matrix->scale(-3.0);
  matrix->fillComplete(map, map);
  for (double& value : whole.values) value *= -3.0;
  expect_distributed<TpetraSpace>(a, a.rows().view(), whole, own_rows(*map), my_rank());
}

TEST(TpetraDistributed, WholeVectorsNeedRowsThatAreCountedFromZero) {
  std::vector<GlobalIndex> mine;
  for (GlobalIndex i = 0; i < 3; ++i) mine.push_back(10 + my_rank() * 3 + i);
  const auto map = map_of(mine);
  const auto matrix = Teuchos::rcp(new TpetraMatrix(map, 1));
  for (const GlobalIndex row : mine) {
    const double value = 2;
    matrix->insertGlobalValues(row, 1, &value, &row);
  }
  matrix->fillComplete();
  const DistributedCrsMatrix a(TpetraSpace(), matrix);
  EXPECT_EQ(a.global_number(0), mine[0]);
  const Vector<double, TpetraSpace> own("prekond::testing::own", 3),
      whole("prekond::testing::whole", my_rank() == 0 ? 3 * num_ranks() : 0);
  const char* const text = "a whole vector needs rows with the global indices 0, 1, ...";
  EXPECT_THAT(message_of<InputError>([&] { a.scatter(TpetraSpace(), whole, own); }), HasSubstr(text));
  EXPECT_THAT(message_of<InputError>([&] { a.gather(TpetraSpace(), own, whole); }), HasSubstr(text));
}

TEST(TpetraDistributed, OtherMapsAreRefused) {
  const auto map = contiguous_map(49);
  const auto matrix = insert_rows(problem("poisson2d:7"), map);
  matrix->fillComplete(reversed_map(49), map);
  EXPECT_THAT(message_of<InputError>([&] { const DistributedCrsMatrix a(TpetraSpace(), matrix); }),
              HasSubstr("the matrix's domain map is not its row map"));
}

TEST(TpetraDistributed, NcclIsRefusedOnAHost) {
  if (!is_host_space<TpetraSpace>) GTEST_SKIP() << "the ranks compute on a device";
  const HostMatrix<double> whole = problem("poisson2d:6");
  const auto matrix = distribute(whole, contiguous_map(36));
  {
    const TransportOfScope scope("nccl");
    EXPECT_THAT(message_of<OptionError>([&] { const DistributedCrsMatrix a(TpetraSpace(), matrix); }),
                HasSubstr("transport: nccl cannot be: it sends between CUDA devices"));
  }
  const DistributedCrsMatrix a(TpetraSpace(), matrix);
}

// ------------------------------------------------------------------------------------------------ messages

/// Ranks that have a column of this rank's rows.
int num_neighbours(const TpetraMatrix& a) {
  const auto cols = own_indices(*a.getColMap());
  std::vector<int> owners(cols.size());
  a.getRowMap()->getRemoteIndexList(Teuchos::arrayViewFromVector(cols), Teuchos::arrayViewFromVector(owners));
  std::set<int> others(owners.begin(), owners.end());
  others.erase(my_rank());
  return static_cast<int>(others.size());
}

/// The messages that `work` sends and receives on this rank.
template <class Work>
Messages messages_of(const Work& work) {
  world()->barrier();
  messages = {};
  work();
  TpetraSpace().fence();
  return messages;
}

TEST(TpetraMessages, OneANeighbourForAllColumns) {
  const TransportOfScope by_mpi("mpi");  // whose messages are counted
  const TpetraSpace space;
  for (const HostMatrix<double>& whole : {problem("poisson2d:8"), irregular_matrix(53), half_coupled(24)}) {
    for (const auto& [name, map] : all_maps(whole.num_rows)) {
      SCOPED_TRACE(name + ", " + std::to_string(whole.num_rows) + " rows");
      const auto matrix = distribute(whole, map);
      const DistributedCrsMatrix a(space, matrix);
      const OperatorView view(matrix);
      const int neighbours = num_neighbours(*matrix);
      const std::size_t rows = map->getLocalNumElements();
      int sent_for_one = -1;
      for (const std::size_t k : {1, 4, 0, 2, 7, 1}) {
        const MultiVector<double, TpetraSpace> x("x", rows, k), y("y", rows, k), all("all", a.num_cols(), k);
        const Messages of_product = messages_of([&] { a.product().apply(space, x, y); });
        const Messages of_view = messages_of([&] { view.apply(space, x, y); });
        const Messages of_import = messages_of([&] { a.column_import().apply(space, x, all); });
        if (sent_for_one < 0) sent_for_one = of_product.sent;
        for (const Messages& counted : {of_product, of_view, of_import}) {
          EXPECT_EQ(counted.received, k > 0 ? neighbours : 0) << k << " columns";
          EXPECT_EQ(counted.sent, k > 0 ? sent_for_one : 0) << k << " columns";
        }
      }
    }
  }
}

TEST(TpetraMessages, LongOnesAreSentInParts) {
  // Around the ring of ranks, five slots of k numbers each.
  const int next = (my_rank() + 1) % num_ranks(), previous = (my_rank() + num_ranks() - 1) % num_ranks();
  for (const std::int64_t most_slots : {1, 2, 5, 6}) {
    mpi::NeighbourMessages<double> around(tpetra::impl::message_comm<TpetraSpace>(*world()),
                                          {{{next, 5}}, {{previous, 5}}}, most_slots);
    for (const int k : {1, 3}) {
      std::vector<double> sent(5 * k), received(5 * k), expected(5 * k), back(5 * k);
      for (int s = 0; s < 5 * k; ++s) sent[s] = 100 * my_rank() + s, expected[s] = 100 * previous + s;
      const Messages counted = messages_of([&] {
        around.start(sent.data(), received.data(), k);
        around.finish();
      });
      EXPECT_EQ(received, expected);
      EXPECT_EQ(counted.sent, (5 + most_slots - 1) / most_slots);
      around.start_reverse(received.data(), back.data(), k);
      around.finish_reverse();
      EXPECT_EQ(back, sent);
    }
  }
}

TEST(TpetraMessages, AProductHasNoAllReduce) {
  const auto matrix = distribute(problem("poisson2d:8"), contiguous_map(64));
  const MatrixOperator a(matrix);
  const std::size_t rows = matrix->getLocalNumRows();
  const MultiVector<double, TpetraSpace> x("x", rows, 4), y("y", rows, 4);
  a.apply(TpetraSpace(), x, y);
  all_reduces = 0;
  a.apply(TpetraSpace(), x, y);
  EXPECT_EQ(all_reduces, 0);
}

}  // namespace
}  // namespace prekond::testing
