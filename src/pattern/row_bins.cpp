// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/pattern/row_bins.hpp>

#include "instantiate.hpp"

#include <algorithm>
#include <limits>
#include <utility>

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

/// How many rows, and the longest of them.
template <class Space>
std::pair<std::int64_t, std::int64_t> measure(const Space& space, std::int64_t num_rows,
                                              const InBin<Space>& in_bin) {
  std::int64_t count = 0, longest = 0;
  Kokkos::parallel_reduce(
      "prekond::bin_rows::measure", RowPolicy<Space>(space, 0, num_rows),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t & rows, std::int64_t & most) {
        if (!in_bin(i)) return;
        ++rows;
        if (in_bin.length(i) > most) most = in_bin.length(i);
      },
      count, Kokkos::Max<std::int64_t>(longest));
  return {count, longest};
}

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
  const std::int64_t total =
      measure<Space>(space, num_rows, {row_ptrs, chosen, -1, std::numeric_limits<int>::max()}).first;
  result.rows = allocate<Vector<int, Space>>(space, "prekond::bin_rows::rows", total);
  std::int64_t above = -1, listed = 0;
  for (std::size_t k = 0; listed < total; ++k) {
    const std::int64_t limit =
        k < limits.size() ? limits[k] : std::min<std::int64_t>(2 * above, std::numeric_limits<int>::max());
    const InBin<Space> in_bin{row_ptrs, chosen, above, limit};
    const auto [count, longest] = measure(space, num_rows, in_bin);
    if (count > 0) {
      const typename RowBins<Space>::Bin bin{static_cast<int>(limit), static_cast<int>(longest), listed,
                                             count};
      list<Space>(space, num_rows, in_bin, VectorView<int, Space>(result.rows.data() + listed, count));
      result.bins.push_back(bin);
    }
    listed += count;
    above = limit;
  }
  return result;
}

#define PREKOND_BIN_ROWS(Space)                                                               \
  template RowBins<Space> bin_rows<Space>(const Space&, VectorView<const std::size_t, Space>, \
                                          const std::vector<int>&, VectorView<const unsigned char, Space>);
PREKOND_INSTANTIATE_SPACES(PREKOND_BIN_ROWS)

}  // namespace prekond
