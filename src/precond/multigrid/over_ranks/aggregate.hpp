// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "precond/multigrid/over_ranks/nodes.hpp"

namespace prekond::impl::amg {

/// Aggregates of all ranks' nodes. They are numbered 0, 1, ... in the order of their roots' numbers.
template <class Space>
struct AggregatesOverRanks {
  std::int64_t num_global = 0;
  Numbers<Space> own;          ///< those whose roots are the rank's, ascending
  Numbers<Space> roots;        ///< nodes, likewise
  Numbers<Space> part;         ///< of each node of S, -1 of one that is in none
  Numbers<Space> others;       ///< of these, those of other ranks, ascending
  Numbers<Space> root;         ///< of the aggregate of each of the rank's own nodes, or -1
  Numbers<Space> other_roots;  ///< of these, those of other ranks, ascending
  int rounds = 0;              ///< of the independent set
};

/// Collective. The aggregates that `aggregate` finds for the graph of all nodes, whatever their distribution:
/// on a device in the same rounds, in which words are exchanged twice each. On a host one thread of a rank
/// looks at its nodes in the order of their numbers, as if the set of the ranks before were what it seems to
/// be, and all do so again until no set changes: as often as there are ranks at most, or there is a chain of
/// ranks each of which has neighbours in the one before. Where the ranks' numbers do not ascend from rank to
/// rank, that is done for the graph in blocks of consecutive numbers.
///
/// `graph`: of the nodes of S, whose rows are whole for nodes of the rank. `in_order`: as a host does; tests
/// have it run as devices do too. \throws InputError on all ranks for 2^32 nodes or more, and where a round
/// decides nothing, which happens only to nonsymmetric graphs
template <class Scalar, class Space>
AggregatesOverRanks<Space> aggregate_over_ranks(const Space& space, const DistributedMatrix<Scalar, Space>& a,
                                                const RankNodes<Scalar, Space>& nodes,
                                                const std::type_identity_t<CsrGraphView<Space>>& graph,
                                                bool in_order = is_host_space<Space>);

}  // namespace prekond::impl::amg
