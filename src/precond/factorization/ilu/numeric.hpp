// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Incomplete factorisations on a pattern: the schedule of the rows, and the numeric phase.
#include <prekond/pattern/fill.hpp>
#include <prekond/pattern/level_schedule.hpp>
#include <prekond/precond/impl/incomplete_factorization.hpp>

#include "precond/factorization/ilu/row_breakdowns.hpp"
#include "precond/triangular/row_schedule.hpp"
#include "precond/triangular/scaled_triangles.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace prekond::impl::ilu {

using sweeps::Factors;

using impl::LevelGroup;
using impl::RowSchedule;

/// Schedules the rows by the levels of L's pattern. `finished`: the pattern of the rows that others read, U
/// of ILU, L of IC. Fences.
template <class Space>
RowSchedule<Space> schedule_rows(const Space& space, const CsrGraph<Space>& lower,
                                 const CsrGraph<Space>& finished, FactorSchedule how);

/// Whether one thread of a host has all rows, in their order, see FactorTuning::narrow_on_host.
template <class Space>
bool is_in_order(const Space& space, const FillPattern<Space>& pattern, const RowSchedule<Space>& schedule);

/// The factors of A + alpha diag(A), A scaled to the unit diagonal (see sweeps::Factors): M = R^-1 (I +
/// L) D (I + U) C^-1. For the symmetric kinds only L and D are factors; `ic` reads A's lower triangle and
/// leaves U empty. `report` gets the breakdowns of the scaling only. Fences.
template <class Scalar, class Space>
Factors<Scalar, Space> factor(const Space& space, const CsrView<Scalar, Space>& a,
                              const FillPattern<Space>& pattern, const RowSchedule<Space>& schedule,
                              IncompleteKind kind, double alpha, Report& report, Outcome& outcome);

/// y <- C y for the columns of y.
template <class Scalar, class Space>
void scale_columns(const Space& space, VectorView<const Scalar, Space> row_scale,
                   MultiVectorView<Scalar, Space> y);

}  // namespace prekond::impl::ilu
