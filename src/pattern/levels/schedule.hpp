// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Level schedules by a host's thread, and by rows that wait for each other.
#include "pattern/levels/wait_for_levels.hpp"
#include "pattern/sorted_rows.hpp"

namespace prekond::impl::levels {

/// The level of each row, from 0 on.
struct HostLevels {
  std::vector<int> levels;
  int num_levels = 0;
};

/// One row after another. \pre nothing runs on `space`'s matrix
template <class Space>
HostLevels levels_by_rows(const CsrGraphView<Space>& graph, Triangle which) {
  const std::int64_t n = graph.num_rows;
  HostLevels result{std::vector<int>(static_cast<std::size_t>(n)), 0};
  for (std::int64_t k = 0; k < n; ++k) {
    const std::int64_t i = which == Triangle::lower ? k : n - 1 - k;
    int level = 0;
    for (std::size_t e = graph.row_ptrs(i); e < graph.row_ptrs(i + 1); ++e) {
      const int col = graph.col_idxs(e);
      if (is_need(which, i, col, n)) level = std::max(level, 1 + result.levels[col]);
    }
    result.levels[i] = level;
    result.num_levels = std::max(result.num_levels, level + 1);
  }
  return result;
}

/// A counting sort.
template <class Space>
LevelSchedule<Space> schedule_by_rows(const Space& space, const CsrGraphView<Space>& graph, Triangle which) {
  space.fence("prekond::level_schedule::begin");
  const HostLevels found = levels_by_rows(graph, which);
  LevelSchedule<Space> result;
  result.rows = allocate<Vector<int, Space>>(space, "prekond::level_schedule::rows", graph.num_rows);
  result.level_ptrs =
      allocate<Vector<int, Space>>(space, "prekond::level_schedule::level_ptrs", found.num_levels + 1);
  std::vector<int> places(found.num_levels + 1, 0);
  for (const int level : found.levels) ++places[level + 1];
  for (int level = 0; level < found.num_levels; ++level) places[level + 1] += places[level];
  result.host_level_ptrs = places;
  for (std::size_t level = 0; level < places.size(); ++level) result.level_ptrs(level) = places[level];
  for (std::int64_t i = 0; i < graph.num_rows; ++i)
    result.rows(places[found.levels[i]]++) = static_cast<int>(i);
  return result;
}

template <class Space>
struct KeyOfLevel {
  VectorView<const int, Space> levels;
  VectorView<std::uint64_t, Space> keys;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    keys(i) = sort_key(static_cast<std::uint64_t>(levels(i)), static_cast<std::uint64_t>(i));
  }
};

/// Where each level begins among the sorted rows, and the last one ends.
template <class Space>
struct FindLevelPtrs {
  VectorView<const std::uint64_t, Space> keys;
  VectorView<int, Space> level_ptrs;
  KOKKOS_FUNCTION void operator()(std::int64_t place) const {
    const auto level = keys(place) >> 32;
    if (place == 0 || keys(place - 1) >> 32 != level) level_ptrs(level) = static_cast<int>(place);
    const auto rows = static_cast<std::int64_t>(keys.extent(0));
    if (place == rows - 1) level_ptrs(level + 1) = static_cast<int>(rows);
  }
};

template <class Space>
LevelSchedule<Space> schedule_by_waiting(const Space& space, const CsrGraphView<Space>& graph,
                                         Triangle which) {
  const std::int64_t n = graph.num_rows;
  const Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>> rows(space, 0, n);
  LevelSchedule<Space> result;
  if (n == 0) {
    result.rows = allocate<Vector<int, Space>>(space, "prekond::level_schedule::rows", 0);
    result.level_ptrs = allocate_zero<Vector<int, Space>>(space, "prekond::level_schedule::level_ptrs", 1);
    return result;
  }
  const auto levels = wait_for_levels<Space>(space, graph, which);
  const auto keys = allocate<Vector<std::uint64_t, Space>>(space, "prekond::level_schedule::keys", n);
  Kokkos::parallel_for("prekond::level_schedule::keys_of_levels", rows, KeyOfLevel<Space>{levels, keys});
  result.rows = sorted_rows<Space>(space, keys);
  std::uint64_t last = 0;
  Kokkos::deep_copy(space, Kokkos::View<std::uint64_t, Kokkos::HostSpace>(&last),
                    Kokkos::subview(keys, n - 1));
  space.fence("prekond::level_schedule::num_levels");
  const std::size_t count = (last >> 32) + 2;
  result.level_ptrs = allocate<Vector<int, Space>>(space, "prekond::level_schedule::level_ptrs", count);
  Kokkos::parallel_for("prekond::level_schedule::find_level_ptrs", rows,
                       FindLevelPtrs<Space>{keys, result.level_ptrs});
  result.host_level_ptrs.resize(count);
  Kokkos::deep_copy(space, Kokkos::View<int*, Kokkos::HostSpace>(result.host_level_ptrs.data(), count),
                    result.level_ptrs);
  space.fence("prekond::level_schedule::end");
  return result;
}

}  // namespace prekond::impl::levels
