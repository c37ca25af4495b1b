// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Entries of vectors that a rank fetches from others by their global numbers.
#include <prekond/adapters/impl/agreement.hpp>
#include <prekond/adapters/impl/tpetra_rows.hpp>
#include <prekond/core/error.hpp>
#include <prekond/distributed/impl/buffered_import.hpp>
#include <prekond/distributed/impl/ordered_lists.hpp>
#include <prekond/distributed/row_exchange.hpp>

#include <Teuchos_Comm.hpp>
#ifdef HAVE_TEUCHOS_MPI
#include <Teuchos_DefaultMpiComm.hpp>
#include <prekond/adapters/impl/device_messages.hpp>
#endif
#include <Tpetra_Details_Behavior.hpp>
#include <Tpetra_Distributor.hpp>
#include <Tpetra_Import.hpp>

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
        if (const auto twice = prekond::impl::number_twice(numbers))
          refuse(*twice, "stands twice in the list");
      },
      [](std::int64_t) { return std::string(); });
  return numbers;
}

template <class Array>
std::vector<int> to_ints(const Array& list) {
  return {list.begin(), list.end()};
}

/// Who sends what to whom by an Import.
template <class Import>
RowPlan plan_of(const Import& import) {
  const auto list = [](const auto& ranks, const auto& lengths) {
    std::vector<Neighbour> all;
    for (std::size_t i = 0; i < static_cast<std::size_t>(ranks.size()); ++i)
      if (lengths[i] > 0) all.push_back({ranks[i], static_cast<std::int64_t>(lengths[i])});
    return all;
  };
  const Tpetra::Distributor& plan = import.getDistributor();
  return {{list(plan.getProcsTo(), plan.getLengthsTo()), list(plan.getProcsFrom(), plan.getLengthsFrom())},
          to_ints(import.getExportLIDs()),
          to_ints(import.getRemoteLIDs())};
}

using Comm = Teuchos::RCP<const Teuchos::Comm<int>>;

#ifdef HAVE_TEUCHOS_MPI
using mpi::make_messages;
using MessageComm = mpi::MessageComm;

/// A communicator only for messages, and the choice of mpi::transport(). Collective. \throws as
/// mpi::device_transport
template <class Space>
MessageComm message_comm(const Teuchos::Comm<int>& comm) {
  const auto kept = std::make_shared<const Comm>(comm.duplicate());
  MessageComm result;
  result.owner = kept;
  if (const auto* mpi = dynamic_cast<const Teuchos::MpiComm<int>*>(kept->get()))
    result.comm = *mpi->getRawMpiComm();
  if constexpr (!is_host_space<Space>)
    result.takes_device_memory = Tpetra::Details::Behavior::assumeMpiIsGPUAware();
  if (const auto* mpi = dynamic_cast<const Teuchos::MpiComm<int>*>(&comm))
    result.device =
        mpi::device_transport<Space>(*mpi->getRawMpiComm(), mpi::transport(), result.takes_device_memory);
  return result;
}
#else
/// Without MPI there is one rank.
struct MessageComm {};
template <class Space>
MessageComm message_comm(const Teuchos::Comm<int>&) {
  return {};
}
template <class Scalar>
class NoMessages : public Messages<Scalar> {
 public:
  void start(const Scalar*, Scalar*, int) override {}
  void finish() override {}
  void start_reverse(const Scalar*, Scalar*, int) override {}
  void finish_reverse() override {}
};
template <class Scalar>
std::unique_ptr<Messages<Scalar>> make_messages(const MessageComm&, const Neighbours&) {
  return std::make_unique<NoMessages<Scalar>>();
}
#endif

/// The messages of `plan`, on a communicator of their own. Collective.
template <class Scalar, class Space>
std::unique_ptr<VectorImport<Scalar, Space>> make_import(const Teuchos::Comm<int>& comm,
                                                         std::int64_t num_rows, const RowPlan& plan) {
  return std::make_unique<BufferedImport<Scalar, Space>>(
      Space(), num_rows, plan.lists(Space()),
      make_messages<Scalar>(message_comm<Space>(comm), plan.neighbours));
}

/// Brings the entries of `remote`, in that order. Collective.
template <class Scalar, class Node, class Map>
std::unique_ptr<VectorImport<Scalar, typename Node::execution_space>> make_import(
    const Teuchos::RCP<const Map>& rows, const Teuchos::RCP<const Map>& remote) {
  using Import = Tpetra::Import<typename Map::local_ordinal_type, typename Map::global_ordinal_type, Node>;
  return make_import<Scalar, typename Node::execution_space>(
      *rows->getComm(), static_cast<std::int64_t>(rows->getLocalNumElements()),
      plan_of(Import(rows, remote)));
}

/// Brings the entries of the columns that follow the rank's own, by the matrix's Import. Collective.
/// \pre on all ranks the Import's target map begins with its source map
template <class Scalar, class Node, class Import>
std::unique_ptr<VectorImport<Scalar, typename Node::execution_space>> make_column_import(
    const Import& import) {
  const auto& rows = *import.getSourceMap();
  RowPlan plan = plan_of(import);
  const auto num_rows = static_cast<int>(rows.getLocalNumElements());
  for (int& place : plan.received_places) place -= num_rows;
  return make_import<Scalar, typename Node::execution_space>(*rows.getComm(), num_rows, plan);
}

}  // namespace prekond::tpetra::impl
