// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/block_matrices.hpp"
#include "testing/distributed_cases.hpp"
#include "testing/engine_cases.hpp"
#include "testing/messages.hpp"
#include "testing/petsc_matrices.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/adapters/petsc_distributed.hpp>

#include <array>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace prekond::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using DistributedAijMatrix = petsc::DistributedAijMatrix<PetscSpace>;

TEST(PetscDistributed, KeepsThePromises) {
  for (const HostMatrix<double>& whole : {irregular_matrix(53), shift_matrix(29), problem("poisson2d:5"),
                                          diagonal(13), half_coupled(24), diagonal(2), gapped(31)}) {
    for (const NamedParts& parts : all_parts(whole.num_rows)) {
      for (const MatType type : {MATAIJ, MATMPIAIJ, aij_type()}) {
        SCOPED_TRACE(parts.name + ", " + std::to_string(whole.num_rows) + " rows, " + type);
        const OwnedMat matrix = assemble(whole, parts, type);
        const DistributedAijMatrix a(PetscSpace(), matrix.get());
        expect_distributed<PetscSpace>(a, a.rows().view(), whole, parts.own(), my_rank());
        expect_transposed<PetscSpace>(a, whole, parts.own(), my_rank());
      }
    }
  }
}

TEST(PetscDistributed, BlocksKeepThePromises) {
  for (const HostMatrix<double>& nodes : {irregular_matrix(53), problem("poisson2d:5"), half_coupled(24)})
    for (const int b : {2, 3, 5}) {
      const HostMatrix<double> whole = of_full_blocks(nodes, b);
      for (const NamedParts& parts : parts_of_blocks(nodes.num_rows, b)) {
        SCOPED_TRACE(parts.name + ", " + std::to_string(whole.num_rows) + " rows, blocks of " +
                     std::to_string(b));
        const OwnedMat matrix = assemble(whole, parts, MATBAIJ, b);
        const DistributedAijMatrix a(PetscSpace(), matrix.get());
        expect_blocks_of_ranks<PetscSpace>(a, whole, b);
        expect_distributed<PetscSpace>(a, a.rows().view(), whole, parts.own(), my_rank());
        expect_transposed<PetscSpace>(a, whole, parts.own(), my_rank());
      }
    }
}

TEST(PetscDistributed, BlocksOfAHostAreNotCopied) {
  if (!is_host_space<PetscSpace>) GTEST_SKIP() << "PETSc has blocks on the host";
  const HostMatrix<double> whole = of_full_blocks(problem("poisson2d:5"), 3);
  const OwnedMat matrix = assemble(whole, parts_of_blocks(25, 3).front(), MATBAIJ, 3);
  Mat own = matrix.get();
  if (num_ranks() > 1) check(MatGetDiagonalBlock(matrix.get(), &own));
  const petsc::LocalMatrix<PetscSpace> rows(PetscSpace(), own);
  PetscScalar* values = nullptr;
  check(MatSeqBAIJGetArray(own, &values));
  EXPECT_EQ(rows.blocks().values.data(), values);
  check(MatSeqBAIJRestoreArray(own, &values));
  EXPECT_EQ(rows.copied(), "");
}

/// PETSc 3.26 raises the state of a matrix whose array is given back; 3.25 does not, where nothing can be
/// found.
TEST(PetscDistributed, ProductsByBlocksReadTheMatrixOnly) {
  const PetscSpace space;
  const OwnedMat matrix =
      assemble(of_full_blocks(problem("poisson2d:8"), 3), parts_of_blocks(64, 3).front(), MATBAIJ, 3);
  const DistributedAijMatrix a(space, matrix.get());
  const MultiVector<double, PetscSpace> x("x", a.num_rows(), 2), y("y", a.num_rows(), 2);
  a.product().apply(space, x, y);
  std::vector<Mat> parts = {matrix.get()};
  if (num_ranks() > 1) {
    const PetscInt* numbers = nullptr;
    parts.resize(2);
    check(MatMPIBAIJGetSeqBAIJ(matrix.get(), &parts[0], &parts[1], &numbers));
  }
  const auto states = [&] {
    std::vector<PetscObjectState> all;
    for (const Mat part : parts) all.push_back(petsc::impl::state_of(part, MatGetState));
    return all;
  };
  const auto before = states();
  const ToolEvents events;
  a.product().apply(space, x, y);
  EXPECT_EQ(states(), before);
  EXPECT_THAT(events.allocations(), ::testing::IsEmpty());
}

