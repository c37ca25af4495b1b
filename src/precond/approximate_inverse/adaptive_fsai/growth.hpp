// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Algorithm 1 of Bernaschi et al. (2019): the steps, choices and stops by which a row finds its
/// pattern.
#include "precond/approximate_inverse/adaptive_fsai/layout.hpp"

#include <concepts>

namespace prekond::impl::adaptive_fsai {

/// The pattern that Algorithm 1 works on. The classes differ in how they know the gradient r = A g~: Row
/// keeps it by column and updates it, MergedRow forms it again in each step.
///   begin(start, n, kept)   g~ = e_i, with room for the start's columns; false: the workspace is too small.
///                           `kept`: they are the whole pattern
///   candidate(col)          a column of the start, as a candidate
///   begin_step(last)        brings r up to date; false: the workspace is too small. `last`: the last step
///   best_candidate()        the column outside the pattern with the largest |r_j|; negative: there is none
///   add_member(j, first)    candidate j joins the pattern P, and g~ moves to the minimum of psi on it; not
///                           where its pivot is under the floor. r does not know of P's members from `first`
///   psi()                   psi = g~ A g~^T; asked for once at the beginning and after each step
///   members(), growth_limit()   the number of columns in P, and up to how many it may grow
template <class T>
concept GrowingPattern = requires(T row, const T known, const int* cols, int n, bool flag) {
  { row.begin(cols, n, flag) } -> std::same_as<bool>;
  { row.candidate(n) } -> std::same_as<int>;
  { row.begin_step(flag) } -> std::same_as<bool>;
  { known.best_candidate() } -> std::same_as<int>;
  { row.add_member(n, n) } -> std::same_as<RowStatus>;
  { row.psi() } -> std::floating_point;
  { known.members() } -> std::same_as<int>;
  { known.growth_limit() } -> std::same_as<int>;
};

/// Finds the pattern, and g~ on it. It begins with G_0's columns, `start[0 .. n)`, ascending, all left of the
/// diagonal, which are added in one step (k = -1 here), without a choice; one whose pivot is under the floor
/// is left out. `kept`: that is the whole pattern. (The start's step and the others are one loop so that the
/// code of a step stands in the kernel once: it has to stay in the instruction cache.)
template <GrowingPattern T>
KOKKOS_FORCEINLINE_FUNCTION RowStatus grow_pattern(T& row, const Parameters& parameters, const int* start,
                                                   int n, bool kept) {
  if (!row.begin(start, n, kept)) return RowStatus::overflow;
  RowStatus status = RowStatus::done;
  const int k_max = kept ? 0 : parameters.max_steps;
  auto psi = row.psi(), psi_0 = psi;
  using Real = decltype(psi);
  for (int k = n > 0 ? -1 : 0; k < k_max && (k < 0 || row.members() < row.growth_limit()); ++k) {
    const bool of_start = k < 0;
    if (!of_start && !row.begin_step(k == k_max - 1)) return RowStatus::overflow;
    const int first = row.members();
    const int wanted = of_start ? n : parameters.step_size;
    for (int t = 0; t < wanted && (of_start || row.members() < row.growth_limit()); ++t) {
      const int j = of_start ? row.candidate(start[t]) : row.best_candidate();
      if (j < 0) break;
      const RowStatus added = row.add_member(j, first);
      if (added == RowStatus::overflow || (added == RowStatus::pivot && !of_start)) return added;
      if (added == RowStatus::pivot) status = added;
    }
    const Real psi_before = psi;
    psi = row.psi();
    if (of_start) {
      psi_0 = psi;
      continue;
    }
    if (row.members() == first) break;
    if (psi <= Real(parameters.tolerance) * psi_0) break;  // eq. 17
    if (parameters.step_tolerance > 0 && psi_before - psi <= Real(parameters.step_tolerance) * psi_before)
      break;
  }
  return status;
}

}  // namespace prekond::impl::adaptive_fsai
