// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The rows of a matrix handed out to Tpetra. A process that is alone has them all, as in a build without it.
#include <prekond/adapters/tpetra_distributed.hpp>
#include <prekond/distributed/row_partition.hpp>

#include <Teuchos_CommHelpers.hpp>
#include <Teuchos_DefaultMpiComm.hpp>
#include <Tpetra_CrsMatrix.hpp>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "problem_matrix.hpp"

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

template <class T>
using HostVector = Kokkos::View<T*, Kokkos::LayoutLeft, Kokkos::HostSpace>;

template <class T>
HostVector<T> host_vector(const std::string& label, std::int64_t size) {
  return HostVector<T>(Kokkos::view_alloc(Kokkos::WithoutInitializing, label), size);
}

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

/// A process's rows on the host; columns are global, and own ones first after `renumber`.
struct HostRows {
  HostVector<std::size_t> row_ptrs;
  HostVector<int> col_idxs;
  HostVector<double> values;

  std::int64_t num_rows() const { return static_cast<std::int64_t>(row_ptrs.extent(0)) - 1; }
};

/// Three messages a rank, in pieces where they are long. Whatever can fail on one rank alone fails while no
/// other waits for its message.
HostRows hand_out_rows(const Processes& processes, const Comm& comm, const RowPartition& partition,
                       const Matrix<double>& whole) {
  decltype(copy_to<Kokkos::HostSpace>(whole)) all;
  HostRows own;
  processes.together([&] {
    all = copy_to<Kokkos::HostSpace>(whole);
    own.row_ptrs = host_vector<std::size_t>("prekond::driver::row_ptrs", partition.size(comm.getRank()) + 1);
  });
  const auto first_row = [&](int rank) { return partition.begin(rank); };
  const auto first_entry = [&](int rank) {
    return static_cast<std::int64_t>(all.row_ptrs(partition.begin(rank)));
  };
  hand_out(comm, all.row_ptrs.data(), first_row, 1, own.row_ptrs);
  const std::size_t first = own.row_ptrs(0);
  for (std::size_t i = 0; i < own.row_ptrs.extent(0); ++i) own.row_ptrs(i) -= first;
  processes.together([&] {
    const auto nnz = static_cast<std::int64_t>(own.row_ptrs(own.num_rows()));
    own.col_idxs = host_vector<int>("prekond::driver::col_idxs", nnz);
    own.values = host_vector<double>("prekond::driver::values", nnz);
  });
  hand_out(comm, all.col_idxs.data(), first_entry, 0, own.col_idxs);
  hand_out(comm, all.values.data(), first_entry, 0, own.values);
  return own;
}

/// Moves each row's own columns, those in [begin, end), before the others and counts them from 0; the others
/// follow in ascending order. Returns the global index of every column: what Tpetra calls the column map.
std::vector<GlobalOrdinal> renumber(const HostRows& rows, std::int64_t begin, std::int64_t end) {
  std::vector<int> foreign;
  int* const cols = rows.col_idxs.data();
  double* const values = rows.values.data();
  for (std::int64_t i = 0; i < rows.num_rows(); ++i) {
    const std::size_t first = rows.row_ptrs(i), last = rows.row_ptrs(i + 1);
    const std::size_t own_first = std::lower_bound(cols + first, cols + last, begin) - cols;
    const std::size_t own_last = std::lower_bound(cols + own_first, cols + last, end) - cols;
    foreign.insert(foreign.end(), cols + first, cols + own_first);
    foreign.insert(foreign.end(), cols + own_last, cols + last);
    std::rotate(cols + first, cols + own_first, cols + own_last);
    std::rotate(values + first, values + own_first, values + own_last);
  }
  std::sort(foreign.begin(), foreign.end());
  foreign.erase(std::unique(foreign.begin(), foreign.end()), foreign.end());
  const auto local = [&](int c) {
    if (c >= begin && c < end) return static_cast<int>(c - begin);
    return static_cast<int>(end - begin +
                            (std::lower_bound(foreign.begin(), foreign.end(), c) - foreign.begin()));
  };
  for (std::size_t k = 0; k < rows.col_idxs.extent(0); ++k) cols[k] = local(cols[k]);
  std::vector<GlobalOrdinal> global;
  for (std::int64_t c = begin; c < end; ++c) global.push_back(static_cast<GlobalOrdinal>(c));
  global.insert(global.end(), foreign.begin(), foreign.end());
  return global;
}

