// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Entries of vectors, and rows, that a rank fetches from others by their global numbers.
#include <prekond/adapters/agreement.hpp>
#include <prekond/adapters/impl/tpetra_rows.hpp>
#include <prekond/core/error.hpp>
#include <prekond/distributed/buffered_import.hpp>
#include <prekond/distributed/distributed_matrix.hpp>

#include <Tpetra_CrsMatrix.hpp>
#include <Tpetra_Distributor.hpp>
#include <Tpetra_Import.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
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

/// The messages of an Import, by its own plan. Host memory only: what MPI does with device buffers is not
/// relied on.
template <class Scalar, class Import>
class ImportMessages : public Messages<Scalar> {
 public:
  explicit ImportMessages(Teuchos::RCP<const Import> import)
      : m_import(std::move(import)),
        m_num_sent(static_cast<std::size_t>(m_import->getExportLIDs().size())),
        m_num_received(static_cast<std::size_t>(m_import->getRemoteLIDs().size())) {}

  void start(const Scalar* sent, Scalar* received, int k) override {
    plan().doPosts(View<const Scalar>(sent, m_num_sent * k), k, View<Scalar>(received, m_num_received * k));
  }
  void finish() override { plan().doWaits(); }
  void start_reverse(const Scalar* received, Scalar* sent, int k) override {
    plan().doReversePosts(View<const Scalar>(received, m_num_received * k), k,
                          View<Scalar>(sent, m_num_sent * k));
  }
  void finish_reverse() override { plan().doReverseWaits(); }

 private:
  // Not of unmanaged memory by type: Tpetra allocates views of the type that it is given.
  template <class T>
  using View = Kokkos::View<T*, Kokkos::LayoutLeft, Kokkos::HostSpace>;
  Tpetra::Distributor& plan() const { return m_import->getDistributor(); }

  Teuchos::RCP<const Import> m_import;
  std::size_t m_num_sent, m_num_received;
};

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
  const auto import = Teuchos::rcp(new const Import(rows, remote));
  return std::make_unique<BufferedImport<Scalar, Space>>(
      Space(), static_cast<std::int64_t>(rows->getLocalNumElements()), to_ints(import->getExportLIDs()),
      to_ints(import->getRemoteLIDs()), std::make_unique<ImportMessages<Scalar, Import>>(import));
}

/// The rows of `a` whose numbers this rank gives, sorted by column. Collective. \pre checked_numbers
template <class Scalar, class LocalOrdinal, class GlobalOrdinal, class Node>
RemoteRows<Scalar, typename Node::execution_space> fetch_rows(
    const Tpetra::CrsMatrix<Scalar, LocalOrdinal, GlobalOrdinal, Node>& a,
    const std::vector<GlobalOrdinal>& numbers) {
  using Space = typename Node::execution_space;
  using Matrix = Tpetra::CrsMatrix<Scalar, LocalOrdinal, GlobalOrdinal, Node>;
  const auto map = map_of(numbers, *a.getRowMap());
  // The same matrix on a graph that it does not own: Tpetra packs its rows on the device, where others are
  // packed on the host, to which there is no access while a LocalMatrix views the values.
  const Matrix source(a.getCrsGraph(), a.getLocalMatrixDevice().values);
  Matrix fetched(map, 0);  // the import finds out how long the rows are
  fetched.doImport(source, Tpetra::Import<LocalOrdinal, GlobalOrdinal, Node>(a.getRowMap(), map),
                   Tpetra::INSERT);

  std::vector<std::size_t> row_ptrs(1, 0);
  std::vector<std::int64_t> col_idxs;
  std::vector<Scalar> values;
  std::vector<std::pair<GlobalOrdinal, Scalar>> row;
  for (const GlobalOrdinal number : numbers) {
    const std::size_t length = fetched.getNumEntriesInGlobalRow(number);
    typename Matrix::nonconst_global_inds_host_view_type cols("prekond::tpetra::remote_rows::cols", length);
    typename Matrix::nonconst_values_host_view_type entries("prekond::tpetra::remote_rows::values", length);
    std::size_t copied = 0;
    fetched.getGlobalRowCopy(number, cols, entries, copied);
    row.clear();
    for (std::size_t k = 0; k < copied; ++k) row.emplace_back(cols(k), entries(k));
    std::sort(row.begin(), row.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
    for (const auto& [col, value] : row) col_idxs.push_back(col), values.push_back(value);
    row_ptrs.push_back(col_idxs.size());
  }
  return {static_cast<std::int64_t>(numbers.size()), copied_to<Space>(row_ptrs), copied_to<Space>(col_idxs),
          copied_to<Space>(values)};
}

}  // namespace prekond::tpetra::impl
