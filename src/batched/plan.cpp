// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batched/plan.hpp"

#include <algorithm>
#include <limits>

namespace prekond::impl::batched {
namespace {

/// As many lanes as there are rows at a time: all, or with factors those of a level.
BatchedLanes choose_lanes(const BatchedOptions& options, const PlanSizes& sizes) {
  if (options.lanes != BatchedLanes::automatic) return options.lanes;
  const bool levels = sizes.num_levels > 0;
  const std::int64_t few =
      levels ? sizes.num_levels * LaneGroupTuning::level_of_few : LaneGroupTuning::rows_of_few;
  const std::int64_t vector =
      levels ? sizes.num_levels * LaneGroupTuning::level_of_vector : LaneGroupTuning::rows_of_vector;
  if (sizes.num_rows <= few) return BatchedLanes::few;
  return sizes.num_rows <= vector ? BatchedLanes::vector : BatchedLanes::team;
}

/// Lanes: of the vectors that share a team as many as make it large, of a team that has one system about a
/// lane a row.
void share_lanes(Plan& plan, std::int64_t num_rows) {
  if (plan.lanes == BatchedLanes::team) {
    plan.vector_length = LaneGroupTuning::team_lanes;
    constexpr std::int64_t most = LaneGroupTuning::most_threads / LaneGroupTuning::team_lanes;
    const std::int64_t wanted = (num_rows + plan.vector_length - 1) / plan.vector_length;
    plan.threads = static_cast<int>(std::clamp<std::int64_t>(wanted, 2, most));
  } else {
    plan.vector_length = plan.lanes == BatchedLanes::few ? 8 : 32;
    plan.threads = plan.systems_per_team = LaneGroupTuning::shared_threads / plan.vector_length;
  }
}

/// Fewer systems a team, until their numbers fit in the team's scratch memory.
void fit_scratch(Plan& plan, const PlanSizes& sizes, std::int64_t scratch) {
  constexpr std::int64_t all = std::numeric_limits<std::int64_t>::max();
  const std::int64_t bytes = place_pieces(sizes.pieces, all).scratch_length * sizes.scalar_bytes;
  const int fewest = std::min(plan.systems_per_team, LaneGroupTuning::team_lanes / plan.vector_length);
  if (sizes.in_scratch == InScratch::all_or_as_it_comes && bytes * fewest > scratch) return;
  while (plan.systems_per_team > fewest && bytes * plan.systems_per_team > scratch)
    plan.threads = plan.systems_per_team = plan.systems_per_team / 2;
}

/// Systems that a thread of the host takes at a time: several, as the threads wait for one another where they
/// count turns, and few where the last ones would make it wait.
int turn_of_host(std::int64_t num_systems, std::int64_t workers) {
  constexpr std::int64_t turns = 32, most = 16;
  return static_cast<int>(
      std::clamp<std::int64_t>(num_systems / (turns * std::max<std::int64_t>(1, workers)), 1, most));
}

}  // namespace

Plan make_plan(const BatchedOptions& options, const PlanSizes& sizes) {
  Plan plan;
  plan.lanes = choose_lanes(options, sizes);
  if (!sizes.host) share_lanes(plan, sizes.num_rows);
  const std::int64_t scratch = std::min<std::int64_t>(options.scratch, sizes.most_scratch);
  if (sizes.in_scratch != InScratch::as_it_comes) fit_scratch(plan, sizes, scratch);
  const std::int64_t capacity = scratch / plan.systems_per_team / sizes.scalar_bytes;
  plan.placement = place_pieces(sizes.pieces, capacity, sizes.elsewhere);
  plan.scratch_bytes = plan.placement.scratch_length * sizes.scalar_bytes * plan.systems_per_team;
  plan.in_turns = sizes.host || plan.placement.spilled_length > 0;
  plan.workers = sizes.num_systems;
  if (!plan.in_turns) return plan;
  const std::int64_t lanes_of_system =
      std::int64_t(plan.vector_length) * plan.threads / plan.systems_per_team;
  plan.workers = std::min(plan.workers, std::max<std::int64_t>(1, sizes.concurrency / lanes_of_system));
  if (sizes.host) plan.at_once = turn_of_host(sizes.num_systems, plan.workers);
  const std::int64_t slice = plan.placement.spilled_length * sizes.scalar_bytes;
  if (slice > 0)
    plan.workers = std::min(plan.workers, std::max<std::int64_t>(1, options.spill_budget / slice));
  return plan;
}

}  // namespace prekond::impl::batched
