// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pattern/partition/partition_by_multilevel.hpp"
#include "core/instantiate.hpp"
#include "pattern/partition/bisect.hpp"
#include "pattern/partition/move_vertices.hpp"

#include <vector>

namespace prekond::impl::partition {
namespace {

template <class Space>
struct One {
  VectorView<int, Space> weight;
  KOKKOS_FUNCTION void operator()(std::int64_t v) const { weight(v) = 1; }
};

template <class Space>
struct Inherit {
  VectorView<const int, Space> vertex, coarse;
  VectorView<int, Space> piece;
  KOKKOS_FUNCTION void operator()(std::int64_t v) const { piece(v) = coarse(vertex(v)); }
};

/// The graph and coarser ones, each of the vertices of the one before.
template <class Space>
std::vector<Coarsened<Space>> coarser_graphs(const Space& space, const WeightedGraph<Space>& finest) {
  std::vector<Coarsened<Space>> all{{finest, {}}};
  while (all.back().graph.size() > MultilevelTuning::coarsest) {
    auto next = coarsen<Space>(space, all.back().graph, static_cast<int>(all.size()));
    if (next.graph.size() == all.back().graph.size()) break;  // no edges
    all.push_back(std::move(next));
  }
  return all;
}

/// The pieces of vertices that are those of the coarser ones that they are in.
template <class Space>
Vector<int, Space> inherited(const Space& space, const Vector<int, Space>& vertex,
                             const Vector<int, Space>& coarse) {
  const auto piece = allocate<Vector<int, Space>>(space, "prekond::partition::piece", vertex.extent(0));
  Kokkos::parallel_for("prekond::partition::inherit", Rows<Space>(space, 0, vertex.extent(0)),
                       Inherit<Space>{vertex, coarse, piece});
  space.fence("prekond::partition::inherited");  // the coarser ones go away
  return piece;
}

}  // namespace

template <class Space>
Vector<int, Space> partition_by_multilevel(const Space& space, const CsrGraphView<Space>& graph,
                                           std::int64_t num_parts) {
  WeightedGraph<Space> finest{
      graph, allocate<Vector<int, Space>>(space, "prekond::partition::weight", graph.num_rows), {}};
  Kokkos::parallel_for("prekond::partition::one", Rows<Space>(space, 0, graph.num_rows),
                       One<Space>{finest.weight});
  auto graphs = coarser_graphs<Space>(space, finest);
  Pieces<Space> pieces(space, graph.num_rows, num_parts);
  auto piece =
      allocate_zero<Vector<int, Space>>(space, "prekond::partition::piece", graphs.back().graph.size());
  VertexMoves<Space> moves(space, pieces);
  const Bisection<Space> bisection(space, pieces);
  while (true) {
    const WeightedGraph<Space> level = graphs.back().graph;
    const bool is_finest = graphs.size() == 1;
    const std::int64_t wanted = is_finest ? num_parts : level.size() / MultilevelTuning::vertices;
    const std::int64_t share = is_finest ? num_parts : std::int64_t(MultilevelTuning::share);
    moves.move(space, level, pieces, piece);
    while (pieces.count < wanted) {
      const std::int64_t cut = bisection.cut(space, level, is_finest, pieces, piece);
      if (share * cut < pieces.count) break;
      moves.move(space, level, pieces, piece);
    }
    if (is_finest) return piece;
    piece = inherited<Space>(space, graphs.back().vertex, piece);
    graphs.pop_back();
  }
}

#define PREKOND_PARTITION_BY_MULTILEVEL(Space)                                                         \
  template Vector<int, Space> partition_by_multilevel<Space>(const Space&, const CsrGraphView<Space>&, \
                                                             std::int64_t);
PREKOND_INSTANTIATE_SPACES(PREKOND_PARTITION_BY_MULTILEVEL)

}  // namespace prekond::impl::partition
