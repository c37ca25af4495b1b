// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/matrix/sort_rows.hpp>
#include <prekond/pattern/impl/symmetrize.hpp>

#include "core/instantiate.hpp"
#include "pattern/reordering/cuthill_mckee.hpp"
#include "pattern/sorted_rows.hpp"

namespace prekond {
namespace reordering {
namespace {

template <class Space>
using Elements = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

template <class Space>
struct KeyOfDegree {
  CsrGraphView<Space> graph;
  VectorView<std::uint64_t, Space> keys;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const std::size_t k = graph.first_from(i, i), end = graph.row_ptrs(i + 1);
    const bool has_diagonal = k < end && graph.col_idxs(k) == i;
    keys(i) = sort_key(end - graph.row_ptrs(i) - (has_diagonal ? 1 : 0), static_cast<std::uint64_t>(i));
  }
};

/// inverse(permutation(i)) = i.
template <class Space>
struct Invert {
  VectorView<const int, Space> permutation;
  VectorView<int, Space> inverse;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { inverse(permutation(i)) = static_cast<int>(i); }
};

/// x_k = to(x_k).
template <class Space>
struct Rename {
  VectorView<int, Space> x;
  VectorView<const int, Space> to;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const { x(k) = to(x(k)); }
};

}  // namespace

template <class Space>
RankedGraph<Space> rank_neighbours(const Space& space, const CsrGraphView<Space>& a) {
  const CsrGraph<Space> graph = symmetrize<Space>(space, a);
  const std::int64_t n = graph.num_rows;
  const auto keys = allocate<Vector<std::uint64_t, Space>>(space, "prekond::reordering::keys", n);
  Kokkos::parallel_for("prekond::reordering::key_of_degree", Elements<Space>(space, 0, n),
                       KeyOfDegree<Space>{graph, keys});
  const Ordering<Space> by_rank = make_ordering<Space>(space, sorted_rows<Space>(space, keys));
  Kokkos::parallel_for("prekond::reordering::to_ranks", Elements<Space>(space, 0, graph.nnz()),
                       Rename<Space>{graph.col_idxs, by_rank.inverse});
  sort_columns<Space>(space, n, graph.row_ptrs, graph.col_idxs);
  Kokkos::parallel_for("prekond::reordering::to_rows", Elements<Space>(space, 0, graph.nnz()),
                       Rename<Space>{graph.col_idxs, by_rank.permutation});
  return {graph, by_rank.inverse};
}

}  // namespace reordering

template <class Space>
Ordering<Space> make_ordering(const Space& space, const Vector<int, Space>& permutation) {
  const auto inverse =
      allocate<Vector<int, Space>>(space, "prekond::reordering::inverse", permutation.extent(0));
  Kokkos::parallel_for("prekond::reordering::invert",
                       reordering::Elements<Space>(space, 0, permutation.extent(0)),
                       reordering::Invert<Space>{permutation, inverse});
  return {permutation, inverse};
}

#define PREKOND_RANKED_GRAPH(Space)                                                        \
  template Ordering<Space> make_ordering<Space>(const Space&, const Vector<int, Space>&);  \
  template reordering::RankedGraph<Space> reordering::rank_neighbours<Space>(const Space&, \
                                                                             const CsrGraphView<Space>&);
PREKOND_INSTANTIATE_SPACES(PREKOND_RANKED_GRAPH)

}  // namespace prekond
