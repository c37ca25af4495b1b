// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The rows of a matrix handed out to Tpetra. A process that is alone has them all, as in a build without it.
#include <prekond/adapters/tpetra_distributed.hpp>
#include <prekond/matrix/spmv.hpp>
#include "distributed/row_partition.hpp"

#include <Teuchos_CommHelpers.hpp>
#include <Teuchos_DefaultMpiComm.hpp>
#include <Tpetra_CrsMatrix.hpp>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "problem_matrix.hpp"
#include "row_parts_mpi.hpp"

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

// A message's length is an int for MPI; what is longer goes in pieces.
constexpr std::int64_t longest_message = std::int64_t(1) << 26;

template <class T>
void send(const Comm& comm, int to, const T* data, std::int64_t count) {
  for (std::int64_t k = 0; k < count; k += longest_message)
    Teuchos::send(comm, static_cast<int>(std::min(longest_message, count - k)), data + k, to);
}

template <class T>
void receive(const Comm& comm, int from, T* data, std::int64_t count) {
  for (std::int64_t k = 0; k < count; k += longest_message)
    Teuchos::receive(comm, from, static_cast<int>(std::min(longest_message, count - k)), data + k);
}

/// Hands out `whole`, which rank 0 has: rank r gets what begins at begin(r), and ends where rank r + 1's
/// begins or `overlap` entries behind it.
template <class T, class Begin>
void hand_out(const Comm& comm, const T* whole, Begin begin, std::int64_t overlap, const HostVector<T>& own) {
  if (comm.getRank() > 0) return receive(comm, 0, own.data(), static_cast<std::int64_t>(own.extent(0)));
  for (int rank = 1; rank < comm.getSize(); ++rank)
    send(comm, rank, whole + begin(rank), begin(rank + 1) + overlap - begin(rank));
  std::copy_n(whole, own.extent(0), own.data());
}

/// Three messages a rank, in pieces where they are long. Whatever can fail on one rank alone fails while no
/// other waits for its message.
HostRows hand_out_rows(const Processes& processes, const Comm& comm, const RowPartition& partition,
                       const Matrix<double>& whole) {
  decltype(copy_to<Kokkos::HostSpace>(whole)) all;
  HostRows own;
  own.num_rows = partition.size(comm.getRank());
  own.num_cols = partition.num_rows;
  processes.together([&] {
    all = copy_to<Kokkos::HostSpace>(whole);
    own.row_ptrs = host_vector<std::size_t>("prekond::driver::row_ptrs", own.num_rows + 1);
  });
  const auto first_row = [&](int rank) { return partition.begin(rank); };
  const auto first_entry = [&](int rank) {
    return static_cast<std::int64_t>(all.row_ptrs(partition.begin(rank)));
  };
  hand_out(comm, all.row_ptrs.data(), first_row, 1, own.row_ptrs);
  const std::size_t first = own.row_ptrs(0);
  for (std::size_t i = 0; i < own.row_ptrs.extent(0); ++i) own.row_ptrs(i) -= first;
  processes.together([&] {
    const auto nnz = static_cast<std::int64_t>(own.row_ptrs(own.num_rows));
    own.col_idxs = host_vector<int>("prekond::driver::col_idxs", nnz);
    own.values = host_vector<double>("prekond::driver::values", nnz);
  });
  hand_out(comm, all.col_idxs.data(), first_entry, 0, own.col_idxs);
  hand_out(comm, all.values.data(), first_entry, 0, own.values);
  return own;
}

/// Whose a row is, and which of its rows.
class OwnRows {
 public:
  explicit OwnRows(const std::vector<int>& numbers)
      : m_numbers(numbers),
        m_consecutive(numbers.empty() ||
                      numbers.back() - numbers.front() + 1 == static_cast<int>(numbers.size())) {}

  /// -1 where it is another process's.
  int local(int number) const {
    if (m_numbers.empty() || number < m_numbers.front() || number > m_numbers.back()) return -1;
    if (m_consecutive) return number - m_numbers.front();
    const auto found = std::lower_bound(m_numbers.begin(), m_numbers.end(), number);
    return *found == number ? static_cast<int>(found - m_numbers.begin()) : -1;
  }

