// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/precond/multicolor.hpp>

#include "core/instantiate.hpp"
#include "precond/factorization/ilu/ic_row.hpp"
#include "precond/factorization/ilu/ilu_row.hpp"
#include "precond/factorization/ilu/row_breakdowns.hpp"
#include "precond/scaling/diagonal.hpp"
#include "precond/triangular/grouped_sweeps.hpp"
#include "precond/triangular/row_launches.hpp"

#include <string>

namespace prekond {
namespace {

using namespace impl::sweeps;
using namespace impl::ilu;

/// Colour by colour; `Row` over vectors of `lanes`.
template <template <class, class, class> class Row, int lanes, class Scalar, class Space>
void factor_colors(const Space& space, const GroupedTriangles<Space>& pattern,
                   const Factors<Scalar, Space>& factors, bool positive,
                   const Vector<impl::BreakdownCounter, Space>& outcome) {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  using LaneGroup = NativeLaneGroup<Space, Member, lanes>;
  Row<Scalar, Space, LaneGroup> row{};
  row.lower = triangle_of<Scalar, Space>(pattern.lower, factors.lower);
  row.upper = triangle_of<Scalar, Space>(pattern.upper, factors.upper);
  row.finished = positive ? row.lower : row.upper;
  row.pivots = factors.pivots;
  row.permutation = pattern.permutation;
  row.outcome = outcome;
  row.positive = positive;
  const impl::Launcher<impl::FreeRow<Row<Scalar, Space, LaneGroup>>, Space> launcher(space, {row});
  for (int color = 0; color < pattern.num_groups; ++color) {
    const std::int64_t begin = pattern.group_ptrs[color], end = pattern.group_ptrs[color + 1];
    if (begin < end) launcher.range("prekond::multicolor_ilu0::numeric::factor_color", {}, begin, end);
  }
}

template <template <class, class, class> class Row, class Scalar, class Space>
void factor(const Space& space, const GroupedTriangles<Space>& pattern, const Factors<Scalar, Space>& factors,
            bool positive, const Vector<impl::BreakdownCounter, Space>& outcome) {
  if constexpr (is_host_space<Space>) {
    factor_colors<Row, 1>(space, pattern, factors, positive, outcome);
  } else {
    constexpr int short_lanes = 8;
    if (pattern.lower.nnz() <= 2 * FactorTuning::short_rows * pattern.num_rows())
      factor_colors<Row, short_lanes>(space, pattern, factors, positive, outcome);
    else
      factor_colors<Row, FactorTuning::lanes_of_long_rows>(space, pattern, factors, positive, outcome);
  }
}

}  // namespace

template <class Scalar, class Space>
MulticolorIlu0<Scalar, Space>::MulticolorIlu0(const MulticolorIlu0Options& options)
    : Multicolor<Scalar, Space>(options), m_options(resolved(options)) {}

template <class Scalar, class Space>
typename MulticolorIlu0<Scalar, Space>::Factors MulticolorIlu0<Scalar, Space>::find_factors(
    const Space& space, const matrix_view& a, const Pattern& pattern, Report& report) const {
  const bool is_ic = m_options.kind == IncompleteKind::ic;
  if (is_ic) {
    const auto diagonal =
        allocate<Vector<Scalar, Space>>(space, "prekond::multicolor_ilu0::diagonal", a.num_rows);
    impl::check_diagonal<Scalar>(impl::extract_diagonal<Scalar, Space>(space, a, diagonal), this->name());
  }
  Factors factors = fill_triangles<Scalar, Space>(space, a, pattern, Scalar(1), report,
                                                  is_ic ? DiagonalUse::definite : DiagonalUse::general);
  factors.pivots = allocate<Vector<Scalar, Space>>(space, "prekond::multicolor_ilu0::pivots", a.num_rows);
  const auto outcome = impl::make_breakdown_counter(space, "prekond::multicolor_ilu0::breakdowns");
  if (is_ic) {
    factor<IcRow, Scalar, Space>(space, pattern, factors, true, outcome);
    transpose_lower<Scalar, Space>(space, "prekond::multicolor_ilu0::numeric::transpose_lower", pattern.lower,
                                   factors.lower, pattern.upper, factors.upper);
  } else {
    factor<IluRow, Scalar, Space>(space, pattern, factors, false, outcome);
  }
  impl::add_breakdowns(breakdowns_of_rows(impl::fetch(space, outcome)), report.breakdowns);
  // For each entry of L a row of a triangle is subtracted, here a mean one.
  report.numeric_flops = 2.0 * double(pattern.lower.nnz()) * double(pattern.upper.nnz()) / double(a.num_rows);
  return factors;
}

template <class Scalar, class Space>
std::vector<impl::sweeps::HalfSweep> MulticolorIlu0<Scalar, Space>::half_sweeps() const {
  return triangular_solves();
}

#define PREKOND_MULTICOLOR_ILU0(Scalar, Space) template class MulticolorIlu0<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_MULTICOLOR_ILU0)

}  // namespace prekond
