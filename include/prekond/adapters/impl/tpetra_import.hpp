// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Entries of vectors, and rows, that a rank fetches from others by their global numbers.
#include <prekond/adapters/agreement.hpp>
#include <prekond/adapters/impl/tpetra_rows.hpp>
#include <prekond/core/error.hpp>
#include <prekond/distributed/buffered_import.hpp>
#include <prekond/distributed/distributed_matrix.hpp>
#include <prekond/distributed/select_entries.hpp>

#include <Teuchos_Comm.hpp>
#ifdef HAVE_TEUCHOS_MPI
#include <Teuchos_DefaultMpiComm.hpp>
#endif
#include <Tpetra_CrsMatrix.hpp>
#include <Tpetra_Distributor.hpp>
#include <Tpetra_Import.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace prekond::tpetra::impl {

/// The map in which this rank has `mine`, in that order. Collective.
template <class Map>
Teuchos::RCP<const Map> map_of(const std::vector<typename Map::global_ordinal_type>& mine, const Map& like) {
  return Teuchos::rcp(new const Map(Teuchos::OrdinalTraits<Tpetra::global_size_t>::invalid(),
                                    Teuchos::arrayViewFromVector(mine), like.getIndexBase(), like.getComm()));
}

/// The numbers as Tpetra counts, once they are known to be those of rows of other ranks, each once.
/// Collective. \throws InputError on all ranks
template <class Space, class Map>
std::vector<typename Map::global_ordinal_type> checked_numbers(VectorView<const std::int64_t, Space> global,
                                                               const Map& rows) {
  using GlobalOrdinal = typename Map::global_ordinal_type;
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), global);
  std::vector<GlobalOrdinal> numbers(host.extent(0));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<GlobalOrdinal>(host(i));
    if (static_cast<std::int64_t>(numbers[i]) != host(i))
      numbers[i] = Teuchos::OrdinalTraits<GlobalOrdinal>::invalid();
  }
  std::vector<int> owners(numbers.size(), -1);
  rows.getRemoteIndexList(Teuchos::arrayViewFromVector(numbers), Teuchos::arrayViewFromVector(owners));
  const auto refuse = [](std::int64_t row, const std::string& why) {
    throw InputError("rows of other ranks were asked for: row " + std::to_string(row) + " (counted from 0) " +
                     why);
  };
  together(
      *rows.getComm(),
      [&] {
        for (std::size_t i = 0; i < numbers.size(); ++i) {
          if (owners[i] < 0) refuse(host(i), "does not exist");
          if (owners[i] == rows.getComm()->getRank()) refuse(host(i), "is the rank's own");
        }
        auto sorted = numbers;
        std::sort(sorted.begin(), sorted.end());
        const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
        if (twice != sorted.end()) refuse(*twice, "stands twice in the list");
      },
      [](std::int64_t) { return std::string(); });
  return numbers;
}

#ifdef HAVE_TEUCHOS_MPI
/// The messages of an Import: who sends how much to whom is its plan's, the messages are MPI's own, none of
/// which waits before `finish`. (In the reverse direction Tpetra's own copy the entries one by one: 1.2
/// of 4.0 ms of an iteration with fsai, elasticity3d:30 on 2 ranks.) Host memory only: what MPI does with
/// device buffers is not relied on.
template <class Scalar, class Import>
class ImportMessages : public Messages<Scalar> {
 public:
  explicit ImportMessages(const Import& import) {
    Tpetra::Distributor& plan = import.getDistributor();
    append(m_to, plan.getProcsTo(), plan.getLengthsTo());
    append(m_from, plan.getProcsFrom(), plan.getLengthsFrom());
    // A communicator of its own: nobody else's messages are taken for these.
    m_comm = import.getSourceMap()->getComm()->duplicate();
    if (const auto* mpi = dynamic_cast<const Teuchos::MpiComm<int>*>(m_comm.get()))
      m_raw = *mpi->getRawMpiComm();
  }

  ~ImportMessages() override { forget_type(); }
  ImportMessages(const ImportMessages&) = delete;
  ImportMessages& operator=(const ImportMessages&) = delete;

  void start(const Scalar* sent, Scalar* received, int k) override { post(m_to, sent, m_from, received, k); }
  void finish() override { wait(); }
  void start_reverse(const Scalar* received, Scalar* sent, int k) override {
    post(m_from, received, m_to, sent, k);
  }
  void finish_reverse() override { wait(); }

 private:
  struct Neighbour {
    int rank;
    int slots;
  };

