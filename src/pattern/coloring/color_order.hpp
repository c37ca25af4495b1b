// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Rows by colour: a counting sort.
#include <prekond/core/views.hpp>

#include <algorithm>
#include <cstdint>
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

}  // namespace prekond::impl::coloring
