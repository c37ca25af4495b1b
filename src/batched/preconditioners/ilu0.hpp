// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "batched/preconditioners/factors.hpp"

namespace prekond::impl::batched {

/// M = L U, exact incomplete factors on A's pattern: row by row (Saad's IKJ variant), rows of a level by
/// different vectors of lanes, which share a row's entries.
///
/// Breakdown: where PivotPolicy refuses the pivot, compared with the largest entry of the row of A, or
/// something in the row is not finite, the row keeps nothing except its diagonal entry (1 where that is 0 or
/// not finite).
///
/// Source: Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., algorithm 10.4.
template <class Scalar>
struct Ilu0Preconditioner {
  static constexpr BatchedPreconditioner kind = BatchedPreconditioner::ilu0;
  static constexpr bool symmetric = false, is_identity = false, is_pointwise = false;
  static constexpr unsigned parts = triangles | steps;
  using Real = real_type_t<Scalar>;

  FactorPattern pattern;
  const std::size_t* step_ptrs;
  const int* step_targets;
  const int* step_sources;

  template <class Space>
  static Ilu0Preconditioner make(const Analysis<Space>& analysis, const BatchedOptions&) {
    return {FactorPattern::of(analysis), analysis.steps.ptrs.data(), analysis.steps.first.data(),
            analysis.steps.second.data()};
  }
  std::int64_t values_length() const { return pattern.length(); }
  std::int64_t work_length(int) const { return 0; }

  template <class LaneGroup, class System>
  KOKKOS_FORCEINLINE_FUNCTION int generate(const LaneGroup& lane_group, const System& a, Scalar* values,
                                           Scalar*) const {
    pattern.load(lane_group, a, values);
    return count_rows(lane_group, pattern.lower,
                      [&](const auto& vector, int i) { return factor_row(vector, values, i); });
  }

  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION void apply(const LaneGroup& lane_group, int, const Scalar* values,
                                         const Scalar* from, Scalar* to, Scalar*) const {
    pattern.template solve<true>(lane_group, values, from, to);
  }

 private:
  /// Returns 1 where the pivot was replaced.
  template <class Vector>
  KOKKOS_FUNCTION int factor_row(const Vector& vector, Scalar* values, int i) const {
    Scalar* pivots = values + pattern.num_entries;
    const int begin = pattern.begin(i), middle = pattern.middle[i], end = pattern.end(i);
    const int upper = pattern.after_diagonal(i);
    const Scalar diagonal = upper > middle ? values[middle] : Scalar(0);
    const Real largest = vector.template max<Real>([&](int lane) {
      Real most = 0;
      for (int k = begin + lane; k < end; k += vector.size())
        most = Kokkos::fmax(most, static_cast<Real>(Kokkos::abs(values[k])));
      return most;
    });
    // L's entries stay undivided until the row is done: what divides them is known to all lanes.
    for (int k = begin; k < middle; ++k) {
      const Scalar multiplier = values[k] * pivots[pattern.col_idxs[k]];
      const std::size_t first = step_ptrs[k], last = step_ptrs[k + 1];
      if (first == last) continue;
      vector.region([&](int lane) {
        for (std::size_t e = first + lane; e < last; e += vector.size())
          values[step_targets[e]] -= multiplier * values[step_sources[e]];
      });
    }
    const Scalar pivot = pivots[i];
    const int bad = vector.template sum<int>([&](int lane) {
      int count = 0;
      for (int k = begin + lane; k < end; k += vector.size()) {
        if (k >= middle && k < upper) continue;
        if (k < middle) values[k] *= pivots[pattern.col_idxs[k]];
        count += !is_finite(values[k]);
      }
      return count;
    });
    const bool sound = bad == 0 && PivotPolicy<Real>::without_shifts(false).accepts(pivot, largest) &&
                       is_finite(Scalar(1) / pivot);
    vector.region([&](int lane) {
      if (lane == 0) pivots[i] = reciprocal(pivot, diagonal, sound);
      if (sound) return;
      for (int k = begin + lane; k < end; k += vector.size()) values[k] = Scalar(0);
    });
    return sound ? 0 : 1;
  }
};

}  // namespace prekond::impl::batched
