// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sparse_product/row_bins.hpp"

#include "core/instantiate.hpp"

#include <algorithm>
#include <limits>

namespace prekond {
namespace {

/// Lengths in (above, limit] among the chosen rows.
template <class Space>
struct InBin {
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<const unsigned char, Space> chosen;
  std::int64_t above;
  std::int64_t limit;

  KOKKOS_FUNCTION std::int64_t length(std::int64_t i) const {
    return static_cast<std::int64_t>(row_ptrs(i + 1) - row_ptrs(i));
  }
  KOKKOS_FUNCTION bool operator()(std::int64_t i) const {
    if (chosen.extent(0) > 0 && chosen(i) == 0) return false;
    return length(i) > above && length(i) <= limit;
  }
};

template <class Space>
using RowPolicy = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

/// For bins that follow one another: how many rows each has, and its longest.
struct BinSizes {
  static constexpr int most = 8;  ///< bins of a reading of the lengths
  std::int64_t count[most] = {};
  std::int64_t longest[most] = {};
};

/// Sizes of the bins (limit[k], limit[k + 1]], in one reading.
template <class Space>
struct MeasureBins {
  using value_type = BinSizes;
  InBin<Space> all;
  std::int64_t limit[BinSizes::most + 1];

  KOKKOS_FUNCTION void operator()(std::int64_t i, BinSizes& sizes) const {
    if (!all(i)) return;
    const std::int64_t length = all.length(i);
    for (int k = 0; k < BinSizes::most; ++k) {
      const bool here = length > limit[k] && length <= limit[k + 1];
      sizes.count[k] += here ? 1 : 0;
      if (here && length > sizes.longest[k]) sizes.longest[k] = length;
    }
  }
  KOKKOS_FUNCTION void init(BinSizes& sizes) const { sizes = {}; }
  KOKKOS_FUNCTION void join(BinSizes& to, const BinSizes& from) const {
    for (int k = 0; k < BinSizes::most; ++k) {
      to.count[k] += from.count[k];
      if (from.longest[k] > to.longest[k]) to.longest[k] = from.longest[k];
    }
  }
};

template <class Space>
void list(const Space& space, std::int64_t num_rows, const InBin<Space>& in_bin,
          VectorView<int, Space> rows) {
  Kokkos::parallel_scan(
      "prekond::bin_rows::list", RowPolicy<Space>(space, 0, num_rows),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t & place, bool final) {
        if (!in_bin(i)) return;
        if (final) rows(place) = static_cast<int>(i);
        ++place;
      });
}

}  // namespace

template <class Space>
RowBins<Space> bin_rows(const Space& space, VectorView<const std::size_t, Space> row_ptrs,
                        const std::vector<int>& limits, VectorView<const unsigned char, Space> chosen) {
  const std::int64_t num_rows =
      row_ptrs.extent(0) > 0 ? static_cast<std::int64_t>(row_ptrs.extent(0)) - 1 : 0;
  RowBins<Space> result;
  const InBin<Space> all{row_ptrs, chosen, -1, std::numeric_limits<int>::max()};
  std::int64_t total = num_rows;
  if (chosen.extent(0) > 0)
    Kokkos::parallel_reduce(
        "prekond::bin_rows::count", RowPolicy<Space>(space, 0, num_rows),
        KOKKOS_LAMBDA(std::int64_t i, std::int64_t & rows) { rows += all(i) ? 1 : 0; }, total);
  result.rows = allocate<Vector<int, Space>>(space, "prekond::bin_rows::rows", total);
  std::int64_t above = -1, listed = 0;
  for (std::size_t first = 0; listed < total; first += BinSizes::most) {
    MeasureBins<Space> measure{all, {above}};
    for (std::size_t k = 0; k < BinSizes::most; ++k)
      measure.limit[k + 1] = first + k < limits.size()
                                 ? limits[first + k]
                                 : std::min<std::int64_t>(2 * std::max<std::int64_t>(measure.limit[k], 1),
                                                          std::numeric_limits<int>::max());
    BinSizes sizes;
    Kokkos::parallel_reduce("prekond::bin_rows::measure", RowPolicy<Space>(space, 0, num_rows), measure,
                            sizes);
    for (int k = 0; k < BinSizes::most; ++k) {
      const std::int64_t count = sizes.count[k], limit = measure.limit[k + 1];
      if (count == 0) continue;
      list<Space>(space, num_rows, {row_ptrs, chosen, measure.limit[k], limit},
                  VectorView<int, Space>(result.rows.data() + listed, count));
      result.bins.push_back({static_cast<int>(limit), static_cast<int>(sizes.longest[k]), listed, count});
      listed += count;
    }
    above = measure.limit[BinSizes::most];
  }
  return result;
}

#define PREKOND_BIN_ROWS(Space)                                                               \
  template RowBins<Space> bin_rows<Space>(const Space&, VectorView<const std::size_t, Space>, \
                                          const std::vector<int>&, VectorView<const unsigned char, Space>);
PREKOND_INSTANTIATE_SPACES(PREKOND_BIN_ROWS)

}  // namespace prekond
