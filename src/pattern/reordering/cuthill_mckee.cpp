// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pattern/reordering/cuthill_mckee.hpp"

#include "core/instantiate.hpp"
#include "pattern/reordering/level_search.hpp"
#include "pattern/reordering/sequential_search.hpp"

namespace prekond {
namespace reordering {
namespace {

template <class Space>
struct Reverse {
  VectorView<const int, Space> order;
  VectorView<int, Space> permutation;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    permutation(i) = order(static_cast<std::int64_t>(order.extent(0)) - 1 - i);
  }
};

/// \returns the seconds of it
template <class Space>
double search_on_host(const Space& space, const RankedGraph<Space>& ranked, const Vector<int, Space>& order) {
  const Kokkos::HostSpace host;
  space.fence("prekond::reordering::search_on_host");
  const Kokkos::Timer timer;
  const auto row_ptrs = Kokkos::create_mirror_view_and_copy(host, ranked.graph.row_ptrs);
  const auto col_idxs = Kokkos::create_mirror_view_and_copy(host, ranked.graph.col_idxs);
  const auto rank = Kokkos::create_mirror_view_and_copy(host, ranked.rank);
  const auto result = Kokkos::create_mirror_view(host, order);
  SequentialSearch(ranked.graph.num_rows, row_ptrs.data(), col_idxs.data(), rank.data(), result.data())();
  Kokkos::deep_copy(order, result);
  return timer.seconds();
}

}  // namespace

template <class Space>
Ordering<Space> reverse_cuthill_mckee(const Space& space, const CsrGraphView<Space>& a, Search search) {
  const RankedGraph<Space> ranked = rank_neighbours<Space>(space, a);
  const auto order = allocate<Vector<int, Space>>(space, "prekond::reordering::order", a.num_rows);
  const bool found = search != Search::sequential &&
                     LevelSearch<Space>(space, ranked, order)(search == Search::by_wide_levels);
  const double host_seconds = found ? 0 : search_on_host<Space>(space, ranked, order);
  const auto permutation =
      allocate<Vector<int, Space>>(space, "prekond::reordering::permutation", a.num_rows);
  Kokkos::parallel_for("prekond::reordering::reverse",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, a.num_rows),
                       Reverse<Space>{order, permutation});
  auto result = make_ordering<Space>(space, permutation);
  result.host_seconds = host_seconds;
  return result;
}

}  // namespace reordering

template <class Space>
Ordering<Space> reverse_cuthill_mckee(const Space& space,
                                      const std::type_identity_t<CsrGraphView<Space>>& a) {
  using reordering::Search;
  constexpr Search search = is_host_space<Space> ? Search::sequential : Search::by_wide_levels;
  return reordering::reverse_cuthill_mckee<Space>(space, a, search);
}

#define PREKOND_CUTHILL_MCKEE(Space)                                 \
  template Ordering<Space> reordering::reverse_cuthill_mckee<Space>( \
      const Space&, const CsrGraphView<Space>&, reordering::Search); \
  template Ordering<Space> reverse_cuthill_mckee<Space>(const Space&, const CsrGraphView<Space>&);
PREKOND_INSTANTIATE_SPACES(PREKOND_CUTHILL_MCKEE)

}  // namespace prekond