TEST(PetscDistributed, ProductsByBlocksSeeNewValuesAndOverlap) {
  HostMatrix<double> whole = of_full_blocks(problem("poisson2d:8"), 3);
  const NamedParts parts = parts_of_blocks(64, 3).front();
  const OwnedMat matrix = assemble(whole, parts, MATBAIJ, 3);
  const DistributedAijMatrix a(PetscSpace(), matrix.get());
  check(MatScale(matrix.get(), -3));
  for (double& value : whole.values) value *= -3;
  expect_product<PetscSpace>(a, whole, parts.own());
  if (num_ranks() > 1) expect_overlap<PetscSpace>(a);
}

TEST(PetscDistributed, ToolsSeeExchanges) {
  const HostMatrix<double> whole = problem("poisson2d:9");
  const OwnedMat matrix = assemble(whole, all_parts(whole.num_rows).front(), MATAIJ);
  const PetscSpace space;
  const DistributedAijMatrix a(space, matrix.get());
  const MultiVector<double, PetscSpace> x("x", a.num_rows(), 1), all("all", a.num_cols(), 1);
  const ToolEvents events;
  a.column_import().apply(space, x, all);
  const std::string of_entries = "prekond::import", of_rows = "prekond::exchange_rows";
  EXPECT_THAT(events.regions(), ElementsAre(of_entries, of_entries));
  a.remote_rows(space, {});
  EXPECT_THAT(events.regions(), ElementsAre(of_entries, of_entries, of_rows));
  EXPECT_EQ(events.num_ended_regions(), 3U);
}

TEST(PetscDistributed, InversesHaveTheBitsOfOneRank) {
  if (num_ranks() == 1) GTEST_SKIP() << "that is one rank";
  const HostMatrix<double> whole = problem("elasticity3d:3");
  for (const NamedParts& parts : all_parts(whole.num_rows)) {
    SCOPED_TRACE(parts.name);
    const OwnedMat matrix = assemble(whole, parts);
    const DistributedAijMatrix a(PetscSpace(), matrix.get());
    expect_inverses_of_one_rank<PetscSpace>(a, whole, parts.own());
  }
}

TEST(PetscDistributed, MultigridTakesTheIterationsOfOneRank) {
  if (num_ranks() == 1) GTEST_SKIP() << "that is one rank";
  const HostMatrix<double> whole = problem("poisson3d:8");
  for (const NamedParts& parts : all_parts(whole.num_rows)) {
    SCOPED_TRACE(parts.name);
    const OwnedMat matrix = assemble(whole, parts);
    const DistributedAijMatrix a(PetscSpace(), matrix.get());
    expect_multigrid_of_one_rank<PetscSpace>(a, whole, parts.own());
  }
}

TEST(PetscDistributed, RanksMultiplyWhileMessagesTravel) {
  if (num_ranks() == 1) GTEST_SKIP() << "one rank sends no messages";
  const OwnedMat matrix = assemble(problem("poisson2d:14"), equal_parts(196));
  const DistributedAijMatrix a(PetscSpace(), matrix.get());
  expect_overlap<PetscSpace>(a);
}

/// Most rows of a rank have no entry in columns of other ranks: PETSc then has them without the empty rows on
/// a device.
TEST(PetscDistributed, FewRowsReachOtherRanks) {
  const std::int64_t n = 40 * num_ranks();
  std::vector<std::vector<double>> dense(n, std::vector<double>(n, 0));
  for (std::int64_t i = 0; i < n; ++i) dense[i][i] = 2.5 + double(i % 7);
  for (int rank = 0; rank < num_ranks(); ++rank) {
    dense[40 * rank + 17][(40 * rank + 63) % n] = -1.5 - rank;
    dense[40 * rank + 31][(40 * rank + 41) % n] = 0.25 + rank;
  }
  const HostMatrix<double> whole = sparse(dense);
  const NamedParts parts = equal_parts(n);
  const OwnedMat matrix = assemble(whole, parts);
  const DistributedAijMatrix a(PetscSpace(), matrix.get());
  expect_distributed<PetscSpace>(a, a.rows().view(), whole, parts.own(), my_rank());
  expect_product<PetscSpace>(a, whole, parts.own());
}

