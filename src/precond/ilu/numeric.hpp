// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Incomplete factorisations on a pattern: how the rows are scheduled, and the numbers.
#include <prekond/pattern/fill.hpp>
#include <prekond/pattern/level_schedule.hpp>
#include <prekond/precond/incomplete_factorization.hpp>

#include "pattern/levels/chunks.hpp"
#include "precond/ilu/row_breakdowns.hpp"
#include "precond/relaxation/values.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace prekond::impl::ilu {

using relaxation::Factors;

struct ScheduleTuning {
  static constexpr int chunk_rows_on_host = 16;  ///< of a ticket; on a device the vectors of a team
  /// Levels of so few rows make one launch together, of one team.
  static constexpr int small_on_device = 64, small_on_host = 256;
  static constexpr std::int64_t most_polls = std::int64_t(1) << 24;  ///< some 10 s
};

/// Levels of one launch.
struct LevelGroup {
  int first = 0, last = 0;  ///< levels first .. last - 1
  bool merged = false;      ///< small ones, by one team
};

/// Which rows are worked on when. \see FactorSchedule
template <class Space>
struct RowSchedule {
  LevelSchedule<Space> levels;  ///< of L's pattern
  std::vector<LevelGroup> groups;
  levels::Chunks<Space> chunks;                 ///< see FactorByTickets
  FactorSchedule how = FactorSchedule::levels;  ///< never `automatic`
  std::int64_t most_polls = ScheduleTuning::most_polls;

  std::int64_t bytes() const {
    return static_cast<std::int64_t>((levels.rows.span() + levels.level_ptrs.span() + chunks.bounds.span()) *
                                     sizeof(int));
  }
};

/// Fences.
template <class Space>
RowSchedule<Space> schedule_rows(const Space& space, const CsrGraph<Space>& lower, FactorSchedule how);

/// The factors of A + alpha diag |A|, A scaled to the unit diagonal (see relaxation::Factors): M = R^-1 (I +
/// L) D (I + U) C^-1. `report` gets the breakdowns of the scaling alone. Fences.
template <class Scalar, class Space>
Factors<Scalar, Space> factor(const Space& space, const CsrView<Scalar, Space>& a,
                              const FillPattern<Space>& pattern, const RowSchedule<Space>& schedule,
                              IncompleteKind kind, double alpha, Report& report, Outcome& outcome);

/// y <- C y for the columns of y.
template <class Scalar, class Space>
void scale_columns(const Space& space, VectorView<const Scalar, Space> row_scale,
                   MultiVectorView<Scalar, Space> y);

}  // namespace prekond::impl::ilu
