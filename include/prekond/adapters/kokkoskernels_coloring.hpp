// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/error.hpp>
#include <prekond/pattern/coloring.hpp>
#include <prekond/pattern/impl/symmetrize.hpp>

#include <KokkosGraph_Distance1Color.hpp>
#include <KokkosGraph_Distance2Color.hpp>
#include <string>
#include <type_traits>

namespace prekond::kokkoskernels {

namespace impl {
/// Their colours begin with 1.
template <class Space, class Found>
struct CountFromZero {
  Found found;
  VectorView<int, Space> colors;
  KOKKOS_FUNCTION void operator()(int i) const { colors(i) = static_cast<int>(found(i)) - 1; }
};
}  // namespace impl

/// The colours that Kokkos Kernels finds for S + S^T, of distance 1 or 2, and the rows by colour: for
/// Multicolor::set_coloring. Columns >= num_rows are skipped.
///
/// Most of its algorithms are speculative: the colours depend on the timing of threads and may differ from
/// run to run. COLORING_SERIAL, COLORING_VBD and COLORING_VBDBIT are deterministic. `algorithm` is for
/// distance 1; distance 2 uses the library's default.
///
/// Cost: the symmetrisation, and the library's colouring. Memory: the symmetric graph, and what the library
/// allocates. Fences `space` and the default instance. \throws InputError for another distance
template <class Space>
Coloring<Space> color_graph(
    const Space& space, const std::type_identity_t<CsrGraphView<Space>>& s, int distance = 1,
    KokkosGraph::ColoringAlgorithm algorithm = KokkosGraph::ColoringAlgorithm::COLORING_DEFAULT) {
  if (distance != 1 && distance != 2)
    throw InputError("coloring: distance = " + std::to_string(distance) + "; it has to be 1 or 2");
  using Memory = typename Space::memory_space;
  using Handle =
      KokkosKernels::Experimental::KokkosKernelsHandle<std::size_t, int, double, Space, Memory, Memory>;
  const CsrGraph<Space> graph = symmetrize<Space>(space, s);
  const std::int64_t n = graph.num_rows;
  const auto colors = allocate<Vector<int, Space>>(space, "prekond::kokkoskernels::colors", n);
  if (n == 0) return coloring_of<Space>(space, colors);
  // Kokkos Kernels works on the default instance, which waits for `space` here, and `space` for it below.
  space.fence("prekond::kokkoskernels::color_graph");
  Handle handle;
  const auto take = [&](const auto& found) {
    using Found = std::remove_cvref_t<decltype(found)>;
    Kokkos::parallel_for("prekond::kokkoskernels::colors", Kokkos::RangePolicy<Space>(space, 0, n),
                         impl::CountFromZero<Space, Found>{found, colors});
  };
  const auto size = static_cast<int>(n);
  if (distance == 1) {
    handle.create_graph_coloring_handle(algorithm);
    KokkosGraph::Experimental::graph_color(&handle, size, size, graph.row_ptrs, graph.col_idxs);
    Space().fence("prekond::kokkoskernels::found");
    take(handle.get_graph_coloring_handle()->get_vertex_colors());
    space.fence("prekond::kokkoskernels::colored");
    handle.destroy_graph_coloring_handle();
  } else {
    handle.create_distance2_graph_coloring_handle();
    KokkosGraph::Experimental::graph_color_distance2(&handle, size, graph.row_ptrs, graph.col_idxs);
    Space().fence("prekond::kokkoskernels::found");
    take(handle.get_distance2_graph_coloring_handle()->get_vertex_colors());
    space.fence("prekond::kokkoskernels::colored");
    handle.destroy_distance2_graph_coloring_handle();
  }
  return coloring_of<Space>(space, colors);
}

}  // namespace prekond::kokkoskernels
