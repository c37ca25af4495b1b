// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Entries of vectors, and rows, that a rank fetches from others by their global numbers.
#include <prekond/adapters/agreement.hpp>
#include <prekond/adapters/impl/tpetra_received.hpp>
#include <prekond/adapters/impl/tpetra_rows.hpp>
#include <prekond/core/error.hpp>
#include <prekond/distributed/distributed_matrix.hpp>

#include <Tpetra_CrsMatrix.hpp>
#include <Tpetra_Import.hpp>
#include <Tpetra_MultiVector.hpp>

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

/// The entries of `remote` behind those of `rows`. Keeps as many vectors over `remote` as it was applied to
/// at once.
template <class Scalar, class LocalOrdinal, class GlobalOrdinal, class Node>
class RemoteImport : public VectorImport<Scalar, typename Node::execution_space> {
 public:
  using Space = typename Node::execution_space;
  using map_type = Tpetra::Map<LocalOrdinal, GlobalOrdinal, Node>;

  /// Collective.
  RemoteImport(const Teuchos::RCP<const map_type>& rows, const Teuchos::RCP<const map_type>& remote)
      : m_rows(rows), m_remote(remote), m_import(rows, remote), m_received(remote) {}

  std::int64_t num_rows() const override { return static_cast<std::int64_t>(m_rows->getLocalNumElements()); }
  std::int64_t num_cols() const override {
    return num_rows() + static_cast<std::int64_t>(m_remote->getLocalNumElements());
  }

  void apply(const Space& space, MultiVectorView<const Scalar, Space> x,
             MultiVectorView<Scalar, Space> all) const override {
    if (all.extent(1) == 0) return;
    const auto part = [&](std::int64_t begin, std::int64_t end) {
      return Kokkos::subview(all, std::make_pair(begin, end), Kokkos::ALL);
    };
    Kokkos::deep_copy(space, part(0, num_rows()), x);
    multivector_type& received = m_received.first(all.extent(1));
    if (space != Space()) space.fence("prekond::tpetra::import::before");
    received.doImport(wrap<multivector_type>(m_rows, x), m_import, Tpetra::INSERT);
    if (space != Space()) Space().fence("prekond::tpetra::import::after");
    const MultiVectorView<const Scalar, Space> entries =
        received.getLocalViewDevice(Tpetra::Access::ReadOnly);
    Kokkos::deep_copy(space, part(num_rows(), num_cols()), entries);
  }

 private:
  using multivector_type = Tpetra::MultiVector<Scalar, LocalOrdinal, GlobalOrdinal, Node>;

  Teuchos::RCP<const map_type> m_rows;
  Teuchos::RCP<const map_type> m_remote;
  Tpetra::Import<LocalOrdinal, GlobalOrdinal, Node> m_import;
  mutable ReceivedVectors<multivector_type> m_received;
};

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
