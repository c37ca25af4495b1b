// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batched/analysis.hpp"

#include <prekond/core/error.hpp>
#include "pattern/power.hpp"

#include "core/instantiate.hpp"
#include "matrix/longest_row.hpp"
#include "sparse_product/transpose_graph.hpp"

#include <limits>
#include <string>

namespace prekond::impl::batched {
namespace {

constexpr std::int64_t most_bytes_of_power = std::int64_t(1) << 36, slab_bytes_of_power = 64000000;

template <class Space>
using Rows = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

/// Rows of a small pattern: a team of one vector of lanes each.
template <class Space>
using RowsByLanes = Kokkos::TeamPolicy<Space>;
template <class Space>
RowsByLanes<Space> by_lanes(const Space& space, const CsrGraphView<Space>& pattern) {
  return {space, static_cast<int>(pattern.num_rows), 1, is_host_space<Space> ? 1 : 32};
}
/// Calls body(i, place) for the entries of the team's row i.
template <class Space, class Body>
KOKKOS_FUNCTION void for_entries(const typename RowsByLanes<Space>::member_type& team,
                                 const CsrGraphView<Space>& pattern, const Body& body) {
  const int i = team.league_rank();
  Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, pattern.row_ptrs(i), pattern.row_ptrs(i + 1)),
                       [&](std::size_t place) { body(i, place); });
}

template <class Space>
struct FindMiddle {
  CsrGraphView<Space> pattern;
  VectorView<int, Space> middle;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    middle(i) = static_cast<int>(pattern.first_from(i, i));
  }
};

/// The place of (i, j): the diagonal's separate place for i = j, -1 where there is no entry.
template <class Space>
KOKKOS_FUNCTION int place_of(const CsrGraphView<Space>& pattern, int i, int j) {
  if (i == j) return static_cast<int>(pattern.col_idxs.extent(0)) + i;
  const std::size_t place = pattern.first_from(i, j);
  return place < pattern.row_ptrs(i + 1) && pattern.col_idxs(place) == j ? static_cast<int>(place) : -1;
}

/// Calls add(first, second) for each product of the entry at `place` of row i. \see Analysis::steps
template <class Space>
struct EachStep {
  CsrGraphView<Space> pattern;
  VectorView<const int, Space> middle;
  template <class Add>
  KOKKOS_FUNCTION void operator()(int i, std::size_t place, const Add& add) const {
    const int k = pattern.col_idxs(place);
    if (k >= i) return;
    for (std::size_t e = middle(k); e < pattern.row_ptrs(k + 1); ++e) {
      const int j = pattern.col_idxs(e);
      if (j == k) continue;
      const int target = place_of<Space>(pattern, i, j);
      if (target >= 0) add(target, static_cast<int>(e));
    }
  }
};

/// \see Analysis::targets
template <class Space>
struct EachTarget {
  CsrGraphView<Space> pattern;
  bool cholesky;
  template <class Add>
  KOKKOS_FUNCTION void operator()(int i, std::size_t place, const Add& add) const {
    const int j = pattern.col_idxs(place);
    if (cholesky && j >= i) return;
    const int end = i < j ? i : j;
    for (std::size_t e = pattern.row_ptrs(i); e < pattern.row_ptrs(i + 1); ++e) {
      const int k = pattern.col_idxs(e);
      if (k >= end) break;
      const int other = cholesky ? place_of<Space>(pattern, j, k) : place_of<Space>(pattern, k, j);
      if (other >= 0) add(static_cast<int>(e), other);
    }
  }
};

template <class Space, class Each>
struct CountProducts {
  CsrGraphView<Space> pattern;
  Each each;
  VectorView<int, Space> counts;
  KOKKOS_FUNCTION void operator()(const typename RowsByLanes<Space>::member_type& team) const {
    for_entries<Space>(team, pattern, [&](int i, std::size_t place) {
      int count = 0;
      each(i, place, [&](int, int) { ++count; });
      counts(place) = count;
    });
  }
};

template <class Space, class Each>
struct FillProducts {
  CsrGraphView<Space> pattern;
  Each each;
  VectorView<const std::size_t, Space> ptrs;
  VectorView<int, Space> first, second;
  KOKKOS_FUNCTION void operator()(const typename RowsByLanes<Space>::member_type& team) const {
    for_entries<Space>(team, pattern, [&](int i, std::size_t place) {
      std::size_t next = ptrs(place);
      each(i, place, [&](int a, int b) {
        first(next) = a;
        second(next++) = b;
      });
    });
  }
};

