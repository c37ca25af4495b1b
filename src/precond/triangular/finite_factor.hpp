// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Factors without entries that are not finite.
#include <prekond/core/scalar.hpp>

#include "core/row_teams.hpp"
#include "precond/setup/breakdown_counter.hpp"
#include "precond/triangular/solve.hpp"

namespace prekond::impl::triangular {

/// Counts rows with entries or scales that are not finite; or, where there is a place, copies the values with
/// 0 and 1 for those.
template <class Scalar, class Space>
struct CheckRows {
  using Rows = RowTeams<Space>;
  CsrGraphView<Space> n;
  VectorView<const Scalar, Space> values, scale;  ///< each may be empty
  VectorView<BreakdownCounter, Space> outcome;
  VectorView<Scalar, Space> new_values, new_scale;  ///< empty: counts

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{n.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const std::size_t first = n.row_ptrs(i);
      const bool copies = new_values.extent(0) > 0 || new_scale.extent(0) > 0;
      const int length = values.extent(0) > 0 ? static_cast<int>(n.row_ptrs(i + 1) - first) : 0;
      int bad = 0;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, length),
          [&](int k, int& sum) {
            const bool finite = is_finite(values(first + k));
            if (copies) new_values(first + k) = finite ? values(first + k) : Scalar(0);
            if (!finite && n.col_idxs(first + k) < n.num_rows) ++sum;
          },
          bad);
      Kokkos::single(Kokkos::PerThread(team), [&] {
        const bool usable = scale.extent(0) == 0 || is_finite(scale(i));
        if (copies && scale.extent(0) > 0) new_scale(i) = usable ? scale(i) : Scalar(1);
        if (!copies && (bad > 0 || !usable))
          BreakdownCounter::count(outcome(0), static_cast<int>(i), usable, usable ? 1.0f : 0.0f);
      });
    });
  }
};

/// The factor as it is, or a copy where something in it is not finite, which the report counts. Fences.
template <class Scalar, class Space>
Factor<Scalar, Space> finite_factor(const Space& space, const Factor<Scalar, Space>& factor, Report& report) {
  const auto outcome = make_breakdown_counter(space, "prekond::triangular::breakdowns");
  CheckRows<Scalar, Space> check{factor.graph, factor.values, factor.scale, outcome, {}, {}};
  const auto policy = RowTeams<Space>::policy(space, factor.graph.num_rows, factor.graph.nnz());
  Kokkos::parallel_for("prekond::triangular::numeric::check", policy, check);
  const BreakdownCounter counted = fetch(space, outcome);
  Breakdowns breakdowns = breakdowns_of(counted, "");
  if (breakdowns.count == 0) return factor;
  breakdowns.action = factor.owner + ": " + std::to_string(counted.diagonals) +
                      " rows of the factor lost entries that are not finite, " +
                      std::to_string(counted.pivots) + " have 1 for a scale that is not";
  add_breakdowns(breakdowns, report.breakdowns);
  Factor<Scalar, Space> result = factor;
  result.values =
      allocate<Vector<Scalar, Space>>(space, "prekond::triangular::finite_values", factor.values.extent(0));
  result.scale =
      allocate<Vector<Scalar, Space>>(space, "prekond::triangular::finite_scale", factor.scale.extent(0));
  check.new_values = result.values;
  check.new_scale = result.scale;
  Kokkos::parallel_for("prekond::triangular::numeric::keep_finite", policy, check);
  return result;
}

}  // namespace prekond::impl::triangular
