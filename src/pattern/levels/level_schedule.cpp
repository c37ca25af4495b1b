// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/pattern/level_schedule.hpp>
#include <prekond/pattern/order_statistics.hpp>

#include "core/instantiate.hpp"
#include "pattern/levels/level_at.hpp"
#include "pattern/levels/schedule.hpp"

namespace prekond {

template <class Space>
LevelSchedule<Space> level_schedule(const Space& space,
                                    const std::type_identity_t<CsrGraphView<Space>>& graph, Triangle which) {
  if constexpr (is_host_space<Space>)
    return impl::levels::schedule_by_rows(space, graph, which);
  else
    return impl::levels::schedule_by_waiting(space, graph, which);
}

namespace {

/// The places of the rows in the reversed order; the levels' ends from the other side.
template <class Space>
struct ReverseLevels {
  VectorView<const int, Space> rows, level_ptrs;
  VectorView<int, Space> reversed_rows;
  KOKKOS_FUNCTION void operator()(std::int64_t place) const {
    const int level = impl::levels::level_at<Space>(level_ptrs, place);
    const int n = level_ptrs(level_ptrs.extent(0) - 1);
    reversed_rows(n - level_ptrs(level + 1) + (place - level_ptrs(level))) = rows(place);
  }
};

template <class Space>
struct HighestLevel {
  VectorView<const int, Space> levels;
  KOKKOS_FUNCTION void operator()(std::int64_t i, int& highest) const {
    if (levels(i) > highest) highest = levels(i);
  }
};

}  // namespace

template <class Space>
LevelSchedule<Space> reversed_levels(const Space& space, const LevelSchedule<Space>& schedule) {
  LevelSchedule<Space> result;
  const std::int64_t n = schedule.num_rows();
  const int num_levels = schedule.num_levels();
  result.host_level_ptrs.resize(num_levels + 1);
  for (int level = 0; level <= num_levels; ++level)
    result.host_level_ptrs[level] = static_cast<int>(n) - schedule.host_level_ptrs[num_levels - level];
  result.rows = allocate<Vector<int, Space>>(space, "prekond::level_schedule::rows", n);
  result.level_ptrs =
      allocate<Vector<int, Space>>(space, "prekond::level_schedule::level_ptrs", num_levels + 1);
  Kokkos::deep_copy(
      space, result.level_ptrs,
      Kokkos::View<const int*, Kokkos::HostSpace>(result.host_level_ptrs.data(), num_levels + 1));
  Kokkos::parallel_for("prekond::level_schedule::reverse",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, n),
                       ReverseLevels<Space>{schedule.rows, schedule.level_ptrs, result.rows});
  space.fence("prekond::level_schedule::reverse");  // the host's pointers may go away
  return result;
}

template <class Space>
std::int64_t count_levels(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& a) {
  if (a.num_rows == 0) return 0;
  if constexpr (is_host_space<Space>) {
    space.fence("prekond::count_levels::begin");
    return impl::levels::levels_by_rows(a, Triangle::lower).num_levels;
  } else {
    const auto levels = impl::levels::wait_for_levels<Space>(space, a, Triangle::lower);
    int highest = 0;
    Kokkos::parallel_reduce("prekond::count_levels::highest",
                            Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, a.num_rows),
                            HighestLevel<Space>{levels}, Kokkos::Max<int>(highest));
    return highest + 1;
  }
}

#define PREKOND_LEVEL_SCHEDULE(Space)                                                                      \
  template LevelSchedule<Space> level_schedule<Space>(const Space&, const CsrGraphView<Space>&, Triangle); \
  template LevelSchedule<Space> reversed_levels<Space>(const Space&, const LevelSchedule<Space>&);         \
  template std::int64_t count_levels<Space>(const Space&, const CsrGraphView<Space>&);
PREKOND_INSTANTIATE_SPACES(PREKOND_LEVEL_SCHEDULE)

}  // namespace prekond
