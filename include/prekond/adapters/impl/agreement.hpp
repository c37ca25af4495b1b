// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Agreement of the ranks of a communicator: on errors, and on one report.
#include <prekond/adapters/impl/rank_error.hpp>
#include <prekond/core/report.hpp>

#include <Teuchos_Comm.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace prekond::tpetra {

using prekond::RankError;

/// Collective. Returns if no rank has an error; else all ranks throw the one of the lowest rank that has
/// one, its text after "rank K of N (where): "; a single rank is named only where there is a place to name.
/// Cost: one all-reduce of a number where nothing failed.
void agree(const Teuchos::Comm<int>& comm, const std::optional<RankError>& mine);

/// Collective. Runs `work` on every rank; where it throws on one, all throw (see `agree`); `where(row)` names
/// the place, with row -1 where none is known. `work` itself must not communicate after it may have failed.
template <class Work, class Where>
void together(const Teuchos::Comm<int>& comm, Work&& work, Where&& where) {
  std::optional<RankError> mine;
  try {
    work();
  } catch (...) {
    mine = RankError::current();
    mine->where = where(mine->row);
  }
  agree(comm, mine);
}

/// Collective. The report of all ranks, the same on each: times and fences are maxima, sizes and counts sums;
/// a pattern is kept where all ranks kept theirs; the first breakdown is that of the ranks' first ones with
/// the smallest global row; notes and actions are listed once each, actions after their rank.
/// `first_global_row`: the global index of this rank's `report.breakdowns.first_row`.
Report merged_report(const Teuchos::Comm<int>& comm, const Report& report, std::int64_t first_global_row);

}  // namespace prekond::tpetra
