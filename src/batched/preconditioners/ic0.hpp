// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "batched/preconditioners/factors.hpp"

namespace prekond::impl::batched {

/// M = C C^H, exact incomplete factors on A's pattern, which has to be symmetric; A's upper triangle is not
/// read. Row by row, rows of a level by different vectors of lanes: c_ij = (a_ij - sum_k c_ik conj(c_jk)) /
/// c_jj. C^H stands in the places of the upper triangle.
///
/// Breakdown: where PivotPolicy refuses a_ii - sum_k |c_ik|^2, compared with a_ii, or something in the row is
/// not finite, the row keeps nothing except its diagonal entry (1 where that is not positive and finite).
///
/// Source: Meijerink, van der Vorst 1977; Saad, Iterative Methods, section 10.3.
template <class Scalar>
struct Ic0Preconditioner {
  static constexpr BatchedPreconditioner kind = BatchedPreconditioner::ic0;
  static constexpr bool symmetric = true, is_identity = false, is_pointwise = false;
  static constexpr unsigned parts = triangles | cholesky;
  using Real = real_type_t<Scalar>;

  FactorPattern pattern;
  const std::size_t* product_ptrs;
  const int* own;
  const int* other;
  const int* mirror;

  template <class Space>
  static Ic0Preconditioner make(const Analysis<Space>& analysis, const BatchedOptions&) {
    return {FactorPattern::of(analysis), analysis.targets.ptrs.data(), analysis.targets.first.data(),
            analysis.targets.second.data(), analysis.mirror.data()};
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
    pattern.template solve<false>(lane_group, values, from, to);
  }

 private:
  /// Returns 1 where the pivot was replaced.
  template <class Vector>
  KOKKOS_FUNCTION int factor_row(const Vector& vector, Scalar* values, int i) const {
    Scalar* pivots = values + pattern.num_entries;
    const int begin = pattern.begin(i), middle = pattern.middle[i];
    for (int k = begin; k < middle; ++k) {
      const std::size_t first = product_ptrs[k], last = product_ptrs[k + 1];
      const Scalar sum = vector.template sum<Scalar>([&](int lane) {
        Scalar mine = 0;
        for (std::size_t e = first + lane; e < last; e += vector.size())
          mine += values[own[e]] * conjugate(values[other[e]]);
        return mine;
      });
      vector.once([&] { values[k] = (values[k] - sum) * pivots[pattern.col_idxs[k]]; });
    }
    const Real diagonal = real_part(pivots[i]);  // before the sum's barrier: a lane overwrites it
    const Real square = vector.template sum<Real>([&](int lane) {
      Real mine = 0;
      for (int k = begin + lane; k < middle; k += vector.size()) mine += abs2(values[k]);
      return mine;
    });
    const Real pivot = diagonal - square;
    const bool sound = diagonal > Real(0) && PivotPolicy<Real>::without_shifts(true).accepts(pivot, diagonal);
    const bool usable = diagonal > Real(0) && Kokkos::isfinite(diagonal);
    vector.region([&](int lane) {
      if (lane == 0) pivots[i] = Scalar(1 / Kokkos::sqrt(sound ? pivot : usable ? diagonal : Real(1)));
      for (int k = begin + lane; k < middle; k += vector.size()) {
        if (!sound) values[k] = Scalar(0);
        values[mirror[k]] = conjugate(values[k]);
      }
    });
    return sound ? 0 : 1;
  }
};

}  // namespace prekond::impl::batched
