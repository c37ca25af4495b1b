// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Rows that a rank fetches from others by their global numbers.
#include <prekond/adapters/impl/tpetra_import.hpp>
#include <prekond/distributed/row_exchange.hpp>

#include <memory>
#include <vector>

namespace prekond::tpetra::impl {

/// The rows of `a`, this rank's, whose numbers the ranks give, sorted by the columns' numbers. Collective.
/// (Tpetra's importAndFillCompleteCrsMatrix makes a matrix of them, with maps and plans of its own.)
/// \pre checked_numbers
template <class Scalar, class Node, class Map>
RemoteRows<Scalar, typename Node::execution_space> fetch_rows(
    const typename Node::execution_space& space,
    const NumberedRows<Scalar, typename Node::execution_space>& a, const Teuchos::RCP<const Map>& rows,
    const std::vector<typename Map::global_ordinal_type>& numbers) {
  using Space = typename Node::execution_space;
  const Tpetra::Import<typename Map::local_ordinal_type, typename Map::global_ordinal_type, Node> import(
      rows, map_of(numbers, *rows));
  const auto sent_rows = prekond::impl::copied_to(space, to_ints(import.getExportLIDs()),
                                                  "prekond::tpetra::remote_rows::sent_rows");
  const auto sent = rows_by_number<Scalar, Space>(space, sent_rows, a);
  return exchange_rows<Scalar, Space>(
      space, neighbours_of(import), sent, to_ints(import.getRemoteLIDs()),
      [comm = message_comm(*rows->getComm())]<class T>(T, const Neighbours& neighbours) {
        return std::make_unique<NeighbourMessages<T>>(comm, neighbours);
      });
}

}  // namespace prekond::tpetra::impl
