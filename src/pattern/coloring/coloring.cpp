// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/pattern/coloring.hpp>
#include <prekond/pattern/impl/symmetrize.hpp>

#include "core/instantiate.hpp"
#include "pattern/coloring/bipartite.hpp"
#include "pattern/coloring/color_order.hpp"
#include "pattern/coloring/greedy.hpp"

#include <algorithm>
#include <limits>
#include <string>

namespace prekond {
namespace {

void check(const ColoringOptions& options) {
  if (options.distance != 1 && options.distance != 2)
    throw InputError("coloring: distance = " + std::to_string(options.distance) + "; it has to be 1 or 2");
  if (options.max_rounds < 0)
    throw InputError("coloring: max_rounds = " + std::to_string(options.max_rounds) + "; it has to be >= 0");
}

template <class Space>
struct SmallestAndLargest {
  VectorView<const int, Space> colors;
  KOKKOS_FUNCTION void operator()(std::int64_t i, int& least, int& most) const {
    if (colors(i) < least) least = colors(i);
    if (colors(i) > most) most = colors(i);
  }
};

template <class Space>
void color_greedily(const Space& space, const CsrGraphView<Space>& s, const ColoringOptions& options,
                    Coloring<Space>& result) {
  namespace kernels = impl::coloring;
  const std::int64_t n = s.num_rows;
  const Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>> rows(space, 0, n);
  const auto list = [&](const char* label) { return allocate<Vector<int, Space>>(space, label, n); };
  const auto priority = allocate<Vector<std::uint64_t, Space>>(space, "prekond::coloring::priority", n);
  const auto waits_for = list("prekond::coloring::waits_for");
  const auto now = list("prekond::coloring::rows"), next = list("prekond::coloring::next_rows");
  const auto progress =
      allocate_zero<Vector<kernels::Progress, Space>>(space, "prekond::coloring::progress", 1);
  const kernels::Greedy<Space> greedy{s,         options.distance, priority, result.colors,
                                      waits_for, {now, next},      progress};
  Kokkos::deep_copy(space, result.colors, -1);
  kernels::Progress so_far{};
  const auto run = [&](ColoringOrder order, std::int64_t max_rounds) {
    Kokkos::parallel_for("prekond::coloring::priorities", rows,
                         kernels::Priorities<Space>{s, order, priority});
    return kernels::run_rounds(space, greedy, progress, max_rounds, so_far);
  };
  if (run(options.order, options.max_rounds))
    run(ColoringOrder::hash, std::numeric_limits<std::int64_t>::max());
  result.rounds = so_far.rounds;
  result.num_colors = so_far.num_colors;
}

}  // namespace

namespace impl {

template <class Space>
void check_coloring(const std::type_identity_t<CsrGraphView<Space>>& s, const ColoringOptions& options) {
  check(options);
  if (s.num_cols < s.num_rows)
    throw InputError("coloring: the pattern is " + std::to_string(s.num_rows) + " x " +
                     std::to_string(s.num_cols) + "; it has to have a column for each row");
}

template <class Space>
Coloring<Space> color_symmetric(const Space& space, const CsrGraphView<Space>& s,
                                const ColoringOptions& options) {
  check_coloring<Space>(s, options);
  const std::int64_t n = s.num_rows;
  Coloring<Space> result;
  result.colors = allocate<Vector<int, Space>>(space, "prekond::coloring::colors", n);
  result.permutation = allocate<Vector<int, Space>>(space, "prekond::coloring::permutation", n);
  if (n == 0) return result;
  if (options.two_colors && options.distance == 1)
    result.num_colors = coloring::color_by_parity(space, s, result.colors);
  if (result.num_colors == 0) color_greedily(space, s, options, result);
  result.color_ptrs = coloring::order_by_color(space, result.colors, result.num_colors, result.permutation);
  return result;
}

}  // namespace impl

template <class Space>
Coloring<Space> color_graph(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& s,
                            const ColoringOptions& options) {
  impl::check_coloring<Space>(s, options);
  const CsrGraph<Space> graph = symmetrize<Space>(space, s);
  return impl::color_symmetric<Space>(space, graph, options);
}

template <class Space>
Coloring<Space> coloring_of(const Space& space, const Vector<int, Space>& colors) {
  const auto n = static_cast<std::int64_t>(colors.extent(0));
  Coloring<Space> result;
  result.colors = colors;
  result.permutation = allocate<Vector<int, Space>>(space, "prekond::coloring::permutation", n);
  if (n == 0) return result;
  int least = 0, most = 0;
  Kokkos::parallel_reduce("prekond::coloring::range",
                          Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, n),
                          SmallestAndLargest<Space>{colors}, Kokkos::Min<int>(least), Kokkos::Max<int>(most));
  if (least < 0)
    throw InputError("coloring: there is a row of colour " + std::to_string(least) +
                     "; colours are numbers from 0 on");
  if (most >= n)
    throw InputError("coloring: there is a row of colour " + std::to_string(most) + "; " + std::to_string(n) +
                     " rows have colours below " + std::to_string(n));
  result.num_colors = most + 1;
  result.color_ptrs =
      impl::coloring::order_by_color(space, result.colors, result.num_colors, result.permutation);
  return result;
}

