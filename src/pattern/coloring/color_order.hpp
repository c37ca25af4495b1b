// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Rows by colour, a counting sort; and colours in another order.
#include <prekond/matrix/csr_graph.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace prekond::impl::coloring {

/// Rows in blocks, whose counts of each colour are scanned colour by colour: so a block knows where its rows
/// of a colour go, and keeps their order.
template <class Space>
struct CountColors {
  std::int64_t num_rows, block, blocks;
  VectorView<const int, Space> colors;
  VectorView<int, Space> places;  ///< (color, block)
  VectorView<int, Space> permutation;

  KOKKOS_FUNCTION void operator()(std::int64_t b) const {
    const std::int64_t end = (b + 1) * block < num_rows ? (b + 1) * block : num_rows;
    const bool fill = permutation.extent(0) > 0;
    for (std::int64_t i = b * block; i < end; ++i) {
      const int place = places(colors(i) * blocks + b)++;
      if (fill) permutation(place) = static_cast<int>(i);
    }
  }
};

template <class Space>
struct ScanCounts {
  using value_type = int;
  VectorView<int, Space> counts;
  KOKKOS_FUNCTION void operator()(std::int64_t k, int& sum, bool final) const {
    const int count = counts(k);
    if (final) counts(k) = sum;
    sum += count;
  }
};

template <class Space>
struct PtrsOfColors {
  std::int64_t blocks, num_rows;
  int num_colors;
  VectorView<const int, Space> places;
  VectorView<int, Space> ptrs;
  KOKKOS_FUNCTION void operator()(int color) const {
    ptrs(color) = color < num_colors ? places(color * blocks) : static_cast<int>(num_rows);
  }
};

/// Sets `permutation` and returns where each colour begins. Fences.
template <class Space>
std::vector<int> order_by_color(const Space& space, const Vector<int, Space>& colors, int num_colors,
                                const Vector<int, Space>& permutation) {
  using Policy = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;
  const auto n = static_cast<std::int64_t>(colors.extent(0));
  // The counts take half a number a row at most.
  const std::int64_t block = std::max<std::int64_t>(128, 2 * std::int64_t(num_colors));
  const std::int64_t blocks = (n + block - 1) / block;
  const auto places =
      allocate_zero<Vector<int, Space>>(space, "prekond::coloring::places", blocks * num_colors);
  CountColors<Space> count{n, block, blocks, colors, places, {}};
  Kokkos::parallel_for("prekond::coloring::count_colors", Policy(space, 0, blocks), count);
  Kokkos::parallel_scan("prekond::coloring::scan_counts", Policy(space, 0, blocks * num_colors),
                        ScanCounts<Space>{places});
  const auto ptrs = allocate<Vector<int, Space>>(space, "prekond::coloring::color_ptrs", num_colors + 1);
  Kokkos::parallel_for("prekond::coloring::ptrs_of_colors",
                       Kokkos::RangePolicy<Space>(space, 0, num_colors + 1),
                       PtrsOfColors<Space>{blocks, n, num_colors, places, ptrs});
  count.permutation = permutation;
  Kokkos::parallel_for("prekond::coloring::place_rows", Policy(space, 0, blocks), count);
  std::vector<int> result(num_colors + 1);
  Kokkos::deep_copy(space, Kokkos::View<int*, Kokkos::HostSpace>(result.data(), result.size()), ptrs);
  space.fence("prekond::coloring::color_ptrs");
  return result;
}

/// Adds up the entries of each colour's rows: a team has a block of rows in the order of the colours. Whole
/// numbers, whose order does not matter.
template <class Space>
struct CountEntriesOfColors {
  using Policy = Kokkos::TeamPolicy<Space>;
  static constexpr std::int64_t rows_per_team = 1024;

  CsrGraphView<Space> s;
  VectorView<const int, Space> colors, permutation, color_ptrs;
  VectorView<std::int64_t, Space> entries;

  static Policy policy(const Space& space, std::int64_t num_rows) {
    const auto teams = static_cast<int>((num_rows + rows_per_team - 1) / rows_per_team);
    return is_host_space<Space> ? Policy(space, teams, 1) : Policy(space, teams, 128);
  }

  KOKKOS_FUNCTION void operator()(const typename Policy::member_type& team) const {
    const std::int64_t begin = team.league_rank() * rows_per_team;
    const std::int64_t end = begin + rows_per_team < s.num_rows ? begin + rows_per_team : s.num_rows;
    for (std::int64_t from = begin; from < end;) {
      const int color = colors(permutation(from));
      const std::int64_t to = color_ptrs(color + 1) < end ? color_ptrs(color + 1) : end;
      std::int64_t sum = 0;
      Kokkos::parallel_reduce(
          Kokkos::TeamThreadRange(team, from, to),
          [&](std::int64_t k, std::int64_t& part) {
            const int row = permutation(k);
            part += static_cast<std::int64_t>(s.row_ptrs(row + 1) - s.row_ptrs(row));
          },
          sum);
      Kokkos::single(Kokkos::PerTeam(team), [&] { Kokkos::atomic_add(&entries(color), sum); });
      from = to;
    }
  }
};

/// Gives each row the number that its colour gets, and the place `shifts` further on.
template <class Space>
struct RenumberColors {
  VectorView<const int, Space> from_colors, from_permutation, numbers, shifts;
  VectorView<int, Space> colors, permutation;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    const int row = from_permutation(k), color = from_colors(row);
    colors(row) = numbers(color);
    permutation(k + shifts(color)) = row;
  }
};

/// The colours by ascending mean of `entries`, equal ones by number; those without rows last.
inline std::vector<int> colors_by_mean(const std::vector<std::int64_t>& entries,
                                       const std::vector<int>& color_ptrs) {
  std::vector<double> means(entries.size());
  for (std::size_t c = 0; c < means.size(); ++c) {
    const int rows = color_ptrs[c + 1] - color_ptrs[c];
    means[c] = rows > 0 ? static_cast<double>(entries[c]) / rows : std::numeric_limits<double>::infinity();
  }
  std::vector<int> order(means.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return means[a] < means[b]; });
  return order;
}

}  // namespace prekond::impl::coloring
