// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "batched/preconditioners/factors.hpp"

namespace prekond::impl::batched {

/// M = L U on A's pattern, by sweeps over all entries at the same time from A's own triangles, in two copies:
/// ```
/// l_ij = (a_ij - sum_{k < j} l_ik u_kj) / u_jj     u_ij = a_ij - sum_{k < i} l_ik u_kj
/// ```
/// until no entry changes by more than `settled_change` of itself in a sweep, for each system by itself, and
/// at most `sweeps` of them. After a number of sweeps that the pattern bounds nothing changes any more, and
/// the factors are those of ILU(0). Before that they may be useless, because rows that no correct value has
/// reached yet can have triangular solves that grow from row to row: by 10^50 after 10 sweeps on olm100.
///
/// Breakdown: a pivot that PivotPolicy refuses, compared with |a_ii|, keeps its value of the sweep before, an
/// entry that is not finite is 0; rows where that is so in the last sweep, and rows without a usable diagonal
/// entry (1 takes its place), are counted.
///
/// Source: Chow, Patel, SIAM J. Sci. Comput. 37 (2015), algorithm 2.
template <class Scalar>
struct ParIluPreconditioner {
  static constexpr BatchedPreconditioner kind = BatchedPreconditioner::par_ilu;
  static constexpr bool symmetric = false, is_identity = false, is_pointwise = false;
  static constexpr unsigned parts = triangles | targets;
  using Real = real_type_t<Scalar>;

  FactorPattern pattern;
  const std::size_t* product_ptrs;
  const int* lower_places;
  const int* upper_places;
  int sweeps;

  template <class Space>
  static ParIluPreconditioner make(const Analysis<Space>& analysis, const BatchedOptions& options) {
    return {FactorPattern::of(analysis), analysis.targets.ptrs.data(), analysis.targets.first.data(),
            analysis.targets.second.data(), options.sweeps};
  }
  std::int64_t values_length() const { return pattern.length(); }
  std::int64_t work_length(int) const { return pattern.length(); }

  /// The complement of the number of replaced pivots where the factors still changed in the last sweep.
  template <class LaneGroup, class System>
  KOKKOS_FORCEINLINE_FUNCTION int generate(const LaneGroup& lane_group, const System& a, Scalar* values,
                                           Scalar* work) const {
    const int pivot_places = pattern.num_entries;
    Scalar *before = values, *after = work;
    pattern.load(lane_group, a, before);
    std::int64_t counts = unsettled_row + sum_elements<int>(lane_group, pattern.num_rows, [&](int i) {
                            Scalar& pivot = before[pivot_places + i];
                            const bool sound = is_usable(pivot);
                            if (!sound) pivot = Scalar(1);
                            return sound ? 0 : 1;
                          });
    for_elements(lane_group, pattern.num_rows, [&](int i) {
      for (int k = pattern.begin(i); k < pattern.end(i); ++k) {
        if (k < pattern.middle[i]) before[k] /= before[pivot_places + pattern.col_idxs[k]];
        before[k] = is_finite(before[k]) ? before[k] : Scalar(0);
      }
    });
    for (int sweep = 0; sweep < sweeps && counts >= unsettled_row; ++sweep) {
      counts = sum_elements<std::int64_t>(lane_group, pattern.num_rows,
                                          [&](int i) { return sweep_row(a, i, before, after); });
      Scalar* other = before;
      before = after;
      after = other;
    }
    for_elements(lane_group, pattern.num_rows, [&](int i) {
      if (before != values)
        for (int k = pattern.begin(i); k < pattern.end(i); ++k) values[k] = before[k];
      values[pivot_places + i] = Scalar(1) / before[pivot_places + i];
    });
    const int replaced = static_cast<int>(counts % unsettled_row);
    return counts < unsettled_row ? replaced : ~replaced;
  }

  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION void apply(const LaneGroup& lane_group, int, const Scalar* values,
                                         const Scalar* from, Scalar* to, Scalar*) const {
    pattern.template solve<true>(lane_group, values, from, to);
  }

 private:
  /// With 0.1 the slides' matrices take up to two iterations more, with 0.001 half as many sweeps more.
  static constexpr Real settled_change = Real(0.01);
  /// The weight of a row that changed, in a sum with the rows that were not sound.
  static constexpr std::int64_t unsettled_row = std::int64_t(1) << 32;

  KOKKOS_FORCEINLINE_FUNCTION static bool is_settled(const Scalar& value, const Scalar& before) {
    return Kokkos::abs(value - before) <= settled_change * Kokkos::abs(value);
  }

  KOKKOS_FORCEINLINE_FUNCTION static bool is_usable(const Scalar& pivot) {
    const Scalar inverse = Scalar(1) / pivot;
    return is_finite(pivot) && is_finite(inverse) && inverse != Scalar(0);
  }

  /// Returns 1 where the pivot or an entry was not sound, plus `unsettled_row` where one of them changed.
  template <class System>
  KOKKOS_FUNCTION std::int64_t sweep_row(const System& a, int i, const Scalar* before, Scalar* after) const {
    const Scalar* pivots = before + pattern.num_entries;
    const int begin = pattern.begin(i);
    bool sound = true, settled = true;
    Scalar diagonal = 0;
    a.for_each_entry(i, [&](std::size_t k, int col, const auto& value) {
      const int place = begin + static_cast<int>(k);
      Scalar rest = static_cast<Scalar>(value);
      if (col == i) {
        diagonal = rest;
        return;
      }
      for (std::size_t e = product_ptrs[place]; e < product_ptrs[place + 1]; ++e)
        rest -= before[lower_places[e]] * before[upper_places[e]];
      if (col < i) rest /= pivots[col];
      sound = sound && is_finite(rest);
      after[place] = is_finite(rest) ? rest : Scalar(0);
      settled = settled && is_settled(after[place], before[place]);
    });
    // The products of the diagonal entry, which need not be stored: l_ik u_ki over the row's own entries.
    const Scalar pivot = diagonal - diagonal_products(i, before);
    const bool kept =
        !PivotPolicy<Real>::without_shifts(false).accepts(pivot, Kokkos::abs(diagonal)) || !is_usable(pivot);
    after[pattern.num_entries + i] = kept ? pivots[i] : pivot;
    settled = settled && (kept || is_settled(pivot, pivots[i]));
    return (sound && !kept ? 0 : 1) + (settled ? 0 : unsettled_row);
  }

  KOKKOS_FORCEINLINE_FUNCTION Scalar diagonal_products(int i, const Scalar* before) const {
    Scalar sum = 0;
    const int place = pattern.middle[i];
    if (pattern.after_diagonal(i) == place) return sum;
    for (std::size_t e = product_ptrs[place]; e < product_ptrs[place + 1]; ++e)
      sum += before[lower_places[e]] * before[upper_places[e]];
    return sum;
  }
};

}  // namespace prekond::impl::batched
