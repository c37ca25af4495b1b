// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/pattern/order_statistics.hpp>

#include "core/instantiate.hpp"

namespace prekond {
namespace {

struct Extent {
  std::int64_t bandwidth;
  std::int64_t profile;
};

/// Integers: the order of the rows does not matter.
template <class Space>
struct MeasureRows {
  using value_type = Extent;
  CsrGraphView<Space> a;

  KOKKOS_FUNCTION void init(Extent& sum) const { sum = Extent{0, 0}; }
  KOKKOS_FUNCTION void join(Extent& sum, const Extent& other) const {
    if (other.bandwidth > sum.bandwidth) sum.bandwidth = other.bandwidth;
    sum.profile += other.profile;
  }
  KOKKOS_FUNCTION void operator()(std::int64_t i, Extent& sum) const {
    const std::size_t begin = a.row_ptrs(i), end = a.first_from(i, a.num_rows);
    if (begin == end) return;
    const std::int64_t left = i - a.col_idxs(begin), right = a.col_idxs(end - 1) - i;
    if (left > sum.bandwidth) sum.bandwidth = left;
    if (right > sum.bandwidth) sum.bandwidth = right;
    if (left > 0) sum.profile += left;
  }
};

}  // namespace

template <class Space>
OrderStatistics order_statistics(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& a) {
  Extent extent{0, 0};
  Kokkos::parallel_reduce("prekond::order_statistics::measure_rows",
                          Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, a.num_rows),
                          MeasureRows<Space>{a}, extent);
  return {extent.bandwidth, extent.profile, count_levels<Space>(space, a)};
}

#define PREKOND_ORDER_STATISTICS(Space) \
  template OrderStatistics order_statistics<Space>(const Space&, const CsrGraphView<Space>&);
PREKOND_INSTANTIATE_SPACES(PREKOND_ORDER_STATISTICS)

}  // namespace prekond
