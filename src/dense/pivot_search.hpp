// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <Kokkos_Core.hpp>
#include "dense/place_array.hpp"

#include <cstddef>

namespace prekond {

/// How an elimination chooses the pivot of a column.
enum class Pivoting {
  rows,  ///< the largest entry on or below the diagonal: any nonsingular matrix is factored
  none   ///< the diagonal entry; what a pivot that is too small means is the elimination's to say
};

namespace impl {

/// The search of a lane group for the largest magnitude in the rest of a column: each of at most 32 lanes
/// looks at its share of the rows, then any lane takes the best of their results.
///
/// The smaller row wins a tie, so that the pivot does not depend on the number
/// of lanes. A NaN is never taken.
template <class Real>
class PivotSearch {
 public:
  static constexpr int max_searchers = 32;

  PivotSearch() = default;
  /// Takes the arrays of the searchers from a workspace, see place_array.
  KOKKOS_FORCEINLINE_FUNCTION PivotSearch(char* base, std::size_t& end)
      : m_sizes(place_array<Real>(base, end, max_searchers)),
        m_rows(place_array<int>(base, end, max_searchers)) {}

  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION static int num_searchers(const LaneGroup& lane_group) {
    return lane_group.size() < max_searchers ? lane_group.size() : max_searchers;
  }

  /// Each searcher's largest entry of column[begin], ..., column[end - 1].
  template <class LaneGroup>
  KOKKOS_FUNCTION void search(const LaneGroup& lane_group, const Real* column, int begin, int end) const {
    const int searchers = num_searchers(lane_group);
    lane_group.region([&](int lane) {
      if (lane >= searchers) return;
      Real best = -1;
      int row = end;
      for (int i = begin + lane; i < end; i += searchers) {
        const Real size = Kokkos::abs(column[i]);
        if (size > best) {
          best = size;
          row = i;
        }
      }
      m_sizes[lane] = best;
      m_rows[lane] = row;
    });
  }

  /// The row of the largest entry that the searchers found; `begin` where no entry is a number.
  template <class LaneGroup>
  KOKKOS_FUNCTION int best(const LaneGroup& lane_group, int begin, int end) const {
    const int searchers = num_searchers(lane_group);
    Real best = -1;
    int row = end;
    for (int k = 0; k < searchers; ++k) {
      if (!(m_sizes[k] > best || (m_sizes[k] == best && m_rows[k] < row))) continue;
      best = m_sizes[k];
      row = m_rows[k];
    }
    return row < end ? row : begin;
  }

  /// A number for each searcher; free between searches.
  KOKKOS_FORCEINLINE_FUNCTION Real* sizes() const { return m_sizes; }

 private:
  Real* m_sizes = nullptr;
  int* m_rows = nullptr;
};

/// Exchanges two entries.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION void exchange(Real& a, Real& b) {
  const Real kept = a;
  a = b;
  b = kept;
}

}  // namespace impl
}  // namespace prekond
