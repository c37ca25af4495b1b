// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/pattern/impl/symmetrize.hpp>
#include <prekond/pattern/reordering.hpp>

#include "core/instantiate.hpp"
#include "pattern/partition/host_partition.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#ifdef PREKOND_HAS_AMD
#include <amd.h>
#endif
#ifdef PREKOND_HAS_METIS
#include <metis.h>
#endif

// The two libraries order, both on the host, the graph of A + A^T without its diagonal.
namespace prekond {
namespace {

/// \throws OptionError, the only thing that is done where a library is missing
[[maybe_unused]] [[noreturn]] void refuse(const std::string& what, const std::string& library,
                                          const std::string& package) {
  throw OptionError(what + " needs " + library + ", which this build does not have; install it (Debian: " +
                    package + ") and configure once more, or take another order");
}

#if defined(PREKOND_HAS_AMD) || defined(PREKOND_HAS_METIS)
template <class Index>
struct HostAdjacency {
  std::vector<Index> row_ptrs;
  std::vector<Index> col_idxs;
};

/// A + A^T, which may be copied.
template <class Space>
CsrGraph<Space> finished_graph(const Space& space, const CsrGraphView<Space>& a) {
  const CsrGraph<Space> graph = symmetrize<Space>(space, a);
  space.fence("prekond::reordering::finished_graph");
  return graph;
}

/// \throws InputError
template <class Index, class Space>
HostAdjacency<Index> host_adjacency(const CsrGraph<Space>& graph) {
  if (static_cast<std::uint64_t>(graph.nnz()) > static_cast<std::uint64_t>(std::numeric_limits<Index>::max()))
    throw InputError("nested dissection: A + A^T has " + std::to_string(graph.nnz()) +
                     " entries, more than the integers of this build's METIS count; take the order rcm");
  const auto row_ptrs = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), graph.row_ptrs);
  const auto col_idxs = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), graph.col_idxs);
  HostAdjacency<Index> result;
  result.row_ptrs.reserve(static_cast<std::size_t>(graph.num_rows) + 1);
  result.col_idxs.reserve(col_idxs.extent(0));
  result.row_ptrs.push_back(0);
  for (std::int64_t i = 0; i < graph.num_rows; ++i) {
    for (std::size_t k = row_ptrs(i); k < row_ptrs(i + 1); ++k)
      if (col_idxs(k) != i) result.col_idxs.push_back(static_cast<Index>(col_idxs(k)));
    result.row_ptrs.push_back(static_cast<Index>(result.col_idxs.size()));
  }
  return result;
}

template <class Space, class Index>
Ordering<Space> to_ordering(const Space& space, const std::vector<Index>& rows, const Kokkos::Timer& timer) {
  const auto permutation =
      allocate<Vector<int, Space>>(space, "prekond::reordering::permutation", rows.size());
  const auto host = Kokkos::create_mirror_view(Kokkos::HostSpace(), permutation);
  space.fence("prekond::reordering::to_ordering");
  std::transform(rows.begin(), rows.end(), host.data(), [](Index row) { return static_cast<int>(row); });
  Kokkos::deep_copy(permutation, host);
  const double seconds = timer.seconds();
  auto result = make_ordering<Space>(space, permutation);
  result.host_seconds = seconds;
  return result;
}
#endif

}  // namespace

bool has_minimum_degree() {
#ifdef PREKOND_HAS_AMD
  return true;
#else
  return false;
#endif
}

bool has_nested_dissection() {
#ifdef PREKOND_HAS_METIS
  return true;
#else
  return false;
#endif
}

template <class Space>
Ordering<Space> minimum_degree(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& a) {
#ifdef PREKOND_HAS_AMD
  const CsrGraph<Space> symmetric = finished_graph<Space>(space, a);
  const Kokkos::Timer timer;
  auto graph = host_adjacency<std::int64_t>(symmetric);
  std::vector<std::int64_t> order(static_cast<std::size_t>(a.num_rows));
  graph.col_idxs.reserve(1);  // AMD refuses null pointers
  order.reserve(1);
  const auto status =
      amd_l_order(a.num_rows, graph.row_ptrs.data(), graph.col_idxs.data(), order.data(), nullptr, nullptr);
  if (status == AMD_OUT_OF_MEMORY) throw std::bad_alloc();
  if (status != AMD_OK) throw std::logic_error("amd_l_order ends with status " + std::to_string(status));
  return to_ordering<Space>(space, order, timer);
#else
  (void)space;
  (void)a;
  refuse("minimum degree", "AMD of SuiteSparse", "libsuitesparse-dev");
#endif
}

template <class Space>
Ordering<Space> nested_dissection(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& a) {
#ifdef PREKOND_HAS_METIS
  const CsrGraph<Space> symmetric = finished_graph<Space>(space, a);
  const Kokkos::Timer timer;
  auto graph = host_adjacency<idx_t>(symmetric);
  auto num_rows = static_cast<idx_t>(a.num_rows);
  std::vector<idx_t> order(static_cast<std::size_t>(a.num_rows)), inverse(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<idx_t>(i);
  // Without an edge there is nothing to dissect.
  if (graph.col_idxs.empty()) return to_ordering<Space>(space, order, timer);
  idx_t options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_NUMBERING] = 0;
  options[METIS_OPTION_SEED] = 1;
  impl::check_memory_for_metis(sizeof(idx_t), graph.row_ptrs.size(), graph.col_idxs.size());
  const std::lock_guard lock(impl::metis_mutex());
  const int status = METIS_NodeND(&num_rows, graph.row_ptrs.data(), graph.col_idxs.data(), nullptr, options,
                                  order.data(), inverse.data());
  if (status == METIS_ERROR_MEMORY) throw std::bad_alloc();
  if (status != METIS_OK) throw std::logic_error("METIS_NodeND ends with status " + std::to_string(status));
  return to_ordering<Space>(space, order, timer);
#else
  (void)space;
  (void)a;
  refuse("nested dissection", "METIS", "libmetis-dev");
#endif
}

#define PREKOND_FILL_REDUCING(Space)                                                        \
  template Ordering<Space> minimum_degree<Space>(const Space&, const CsrGraphView<Space>&); \
  template Ordering<Space> nested_dissection<Space>(const Space&, const CsrGraphView<Space>&);
PREKOND_INSTANTIATE_SPACES(PREKOND_FILL_REDUCING)

}  // namespace prekond