template <class Space, class Each>
Products<Space> find_products(const Space& space, const CsrGraphView<Space>& pattern, const Each& each) {
  const auto counts = allocate<Vector<int, Space>>(space, "prekond::batched::analyse::counts", pattern.nnz());
  Kokkos::parallel_for("prekond::batched::analyse::count_products", by_lanes<Space>(space, pattern),
                       CountProducts<Space, Each>{pattern, each, counts});
  Products<Space> products;
  std::size_t total = 0;
  std::tie(products.ptrs, total) = scan_row_lengths<Space, VectorView<const int, Space>>(
      space, "prekond::batched::analyse", pattern.nnz(), counts);
  products.first = allocate<Vector<int, Space>>(space, "prekond::batched::analyse::first", total);
  products.second = allocate<Vector<int, Space>>(space, "prekond::batched::analyse::second", total);
  Kokkos::parallel_for(
      "prekond::batched::analyse::fill_products", by_lanes<Space>(space, pattern),
      FillProducts<Space, Each>{pattern, each, products.ptrs, products.first, products.second});
  space.fence("prekond::batched::analyse");  // before the counts are freed
  return products;
}

template <class Space>
struct FindMirrors {
  CsrGraphView<Space> pattern;
  VectorView<int, Space> mirror;
  KOKKOS_FUNCTION void operator()(const typename RowsByLanes<Space>::member_type& team,
                                  std::int64_t& first_alone) const {
    const int i = team.league_rank();
    int alone = 0;
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(team, pattern.row_ptrs(i), pattern.row_ptrs(i + 1)),
        [&](std::size_t place, int& count) {
          mirror(place) = place_of<Space>(pattern, pattern.col_idxs(place), i);
          count += mirror(place) < 0;
        },
        alone);
    Kokkos::single(Kokkos::PerThread(team), [&] {
      if (alone > 0 && i < first_alone) first_alone = i;
    });
  }
};

template <class Space>
void find_mirrors(const Space& space, Analysis<Space>& analysis) {
  const auto& pattern = analysis.pattern;
  analysis.mirror = allocate<Vector<int, Space>>(space, "prekond::batched::analyse::mirror", pattern.nnz());
  std::int64_t alone = pattern.num_rows;
  Kokkos::parallel_reduce("prekond::batched::analyse::mirrors", by_lanes<Space>(space, pattern),
                          FindMirrors<Space>{pattern, analysis.mirror}, Kokkos::Min<std::int64_t>(alone));
  if (alone < pattern.num_rows)
    throw InputError("batched: ic0 needs a symmetric pattern, and row " + std::to_string(alone + 1) +
                         " has an entry whose mirror image is not stored; store it as a zero, or choose ilu0",
                     alone);
}

/// Diagonal blocks of `size` rows; the last one has the remaining rows.
template <class Space>
struct FillBlocks {
  std::int64_t num_rows;
  int size;
  VectorView<std::size_t, Space> row_ptrs;
  VectorView<int, Space> col_idxs;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const std::int64_t begin = i / size * size, end = begin + size < num_rows ? begin + size : num_rows;
    std::size_t place = static_cast<std::size_t>(begin) * size + (i - begin) * (end - begin);
    if (i == 0) row_ptrs(0) = 0;
    row_ptrs(i + 1) = place + (end - begin);
    for (std::int64_t j = begin; j < end; ++j) col_idxs(place++) = static_cast<int>(j);
  }
};

template <class Space>
CsrGraph<Space> block_pattern(const Space& space, std::int64_t n, int size) {
  const std::int64_t rest = n % size, nnz = (n - rest) * size + rest * rest;
  CsrGraph<Space> pattern;
  pattern.num_rows = pattern.num_cols = n;
  const auto row_ptrs =
      allocate_zero<Vector<std::size_t, Space>>(space, "prekond::batched::analyse::row_ptrs", n + 1);
  const auto col_idxs = allocate<Vector<int, Space>>(space, "prekond::batched::analyse::col_idxs", nnz);
  Kokkos::parallel_for("prekond::batched::analyse::blocks", Rows<Space>(space, 0, n),
                       FillBlocks<Space>{n, size, row_ptrs, col_idxs});
  pattern.row_ptrs = row_ptrs;
  pattern.col_idxs = col_idxs;
  return pattern;
}

