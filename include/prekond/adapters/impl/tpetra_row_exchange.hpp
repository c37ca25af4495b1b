// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Rows of other ranks by their global numbers.
#include <prekond/adapters/impl/tpetra_import.hpp>
#include <prekond/distributed/row_exchange.hpp>

#include <memory>
#include <vector>

namespace prekond::tpetra::impl {

/// Exchanges of the rows `numbers`, in that order. Collective. (Tpetra's importAndFillCompleteCrsMatrix makes
/// a matrix of them, with maps and plans of its own.) \pre checked_numbers
template <class Scalar, class Node, class Map>
std::unique_ptr<const RowExchange<Scalar, typename Node::execution_space>> make_row_exchange(
    const Teuchos::RCP<const Map>& rows, const std::vector<typename Map::global_ordinal_type>& numbers) {
  const Tpetra::Import<typename Map::local_ordinal_type, typename Map::global_ordinal_type, Node> import(
      rows, map_of(numbers, *rows));
  using Space = typename Node::execution_space;
  const RowPlan plan = plan_of(import);
  return planned_row_exchange<Scalar, Space>(
      plan.neighbours, plan.lists(Space()),
      [comm = message_comm<Space>(*rows->getComm())]<class T>(T, const Neighbours& neighbours) {
        return make_messages<T>(comm, neighbours);
      });
}

}  // namespace prekond::tpetra::impl
