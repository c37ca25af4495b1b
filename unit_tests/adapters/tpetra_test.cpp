// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/block_matrices.hpp"
#include "testing/host_matrix.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"
#include "testing/tpetra_matrices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/adapters/tpetra.hpp>

#include <Ifpack2_DiagonalFilter.hpp>
#include <Ifpack2_LocalFilter.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

namespace prekond::testing {
namespace {

using ::testing::AnyOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

using MapPtr = Teuchos::RCP<const TpetraMap>;
using MatrixPtr = Teuchos::RCP<TpetraMatrix>;
using RowMatrix = Tpetra::RowMatrix<double>;
using LocalMatrix = tpetra::LocalMatrix<double, int, GlobalIndex, TpetraMap::node_type>;

/// The matrix that LocalMatrix promises, by global indices: column j of the rank is row j's, columns of other
/// ranks follow in the order of the column map, rows are sorted.
HostMatrix<double> expected_local(const HostMatrix<double>& a, const TpetraMap& rows, const TpetraMap& cols) {
  const auto mine = own_indices(rows);
  std::map<GlobalIndex, int> number;
  for (std::size_t i = 0; i < mine.size(); ++i) number[mine[i]] = static_cast<int>(i);
  for (const GlobalIndex c : own_indices(cols)) number.emplace(c, static_cast<int>(number.size()));
  HostMatrix<double> local;
  local.num_rows = static_cast<std::int64_t>(mine.size());
  local.num_cols = static_cast<std::int64_t>(number.size());
  for (const GlobalIndex row : mine) {
    std::map<int, double> sorted;
    for (std::size_t k = a.row_ptrs[row]; k < a.row_ptrs[row + 1]; ++k)
      sorted[number.at(a.col_idxs[k])] = a.values[k];
    for (const auto& [c, value] : sorted) local.col_idxs.push_back(c), local.values.push_back(value);
    local.row_ptrs.push_back(local.nnz());
  }
  return local;
}

HostMatrix<double> to_host(const LocalMatrix& local) {
  const auto& view = local.view();
  return {view.num_rows, view.num_cols, to_vector(view.row_ptrs), to_vector(view.col_idxs),
          to_vector(view.values)};
}

void expect_local(const LocalMatrix& local, const HostMatrix<double>& a, const TpetraMap& rows,
                  const TpetraMap& cols) {
  const HostMatrix<double> found = to_host(local), expected = expected_local(a, rows, cols);
  EXPECT_EQ(found.num_rows, expected.num_rows);
  EXPECT_EQ(found.num_cols, expected.num_cols);
  EXPECT_EQ(found.row_ptrs, expected.row_ptrs);
  EXPECT_EQ(found.col_idxs, expected.col_idxs);
  EXPECT_EQ(found.values, expected.values);
  const LocalReference reference = local_reference(a, rows);
  EXPECT_EQ(local.foreign_entries(TpetraSpace()), reference.foreign_entries);
  EXPECT_EQ(local.foreign_columns(), reference.foreign_columns);
}

// ------------------------------------------------------------------------------------------------
// LocalMatrix

TEST(TpetraLocalMatrix, ViewsTpetrasOwnMatrixWithoutACopy) {
  for (const HostMatrix<double>& a :
       {problem("poisson2d:11"), problem("elasticity3d:3"), irregular_matrix(61)}) {
    for (const auto& [name, map] : all_maps(a.num_rows)) {
      SCOPED_TRACE(name);
      const MatrixPtr matrix = distribute(a, map);
      const auto theirs = matrix->getLocalMatrixDevice();
      const ToolEvents events;
      const LocalMatrix local(TpetraSpace(), *matrix);
      EXPECT_THAT(events.allocations(), IsEmpty());
      // Its entries are read, to see whether rows ascend, and nothing more.
      EXPECT_THAT(events.kernels(), Each(AnyOf(Not(StartsWith("prekond::")), HasSubstr("::rows_ascend"))));
      EXPECT_EQ(local.copied(), "");
      EXPECT_EQ(local.view().row_ptrs.data(), theirs.graph.row_map.data());
      EXPECT_EQ(local.view().col_idxs.data(), theirs.graph.entries.data());
      EXPECT_EQ(local.view().values.data(), theirs.values.data());
      EXPECT_EQ(local.view().row_ptrs.extent(0), map->getLocalNumElements() + 1);
      expect_local(local, a, *map, *matrix->getColMap());
    }
  }
}

TEST(TpetraLocalMatrix, OffsetsHave64Bits) {
  static_assert(sizeof(LocalMatrix::view_type::offset_type) == 8);
  static_assert(
      std::is_same_v<LocalMatrix::view_type::offset_type,
                     std::remove_const_t<TpetraMatrix::local_graph_device_type::row_map_type::value_type>>);
  const HostMatrix<double> a = problem("poisson2d:6");
  const MatrixPtr matrix = distribute(a, contiguous_map(36));
  const LocalMatrix local(TpetraSpace(), *matrix);
  EXPECT_EQ(static_cast<std::size_t>(local.view().nnz()), matrix->getLocalNumEntries());
}

TEST(TpetraLocalMatrix, AnotherColumnMapIsCopiedWithOwnColumnsFirst) {
  for (const HostMatrix<double>& a : {problem("poisson2d:11"), irregular_matrix(61)}) {
    for (const auto& [name, map] : all_maps(a.num_rows)) {
      for (const bool descending : {true, false}) {
        SCOPED_TRACE(name + (descending ? ", descending" : ", remote first"));
        const MapPtr cols = descending ? descending_columns(a, map) : remote_columns_first(a, map);
        const MatrixPtr matrix = distribute(a, map, cols);
        ASSERT_NO_THROW(tpetra::check_distribution(*matrix));
        const LocalMatrix local(TpetraSpace(), *matrix);
        const auto mine = own_indices(*map), theirs = own_indices(*cols);
        const bool begins =
            theirs.size() >= mine.size() && std::equal(mine.begin(), mine.end(), theirs.begin());
        if (begins)
          EXPECT_EQ(local.copied(), "");
        else
          EXPECT_THAT(local.copied(), HasSubstr("its column map does not begin with its row map"));
        expect_local(local, a, *map, *cols);
      }
    }
  }
}

TEST(TpetraLocalMatrix, UnsortedRowsAreCopiedAndSorted) {
  const HostMatrix<double> a = irregular_matrix(61);
  for (const auto& [name, map] : all_maps(a.num_rows)) {
    SCOPED_TRACE(name);
    const MapPtr cols = distribute(a, map)->getColMap();
    const MatrixPtr matrix = distribute(a, map, cols, false);
    ASSERT_FALSE(matrix->getCrsGraph()->isSorted());
    const auto before = to_vector(matrix->getLocalMatrixDevice().graph.entries);
    const LocalMatrix local(TpetraSpace(), *matrix);
    if (matrix->getLocalMaxNumRowEntries() > 1)
      EXPECT_THAT(local.copied(), HasSubstr("its rows are not sorted"));
    else
      EXPECT_EQ(local.copied(), "");  // a rank without such rows
    expect_local(local, a, *map, *cols);
    EXPECT_EQ(to_vector(matrix->getLocalMatrixDevice().graph.entries), before)
        << "Tpetra's matrix was changed";
  }
}

// Tpetra takes the word of whoever hands over arrays.
TEST(TpetraLocalMatrix, UnsortedRowsThatAreCalledSortedAreCopiedAndSorted) {
  const HostMatrix<double> a = irregular_matrix(61);
  for (const auto& [name, map] : all_maps(a.num_rows)) {
    const MapPtr cols = distribute(a, map)->getColMap();
    const auto arrays = distribute(a, map, cols, false)->getLocalMatrixDevice();
    const auto constructed =
        Teuchos::rcp(new TpetraMatrix(map, cols, arrays.graph.row_map, arrays.graph.entries, arrays.values));
    const auto assigned = Teuchos::rcp(new TpetraMatrix(map, cols, 0));
    assigned->setAllValues(arrays.graph.row_map, arrays.graph.entries, arrays.values);
    for (const MatrixPtr& matrix : {constructed, assigned}) {
      SCOPED_TRACE(name + (matrix == assigned ? ", setAllValues" : ", constructed"));
      matrix->expertStaticFillComplete(map, map);
      ASSERT_TRUE(matrix->getCrsGraph()->isSorted());
      ASSERT_EQ(to_vector(matrix->getLocalMatrixDevice().graph.entries), to_vector(arrays.graph.entries));
      const LocalMatrix local(TpetraSpace(), *matrix);
      EXPECT_EQ(local.copied().empty(), matrix->getLocalMaxNumRowEntries() < 2);
      expect_local(local, a, *map, *cols);
    }
  }
}

TEST(TpetraLocalMatrix, AColumnTwiceInARowIsRefused) {
  HostMatrix<double> a = sparse<double>({{2, 1, 0}, {1, 2, 0}, {0, 0, 2}});
  a.col_idxs[1] = 0;  // row 0 has column 0 twice
  const MapPtr map = contiguous_map(3);
  const MapPtr cols = distribute(sparse<double>({{2, 1, 0}, {1, 2, 0}, {0, 0, 2}}), map)->getColMap();
  const MatrixPtr matrix = distribute(a, map, cols, false);
  const auto take = [&] { const LocalMatrix local(TpetraSpace(), *matrix); };
  if (my_rank() == 0)
    EXPECT_THAT(message_of<InputError>(take), HasSubstr("row 1"));
  else
    EXPECT_NO_THROW(take());
}

TEST(TpetraLocalMatrix, ColumnsWithoutEntriesKeepTheirNumbers) {
  const std::int64_t n = 29;
  const HostMatrix<double> a = shift_matrix(n);
  for (const auto& [name, map] : all_maps(n)) {
    SCOPED_TRACE(name);
    const MatrixPtr matrix = distribute(a, map);
    const auto& cols = *matrix->getColMap();
    const auto mine = own_indices(*map), theirs = own_indices(cols);
    const bool begins = theirs.size() >= mine.size() && std::equal(mine.begin(), mine.end(), theirs.begin());
    // The case is met: the column map lacks own rows. (A rank that has all rows has an entry in every
    // column.)
    EXPECT_TRUE(mine.empty() || mine.size() == static_cast<std::size_t>(n) || !begins);
    const LocalMatrix local(TpetraSpace(), *matrix);
    EXPECT_EQ(local.copied().empty(), begins);
    expect_local(local, a, *map, cols);
  }
}

TEST(TpetraLocalMatrix, ABlockMatrixIsItsPointExpansion) {
  const HostMatrix<double> a = problem("elasticity3d:3");  // 18 nodes of three unknowns, whole blocks stored
  for (const auto& [name, mesh] : all_maps(a.num_rows / 3)) {
    SCOPED_TRACE(name);
    const auto matrix = block_matrix(a, mesh);
    ASSERT_NO_THROW(tpetra::check_distribution<double>(*matrix));
    const LocalMatrix local(TpetraSpace(), *matrix);
    EXPECT_EQ(local.copied(), "");
    EXPECT_EQ(local.block_size(), 3);
    EXPECT_EQ(local.blocks().values.data(), matrix->getValuesDevice().data());
    expect_local(local, a, *points_of(*mesh), *points_of(*matrix->getColMap()));
  }
}

TEST(TpetraLocalMatrix, ABlockMatrixWithOtherColumnsFirstIsCopied) {
  const HostMatrix<double> a = of_full_blocks(shift_matrix(29), 3);
  for (const auto& [name, mesh] : all_maps(29)) {
    SCOPED_TRACE(name);
    const auto matrix = block_matrix(a, mesh);
    const bool is_first = on_all_ranks(tpetra::impl::begins_with(*matrix->getColMap(), *matrix->getRowMap()));
    const LocalMatrix local(TpetraSpace(), *matrix);
    EXPECT_EQ(local.block_size(), is_first ? 3 : 1);
    if (!is_first) {
      EXPECT_THAT(local.copied(), HasSubstr("its blocks are stored as single entries"));
    }
    expect_local(local, a, *points_of(*mesh), *points_of(*matrix->getColMap()));
  }
}

TEST(TpetraLocalMatrix, AnyRowMatrixIsCopiedRowByRow) {
  const HostMatrix<double> a = irregular_matrix(47);
  HostMatrix<double> scaled = a;  // what the filter makes of it: 3 a_ii + 0.5
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
      if (a.col_idxs[k] == i) scaled.values[k] += a.values[k] * 2.0 + 0.5;
  for (const auto& [name, map] : all_maps(a.num_rows)) {
    SCOPED_TRACE(name);
    const Teuchos::RCP<const RowMatrix> matrix = distribute(a, map);
    const Ifpack2::DiagonalFilter<RowMatrix> filter(matrix, 0.5, 3.0);
    ASSERT_NO_THROW(tpetra::check_distribution<double>(filter));
    const LocalMatrix local(TpetraSpace(), filter);
    EXPECT_THAT(local.copied(), HasSubstr("row by row on the host"));
    expect_local(local, scaled, *map, *matrix->getColMap());
  }
}

TEST(TpetraLocalMatrix, AFilterThatDropsEntriesIsCopiedWithoutThem) {
  const HostMatrix<double> a = irregular_matrix(47);
  for (const auto& [name, map] : all_maps(a.num_rows)) {
    SCOPED_TRACE(name);
    const Teuchos::RCP<const RowMatrix> matrix = distribute(a, map);
    const Ifpack2::LocalFilter<RowMatrix> filter(
        matrix);  // the rank's own block, on a communicator of this rank
    const LocalMatrix local(TpetraSpace(), filter);
    EXPECT_THAT(local.copied(), HasSubstr("row by row on the host"));
    EXPECT_TRUE(to_host(local) == local_reference(a, *map).own);
    EXPECT_EQ(local.foreign_columns(), 0);
    EXPECT_EQ(local.foreign_entries(TpetraSpace()), 0);
  }
}

TEST(TpetraLocalMatrix, ForeignColumnsOfATridiagonalMatrix) {
  const HostMatrix<double> a = problem("tridiagonal:56");
  const int size = num_ranks(), neighbours = (my_rank() > 0) + (my_rank() + 1 < size);
  const MatrixPtr blocks = distribute(a, contiguous_map(56));
  const LocalMatrix contiguous(TpetraSpace(), *blocks);
  EXPECT_EQ(contiguous.foreign_columns(), neighbours);
  EXPECT_EQ(contiguous.foreign_entries(TpetraSpace()), neighbours);
  if (size < 3) return;
  // Row i on rank i mod size: all entries off the diagonal are others'.
  const MatrixPtr rows = distribute(a, cyclic_map(56));
  const LocalMatrix cyclic(TpetraSpace(), *rows);
  const auto mine = own_indices(*rows->getRowMap());
  const auto ends = std::count(mine.begin(), mine.end(), 0) + std::count(mine.begin(), mine.end(), 55);
  EXPECT_EQ(cyclic.foreign_entries(TpetraSpace()), 2 * static_cast<std::int64_t>(mine.size()) - ends);
}

// ------------------------------------------------------------------------------------------------
// check_distribution

TEST(TpetraDistribution, AcceptsWhatPreconditionersCanActOn) {
  const HostMatrix<double> a = problem("poisson2d:7");
  for (const auto& [name, map] : all_maps(a.num_rows))
    EXPECT_NO_THROW(tpetra::check_distribution(*distribute(a, map))) << name;
}

TEST(TpetraDistribution, RefusesAMatrixThatIsNotFillComplete) {
  const MatrixPtr matrix = insert_rows(problem("poisson2d:7"), contiguous_map(49));
  EXPECT_EQ(message_of<InputError>([&] { tpetra::check_distribution(*matrix); }),
            "the matrix is not fill-complete: call its fillComplete() first");
}

TEST(TpetraDistribution, RefusesRowsOfSeveralRanks) {
  const MapPtr map = overlapping_map(49);
  const MatrixPtr matrix = insert_rows(problem("poisson2d:7"), map);
  matrix->fillComplete(contiguous_map(49), contiguous_map(49));
  if (num_ranks() == 1)
    EXPECT_NO_THROW(tpetra::check_distribution(*matrix));
  else
    EXPECT_THAT(message_of<InputError>([&] { tpetra::check_distribution(*matrix); }),
                HasSubstr("row map is overlapping (several ranks own the same row)"));
}

TEST(TpetraDistribution, RefusesOtherDomainAndRangeMaps) {
  const MapPtr map = contiguous_map(49), other = reversed_map(49);
  const HostMatrix<double> a = problem("poisson2d:7");
  const auto refused = [&](const MapPtr& domain, const MapPtr& range) {
    const MatrixPtr matrix = insert_rows(a, map);
    matrix->fillComplete(domain, range);
    return message_of<InputError>([&] { tpetra::check_distribution(*matrix); });
  };
  EXPECT_THAT(refused(other, map), StartsWith("the matrix's domain map is not its row map"));
  EXPECT_THAT(refused(map, other), StartsWith("the matrix's range map is not its row map"));
}

TEST(TpetraDistribution, RefusesAMatrixThatIsNotSquare) {
  HostMatrix<double> a = problem("tridiagonal:20");
  a.num_cols = 27;
  const MatrixPtr matrix = insert_rows(a, contiguous_map(20));
  matrix->fillComplete(contiguous_map(27), contiguous_map(20));
  EXPECT_EQ(message_of<InputError>([&] { tpetra::check_distribution(*matrix); }),
            "the matrix is not square: it has 20 rows and 27 columns");
}

}  // namespace
}  // namespace prekond::testing
