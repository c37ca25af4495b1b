// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_graph.hpp>
#include "precond/multigrid/aggregation/aggregate.hpp"

#include <cstdint>

namespace prekond::impl::amg {

/// The pattern nodes x aggregates: a node's one column is its aggregate; it has none where it is in none.
template <class Space>
CsrGraph<Space> membership(const Space& space, const Aggregates<Space>& aggregates);

/// Patterns by nodes and aggregates. The patterns by rows have whole blocks.
template <class Space>
struct NodePatterns {
  CsrGraph<Space> prolongator;        ///< P
  CsrGraph<Space> times_prolongator;  ///< A P
  CsrGraph<Space> restriction;        ///< P^T
  CsrGraph<Space> coarse;             ///< P^T A P
};

/// P's: `kept` are those of A_F, with the diagonal; 0 x 0 where `membership` is P's pattern itself.
template <class Space>
CsrGraph<Space> prolongator_nodes(const Space& space, const CsrGraph<Space>& kept,
                                  const CsrGraph<Space>& membership);

/// `nodes`: A's; `prolongator`: P's.
template <class Space>
NodePatterns<Space> node_patterns(const Space& space, const CsrGraphView<Space>& nodes,
                                  const CsrGraph<Space>& prolongator);

}  // namespace prekond::impl::amg
