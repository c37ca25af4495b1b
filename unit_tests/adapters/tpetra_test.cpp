// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/host_matrix.hpp"
#include "testing/reference_cg.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"
#include "testing/tpetra_matrices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>
#include <prekond/adapters/ifpack2.hpp>
#include <prekond/adapters/tpetra.hpp>
#include <prekond/krylov/cg.hpp>

#include <Ifpack2_DiagonalFilter.hpp>
#include <Ifpack2_LocalFilter.hpp>
#include <Teuchos_XMLParameterListHelpers.hpp>

#include <cmath>
#include <limits>
#include <new>
#include <numeric>
#include <sstream>
#include <typeinfo>

namespace {
int all_reduces = 0;  // calls of MPI_Allreduce on this rank
}

// MPI's profiling interface: every library of this program calls this one.
extern "C" int MPI_Allreduce(const void* mine, void* all, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  ++all_reduces;
  return PMPI_Allreduce(mine, all, count, type, op, comm);
}

namespace prekond::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

using MapPtr = Teuchos::RCP<const TpetraMap>;
using MatrixPtr = Teuchos::RCP<TpetraMatrix>;
using RowMatrix = Tpetra::RowMatrix<double>;
using LocalMatrix = tpetra::LocalMatrix<double, int, GlobalIndex, TpetraMap::node_type>;
using MatrixOperator = tpetra::MatrixOperator<double, int, GlobalIndex, TpetraMap::node_type>;
using OperatorView = tpetra::OperatorView<double, int, GlobalIndex, TpetraMap::node_type>;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// This rank's indices of the contiguous map, the last first.
MapPtr reversed_map(std::int64_t n) {
  auto mine = own_indices(*contiguous_map(n));
  std::reverse(mine.begin(), mine.end());
  return map_of(mine);
}

std::vector<std::pair<std::string, MapPtr>> all_maps(std::int64_t n) {
  return {{"contiguous", contiguous_map(n)},
          {"cyclic", cyclic_map(n)},
          {"reversed", reversed_map(n)},
          {"rank 0 empty", map_with_empty_rank(n)},
          {"last rank empty", map_with_empty_rank(n, num_ranks() - 1)}};
}

/// The columns of the rank's rows, descending: own columns and those of other ranks mixed.
MapPtr descending_columns(const HostMatrix<double>& a, const MapPtr& map) {
  auto cols = columns_of_rows(a, *map);
  std::reverse(cols.begin(), cols.end());
  return map_of(cols);
}

/// Columns of other ranks first, then the rank's own rows, used or not.
MapPtr remote_columns_first(const HostMatrix<double>& a, const MapPtr& map) {
  std::vector<GlobalIndex> cols;
  for (const GlobalIndex c : columns_of_rows(a, *map))
    if (!map->isNodeGlobalElement(c)) cols.push_back(c);
  const auto mine = own_indices(*map);
  cols.insert(cols.end(), mine.begin(), mine.end());
  return map_of(cols);
}

/// What LocalMatrix promises, found by global indices: column j of the rank is row j's, columns of other ranks follow in
/// the order of the column map, rows are sorted.
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
    for (std::size_t k = a.row_ptrs[row]; k < a.row_ptrs[row + 1]; ++k) sorted[number.at(a.col_idxs[k])] = a.values[k];
    for (const auto& [c, value] : sorted) local.col_idxs.push_back(c), local.values.push_back(value);
    local.row_ptrs.push_back(local.nnz());
  }
  return local;
}

HostMatrix<double> to_host(const LocalMatrix& local) {
  const auto& view = local.view();
  return {view.num_rows, view.num_cols, to_vector(view.row_ptrs), to_vector(view.col_idxs), to_vector(view.values)};
}