template <class Space>
struct FindPlaces {
  CsrGraphView<Space> pattern, transposed;
  VectorView<int, Space> places;
  KOKKOS_FUNCTION void operator()(const typename RowsByLanes<Space>::member_type& team) const {
    for_entries<Space>(team, transposed, [&](int j, std::size_t k) {
      places(k) = static_cast<int>(pattern.first_from(transposed.col_idxs(k), j));
    });
  }
};

template <class Space>
CsrGraph<Space> power_of(const Space& space, const CsrGraphView<Space>& graph, int power) {
  return prekond::power<Space>(space, graph, power, most_bytes_of_power, slab_bytes_of_power);
}
template <class Space>
CsrGraph<Space> lower_power_of(const Space& space, const CsrGraphView<Space>& graph, int power) {
  return lower_power<Space>(space, graph, power, most_bytes_of_power, slab_bytes_of_power);
}

/// The pattern of G and its transpose.
template <class Space>
void find_local_lower(const Space& space, Analysis<Space>& analysis, int power) {
  analysis.local = lower_power_of<Space>(space, analysis.pattern, power);
  if (analysis.local.nnz() >= std::numeric_limits<int>::max())
    throw InputError("batched: the pattern of fsai has " + std::to_string(analysis.local.nnz()) +
                     " entries; it has to have fewer than 2^31, choose a smaller power");
  analysis.transposed = transpose_graph<Space>(space, analysis.local);
  analysis.places =
      allocate<Vector<int, Space>>(space, "prekond::batched::analyse::places", analysis.local.nnz());
  Kokkos::parallel_for("prekond::batched::analyse::places", by_lanes<Space>(space, analysis.transposed),
                       FindPlaces<Space>{analysis.local, analysis.transposed, analysis.places});
}

/// Powers of the triangles with their diagonals: paths along entries of L only, or of U only.
template <class Space>
void find_local_triangles(const Space& space, Analysis<Space>& analysis, int power) {
  const CsrGraph<Space> lower = lower_power_of<Space>(space, analysis.pattern, 1);
  const CsrGraph<Space> flipped = transpose_graph<Space>(space, analysis.pattern);
  const CsrGraph<Space> upper = transpose_graph<Space>(space, lower_power_of<Space>(space, flipped, 1));
  analysis.local = power_of<Space>(space, lower, power);
  analysis.local_upper = power_of<Space>(space, upper, power);
}

template <class Space>
void find_local(const Space& space, Analysis<Space>& analysis, unsigned parts,
                const BatchedOptions& options) {
  if (parts & local_blocks) analysis.local = block_pattern(space, analysis.num_rows, options.block_size);
  if (parts & local_power) analysis.local = power_of<Space>(space, analysis.pattern, options.power);
  if (parts & local_lower) find_local_lower(space, analysis, options.power);
  if (parts & local_triangles) find_local_triangles(space, analysis, options.power);
  analysis.longest_local_row = static_cast<int>(longest_row<Space>(space, analysis.local.row_ptrs).length);
}

}  // namespace

template <class Space>
void analyse(const Space& space, Analysis<Space>& analysis, unsigned parts, const BatchedOptions& options) {
  const CsrGraphView<Space>& pattern = analysis.pattern;
  constexpr unsigned local_parts = local_power | local_blocks | local_lower | local_triangles;
  if (parts & local_parts) find_local(space, analysis, parts, options);
  if ((parts & ~local_parts) == 0) return;
  analysis.middle =
      allocate<Vector<int, Space>>(space, "prekond::batched::analyse::middle", pattern.num_rows);
  Kokkos::parallel_for("prekond::batched::analyse::middle", Rows<Space>(space, 0, pattern.num_rows),
                       FindMiddle<Space>{pattern, analysis.middle});
  if (parts & triangles) {
    analysis.lower = level_schedule(space, pattern, Triangle::lower);
    analysis.upper = level_schedule(space, pattern, Triangle::upper);
  }
  if (parts & steps)
    analysis.steps = find_products(space, pattern, EachStep<Space>{pattern, analysis.middle});
  if (parts & targets) analysis.targets = find_products(space, pattern, EachTarget<Space>{pattern, false});
  if (parts & cholesky) {
    find_mirrors(space, analysis);
    analysis.targets = find_products(space, pattern, EachTarget<Space>{pattern, true});
  }
  space.fence("prekond::batched::analyse");
}

#define PREKOND_BATCHED_ANALYSE(Space) \
  template void analyse<Space>(const Space&, Analysis<Space>&, unsigned, const BatchedOptions&);
PREKOND_INSTANTIATE_SPACES(PREKOND_BATCHED_ANALYSE)

}  // namespace prekond::impl::batched