TEST(PetscDistributed, NoRowsAtAll) {
  const HostMatrix<double> whole;
  const OwnedMat matrix = assemble(whole, equal_parts(0));
  const DistributedAijMatrix a(PetscSpace(), matrix.get());
  expect_distributed<PetscSpace>(a, a.rows().view(), whole, {}, my_rank());
  expect_transposed<PetscSpace>(a, whole, {}, my_rank());
}

TEST(PetscDistributed, WrongNumbersAreRefusedOnAllRanks) {
  const HostMatrix<double> whole = problem("poisson2d:6");
  const NamedParts parts = equal_parts(36);
  const OwnedMat matrix = assemble(whole, parts);
  const DistributedAijMatrix a(PetscSpace(), matrix.get());
  const auto on_last = [&](std::vector<std::int64_t> list) {
    return my_rank() == num_ranks() - 1 ? list : std::vector<std::int64_t>{};
  };
  const std::string last = num_ranks() == 1 ? "" : "rank " + std::to_string(num_ranks() - 1) + " of ";
  expect_refused<PetscSpace>(a, on_last({36}), "row 36 (counted from 0) does not exist");
  expect_refused<PetscSpace>(a, on_last({std::int64_t(1) << 33}),
                             "row 8589934592 (counted from 0) does not exist");
  expect_refused<PetscSpace>(a, on_last({-1}), "row -1 (counted from 0) does not exist");
  expect_refused<PetscSpace>(a, on_last({35}), "row 35 (counted from 0) is the rank's own");
  expect_refused<PetscSpace>(a, on_last({35}), last);
  if (num_ranks() > 1)
    expect_refused<PetscSpace>(a, on_last({1, 0, 1}), "row 1 (counted from 0) stands twice in the list");
  expect_distributed<PetscSpace>(a, a.rows().view(), whole, parts.own(), my_rank());
}

TEST(PetscDistributed, SeesNewValues) {
  HostMatrix<double> whole = irregular_matrix(41);
  const NamedParts parts = equal_parts(41);
  const OwnedMat matrix = assemble(whole, parts);
  const DistributedAijMatrix a(PetscSpace(), matrix.get());
  check(MatScale(matrix.get(), -3));
  for (double& value : whole.values) value *= -3.0;
  expect_product<PetscSpace>(a, whole, parts.own());
  std::vector<std::int64_t> others;
  for (std::int64_t i = 0; i < 41; ++i)
    if (i < parts.first() || i >= parts.first() + parts.mine()) others.push_back(i);
  expect_remote_rows<PetscSpace>(a, whole, others);
  if (a.rows().copied().empty())
    expect_distributed<PetscSpace>(a, a.rows().view(), whole, parts.own(), my_rank());
}

TEST(PetscDistributed, RowsComeInTheOrderInWhichTheyAreAskedFor) {
  const HostMatrix<double> whole = irregular_matrix(41);
  const NamedParts parts = equal_parts(41);
  const OwnedMat matrix = assemble(whole, parts);
  const DistributedAijMatrix a(PetscSpace(), matrix.get());
  std::vector<std::int64_t> others;
  for (std::int64_t k = 0; k < 41; ++k) {
    const std::int64_t i = k * 17 % 41;  // no order that is its own inverse
    if (i < parts.first() || i >= parts.first() + parts.mine()) others.push_back(i);
  }
  expect_remote_rows<PetscSpace>(a, whole, others);
  expect_import<PetscSpace>(*a.make_import(PetscSpace(), to_device<PetscSpace>(others)), parts.own(), others);
}

