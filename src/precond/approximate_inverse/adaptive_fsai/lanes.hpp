// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Loops over the lanes of a lane group, and the search in a sorted row.
#include <Kokkos_Core.hpp>

namespace prekond::impl::adaptive_fsai {

/// A lane's share of f(0), ..., f(n - 1), with the lanes in step (a loop whose end differs between lanes
/// costs a reconvergence each time).
template <int Width, class F>
KOKKOS_FORCEINLINE_FUNCTION void each_of_lane(int n, int lane, const F& f) {
  for (int first = 0; first < n; first += Width)
    if (first + lane < n) f(first + lane);
}

/// f(0), ..., f(n - 1), each by one lane.
template <class LaneGroup, class F>
KOKKOS_FORCEINLINE_FUNCTION void for_each(const LaneGroup& lane_group, int n, const F& f) {
  lane_group.region([&](int lane) { each_of_lane<LaneGroup::width>(n, lane, f); });
}

/// The first of n ascending columns that is not below `col`; n: none.
KOKKOS_FORCEINLINE_FUNCTION int first_from(const int* cols, int n, int col) {
  int begin = 0, end = n;
  while (begin < end) {
    const int middle = begin + (end - begin) / 2;
    if (cols[middle] < col)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

}  // namespace prekond::impl::adaptive_fsai