  template <class Ranks, class Lengths>
  static void append(std::vector<Neighbour>& list, const Ranks& ranks, const Lengths& lengths) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(ranks.size()); ++i)
      if (lengths[i] > 0) list.push_back({ranks[i], static_cast<int>(lengths[i])});
  }

  void post(const std::vector<Neighbour>& to, const Scalar* out, const std::vector<Neighbour>& from,
            Scalar* in, int k) {
    if (k != m_k) make_type(k);
    for (const Neighbour& other : from) {
      check(MPI_Irecv(in, other.slots, m_type, other.rank, 0, m_raw, &m_requests.emplace_back()));
      in += std::size_t(other.slots) * k;
    }
    for (const Neighbour& other : to) {
      check(MPI_Isend(out, other.slots, m_type, other.rank, 0, m_raw, &m_requests.emplace_back()));
      out += std::size_t(other.slots) * k;
    }
  }
  void make_type(int k) {
    forget_type();
    check(MPI_Type_contiguous(static_cast<int>(sizeof(Scalar)) * k, MPI_BYTE, &m_type));
    check(MPI_Type_commit(&m_type));
    m_k = k;
  }
  void forget_type() {
    if (m_k > 0) MPI_Type_free(&m_type);
    m_k = 0;
  }
  static void check(int code) {
    if (code != MPI_SUCCESS)
      throw std::runtime_error("MPI could not exchange entries of vectors: error " + std::to_string(code));
  }
  void wait() {
    check(MPI_Waitall(static_cast<int>(m_requests.size()), m_requests.data(), MPI_STATUSES_IGNORE));
    m_requests.clear();
  }

  std::vector<Neighbour> m_to, m_from;
  Teuchos::RCP<const Teuchos::Comm<int>> m_comm;
  MPI_Comm m_raw = MPI_COMM_NULL;
  MPI_Datatype m_type = MPI_DATATYPE_NULL;  ///< of a slot of m_k numbers
  int m_k = 0;
  std::vector<MPI_Request> m_requests;
};
#else
/// Without MPI there is one rank.
template <class Scalar, class Import>
class ImportMessages : public Messages<Scalar> {
 public:
  explicit ImportMessages(const Import&) {}
  void start(const Scalar*, Scalar*, int) override {}
  void finish() override {}
  void start_reverse(const Scalar*, Scalar*, int) override {}
  void finish_reverse() override {}
};
#endif

template <class Array>
std::vector<int> to_ints(const Array& list) {
  return {list.begin(), list.end()};
}

/// Brings the entries of `remote`, in that order. Collective.
template <class Scalar, class Node, class Map>
std::unique_ptr<VectorImport<Scalar, typename Node::execution_space>> make_import(
    const Teuchos::RCP<const Map>& rows, const Teuchos::RCP<const Map>& remote) {
  using Space = typename Node::execution_space;
  using Import = Tpetra::Import<typename Map::local_ordinal_type, typename Map::global_ordinal_type, Node>;
  const Import import(rows, remote);
  return std::make_unique<BufferedImport<Scalar, Space>>(
      Space(), static_cast<std::int64_t>(rows->getLocalNumElements()), to_ints(import.getExportLIDs()),
      to_ints(import.getRemoteLIDs()), std::make_unique<ImportMessages<Scalar, Import>>(import));
}

/// Column c of a row becomes numbers(c).
template <class Space>
struct NumberColumns {
  VectorView<const int, Space> columns;
  VectorView<const std::int64_t, Space> numbers;
  VectorView<std::int64_t, Space> result;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const { result(k) = numbers(columns(k)); }
};

/// The global numbers of a map's indices, ascending, and where each index's stands among them.
template <class Map>
std::pair<std::vector<std::int64_t>, std::vector<int>> sorted_numbers(const Map& map) {
  std::vector<std::int64_t> sorted(map.getLocalNumElements());
  std::vector<int> order(sorted.size()), places(sorted.size());
  std::iota(order.begin(), order.end(), 0);
  const auto numbers = map.getLocalElementList();
  std::sort(order.begin(), order.end(), [&](int c, int d) { return numbers[c] < numbers[d]; });
  for (std::size_t k = 0; k < order.size(); ++k) {
    sorted[k] = numbers[order[k]];
    places[order[k]] = static_cast<int>(k);
  }
  return {sorted, places};
}

/// The rows of `a` whose numbers this rank gives, sorted by column. Entries stay where the matrix has them;
/// of the columns their list is sorted on the host. Collective. \pre checked_numbers
template <class Scalar, class LocalOrdinal, class GlobalOrdinal, class Node>
RemoteRows<Scalar, typename Node::execution_space> fetch_rows(
    const typename Node::execution_space& space,
    const Tpetra::CrsMatrix<Scalar, LocalOrdinal, GlobalOrdinal, Node>& a,
    const std::vector<GlobalOrdinal>& numbers) {
  using Space = typename Node::execution_space;
  using Matrix = Tpetra::CrsMatrix<Scalar, LocalOrdinal, GlobalOrdinal, Node>;
  const auto map = map_of(numbers, *a.getRowMap());
  // The same matrix on a graph that it does not own: Tpetra packs its rows on the device, where others are
  // packed on the host, to which there is no access while a LocalMatrix views the values.
  const auto source = Teuchos::rcp(new const Matrix(a.getCrsGraph(), a.getLocalMatrixDevice().values));
  const Tpetra::Import<LocalOrdinal, GlobalOrdinal, Node> import(a.getRowMap(), map);
  const auto fetched = Tpetra::importAndFillCompleteCrsMatrix<Matrix>(source, import, a.getDomainMap(), map);

  const auto local = fetched->getLocalMatrixDevice();
  const auto [sorted, places] = sorted_numbers(*fetched->getColMap());
  const auto device_sorted = copied_to<Space>(sorted);
  const auto device_places = copied_to<Space>(places);
  const auto num_cols = static_cast<std::int64_t>(sorted.size());
  const auto rows =
      select_entries<Scalar, Space>(space, "prekond::tpetra::remote_rows", view_of<Scalar, Space>(local),
                                    static_cast<std::int64_t>(numbers.size()), {}, device_places, num_cols);
  const auto col_idxs =
      allocate<Vector<std::int64_t, Space>>(space, "prekond::tpetra::remote_rows::col_idxs", rows.nnz());
  Kokkos::parallel_for("prekond::tpetra::remote_rows::number",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, rows.nnz()),
                       NumberColumns<Space>{rows.col_idxs, device_sorted, col_idxs});
  space.fence("prekond::tpetra::remote_rows");  // what was fetched goes away
  return {static_cast<std::int64_t>(numbers.size()), rows.row_ptrs, col_idxs, rows.values};
}

}  // namespace prekond::tpetra::impl
