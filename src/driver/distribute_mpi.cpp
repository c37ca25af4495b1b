// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The rows of a problem as a matrix of Tpetra.
#include <prekond/adapters/tpetra_distributed.hpp>
#include "distributed/row_partition.hpp"

#include <Teuchos_DefaultMpiComm.hpp>
#include <Tpetra_CrsMatrix.hpp>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "rows_of_ranks.hpp"

namespace prekond::driver {
namespace {

using Map = Tpetra::Map<>;
using LocalOrdinal = Map::local_ordinal_type;
using GlobalOrdinal = Map::global_ordinal_type;
using Node = Map::node_type;
using Comm = Teuchos::Comm<int>;
using TpetraMatrix = Tpetra::CrsMatrix<double, LocalOrdinal, GlobalOrdinal, Node>;
using LocalTpetraMatrix = TpetraMatrix::local_matrix_device_type;
static_assert(std::is_same_v<Node::execution_space, Space>,
              "Tpetra's default node has to run where Kokkos does by default");

/// Renumbers the columns, in place: the own ones by their places among the own rows, then all others, both
/// ascending. Returns the numbers of the others, ascending: after the own ones they are what Tpetra calls the
/// column map. `num_foreign`: entries there.
std::vector<int> renumber(const NumberedRows& own, std::int64_t& num_foreign) {
  const HostRows& rows = own.rows;
  const std::vector<int>& numbers = own.numbers;
  const bool is_consecutive =
      numbers.empty() || numbers.back() - numbers.front() + 1 == static_cast<int>(numbers.size());
  const auto place_in = [](const std::vector<int>& list, int number) {
    const auto found = std::lower_bound(list.begin(), list.end(), number);
    return found != list.end() && *found == number ? static_cast<int>(found - list.begin()) : -1;
  };
  const auto own_place = [&](int number) {
    if (numbers.empty() || number < numbers.front() || number > numbers.back()) return -1;
    return is_consecutive ? number - numbers.front() : place_in(numbers, number);
  };
  std::vector<int> foreign;
  for (std::int64_t k = 0; k < rows.nnz(); ++k)
    if (own_place(rows.col_idxs(k)) < 0) foreign.push_back(rows.col_idxs(k));
  num_foreign = static_cast<std::int64_t>(foreign.size());
  std::sort(foreign.begin(), foreign.end());
  foreign.erase(std::unique(foreign.begin(), foreign.end()), foreign.end());
  std::vector<std::pair<int, double>> entries;
  for (std::int64_t i = 0; i < rows.num_rows; ++i) {
    entries.clear();
    for (std::size_t k = rows.row_ptrs(i); k < rows.row_ptrs(i + 1); ++k) {
      const int place = own_place(rows.col_idxs(k));
      const int other =
          static_cast<int>(rows.num_rows) + (place < 0 ? place_in(foreign, rows.col_idxs(k)) : 0);
      entries.emplace_back(place < 0 ? other : place, rows.values(k));
    }
    std::sort(entries.begin(), entries.end());
    std::size_t k = rows.row_ptrs(i);
    for (const auto& [col, value] : entries) {
      rows.col_idxs(k) = col;
      rows.values(k++) = value;
    }
  }
  return foreign;
}

/// The rows where they are computed with, which on a host is where they are.
LocalTpetraMatrix local_matrix(const HostRows& rows, std::size_t num_cols) {
  const Space::memory_space device;
  const auto ptrs = Kokkos::create_mirror_view_and_copy(device, rows.row_ptrs);
  const auto idxs = Kokkos::create_mirror_view_and_copy(device, rows.col_idxs);
  const auto vals = Kokkos::create_mirror_view_and_copy(device, rows.values);
  return LocalTpetraMatrix("prekond::driver::a", static_cast<LocalOrdinal>(rows.num_rows),
                           static_cast<LocalOrdinal>(num_cols), rows.col_idxs.extent(0), vals, ptrs, idxs);
}

Teuchos::RCP<const Map> map_of(const std::vector<int>& numbers, const std::vector<int>& others,
                               const Teuchos::RCP<const Comm>& comm) {
  std::vector<GlobalOrdinal> all(numbers.begin(), numbers.end());
  all.insert(all.end(), others.begin(), others.end());
  const auto unknown = Teuchos::OrdinalTraits<Tpetra::global_size_t>::invalid();
  return Teuchos::rcp(new const Map(unknown, Teuchos::arrayViewFromVector(all), 0, comm));
}

/// Consecutive blocks of rows need no table of their owners.
Teuchos::RCP<const Map> row_map(const PartitionChoice& choice, const NumberedRows& own,
                                const Teuchos::RCP<const Comm>& comm) {
  if (!choice.by_rows()) return map_of(own.numbers, {}, comm);
  return Teuchos::rcp(
      new const Map(static_cast<Tpetra::global_size_t>(own.rows.num_cols), own.numbers.size(), 0, comm));
}

std::int64_t count_neighbors(const std::vector<int>& parts, const RowPartition& blocks,
                             const std::vector<int>& foreign) {
  std::vector<char> is_one(static_cast<std::size_t>(blocks.num_blocks), 0);
  for (const int row : foreign)
    is_one[static_cast<std::size_t>(parts.empty() ? blocks.block_of(row)
                                                  : parts[static_cast<std::size_t>(row)])] = 1;
  return std::count(is_one.begin(), is_one.end(), 1);
}

Teuchos::RCP<const Comm> all_processes() {
  return Teuchos::rcp(new Teuchos::MpiComm<int>(MPI_COMM_WORLD));
}

}  // namespace

void distribute(const Space& space, const Processes& processes, const PartitionChoice& choice,
                NumberedRows block, bool with_sums, Problem<double>& problem) {
  processes.collective([&] {
    if (block.rows.num_cols > static_cast<std::int64_t>(std::numeric_limits<GlobalOrdinal>::max()))
      throw InputError("the matrix has " + std::to_string(block.rows.num_cols) +
                       " rows, more than this build's Tpetra can count; run it on one process");
  });
  const Kokkos::Timer timer;
  const RowPartition blocks{block.rows.num_cols, processes.size()};
  const std::vector<int> parts = find_parts(processes, choice, block);
  NumberedRows own = send_rows(processes, parts, std::move(block));
  PartFacts facts{.rows = own.rows.num_rows, .entries = own.rows.nnz(), .seconds = timer.seconds()};
  // Sums in the order in which one process has the entries.
  if (with_sums) problem.b = times_ones<double>(space, copy_to<Space>(own.rows));
  const std::vector<int> foreign = renumber(own, facts.cut_entries);
  facts.exchanged_entries = static_cast<std::int64_t>(foreign.size());
  facts.neighbors = count_neighbors(parts, blocks, foreign);
  const LocalTpetraMatrix local = local_matrix(own.rows, own.numbers.size() + foreign.size());
  const Teuchos::RCP<const Comm> comm = all_processes();
  const auto rows = row_map(choice, own, comm);
  const auto matrix =
      Teuchos::rcp(new const TpetraMatrix(local, rows, map_of(own.numbers, foreign, comm), rows, rows));
  own = {};
  auto a = std::make_unique<tpetra::DistributedCrsMatrix<double, LocalOrdinal, GlobalOrdinal, Node>>(space,
                                                                                                     matrix);
  problem.rows = a->rows().view();
  problem.distributed = std::move(a);
  problem.facts["distribution"] = distribution_facts(processes, choice.name, facts);
}

Report report_of_all(const Problem<double>& problem, const Report& own) {
  const std::int64_t first = own.breakdowns.first_row;
  return tpetra::merged_report(*all_processes(), own,
                               first < 0 ? -1 : problem.distributed->global_number(first));
}

}  // namespace prekond::driver
