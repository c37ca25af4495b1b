// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Entries of vectors that a rank fetches from others by their global numbers.
#include <prekond/adapters/agreement.hpp>
#include <prekond/adapters/impl/tpetra_rows.hpp>
#include <prekond/core/error.hpp>
#include <prekond/distributed/buffered_import.hpp>

#include <Teuchos_Comm.hpp>
#ifdef HAVE_TEUCHOS_MPI
#include <Teuchos_DefaultMpiComm.hpp>
#endif
#include <Tpetra_Distributor.hpp>
#include <Tpetra_Import.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
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

/// A rank that messages go to or come from, and the slots of one.
struct Neighbour {
  int rank;
  std::int64_t slots;
};
struct Neighbours {
  std::vector<Neighbour> to, from;
};

/// Who sends how much to whom by an Import's plan.
template <class Import>
Neighbours neighbours_of(const Import& import) {
  const auto list = [](const auto& ranks, const auto& lengths) {
    std::vector<Neighbour> all;
    for (std::size_t i = 0; i < static_cast<std::size_t>(ranks.size()); ++i)
      if (lengths[i] > 0) all.push_back({ranks[i], static_cast<std::int64_t>(lengths[i])});
    return all;
  };
  const Tpetra::Distributor& plan = import.getDistributor();
  return {list(plan.getProcsTo(), plan.getLengthsTo()), list(plan.getProcsFrom(), plan.getLengthsFrom())};
}

using Comm = Teuchos::RCP<const Teuchos::Comm<int>>;

#ifdef HAVE_TEUCHOS_MPI
/// Messages between neighbours: MPI's own, none of which waits before `finish`. (In the reverse direction
/// those of an Import copy the entries one by one: 1.2 of 4.0 ms of an iteration with fsai, elasticity3d:30
/// on 2 ranks.) Host memory only: what MPI does with device buffers is not relied on.
template <class Scalar>
class NeighbourMessages : public Messages<Scalar> {
 public:
  /// `comm` is for these messages alone. A message has at most `most_slots`; more are sent as several.
  NeighbourMessages(const Comm& comm, Neighbours neighbours, std::int64_t most_slots = 1 << 30)
      : m_comm(comm), m_neighbours(std::move(neighbours)), m_most_slots(most_slots) {
    if (const auto* mpi = dynamic_cast<const Teuchos::MpiComm<int>*>(m_comm.get()))
      m_raw = *mpi->getRawMpiComm();
  }

  ~NeighbourMessages() override { forget_type(); }
  NeighbourMessages(const NeighbourMessages&) = delete;
  NeighbourMessages& operator=(const NeighbourMessages&) = delete;

  void start(const Scalar* sent, Scalar* received, int k) override {
    post(m_neighbours.to, sent, m_neighbours.from, received, k);
  }
  void finish() override { wait(); }
  void start_reverse(const Scalar* received, Scalar* sent, int k) override {
    post(m_neighbours.from, received, m_neighbours.to, sent, k);
  }
  void finish_reverse() override { wait(); }

 private:
  void post(const std::vector<Neighbour>& to, const Scalar* out, const std::vector<Neighbour>& from,
            Scalar* in, int k) {
    if (k != m_k) make_type(k);
    for_each_message(from, [&](int rank, int slots) {
      check(MPI_Irecv(in, slots, m_type, rank, 0, m_raw, &m_requests.emplace_back()));
      in += std::size_t(slots) * k;
    });
    for_each_message(to, [&](int rank, int slots) {
      check(MPI_Isend(out, slots, m_type, rank, 0, m_raw, &m_requests.emplace_back()));
      out += std::size_t(slots) * k;
    });
  }
  template <class Work>
  void for_each_message(const std::vector<Neighbour>& neighbours, const Work& work) const {
    for (const Neighbour& other : neighbours)
      for (std::int64_t begin = 0; begin < other.slots; begin += m_most_slots)
        work(other.rank, static_cast<int>(std::min(m_most_slots, other.slots - begin)));
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
      throw std::runtime_error("MPI could not exchange entries: error " + std::to_string(code));
  }
  void wait() {
    check(MPI_Waitall(static_cast<int>(m_requests.size()), m_requests.data(), MPI_STATUSES_IGNORE));
    m_requests.clear();
  }

  Comm m_comm;
  Neighbours m_neighbours;
  std::int64_t m_most_slots;
  MPI_Comm m_raw = MPI_COMM_NULL;
  MPI_Datatype m_type = MPI_DATATYPE_NULL;  ///< of a slot of m_k numbers
  int m_k = 0;
  std::vector<MPI_Request> m_requests;
};
#else
/// Without MPI there is one rank.
template <class Scalar>
class NeighbourMessages : public Messages<Scalar> {
 public:
  NeighbourMessages(const Comm&, const Neighbours&, std::int64_t = 0) {}
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
      to_ints(import.getRemoteLIDs()),
      std::make_unique<NeighbourMessages<Scalar>>(rows->getComm()->duplicate(), neighbours_of(import)));
}

}  // namespace prekond::tpetra::impl