/// The rows where they are computed with, which on a host is where they are.
LocalTpetraMatrix local_matrix(const HostRows& rows, std::size_t num_cols) {
  const Space::memory_space device;
  const auto ptrs = Kokkos::create_mirror_view_and_copy(device, rows.row_ptrs);
  const auto idxs = Kokkos::create_mirror_view_and_copy(device, rows.col_idxs);
  const auto vals = Kokkos::create_mirror_view_and_copy(device, rows.values);
  return LocalTpetraMatrix("prekond::driver::a", static_cast<LocalOrdinal>(rows.num_rows()),
                           static_cast<LocalOrdinal>(num_cols), rows.col_idxs.extent(0), vals, ptrs, idxs);
}

Teuchos::RCP<const TpetraMatrix> make_matrix(const Processes& processes, const Teuchos::RCP<const Comm>& comm,
                                             const RowPartition& partition, HostRows own) {
  std::vector<GlobalOrdinal> columns;
  LocalTpetraMatrix local;
  const int rank = comm->getRank();
  processes.together([&] {
    columns = renumber(own, partition.begin(rank), partition.end(rank));
    local = local_matrix(own, columns.size());
    own = {};
  });
  const auto rows = Teuchos::rcp(new const Map(static_cast<Tpetra::global_size_t>(partition.num_rows),
                                               static_cast<std::size_t>(partition.size(rank)), 0, comm));
  const auto unknown = Teuchos::OrdinalTraits<Tpetra::global_size_t>::invalid();
  const auto cols = Teuchos::rcp(new const Map(unknown, Teuchos::arrayViewFromVector(columns), 0, comm));
  return Teuchos::rcp(new const TpetraMatrix(local, rows, cols, rows, rows));
}

Teuchos::RCP<const Comm> all_processes() {
  return Teuchos::rcp(new Teuchos::MpiComm<int>(MPI_COMM_WORLD));
}

ProblemMatrix<double> distribute_real(const Space& space, const Processes& processes, Matrix<double> whole) {
  const Teuchos::RCP<const Comm> comm = all_processes();
  long long num_rows = whole.num_rows;
  Teuchos::broadcast(*comm, 0, &num_rows);
  processes.together([&] {
    if (num_rows > static_cast<long long>(std::numeric_limits<GlobalOrdinal>::max()))
      throw InputError("the matrix has " + std::to_string(num_rows) +
                       " rows, more than this build's Tpetra can count; run it on one process");
  });
  const RowPartition partition{num_rows, processes.size()};
  HostRows own = hand_out_rows(processes, *comm, partition, whole);
  whole = {};
  auto a = std::make_unique<tpetra::DistributedCrsMatrix<double, LocalOrdinal, GlobalOrdinal, Node>>(
      space, make_matrix(processes, comm, partition, std::move(own)));
  const auto rows = a->rows().view();
  return {{}, rows, std::move(a), {}};
}

}  // namespace

template <class Scalar>
ProblemMatrix<Scalar> distribute(const Space& space, const Processes& processes, Matrix<Scalar> whole,
                                 const std::string& spmv) {
  if (processes.alone()) return undistributed<Scalar>(space, whole, spmv);
  // Tpetra's packages need not have complex scalars.
  if constexpr (std::is_same_v<Scalar, double>)
    return distribute_real(space, processes, std::move(whole));
  else
    throw OptionError("a complex matrix is for one process; run it without mpirun");
}

template <class Scalar>
Report report_of_all(const Space& space, const Processes& processes, const ProblemMatrix<Scalar>& a,
                     Report own) {
  if (processes.alone()) return own;
  own.foreign_columns = a.rows.num_cols - a.rows.num_rows;
  own.foreign_entries =
      own.foreign_columns > 0 ? impl::count_foreign_entries<Scalar, Space>(space, a.rows) : 0;
  const std::int64_t first = own.breakdowns.first_row;
  return tpetra::merged_report(*all_processes(), own, first < 0 ? -1 : a.distributed->global_number(first));
}

#define PREKOND_DRIVER_DISTRIBUTE(Scalar)                                                           \
  template ProblemMatrix<Scalar> distribute<Scalar>(const Space&, const Processes&, Matrix<Scalar>, \
                                                    const std::string&);                            \
  template Report report_of_all<Scalar>(const Space&, const Processes&, const ProblemMatrix<Scalar>&, Report);
PREKOND_DRIVER_DISTRIBUTE(double)
PREKOND_DRIVER_DISTRIBUTE(Complex)

}  // namespace prekond::driver