template <class Space>
Coloring<Space> renumber_by_degree(const Space& space, const Coloring<Space>& coloring,
                                   const std::type_identity_t<CsrGraphView<Space>>& s) {
  namespace kernels = impl::coloring;
  const std::int64_t n = coloring.num_rows();
  if (n != s.num_rows)
    throw InputError("coloring: there are colours of " + std::to_string(n) + " rows, and the pattern has " +
                     std::to_string(s.num_rows));
  const int count = coloring.num_colors;
  if (count < 2) return coloring;
  const auto to_device = [&](const std::vector<int>& values, const char* label) {
    const auto result = allocate<Vector<int, Space>>(space, label, values.size());
    Kokkos::deep_copy(space, result,
                      Kokkos::View<const int*, Kokkos::HostSpace>(values.data(), values.size()));
    return result;
  };
  const auto entries =
      allocate_zero<Vector<std::int64_t, Space>>(space, "prekond::coloring::entries_of_colors", count);
  const auto color_ptrs = to_device(coloring.color_ptrs, "prekond::coloring::color_ptrs");
  using Count = kernels::CountEntriesOfColors<Space>;
  Kokkos::parallel_for("prekond::coloring::count_entries", Count::policy(space, n),
                       Count{s, coloring.colors, coloring.permutation, color_ptrs, entries});
  std::vector<std::int64_t> sums(count);
  Kokkos::deep_copy(space, Kokkos::View<std::int64_t*, Kokkos::HostSpace>(sums.data(), sums.size()), entries);
  space.fence("prekond::coloring::entries_of_colors");
  const std::vector<int> order = kernels::colors_by_mean(sums, coloring.color_ptrs);
  if (std::is_sorted(order.begin(), order.end())) return coloring;
  Coloring<Space> result;
  result.num_colors = count;
  result.rounds = coloring.rounds;
  std::vector<int> numbers(count), shifts(count);
  for (int number = 0; number < count; ++number) {
    const int color = order[number], begin = coloring.color_ptrs[color];
    numbers[color] = number;
    shifts[color] = result.color_ptrs.back() - begin;
    result.color_ptrs.push_back(result.color_ptrs.back() + coloring.color_ptrs[color + 1] - begin);
  }
  result.colors = allocate<Vector<int, Space>>(space, "prekond::coloring::colors", n);
  result.permutation = allocate<Vector<int, Space>>(space, "prekond::coloring::permutation", n);
  Kokkos::parallel_for(
      "prekond::coloring::renumber", Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, n),
      kernels::RenumberColors<Space>{
          coloring.colors, coloring.permutation, to_device(numbers, "prekond::coloring::numbers"),
          to_device(shifts, "prekond::coloring::shifts"), result.colors, result.permutation});
  space.fence("prekond::coloring::renumbered");  // the host's numbers go away
  return result;
}

#define PREKOND_COLORING(Space)                                                                   \
  template Coloring<Space> color_graph<Space>(const Space&, const CsrGraphView<Space>&,           \
                                              const ColoringOptions&);                            \
  template Coloring<Space> coloring_of<Space>(const Space&, const Vector<int, Space>&);           \
  template Coloring<Space> renumber_by_degree<Space>(const Space&, const Coloring<Space>&,        \
                                                     const CsrGraphView<Space>&);                 \
  template void impl::check_coloring<Space>(const CsrGraphView<Space>&, const ColoringOptions&);  \
  template Coloring<Space> impl::color_symmetric<Space>(const Space&, const CsrGraphView<Space>&, \
                                                        const ColoringOptions&);
PREKOND_INSTANTIATE_SPACES(PREKOND_COLORING)

}  // namespace prekond
