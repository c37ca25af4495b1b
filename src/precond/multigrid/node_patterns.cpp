// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/multigrid/node_patterns.hpp"

#include <prekond/sparse_product/spgemm.hpp>

#include "core/instantiate.hpp"
#include "sparse_product/transpose_graph.hpp"

namespace prekond::impl::amg {
namespace {

constexpr std::int64_t any_size = std::int64_t(1) << 40, workspace_bytes = std::int64_t(256) << 20;

template <class Space>
using Nodes = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

template <class Space>
struct IsMember {
  VectorView<const int, Space> part;
  KOKKOS_FUNCTION int operator()(std::int64_t node) const { return part(node) < 0 ? 0 : 1; }
};

template <class Space>
struct WriteMembership {
  VectorView<const int, Space> part;
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<int, Space> col_idxs;
  KOKKOS_FUNCTION void operator()(std::int64_t node) const {
    if (part(node) >= 0) col_idxs(row_ptrs(node)) = part(node);
  }
};

}  // namespace

template <class Space>
CsrGraph<Space> membership(const Space& space, const Aggregates<Space>& aggregates) {
  const std::int64_t nodes = static_cast<std::int64_t>(aggregates.part.extent(0));
  const auto [row_ptrs, nnz] =
      scan_row_lengths(space, "prekond::amg::membership", nodes, IsMember<Space>{aggregates.part});
  const auto col_idxs = allocate<Vector<int, Space>>(space, "prekond::amg::membership::col_idxs", nnz);
  Kokkos::parallel_for("prekond::amg::membership", Nodes<Space>(space, 0, nodes),
                       WriteMembership<Space>{aggregates.part, row_ptrs, col_idxs});
  return {nodes, aggregates.count, row_ptrs, col_idxs};
}

template <class Space>
CsrGraph<Space> prolongator_nodes(const Space& space, const CsrGraph<Space>& kept,
                                  const CsrGraph<Space>& membership) {
  if (kept.num_rows == 0) return membership;
  return product_pattern<Space>(space, kept, membership, any_size, workspace_bytes);
}

template <class Space>
NodePatterns<Space> node_patterns(const Space& space, const CsrGraphView<Space>& nodes,
                                  const CsrGraph<Space>& p) {
  NodePatterns<Space> result;
  result.prolongator = p;
  result.times_prolongator = product_pattern<Space>(space, nodes, p, any_size, workspace_bytes);
  result.restriction = transpose_graph<Space>(space, p, p.num_cols);
  result.coarse =
      product_pattern<Space>(space, result.restriction, result.times_prolongator, any_size, workspace_bytes);
  return result;
}

#define PREKOND_AMG_NODE_PATTERNS(Space)                                                      \
  template CsrGraph<Space> membership<Space>(const Space&, const Aggregates<Space>&);         \
  template CsrGraph<Space> prolongator_nodes<Space>(const Space&, const CsrGraph<Space>&,     \
                                                    const CsrGraph<Space>&);                  \
  template NodePatterns<Space> node_patterns<Space>(const Space&, const CsrGraphView<Space>&, \
                                                    const CsrGraph<Space>&);
PREKOND_INSTANTIATE_SPACES(PREKOND_AMG_NODE_PATTERNS)

}  // namespace prekond::impl::amg