TEST(PetscDistributed, PlansAreKeptWhereAllRanksAskForTheSameRows) {
  const HostMatrix<double> whole = irregular_matrix(41);
  const NamedParts parts = equal_parts(41);
  const OwnedMat matrix = assemble(whole, parts);
  const DistributedAijMatrix a(PetscSpace(), matrix.get());
  // Choice k: other ranks' rows i with i % (k + 2) > 0. Choices repeat on all ranks, on the first one only,
  // and after more others than are kept.
  const auto choice = [&](int k) {
    std::vector<std::int64_t> rows;
    for (std::int64_t i = 40; i >= 0; --i)
      if ((i < parts.first() || i >= parts.first() + parts.mine()) && i % (k + 2) > 0) rows.push_back(i);
    return rows;
  };
  const int of_first[] = {0, 0, 1, 0, 2, 3, 4, 5, 0, 1, 5, 4},
            of_others[] = {0, 0, 2, 1, 2, 3, 4, 5, 0, 1, 5, 1};
  for (std::size_t k = 0; k < std::size(of_first); ++k) {
    SCOPED_TRACE(k);
    const auto rows = choice(my_rank() == 0 ? of_first[k] : of_others[k]);
    const bool is_kept = num_ranks() == 1 || k == 1 || k == 10;
    const ToolEvents events;
    const auto import = a.make_import(PetscSpace(), to_device<PetscSpace>(rows));
    EXPECT_EQ(::testing::Value(events.allocations(), ::testing::Contains(HasSubstr("exchange::list"))),
              !is_kept);
    expect_import<PetscSpace>(*import, parts.own(), rows);
    expect_remote_rows<PetscSpace>(a, whole, rows);
  }
  const auto numbers = to_vector(a.global_numbers(PetscSpace()));
  const std::vector<std::int64_t> in_order(numbers.begin() + a.num_rows(), numbers.end());
  const ToolEvents events;
  a.remote_rows(PetscSpace(), to_device<PetscSpace>(in_order));
  EXPECT_THAT(events.kernels(), ::testing::Not(::testing::Contains(HasSubstr("remote_rows::slots"))));
}

/// Every rank has two rows, whose own columns are stored the last first.
TEST(PetscDistributed, RowsThatAreNotSorted) {
  const int size = num_ranks(), first = 2 * my_rank();
  std::vector<std::vector<double>> dense(2 * size, std::vector<double>(2 * size, 0));
  for (int rank = 0; rank < size; ++rank) {
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 2; ++j) dense[2 * rank + i][2 * rank + j] = 1 + i + 2 * j + 4 * rank;
    if (size > 1) dense[2 * rank][(2 * rank + 2) % (2 * size)] = -1.5 - rank;
  }
  std::array<PetscInt, 3> row_ptrs = {0, 2, 4}, other_row_ptrs = {0, size > 1, size > 1};
  std::array<PetscInt, 4> cols = {1, 0, 1, 0};
  std::array<PetscScalar, 4> values = {dense[first][first + 1], dense[first][first],
                                       dense[first + 1][first + 1], dense[first + 1][first]};
  PetscInt other_col = (first + 2) % (2 * size);
  PetscScalar other_value = -1.5 - my_rank();
  OwnedMat matrix;
  check(MatCreateMPIAIJWithSplitArrays(PETSC_COMM_WORLD, 2, 2, PETSC_DETERMINE, PETSC_DETERMINE,
                                       row_ptrs.data(), cols.data(), values.data(), other_row_ptrs.data(),
                                       &other_col, &other_value, matrix.receive()));
  const DistributedAijMatrix a(PetscSpace(), matrix.get());
  EXPECT_THAT(a.rows().copied(), HasSubstr("its rows are not sorted"));
  expect_distributed<PetscSpace>(a, a.rows().view(), sparse(dense), equal_parts(2 * size).own(), my_rank());
}

TEST(PetscDistributed, KeepsTheMatrix) {
  const HostMatrix<double> whole = problem("poisson2d:5");
  const NamedParts parts = equal_parts(25);
  std::optional<DistributedAijMatrix> a;
  {
    const OwnedMat matrix = assemble(whole, parts);
    a.emplace(PetscSpace(), matrix.get());
  }
  expect_distributed<PetscSpace>(*a, a->rows().view(), whole, parts.own(), my_rank());
}