void expect_local(const LocalMatrix& local, const HostMatrix<double>& a, const TpetraMap& rows, const TpetraMap& cols) {
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

/// A matrix whose pattern and values are not symmetric, with a full diagonal and a row of its own length each.
HostMatrix<double> irregular_matrix(std::int64_t n) {
  std::mt19937 random(5);
  std::vector<std::vector<double>> dense(n, std::vector<double>(n, 0));
  for (std::int64_t i = 0; i < n; ++i) {
    dense[i][i] = 1 + double(i);
    for (unsigned k = 0; k < random() % 7; ++k) dense[i][random() % n] = double(random()) / 0x1p32 + 0.25;
  }
  return sparse(dense);
}

/// Row i has one entry, in column i + 1 mod n: no rank has an entry in the column of its first row.
HostMatrix<double> shift_matrix(std::int64_t n) {
  HostMatrix<double> a;
  a.num_rows = a.num_cols = n;
  for (std::int64_t i = 0; i < n; ++i) {
    a.col_idxs.push_back(static_cast<int>((i + 1) % n));
    a.values.push_back(double(i) + 0.5);
    a.row_ptrs.push_back(a.nnz());
  }
  return a;
}

// ------------------------------------------------------------------------------------------------ LocalMatrix

TEST(TpetraLocalMatrix, ViewsTpetrasOwnMatrixWithoutACopy) {
  for (const HostMatrix<double>& a : {problem("poisson2d:11"), problem("elasticity3d:3"), irregular_matrix(61)}) {
    for (const auto& [name, map] : all_maps(a.num_rows)) {
      SCOPED_TRACE(name);
      const MatrixPtr matrix = distribute(a, map);
      const auto theirs = matrix->getLocalMatrixDevice();
      const ToolEvents events;
      const LocalMatrix local(TpetraSpace(), *matrix);
      EXPECT_THAT(events.allocations(), IsEmpty());
      EXPECT_THAT(events.kernels(), Not(Contains(StartsWith("prekond::"))));
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
  static_assert(std::is_same_v<LocalMatrix::view_type::offset_type,
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
        const bool begins = theirs.size() >= mine.size() && std::equal(mine.begin(), mine.end(), theirs.begin());
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
    EXPECT_THAT(local.copied(), HasSubstr("its rows are not sorted"));
    expect_local(local, a, *map, *cols);
    EXPECT_EQ(to_vector(matrix->getLocalMatrixDevice().graph.entries), before) << "Tpetra's matrix was changed";
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
    // The case is met: the column map lacks own rows. (A rank that has all rows has an entry in every column.)
    EXPECT_TRUE(mine.empty() || mine.size() == static_cast<std::size_t>(n) || !begins);
    const LocalMatrix local(TpetraSpace(), *matrix);
    EXPECT_EQ(local.copied().empty(), begins);
    expect_local(local, a, *map, cols);
  }
}

/// The mesh of a matrix whose unknowns come in blocks of three: which block has an entry in which.
Teuchos::RCP<Tpetra::BlockCrsMatrix<double>> block_matrix(const HostMatrix<double>& a, const MapPtr& mesh) {
  constexpr int size = 3;
  const auto mine = own_indices(*mesh);
  const auto graph = Teuchos::rcp(new Tpetra::CrsGraph<>(mesh, longest_row(a) / size + 1));
  for (const GlobalIndex row : mine) {
    std::vector<GlobalIndex> cols;
    for (std::size_t k = a.row_ptrs[row * size]; k < a.row_ptrs[row * size + 1]; k += size) cols.push_back(a.col_idxs[k] / size);
    graph->insertGlobalIndices(row, static_cast<int>(cols.size()), cols.data());
  }
  graph->fillComplete(mesh, mesh);
  const auto matrix = Teuchos::rcp(new Tpetra::BlockCrsMatrix<double>(*graph, size));
  for (std::size_t i = 0; i < mine.size(); ++i) {
    for (std::size_t k = a.row_ptrs[mine[i] * size]; k < a.row_ptrs[mine[i] * size + 1]; k += size) {
      const GlobalIndex col = a.col_idxs[k] / size;
      std::array<double, size * size> block{};
      for (int r = 0; r < size; ++r)
        for (int c = 0; c < size; ++c) block[r * size + c] = a(mine[i] * size + r, col * size + c);
      const int local = matrix->getColMap()->getLocalElement(col);
      EXPECT_EQ(matrix->replaceLocalValues(static_cast<int>(i), &local, block.data(), 1), 1);
    }
  }
  return matrix;
}

MapPtr points_of(const TpetraMap& mesh) {
  std::vector<GlobalIndex> mine;
  for (const GlobalIndex block : own_indices(mesh))
    for (int k = 0; k < 3; ++k) mine.push_back(block * 3 + k);
  return map_of(mine);
}

TEST(TpetraLocalMatrix, ABlockMatrixIsItsPointExpansion) {
  const HostMatrix<double> a = problem("elasticity3d:3");  // 18 nodes of three unknowns, whole blocks stored
  for (const auto& [name, mesh] : all_maps(a.num_rows / 3)) {
    SCOPED_TRACE(name);
    const auto matrix = block_matrix(a, mesh);
    ASSERT_NO_THROW(tpetra::check_distribution<double>(*matrix));
    const LocalMatrix local(TpetraSpace(), *matrix);
    EXPECT_THAT(local.copied(), HasSubstr("its blocks are stored as single entries"));
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
    const Ifpack2::LocalFilter<RowMatrix> filter(matrix);  // the rank's own block, on a communicator of this rank
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

// ------------------------------------------------------------------------------------------------ check_distribution

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

// ------------------------------------------------------------------------------------------------ agreement

struct Caught {
  std::string type;
  std::string text;
  bool operator==(const Caught&) const = default;
};

template <class Action>
Caught caught(const Action& action) {
  try {
    action();
  } catch (const std::exception& error) {
    return {typeid(error).name(), error.what()};
  }
  return {};
}

template <class Exception>
std::string type_name() {
  return typeid(Exception).name();
}

/// Runs work on every rank that throws `error` on the given ones; the same must come out on all.
template <class Error>
Caught failing_on(const std::vector<int>& ranks, const Error& error, const std::string& where) {
  return caught([&] {
    tpetra::together(
        *world(), [&] { if (std::count(ranks.begin(), ranks.end(), my_rank()) > 0) throw error; },
        [&] { return where; });
  });
}

TEST(TpetraAgreement, NothingFailedNothingIsThrown) {
  int runs = 0;
  all_reduces = 0;
  tpetra::together(*world(), [&] { ++runs; }, [] { return std::string("nowhere"); });
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(all_reduces, num_ranks() > 1 ? 1 : 0);
  tpetra::agree(*world(), std::nullopt);
}

TEST(TpetraAgreement, AFailureOfOneRankIsThrownByAll) {
  const int size = num_ranks();
  for (const int rank : {0, size / 2, size - 1}) {
    const std::string prefix =
        size == 1 ? "" : "rank " + std::to_string(rank) + " of " + std::to_string(size) + " (its block): ";
    const auto expect = [&](const Caught& found, const std::string& type, const std::string& text) {
      EXPECT_EQ(found.type, type) << text;
      EXPECT_EQ(found.text, prefix + text);
    };
    expect(failing_on({rank}, OptionError("an option"), "its block"), type_name<OptionError>(), "an option");
    expect(failing_on({rank}, InputError("an input"), "its block"), type_name<InputError>(), "an input");
    expect(failing_on({rank}, std::logic_error("logic"), "its block"), type_name<std::logic_error>(), "logic");
    expect(failing_on({rank}, std::out_of_range("a range"), "its block"), type_name<std::logic_error>(), "a range");
    expect(failing_on({rank}, std::runtime_error("runtime"), "its block"), type_name<std::runtime_error>(), "runtime");
    expect(failing_on({rank}, 7, "its block"), type_name<std::runtime_error>(), "an exception that is no std::exception");
    expect(failing_on({rank}, std::runtime_error(""), "its block"), type_name<std::runtime_error>(), "");
    const Caught memory = failing_on({rank}, std::bad_alloc(), "its block");
    EXPECT_EQ(memory.type, type_name<std::runtime_error>());
    EXPECT_THAT(memory.text, StartsWith(prefix + "not enough memory"));
  }
}

TEST(TpetraAgreement, WithoutAPlaceOnlyTheRankIsNamed) {
  const int size = num_ranks();
  EXPECT_EQ(failing_on({size - 1}, InputError("bad"), "").text,
            size == 1 ? "bad" : "rank " + std::to_string(size - 1) + " of " + std::to_string(size) + ": bad");
}

TEST(TpetraAgreement, TheLowestRankWins) {
  const int size = num_ranks();
  const int lowest = std::min(1, size - 1);
  std::vector<int> ranks;
  for (int rank = lowest; rank < size; ++rank) ranks.push_back(rank);
  const Caught found = failing_on(ranks, InputError("from " + std::to_string(my_rank())), "at " + std::to_string(my_rank()));
  EXPECT_EQ(found.text, size == 1 ? "from 0" : "rank 1 of " + std::to_string(size) + " (at 1): from 1");
  // Ranks with failures of different types agree on one type.
  const Caught mixed = caught([&] {
    tpetra::together(
        *world(), [] { if (my_rank() % 2 == 0) throw InputError("even"); throw std::logic_error("odd"); },
        [] { return std::string(); });
  });
  EXPECT_EQ(mixed.type, type_name<InputError>());
  EXPECT_THAT(mixed.text, HasSubstr("even"));
}

TEST(TpetraAgreement, TheRanksGoOnTogetherAfterAFailure) {
  for (int time = 0; time < 3; ++time)
    EXPECT_NE(failing_on({num_ranks() - 1}, InputError("again"), "").text, "");
  int one = 1, all = 0;
  Teuchos::reduceAll(*world(), Teuchos::REDUCE_SUM, 1, &one, &all);
  EXPECT_EQ(all, num_ranks());
}

// ------------------------------------------------------------------------------------------------ merged_report

Report report_of(int rank) {
  Report report;
  report.symbolic_seconds = 1.0 + (rank + 2) % 5;
  report.numeric_seconds = 10.0 - rank;
  report.nnz = (std::int64_t(1) << 40) + rank;
  report.bytes = 100 * (rank + 1);
  report.numeric_flops = 0.5 * rank;
  report.apply_flops = 3.0;
  report.fences = rank;
  report.foreign_columns = rank;
  report.foreign_entries = 2 * rank;
  report.pattern_kept = true;
  return report;
}

TEST(TpetraReport, SumsAndMaxima) {
  const int size = num_ranks();
  const Report all = tpetra::merged_report(*world(), report_of(my_rank()), -1);
  double symbolic = 0;
  for (int rank = 0; rank < size; ++rank) symbolic = std::max(symbolic, report_of(rank).symbolic_seconds);
  const std::int64_t pairs = std::int64_t(size) * (size - 1) / 2;  // 0 + 1 + ... + size - 1
  EXPECT_EQ(all.symbolic_seconds, symbolic);
  EXPECT_EQ(all.numeric_seconds, 10.0);
  EXPECT_EQ(all.nnz, (std::int64_t(1) << 40) * size + pairs);
  EXPECT_EQ(all.bytes, 100 * (pairs + size));
  EXPECT_EQ(all.numeric_flops, 0.5 * double(pairs));
  EXPECT_EQ(all.apply_flops, 3.0 * size);
  EXPECT_EQ(all.fences, size - 1);
  EXPECT_EQ(all.foreign_columns, pairs);
  EXPECT_EQ(all.foreign_entries, 2 * pairs);
  EXPECT_TRUE(all.pattern_kept);
  EXPECT_EQ(all.breakdowns.count, 0);
  EXPECT_EQ(all.breakdowns.first_row, -1);
  EXPECT_EQ(all.breakdowns.action, "");
  EXPECT_THAT(all.notes, IsEmpty());
  Report last = report_of(my_rank());
  last.pattern_kept = my_rank() + 1 < size;
  EXPECT_FALSE(tpetra::merged_report(*world(), last, -1).pattern_kept);
}

TEST(TpetraReport, TheFirstBreakdownIsTheSmallestGlobalRow) {
  const int size = num_ranks(), rank = my_rank();
  // All ranks but 0 have one, the last rank the one with the smallest row: not the one with the smallest pivot.
  Report mine;
  if (rank > 0) mine.breakdowns = {rank, 3, 0.25 * rank, "shortened"};
  const Report all = tpetra::merged_report(*world(), mine, rank > 0 ? 1000 - 10 * rank : -1);
  EXPECT_EQ(all.breakdowns.count, std::int64_t(size) * (size - 1) / 2);
  EXPECT_EQ(all.breakdowns.first_row, size > 1 ? 1000 - 10 * (size - 1) : -1);
  EXPECT_EQ(all.breakdowns.first_pivot, size > 1 ? 0.25 * (size - 1) : 0.0);
  std::string actions;
  for (int other = 1; other < size; ++other) actions += (other > 1 ? "; rank " : "rank ") + std::to_string(other) + ": shortened";
  EXPECT_EQ(all.breakdowns.action, actions);
}

TEST(TpetraReport, ABreakdownOfOneRank) {
  for (int broken = 0; broken < num_ranks(); ++broken) {
    Report mine;
    if (my_rank() == broken) mine.breakdowns = {2, 1, -0.5, "kept the diagonal"};
    // The others' row says nothing, whatever it is.
    const Report all = tpetra::merged_report(*world(), mine, my_rank() == broken ? 77 : 5);
    EXPECT_EQ(all.breakdowns.count, 2);
    EXPECT_EQ(all.breakdowns.first_row, 77);
    EXPECT_EQ(all.breakdowns.first_pivot, -0.5);
    EXPECT_EQ(all.breakdowns.action, num_ranks() == 1 ? "kept the diagonal"
                                                      : "rank " + std::to_string(broken) + ": kept the diagonal");
  }
}

TEST(TpetraReport, NotesStandOnceEach) {
  Report mine;
  mine.notes = {"the same everywhere", "rank " + std::to_string(my_rank()), "the same everywhere"};
  if (my_rank() == num_ranks() - 1) mine.notes.push_back("of the last");
  std::vector<std::string> expected = {"the same everywhere"};
  for (int rank = 0; rank < num_ranks(); ++rank) expected.push_back("rank " + std::to_string(rank));
  expected.push_back("of the last");
  EXPECT_EQ(tpetra::merged_report(*world(), mine, -1).notes, expected);
  // Notes of the last rank only.
  Report some;
  if (my_rank() == num_ranks() - 1) some.notes = {"one", "two"};
  EXPECT_THAT(tpetra::merged_report(*world(), some, -1).notes, ElementsAre("one", "two"));
}

// ------------------------------------------------------------------------------------------------ CommReducer

TEST(TpetraReducer, SumsAnyNumberOfValues) {
  const tpetra::CommReducer<double, TpetraSpace> reducer(world());
  const TpetraSpace space;
  const int size = num_ranks();
  for (const int count : {0, 1, 2, 3, 4, 5, 63, 64, 65, 100, 128, 129}) {
    std::vector<double> mine(count), expected(count);
    for (int k = 0; k < count; ++k) {
      mine[k] = double((my_rank() + 1) * (k + 1));
      expected[k] = double(size * (size + 1) / 2 * (k + 1));
    }
    const auto values = to_device<TpetraSpace>(mine);
    all_reduces = 0;
    reducer.sum(space, values);
    space.fence();
    EXPECT_EQ(all_reduces, size > 1 ? (count + 63) / 64 : 0) << count << " values";
    EXPECT_EQ(to_vector(values), expected) << count << " values";
  }
}

TEST(TpetraReducer, SumsInSinglePrecision) {
  const tpetra::CommReducer<float, TpetraSpace> reducer(world());
  const TpetraSpace space;
  const auto values = to_device<TpetraSpace>(std::vector<float>{1.0f, float(my_rank()), -2.0f});
  reducer.sum(space, values);
  space.fence();
  const int size = num_ranks();
  EXPECT_EQ(to_vector(values), (std::vector<float>{float(size), float(size * (size - 1) / 2), -2.0f * float(size)}));
}

// ------------------------------------------------------------------------------------------------ operators

std::vector<double> part_of(const std::vector<double>& whole, const TpetraMap& map) {
  std::vector<double> mine;
  for (const GlobalIndex i : own_indices(map)) mine.push_back(whole[i]);
  return mine;
}

/// Rows x k with some rows of pad between the vectors.
struct Strided {
  Strided(const std::vector<std::vector<double>>& columns, std::size_t rows, int pad)
      : whole("prekond::testing::strided", rows + pad, columns.size()),
        part(Kokkos::subview(whole, std::make_pair(std::size_t(0), rows), Kokkos::ALL)) {
    const auto host = Kokkos::create_mirror_view(whole);
    for (std::size_t v = 0; v < columns.size(); ++v)
      for (std::size_t i = 0; i < rows; ++i) host(i, v) = columns[v][i];
    Kokkos::deep_copy(whole, host);
  }
  std::vector<double> column(std::size_t v) const {
    const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), whole);
    return {host.data() + v * host.stride(1), host.data() + v * host.stride(1) + part.extent(0)};
  }
  MultiVector<double, TpetraSpace> whole;
  MultiVectorView<double, TpetraSpace> part;
};

/// y = alpha A x + beta y of an operator that distributes `a` by `map`, and its apply_dot, against the sequential product.
void expect_products(const Operator<double, TpetraSpace>& op, const HostMatrix<double>& a, const TpetraMap& map) {
  const TpetraSpace space;
  const std::size_t n = a.num_rows, rows = map.getLocalNumElements();
  ASSERT_EQ(op.num_rows(), static_cast<std::int64_t>(rows));
  ASSERT_EQ(op.num_cols(), static_cast<std::int64_t>(rows));
  for (const auto& [k, alpha, beta] : {std::tuple{1, 1.0, 0.0}, {3, 2.5, 0.0}, {3, -1.0, 1.0}, {2, 0.5, -3.0}, {1, 0.0, 2.0}}) {
    std::vector<std::vector<double>> xs, ys;
    std::vector<std::vector<double>> x_parts, y_parts;
    for (int v = 0; v < k; ++v) {
      xs.push_back(random_vector(n, 10 + v));
      ys.push_back(beta == 0 ? std::vector<double>(n, nan) : random_vector(n, 20 + v));
      x_parts.push_back(part_of(xs[v], map));
      y_parts.push_back(part_of(ys[v], map));
    }
    const Strided x(x_parts, rows, 5), y(y_parts, rows, 3);
    op.apply(space, x.part, y.part, alpha, beta);
    space.fence();
    for (int v = 0; v < k; ++v) {
      std::vector<double> expected = multiply(a, xs[v]);
      for (std::size_t i = 0; i < n; ++i) expected[i] = alpha * expected[i] + (beta == 0 ? 0.0 : beta * ys[v][i]);
      const auto mine = part_of(expected, map), found = y.column(v);
      for (std::size_t i = 0; i < rows; ++i) EXPECT_NEAR(found[i], mine[i], 1e-12 * (1 + std::abs(mine[i]))) << "row " << i;
      EXPECT_EQ(x.column(v), x_parts[v]) << "x changed";
    }
  }
  const auto whole = random_vector(n, 30);
  const auto mine = part_of(whole, map), expected = part_of(multiply(a, whole), map);
  const auto x = to_device<TpetraSpace>(mine);
  const auto y = to_device<TpetraSpace>(std::vector<double>(rows, nan));
  const auto dot = to_device<TpetraSpace>(std::vector<double>{nan});
  const ReduceWorkspace<double, TpetraSpace> workspace(space, static_cast<std::int64_t>(rows));
  op.apply_dot(space, x, y, dot, workspace);
  space.fence();
  const auto found = to_vector(y);
  for (std::size_t i = 0; i < rows; ++i) EXPECT_NEAR(found[i], expected[i], 1e-12 * (1 + std::abs(expected[i])));
  EXPECT_NEAR(to_vector(dot)[0], inner(mine, expected), 1e-11 * (1 + norm(mine) * norm(expected)));
}

TEST(TpetraOperator, MatrixOperatorIsTheSequentialProduct) {
  for (const HostMatrix<double>& a : {irregular_matrix(53), shift_matrix(29), problem("poisson2d:8")}) {
    for (const auto& [name, map] : all_maps(a.num_rows)) {
      SCOPED_TRACE(name + ", " + std::to_string(a.num_rows) + " rows");
      expect_products(MatrixOperator(distribute(a, map)), a, *map);
      expect_products(MatrixOperator(distribute(a, map, descending_columns(a, map))), a, *map);
      expect_products(MatrixOperator(distribute(a, map, remote_columns_first(a, map), false)), a, *map);
    }
  }
}

TEST(TpetraOperator, MatrixOperatorSeesNewValues) {
  HostMatrix<double> a = irregular_matrix(53);
  const MatrixPtr matrix = distribute(a, cyclic_map(53));
  const MatrixOperator op(matrix);
  expect_products(op, a, *matrix->getRowMap());
  matrix->resumeFill();
  matrix->scale(-3.0);
  matrix->fillComplete(matrix->getDomainMap(), matrix->getRangeMap());
  for (double& value : a.values) value *= -3.0;
  expect_products(op, a, *matrix->getRowMap());
}

TEST(TpetraOperator, OperatorViewIsTheSequentialProduct) {
  const HostMatrix<double> a = problem("elasticity3d:3");
  for (const auto& [name, mesh] : all_maps(a.num_rows / 3)) {
    SCOPED_TRACE(name);
    const MapPtr map = points_of(*mesh);
    expect_products(OperatorView(distribute(a, map)), a, *map);
    expect_products(OperatorView(block_matrix(a, mesh)), a, *map);
  }
}

TEST(TpetraOperator, OtherMapsAreRefused) {
  const MapPtr map = contiguous_map(49);
  const MatrixPtr matrix = insert_rows(problem("poisson2d:7"), map);
  matrix->fillComplete(reversed_map(49), map);
  EXPECT_THAT(message_of<InputError>([&] { const OperatorView op(matrix); }),
              HasSubstr("the operator's domain map is not its range map"));
  EXPECT_THAT(message_of<InputError>([&] { const MatrixOperator op(matrix); }),
              HasSubstr("the matrix's domain map is not its row map"));
}

// ------------------------------------------------------------------------------------------------ solve

struct Solved {
  SolveResult result;
  std::vector<double> x;
  std::vector<double> history;
};

StoppingOptions stop_at(double rtol, std::int64_t max_iters = 1000) {
  StoppingOptions stopping;
  stopping.rtol = rtol;
  stopping.max_iters = max_iters;
  return stopping;
}

std::vector<CgOptions> both_forms() {
  std::vector<CgOptions> forms(2);
  forms[1].single_reduction = true;
  return forms;
}

Solved solve_on_ranks(const Teuchos::RCP<const Tpetra::Operator<>>& a, const Preconditioner<double, TpetraSpace>* m,
                      const std::vector<double>& b, const CgOptions& options, const StoppingOptions& stopping) {
  TpetraVector x(a->getDomainMap());
  Solved solved;
  solved.result = tpetra::solve(TpetraSpace(), Cg<double, TpetraSpace>(options), a, m, distribute(b, a->getRangeMap()), x,
                                stopping, [&](std::int64_t, double norm_r) { solved.history.push_back(norm_r); });
  solved.x = gather(x);
  return solved;
}

/// The same in one process, on the whole matrix.
Solved solve_alone(const HostMatrix<double>& a, const std::string& preconditioner, const std::vector<double>& b,
                   const CgOptions& options, const StoppingOptions& stopping) {
  const TpetraSpace space;
  const auto matrix = to_device<TpetraSpace>(a);
  const auto m = create_preconditioner<double, TpetraSpace>(preconditioner);
  m->symbolic(space, matrix);
  m->numeric(space, matrix);
  const auto x = to_device<TpetraSpace>(std::vector<double>(b.size(), 0));
  Solved solved;
  solved.result = Cg<double, TpetraSpace>(options).solve(
      space, CsrOperator<double, TpetraSpace>(matrix), m.get(), to_device<TpetraSpace>(b), x, stopping,
      [&](std::int64_t, double norm_r) { solved.history.push_back(norm_r); });
  solved.x = to_vector(x);
  return solved;
}

double distance(const std::vector<double>& x, std::vector<double> y) {
  for (std::size_t i = 0; i < x.size(); ++i) y[i] -= x[i];
  return norm(y) / norm(x);
}

TEST(TpetraSolve, TheSameIterationsAsInOneProcess) {
  for (const char* spec : {"poisson2d:17", "anisotropic2d:15,epsilon=0.05"}) {
    const HostMatrix<double> a = problem(spec);
    const auto b = random_vector(a.num_rows);
    for (const CgOptions& form : both_forms()) {
      for (const char* name : {"none", "jacobi"}) {
        const Solved alone = solve_alone(a, name, b, form, stop_at(1e-9));
        ASSERT_TRUE(alone.result.converged);
        for (const auto& [map_name, map] : all_maps(a.num_rows)) {
          SCOPED_TRACE(std::string(spec) + ", " + name + ", " + map_name);
          const MatrixPtr matrix = distribute(a, map);
          const auto m = ifpack2::create(name, matrix);
          m->compute();
          const Solved found = solve_on_ranks(matrix, &m->local(), b, form, stop_at(1e-9));
          EXPECT_EQ(found.result.reason, StopReason::rtol);
          EXPECT_LE(std::abs(found.result.iterations - alone.result.iterations), 1);
          EXPECT_LE(distance(alone.x, found.x), 1e-6);
          EXPECT_LE(residual_norm(a, b, found.x), 1e-8 * norm(b));
          EXPECT_NEAR(found.result.true_relative_residual, residual_norm(a, b, found.x) / norm(b), 1e-12);
          // The residuals are those of one process, too, before rounding grows.
          for (std::size_t k = 0; k < 10; ++k) EXPECT_NEAR(found.history[k], alone.history[k], 1e-9 * alone.history[0]);
        }
      }
    }
  }
}

TEST(TpetraSolve, WithAdaptiveFsaiOfEveryRank) {
  const HostMatrix<double> a = problem("elasticity3d:5");
  const auto b = random_vector(a.num_rows);
  const Solved plain = solve_alone(a, "jacobi", b, {}, stop_at(1e-9, 5000));
  const Solved alone = solve_alone(a, "adaptive_fsai", b, {}, stop_at(1e-9, 5000));
  ASSERT_TRUE(plain.result.converged && alone.result.converged);
  for (const auto& [name, map] : all_maps(a.num_rows)) {
    for (const bool default_columns : {true, false}) {
      SCOPED_TRACE(name + (default_columns ? "" : ", descending columns"));
      const MatrixPtr matrix = default_columns ? distribute(a, map) : distribute(a, map, descending_columns(a, map));
      const auto m = ifpack2::create("adaptive_fsai", matrix);
      m->compute();
      const Solved found = solve_on_ranks(matrix, &m->local(), b, {}, stop_at(1e-9, 5000));
      EXPECT_EQ(found.result.reason, StopReason::rtol);
      EXPECT_LE(distance(alone.x, found.x), 1e-6);
      EXPECT_LE(residual_norm(a, b, found.x), 1e-8 * norm(b));
      // A rank's own block of a cyclic distribution is little more than the diagonal.
      EXPECT_TRUE(name == "cyclic" || found.result.iterations < plain.result.iterations) << found.result.iterations;
      EXPECT_TRUE(num_ranks() > 1 || std::abs(found.result.iterations - alone.result.iterations) <= 1);
    }
  }
}

TEST(TpetraSolve, AnOperatorThatIsNoCrsMatrix) {
  const HostMatrix<double> a = problem("elasticity3d:4");
  const auto b = random_vector(a.num_rows);
  const MapPtr mesh = cyclic_map(a.num_rows / 3);
  const auto blocks = block_matrix(a, mesh);
  const Solved alone = solve_alone(a, "none", b, {}, stop_at(1e-8, 5000));
  const Solved found = solve_on_ranks(blocks, nullptr, b, {}, stop_at(1e-8, 5000));
  EXPECT_EQ(found.result.reason, StopReason::rtol);
  EXPECT_LE(distance(alone.x, found.x), 1e-5);
  EXPECT_LE(residual_norm(a, b, found.x), 1e-7 * norm(b));
  const Solved matrix = solve_on_ranks(distribute(a, points_of(*mesh)), nullptr, b, {}, stop_at(1e-8, 5000));
  EXPECT_NEAR(double(found.result.iterations), double(matrix.result.iterations), 0.02 * double(matrix.result.iterations) + 1);
}

TEST(TpetraSolve, AZeroRightHandSideGivesZero) {
  const HostMatrix<double> a = problem("poisson2d:9");
  for (const auto& [name, map] : all_maps(a.num_rows)) {
    const Teuchos::RCP<const Tpetra::Operator<>> matrix = distribute(a, map);
    const TpetraVector b(map);
    TpetraVector x = distribute(random_vector(a.num_rows), map);
    const auto result = tpetra::solve(TpetraSpace(), Cg<double, TpetraSpace>(), matrix, nullptr, b, x);
    EXPECT_EQ(result.reason, StopReason::zero_rhs) << name;
    EXPECT_EQ(gather(x), std::vector<double>(a.num_rows, 0.0)) << name;
  }
}

TEST(TpetraSolve, TheStartIsTheXGiven) {
  const HostMatrix<double> a = problem("poisson2d:9");
  const auto solution = random_vector(a.num_rows);
  const MapPtr map = cyclic_map(a.num_rows);
  const Teuchos::RCP<const Tpetra::Operator<>> matrix = distribute(a, map);
  TpetraVector x = distribute(solution, map);
  const auto result =
      tpetra::solve(TpetraSpace(), Cg<double, TpetraSpace>(), matrix, nullptr, distribute(multiply(a, solution), map), x);
  EXPECT_EQ(result.iterations, 0);
  EXPECT_TRUE(result.converged);
  EXPECT_EQ(gather(x), solution);
}

TEST(TpetraSolve, VectorsOfAnotherMapAreRefused) {
  const HostMatrix<double> a = problem("poisson2d:9");
  const MapPtr map = contiguous_map(81);
  const Teuchos::RCP<const Tpetra::Operator<>> matrix = distribute(a, map);
  const auto refused = [&](const MapPtr& b_map, const MapPtr& x_map) {
    TpetraVector x(x_map);
    const TpetraVector b(b_map);
    return message_of<InputError>([&] { tpetra::solve(TpetraSpace(), Cg<double, TpetraSpace>(), matrix, nullptr, b, x); });
  };
  for (const MapPtr& other : {reversed_map(81), contiguous_map(80)}) {
    EXPECT_EQ(refused(other, map), "cg: b and x have to be distributed as A's range and domain map are");
    EXPECT_EQ(refused(map, other), "cg: b and x have to be distributed as A's range and domain map are");
  }
}

TEST(TpetraSolve, OneAllReduceAReduction) {
  const HostMatrix<double> a = problem("poisson2d:20");
  const auto b = random_vector(a.num_rows);
  for (const MapPtr& map : {contiguous_map(400), cyclic_map(400), map_with_empty_rank(400)}) {
    const MatrixPtr matrix = distribute(a, map);
    for (const char* name : {"none", "jacobi", "adaptive_fsai"}) {
      const auto m = ifpack2::create(name, matrix);
      m->compute();
      for (const CgOptions& form : both_forms()) {
        const auto calls = [&](std::int64_t iterations) {
          TpetraVector x(map);
          const TpetraVector b_vector = distribute(b, map);
          const Teuchos::RCP<const Tpetra::Operator<>> op = matrix;
          all_reduces = 0;
          const auto result = tpetra::solve(TpetraSpace(), Cg<double, TpetraSpace>(form), op, &m->local(), b_vector, x,
                                            stop_at(0, iterations));
          EXPECT_EQ(result.iterations, iterations);
          return all_reduces;
        };
        const int each = num_ranks() == 1 ? 0 : form.single_reduction ? 1 : 2;
        EXPECT_EQ(calls(15) - calls(5), 10 * each) << name << (form.single_reduction ? ", one reduction" : "");
      }
    }
  }
}

// But for 8 bytes of Tpetra's: the flags that its MultiVector over memory of others keeps with each product.
TEST(TpetraSolve, AnIterationAllocatesNothing) {
  const HostMatrix<double> a = problem("poisson2d:20");
  const auto b = random_vector(a.num_rows);
  for (const MapPtr& map : {contiguous_map(400), cyclic_map(400), map_with_empty_rank(400)}) {
    for (const bool default_columns : {true, false}) {
      const MatrixPtr matrix = default_columns ? distribute(a, map) : distribute(a, map, descending_columns(a, map));
      for (const char* name : {"none", "jacobi", "adaptive_fsai"}) {
        const auto m = ifpack2::create(name, matrix);
        m->compute();
        const auto allocations = [&](std::int64_t iterations) {
          TpetraVector x(map);
          const TpetraVector b_vector = distribute(b, map);
          const Teuchos::RCP<const Tpetra::Operator<>> op = matrix;
          const ToolEvents events;
          tpetra::solve(TpetraSpace(), Cg<double, TpetraSpace>(), op, &m->local(), b_vector, x, stop_at(0, iterations));
          std::map<std::string, int> counts;
          for (const auto& label : events.allocations()) ++counts[label];
          const int flags = counts["DualView::modified_flags"];
          counts.erase("DualView::modified_flags");
          return std::tuple{counts, flags, events.allocated_bytes() - 8 * flags};
        };
        const auto [few, few_flags, few_bytes] = allocations(5);
        const auto [many, many_flags, many_bytes] = allocations(15);
        EXPECT_EQ(few, many) << name;
        EXPECT_EQ(few_bytes, many_bytes) << name;
        EXPECT_LE(many_flags - few_flags, 10) << name;
        EXPECT_GT(few.count("prekond::cg::p"), 0u) << "nothing was recorded";
      }
    }
  }
}

// ------------------------------------------------------------------------------------------------ parameter lists

enum class Shape { square, round, oblong };

struct InnerOptions {
  double drop = 0.125;
  Shape shape = Shape::round;
  int level = 1;
  template <class Visitor>
  void describe(Visitor& visit) {
    visit("drop", drop, 0, 1, "entries below are left out");
    visit("shape", shape, {{"square", Shape::square}, {"round", Shape::round}, {"oblong", Shape::oblong}}, "of a block");
    visit("level", level, 0, 9, "of fill");
  }
};

struct OuterOptions {
  bool scaled = false;
  int steps = 3;
  std::int64_t seed = std::int64_t(1) << 40;
  double epsilon = 1e-3;
  InnerOptions local;
  template <class Visitor>
  void describe(Visitor& visit) {
    visit("scaled", scaled, "scale first");
    visit("steps", steps, -5, 100, "of growth");
    visit("seed", seed, 0, std::numeric_limits<std::int64_t>::max(), "of random numbers");
    visit("epsilon", epsilon, 0, 10, "to stop at");
    visit.nested("local", local);
  }
};

struct Target {
  OuterOptions options;
  OptionMap values() { return OptionFields::of(options).values(); }
  void set(const Teuchos::ParameterList& list) { tpetra::set_options(OptionFields::of(options), "target", list); }
  std::string refusal(const Teuchos::ParameterList& list) {
    const OptionMap before = values();
    const std::string text = message_of<Teuchos::Exceptions::InvalidParameter>([&] { set(list); });
    EXPECT_EQ(values(), before) << "something was changed in spite of: " << text;
    return text;
  }
};

template <class T>
Teuchos::ParameterList one(const std::string& name, const T& value) {
  Teuchos::ParameterList list;
  list.set(name, value);
  return list;
}

template <class T>
void expect_steps(const T& value) {
  Target target;
  target.set(one("steps", value));
  EXPECT_EQ(target.options.steps, 42) << typeid(T).name();
}

TEST(TpetraParameterList, EveryTypeOfANumber) {
  expect_steps<int>(42);
  expect_steps<short>(42);
  expect_steps<long>(42);
  expect_steps<long long>(42);
  expect_steps<unsigned>(42u);
  expect_steps<std::size_t>(42u);
  expect_steps<unsigned long long>(42u);
  expect_steps<double>(42.0);
  expect_steps<float>(42.0f);
  expect_steps<std::string>("42");
  Target target;
  target.set(one("epsilon", 0.25));
  EXPECT_EQ(target.options.epsilon, 0.25);
  target.set(one("epsilon", 0.5f));
  EXPECT_EQ(target.options.epsilon, 0.5);
  target.set(one("epsilon", 2));
  EXPECT_EQ(target.options.epsilon, 2.0);
  target.set(one("epsilon", std::string("1e-7")));
  EXPECT_EQ(target.options.epsilon, 1e-7);
  target.set(one("scaled", true));
  EXPECT_TRUE(target.options.scaled);
  target.set(one("scaled", std::string("false")));
  EXPECT_FALSE(target.options.scaled);
  target.set(one("seed", std::int64_t(1) << 50));
  EXPECT_EQ(target.options.seed, std::int64_t(1) << 50);
}

TEST(TpetraParameterList, SublistsAreNestedOptions) {
  Target target;
  Teuchos::ParameterList list;
  list.set("steps", 7);
  list.sublist("local").set("drop", 0.5).set("shape", std::string("oblong"));
  target.set(list);
  EXPECT_EQ(target.options.steps, 7);
  EXPECT_EQ(target.options.local.drop, 0.5);
  EXPECT_EQ(target.options.local.shape, Shape::oblong);
  EXPECT_EQ(target.options.local.level, 1) << "not named, not changed";
  EXPECT_EQ(target.options.epsilon, 1e-3);
  target.set(one("local.level", 4));
  EXPECT_EQ(target.options.local.level, 4);
  const OptionMap before = target.values();
  target.set(Teuchos::ParameterList());
  EXPECT_EQ(target.values(), before);
}

TEST(TpetraParameterList, UnknownKeysNameTheNearest) {
  Target target;
  EXPECT_THAT(target.refusal(one("step", 1)), AllOf(HasSubstr("'target' has no option 'step'"), HasSubstr("did you mean 'steps'?")));
  Teuchos::ParameterList list;
  list.sublist("local").set("shap", std::string("round"));
  EXPECT_THAT(target.refusal(list), AllOf(HasSubstr("'local.shap'"), HasSubstr("did you mean 'local.shape'?")));
  Teuchos::ParameterList other;
  other.sublist("lokal").set("drop", 0.5);
  EXPECT_THAT(target.refusal(other), HasSubstr("did you mean 'local.drop'?"));
  Teuchos::ParameterList below;
  below.sublist("steps").set("drop", 0.5);
  EXPECT_THAT(target.refusal(below), HasSubstr("'steps.drop'"));
}

TEST(TpetraParameterList, WrongTypesAreRefused) {
  Target target;
  const Teuchos::Array<int> array(2, 1);
  EXPECT_THAT(target.refusal(one("steps", array)), AllOf(HasSubstr("'target'"), HasSubstr("'steps'"), HasSubstr("Array")));
  Teuchos::ParameterList nested;
  nested.sublist("local").set("drop", array);
  EXPECT_THAT(target.refusal(nested), HasSubstr("'local.drop'"));
  EXPECT_THAT(target.refusal(one("steps", std::string("many"))), AllOf(HasSubstr("'steps'"), HasSubstr("'many'")));
  EXPECT_THAT(target.refusal(one("steps", 2.5)), AllOf(HasSubstr("'steps'"), HasSubstr("2.5")));
  EXPECT_THAT(target.refusal(one("steps", true)), HasSubstr("'steps'"));
  EXPECT_THAT(target.refusal(one("epsilon", std::string("small"))), AllOf(HasSubstr("'epsilon'"), HasSubstr("'small'")));
  EXPECT_THAT(target.refusal(one("scaled", std::string("maybe"))), AllOf(HasSubstr("'scaled'"), HasSubstr("'maybe'")));
  EXPECT_THAT(target.refusal(one("scaled", 3)), HasSubstr("'scaled'"));
  EXPECT_THAT(target.refusal(one("local.shape", std::string("flat"))),
              AllOf(HasSubstr("'local.shape'"), HasSubstr("square | round | oblong"), HasSubstr("'flat'")));
}

TEST(TpetraParameterList, ValuesOutOfRangeAreRefused) {
  Target target;
  EXPECT_THAT(target.refusal(one("steps", 101)), AllOf(HasSubstr("'steps' = 101"), HasSubstr("-5 .. 100")));
  EXPECT_THAT(target.refusal(one("steps", -6)), HasSubstr("'steps' = -6"));
  EXPECT_THAT(target.refusal(one("steps", (1LL << 32) + 7)), HasSubstr("'steps' = 4294967303"));
  EXPECT_THAT(target.refusal(one("steps", std::numeric_limits<unsigned>::max())), HasSubstr("4294967295"));
  EXPECT_THAT(target.refusal(one("epsilon", 10.5)), HasSubstr("0 .. 10"));
  EXPECT_THAT(target.refusal(one("epsilon", nan)), HasSubstr("'epsilon'"));
  EXPECT_THAT(target.refusal(one("seed", std::numeric_limits<std::size_t>::max())),
              AllOf(HasSubstr("'seed' = 18446744073709551615"), HasSubstr("does not fit")));
  EXPECT_THAT(target.refusal(one("seed", std::numeric_limits<unsigned long long>::max())), HasSubstr("does not fit"));
  target.set(one("steps", -5));
  EXPECT_EQ(target.options.steps, -5);
  target.set(one("seed", std::numeric_limits<std::int64_t>::max()));
  EXPECT_EQ(target.options.seed, std::numeric_limits<std::int64_t>::max());
}

TEST(TpetraParameterList, AllOrNothing) {
  Target target;
  Teuchos::ParameterList list;
  list.set("scaled", true).set("steps", 9).set("epsilon", 0.5);
  list.sublist("local").set("drop", 0.25).set("level", 10);  // out of range, and the last
  EXPECT_THAT(target.refusal(list), HasSubstr("'local.level' = 10"));
  list.sublist("local").set("level", 9);
  target.set(list);
  EXPECT_TRUE(target.options.scaled);
  EXPECT_EQ(target.options.steps, 9);
  EXPECT_EQ(target.options.local.drop, 0.25);
  EXPECT_EQ(target.options.local.level, 9);
}

Teuchos::ParameterList valid(OuterOptions& options) {
  return tpetra::valid_parameters(OptionFields::of(options), "target");
}

TEST(TpetraParameterList, ValidParametersHaveDefaultsAndDocumentation) {
  OuterOptions options;
  Teuchos::ParameterList list = valid(options);
  EXPECT_EQ(list.name(), "target");
  EXPECT_EQ(list.numParams(), 5);
  EXPECT_FALSE(list.get<bool>("scaled"));
  EXPECT_EQ(list.get<int>("steps"), 3);
  EXPECT_EQ(list.get<long long>("seed"), 1LL << 40);
  EXPECT_EQ(list.get<double>("epsilon"), 1e-3);
  Teuchos::ParameterList& local = list.sublist("local");
  EXPECT_EQ(local.numParams(), 3);
  EXPECT_EQ(local.get<double>("drop"), 0.125);
  EXPECT_EQ(local.get<std::string>("shape"), "round");
  EXPECT_EQ(local.get<int>("level"), 1);
  EXPECT_EQ(list.getEntry("scaled").docString(), "scale first");
  EXPECT_EQ(list.getEntry("steps").docString(), "of growth (-5 .. 100)");
  EXPECT_EQ(local.getEntry("shape").docString(), "of a block (square | round | oblong)");
  EXPECT_TRUE(list.getEntry("steps").validator().is_null());
  const auto words = local.getEntry("shape").validator()->validStringValues();
  ASSERT_FALSE(words.is_null());
  EXPECT_THAT(std::vector<std::string>(words->begin(), words->end()), ElementsAre("square", "round", "oblong"));
  Teuchos::ParameterList flat;
  flat.sublist("local").set("shape", std::string("flat"));
  EXPECT_THROW(flat.validateParameters(list), Teuchos::Exceptions::InvalidParameter);
  Teuchos::ParameterList square;
  square.sublist("local").set("shape", std::string("square"));
  EXPECT_NO_THROW(square.validateParameters(list));
}

TEST(TpetraParameterList, ValidParametersAreTheValuesInForce) {
  Target target;
  target.set(one("local.shape", std::string("square")));
  target.set(one("steps", 77));
  Teuchos::ParameterList list = valid(target.options);
  EXPECT_EQ(list.get<int>("steps"), 77);
  EXPECT_EQ(list.sublist("local").get<std::string>("shape"), "square");
}

TEST(TpetraParameterList, ThroughXmlAndBack) {
  Target written;
  Teuchos::ParameterList changes;
  changes.set("scaled", true).set("steps", -4).set("seed", 123456789012345LL).set("epsilon", 0.1);
  changes.sublist("local").set("drop", 1.0 / 3).set("shape", std::string("oblong")).set("level", 5);
  written.set(changes);
  std::ostringstream xml;
  Teuchos::writeParameterListToXmlOStream(valid(written.options), xml);
  Target read;
  ASSERT_NE(read.values(), written.values());
  read.set(*Teuchos::getParametersFromXmlString(xml.str()));
  EXPECT_EQ(read.values(), written.values());
}

}  // namespace
}  // namespace prekond::testing