 private:
  const std::vector<int>& m_numbers;
  bool m_consecutive;
};

/// Moves each row's own columns before the others and counts them from 0; the others follow, both ascending.
/// Returns the numbers of the others, ascending: with the own ones before them, what Tpetra calls the column
/// map. `num_foreign`: entries there.
std::vector<int> renumber(const NumberedRows& own, std::int64_t& num_foreign) {
  const OwnRows own_rows(own.numbers);
  const HostRows& rows = own.rows;
  std::vector<int> foreign, cols;
  std::vector<double> values;
  for (std::int64_t i = 0; i < rows.num_rows; ++i) {
    std::size_t end = rows.row_ptrs(i);
    cols.clear();
    values.clear();
    for (std::size_t k = rows.row_ptrs(i); k < rows.row_ptrs(i + 1); ++k) {
      const int local = own_rows.local(rows.col_idxs(k));
      if (local < 0) {
        cols.push_back(rows.col_idxs(k));
        values.push_back(rows.values(k));
      } else {
        rows.col_idxs(end) = local;
        rows.values(end++) = rows.values(k);
      }
    }
    // Negative until it is known where they stand among all others.
    std::transform(cols.begin(), cols.end(), rows.col_idxs.data() + end,
                   [](int number) { return -1 - number; });
    std::copy(values.begin(), values.end(), rows.values.data() + end);
    foreign.insert(foreign.end(), cols.begin(), cols.end());
  }
  num_foreign = static_cast<std::int64_t>(foreign.size());
  std::sort(foreign.begin(), foreign.end());
  foreign.erase(std::unique(foreign.begin(), foreign.end()), foreign.end());
  for (std::int64_t k = 0; k < rows.nnz(); ++k) {
    int& col = rows.col_idxs(k);
    if (col >= 0) continue;
    const auto found = std::lower_bound(foreign.begin(), foreign.end(), -1 - col);
    col = static_cast<int>(rows.num_rows + (found - foreign.begin()));
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

/// A*1 on the rows, whose columns are those of the whole matrix: sums in the order in which one process has
/// the entries.
Vector<double, Space> times_ones(const Space& space, const HostRows& rows) {
  const auto a = copy_to<Space>(rows);
  const auto ones = allocate<Vector<double, Space>>(space, "prekond::driver::ones", rows.num_cols);
  const auto b = allocate<Vector<double, Space>>(space, "prekond::driver::b", rows.num_rows);
  Kokkos::deep_copy(space, ones, 1.0);
  spmv<double, Space>(space, 1.0, a, as_multivector(ones), 0.0, as_multivector(b));
  space.fence("prekond::driver::a_ones");  // before `ones` goes away
  return b;
}

Teuchos::RCP<const Map> map_of(const std::vector<int>& numbers, const std::vector<int>& others,
                               const Teuchos::RCP<const Comm>& comm) {
  std::vector<GlobalOrdinal> all(numbers.begin(), numbers.end());
  all.insert(all.end(), others.begin(), others.end());
  const auto unknown = Teuchos::OrdinalTraits<Tpetra::global_size_t>::invalid();
  return Teuchos::rcp(new const Map(unknown, Teuchos::arrayViewFromVector(all), 0, comm));
}

/// Consecutive blocks of rows need no table of whose they are.
Teuchos::RCP<const Map> row_map(const std::vector<int>& parts, const NumberedRows& own,
                                const Teuchos::RCP<const Comm>& comm) {
  if (!parts.empty()) return map_of(own.numbers, {}, comm);
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

/// The same on all processes.
DistributionFacts facts_of_all(const Processes& processes, const DistributionFacts& own) {
  const auto most = [&](std::int64_t value) { return -processes.min(-value); };
  DistributionFacts all = own;
  all.ranks = processes.size();
  all.cut_entries = processes.sum(own.cut_entries);
  all.exchanged_entries = processes.sum(own.exchanged_entries);
  all.most_entries = most(own.most_entries);
  all.most_rows = most(own.most_rows);
  all.fewest_rows = processes.min(own.fewest_rows);
  all.most_neighbors = most(own.most_neighbors);
  all.seconds = processes.max(own.seconds);
  return all;
}

Teuchos::RCP<const Comm> all_processes() {
  return Teuchos::rcp(new Teuchos::MpiComm<int>(MPI_COMM_WORLD));
}

void check_number_of_rows(const Processes& processes, std::int64_t num_rows) {
  processes.together([&] {
    if (num_rows > static_cast<std::int64_t>(std::numeric_limits<GlobalOrdinal>::max()))
      throw InputError("the matrix has " + std::to_string(num_rows) +
                       " rows, more than this build's Tpetra can count; run it on one process");
  });
}

ProblemMatrix<double> distribute_real(const Space& space, const Processes& processes, Matrix<double> whole,
                                      const PartitionChoice& choice) {
  const Teuchos::RCP<const Comm> comm = all_processes();
  long long num_rows = whole.num_rows;
  Teuchos::broadcast(*comm, 0, &num_rows);
  check_number_of_rows(processes, num_rows);
  HostRows block = hand_out_rows(processes, *comm, RowPartition{num_rows, processes.size()}, whole);
  whole = {};
  return distribute_rows(space, processes, std::move(block), choice, false);
}

}  // namespace

ProblemMatrix<double> distribute_rows(const Space& space, const Processes& processes, HostRows block,
                                      const PartitionChoice& choice, bool with_sums) {
  check_number_of_rows(processes, block.num_cols);
  const Kokkos::Timer timer;
  const RowPartition blocks{block.num_cols, processes.size()};
  const std::vector<int> parts = find_parts(processes, choice, block);
  NumberedRows own = send_rows(processes, parts, std::move(block));
  ProblemMatrix<double> result;
  DistributionFacts facts;
  facts.partition = choice.name;
  facts.most_rows = facts.fewest_rows = own.rows.num_rows;
  facts.most_entries = own.rows.nnz();
  facts.seconds = timer.seconds();
  std::vector<int> foreign;
  LocalTpetraMatrix local;
  processes.together([&] {
    if (with_sums) result.times_ones = times_ones(space, own.rows);
    foreign = renumber(own, facts.cut_entries);
    facts.exchanged_entries = static_cast<std::int64_t>(foreign.size());
    facts.most_neighbors = count_neighbors(parts, blocks, foreign);
    local = local_matrix(own.rows, own.numbers.size() + foreign.size());
  });
  const Teuchos::RCP<const Comm> comm = all_processes();
  const auto rows = row_map(parts, own, comm);
  const auto matrix =
      Teuchos::rcp(new const TpetraMatrix(local, rows, map_of(own.numbers, foreign, comm), rows, rows));
  own = {};
  auto a = std::make_unique<tpetra::DistributedCrsMatrix<double, LocalOrdinal, GlobalOrdinal, Node>>(space,
                                                                                                     matrix);
  result.rows = a->rows().view();
  result.distributed = std::move(a);
  result.distribution = facts_of_all(processes, facts);
  return result;
}

template <class Scalar>
ProblemMatrix<Scalar> distribute(const Space& space, const Processes& processes, Matrix<Scalar> whole,
                                 const std::string& spmv, const PartitionChoice& choice) {
  if (processes.alone()) return undistributed<Scalar>(space, whole, spmv);
  // Tpetra's packages need not have complex scalars.
  if constexpr (std::is_same_v<Scalar, double>)
    return distribute_real(space, processes, std::move(whole), choice);
  else
    throw OptionError("a complex matrix is for one process; run it without mpirun");
}

template <class Scalar>
Report report_of_all(const Processes& processes, const ProblemMatrix<Scalar>& a, Report own) {
  if (processes.alone()) return own;
  const std::int64_t first = own.breakdowns.first_row;
  return tpetra::merged_report(*all_processes(), own, first < 0 ? -1 : a.distributed->global_number(first));
}

#define PREKOND_DRIVER_DISTRIBUTE(Scalar)                                                           \
  template ProblemMatrix<Scalar> distribute<Scalar>(const Space&, const Processes&, Matrix<Scalar>, \
                                                    const std::string&, const PartitionChoice&);    \
  template Report report_of_all<Scalar>(const Processes&, const ProblemMatrix<Scalar>&, Report);
PREKOND_DRIVER_DISTRIBUTE(double)
PREKOND_DRIVER_DISTRIBUTE(Complex)

}  // namespace prekond::driver
