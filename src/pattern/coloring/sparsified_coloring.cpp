// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/pattern/coloring.hpp>
#include <prekond/pattern/impl/symmetrize.hpp>
#include "matrix/filter_entries.hpp"
#include "matrix/find_entry.hpp"

#include "core/instantiate.hpp"
#include "core/row_teams.hpp"

#include <string>

namespace prekond {
namespace impl::sparsify {

/// w_ij, and the largest of each row.
template <class Scalar, class Space>
struct WeighEdges {
  using Rows = RowTeams<Space>;
  CsrView<Scalar, Space> a;
  CsrGraphView<Space> s;
  VectorView<Scalar, Space> weights;
  VectorView<Scalar, Space> largest;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{s.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const std::size_t begin = s.row_ptrs(i);
      Scalar most = 0;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, static_cast<int>(s.row_ptrs(i + 1) - begin)),
          [&](int k, Scalar& sofar) {
            const int j = s.col_idxs(begin + k);
            std::size_t place = 0;
            const Scalar there = Kokkos::abs(find_entry(a, i, j, place));
            const Scalar back = Kokkos::abs(find_entry(a, j, i, place));
            const Scalar weight = there > back ? there : back;
            weights(begin + k) = weight;
            if (j != i && weight > sofar) sofar = weight;
          },
          Kokkos::Max<Scalar>(most));
      Kokkos::single(Kokkos::PerThread(team), [&] { largest(i) = most; });
    });
  }
};

/// The edges that neither row drops; without the diagonal, and without zeros.
template <class Scalar, class Space>
struct IsKept {
  CsrView<Scalar, Space> edges;
  VectorView<const Scalar, Space> largest;
  double theta;
  int most_neighbours;  ///< of a row that drops nothing

  KOKKOS_FUNCTION bool operator()(std::int64_t i, std::size_t k) const {
    const int j = edges.col_idxs(k);
    return j != i && edges.values(k) != Scalar(0) && !drops(i, edges.values(k)) && !drops(j, edges.values(k));
  }
  KOKKOS_FUNCTION bool drops(std::int64_t i, Scalar weight) const {
    return static_cast<std::int64_t>(edges.row_ptrs(i + 1) - edges.row_ptrs(i)) > most_neighbours &&
           weight < theta * largest(i);
  }
};

}  // namespace impl::sparsify

template <class Scalar, class Space>
SparsifiedColoring<Space> color_sparsified(const Space& space, const CsrView<Scalar, Space>& a,
                                           const SparsifyOptions& options, const ColoringOptions& coloring) {
  namespace kernels = impl::sparsify;
  using Weights = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;
  if (!(options.threshold >= 0 && options.threshold <= 1))
    throw InputError("coloring: the sparsification's threshold is " + std::to_string(options.threshold) +
                     "; it has to be between 0 and 1");
  if (options.max_colors < 1 || options.max_rounds < 0)
    throw InputError("coloring: the sparsification has max_colors = " + std::to_string(options.max_colors) +
                     " and max_rounds = " + std::to_string(options.max_rounds) +
                     "; they have to be >= 1 and >= 0");
  impl::check_coloring<Space>(a, coloring);
  SparsifiedColoring<Space> result;
  if (a.num_rows == 0) {
    result.coloring = color_graph<Space>(space, a, coloring);
    return result;
  }
  const std::int64_t n = a.num_rows;
  const CsrGraph<Space> s = symmetrize<Space>(space, a);
  Weights edges(n, n, s.row_ptrs, s.col_idxs,
                allocate<Vector<Scalar, Space>>(space, "prekond::sparsify::weights", s.nnz()));
  const auto largest = allocate<Vector<Scalar, Space>>(space, "prekond::sparsify::largest", n);
  Kokkos::parallel_for("prekond::sparsify::weigh", impl::RowTeams<Space>::policy(space, n, s.nnz()),
                       kernels::WeighEdges<Scalar, Space>{a, s, edges.values, largest});
  const auto filter = [&](int most_neighbours) {
    edges = filter_entries<Scalar, Space>(
        space, edges, kernels::IsKept<Scalar, Space>{edges, largest, options.threshold, most_neighbours});
  };
  filter(static_cast<int>(n));  // only the diagonal and zeros
  const std::int64_t all = edges.nnz();
  result.coloring = impl::color_symmetric<Space>(space, edges, coloring);
  result.num_colors_before = result.coloring.num_colors;
  while (result.coloring.num_colors > options.max_colors && result.rounds < options.max_rounds) {
    const std::int64_t before = edges.nnz();
    filter(result.coloring.num_colors - 2);
    if (edges.nnz() == before) break;
    result.coloring = impl::color_symmetric<Space>(space, edges, coloring);
    ++result.rounds;
  }
  result.dropped_edges = (all - edges.nnz()) / 2;
  return result;
}

#define PREKOND_SPARSIFIED_COLORING(Scalar, Space)                    \
  template SparsifiedColoring<Space> color_sparsified<Scalar, Space>( \
      const Space&, const CsrView<Scalar, Space>&, const SparsifyOptions&, const ColoringOptions&);
PREKOND_INSTANTIATE(PREKOND_SPARSIFIED_COLORING)

}  // namespace prekond