TEST(PetscDistributed, OtherMatricesAreRefusedOnAllRanks) {
  const auto refused = [](Mat a) {
    return message_of<InputError>([&] { const DistributedAijMatrix distributed(PetscSpace(), a); });
  };
  const OwnedMat symmetric = assemble(problem("poisson2d:6"), equal_parts(36), MATSBAIJ);
  EXPECT_THAT(refused(symmetric.get()),
              HasSubstr("sbaij: prekond takes aij and baij; MatConvert(a, MATAIJ, ...) makes one"));
  const int all = num_ranks();
  const OwnedMat large = assemble(diagonal(33 * all), parts_of_blocks(all, 33).front(), MATBAIJ, 33);
  EXPECT_THAT(refused(large.get()), HasSubstr("blocks of 33; prekond takes up to 32"));

  OwnedMat open, wide, shifted;
  check(MatCreateAIJ(PETSC_COMM_WORLD, 3, 3, PETSC_DETERMINE, PETSC_DETERMINE, 1, nullptr, 0, nullptr,
                     open.receive()));
  EXPECT_THAT(refused(open.get()), HasSubstr("the matrix is not assembled"));
  const auto assembled = [](OwnedMat& a, PetscInt rows, PetscInt cols) {
    check(MatCreateAIJ(PETSC_COMM_WORLD, rows, cols, PETSC_DETERMINE, PETSC_DETERMINE, 1, nullptr, 0, nullptr,
                       a.receive()));
    check(MatAssemblyBegin(a.get(), MAT_FINAL_ASSEMBLY));
    check(MatAssemblyEnd(a.get(), MAT_FINAL_ASSEMBLY));
  };
  const std::string size = std::to_string(num_ranks());
  assembled(wide, 1, 2);
  EXPECT_THAT(refused(wide.get()), HasSubstr("the matrix is not square: it has " + size + " rows and " +
                                             std::to_string(2 * num_ranks()) + " columns"));
  if (num_ranks() == 1) return;
  assembled(shifted, 2, my_rank() == 0 ? 3 : my_rank() == 1 ? 1 : 2);
  EXPECT_THAT(refused(shifted.get()),
              HasSubstr("the matrix's columns are distributed over the ranks in another way than its rows"));
}

// ------------------------------------------------------------------------------------------------ messages

/// Ranks that have a column of this rank's rows.
int num_neighbours(const DistributedAijMatrix& a, const NamedParts& parts) {
  std::set<int> others;
  for (std::int64_t c = a.num_rows(); c < a.num_cols(); ++c) {
    int rank = 0;
    for (std::int64_t end = parts.sizes[0]; a.global_number(c) >= end; end += parts.sizes[rank]) ++rank;
    others.insert(rank);
  }
  return static_cast<int>(others.size());
}

/// The messages that `work` sends and receives on this rank.
template <class Work>
Messages messages_of(const Work& work) {
  MPI_Barrier(PETSC_COMM_WORLD);
  messages = {};
  work();
  PetscSpace().fence();
  return messages;
}

TEST(PetscMessages, OneANeighbourForAllColumns) {
  const PetscSpace space;
  for (const HostMatrix<double>& whole : {problem("poisson2d:8"), irregular_matrix(53), half_coupled(24)}) {
    for (const NamedParts& parts : all_parts(whole.num_rows)) {
      SCOPED_TRACE(parts.name + ", " + std::to_string(whole.num_rows) + " rows");
      const OwnedMat matrix = assemble(whole, parts);
      const DistributedAijMatrix a(space, matrix.get(), mpi::Transport::mpi);
      const int neighbours = num_neighbours(a, parts);
      int sent_for_one = -1;
      for (const std::size_t k : {1, 4, 0, 2, 7, 1}) {
        const MultiVector<double, PetscSpace> x("x", a.num_rows(), k), y("y", a.num_rows(), k),
            all("all", a.num_cols(), k);
        const Messages of_product = messages_of([&] { a.product().apply(space, x, y); });
        const Messages of_import = messages_of([&] { a.column_import().apply(space, x, all); });
        if (sent_for_one < 0) sent_for_one = of_product.sent;
        for (const Messages& counted : {of_product, of_import}) {
          EXPECT_EQ(counted.received, k > 0 ? neighbours : 0) << k << " columns";
          EXPECT_EQ(counted.sent, k > 0 ? sent_for_one : 0) << k << " columns";
        }
      }
    }
  }
}

TEST(PetscMessages, NothingIsAllocatedTheSecondTime) {
  const PetscSpace space;
  const OwnedMat matrix = assemble(problem("poisson2d:8"), equal_parts(64));
  const DistributedAijMatrix a(space, matrix.get());
  const MultiVector<double, PetscSpace> x("x", a.num_rows(), 3), y("y", a.num_rows(), 3),
      all("all", a.num_cols(), 3);
  const Vector<double, PetscSpace> sums("sums", 5);
  const auto run = [&] {
    a.product().apply(space, x, y);
    a.column_import().apply(space, x, all);
    a.reducer().sum(space, sums);
    space.fence();
  };
  run();
  const ToolEvents events;
  run();
  EXPECT_THAT(events.allocations(), ::testing::IsEmpty());
  EXPECT_THAT(events.kernels(), ::testing::Contains(HasSubstr("prekond::import::unpack")));
}

}  // namespace
}  // namespace prekond::testing
