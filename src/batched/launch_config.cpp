// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batched/launch_config.hpp"

#include <algorithm>
#include <limits>

namespace prekond::impl::batched {
namespace {

/// About as many lanes as there are rows that can be worked on at a time: all rows, or with factors those of
/// a level.
BatchedLanes choose_lanes(const BatchedOptions& options, const LaunchSizes& sizes) {
  if (options.lanes != BatchedLanes::automatic) return options.lanes;
  const bool levels = sizes.num_levels > 0;
  const std::int64_t few =
      levels ? sizes.num_levels * LaneGroupTuning::level_of_few : LaneGroupTuning::rows_of_few;
  const std::int64_t vector =
      levels ? sizes.num_levels * LaneGroupTuning::level_of_vector : LaneGroupTuning::rows_of_vector;
  if (sizes.num_rows <= few) return BatchedLanes::few;
  return sizes.num_rows <= vector ? BatchedLanes::vector : BatchedLanes::team;
}

/// Sets the lanes: vectors that share a team fill it; a team with one system has about one lane a row.
void share_lanes(LaunchConfig& config, std::int64_t num_rows) {
  if (config.lanes == BatchedLanes::team) {
    config.vector_length = LaneGroupTuning::team_lanes;
    constexpr std::int64_t most = LaneGroupTuning::most_threads / LaneGroupTuning::team_lanes;
    const std::int64_t wanted = (num_rows + config.vector_length - 1) / config.vector_length;
    config.threads = static_cast<int>(std::clamp<std::int64_t>(wanted, 2, most));
  } else {
    config.vector_length = config.lanes == BatchedLanes::few ? 8 : 32;
    config.threads = config.systems_per_team = LaneGroupTuning::shared_threads / config.vector_length;
  }
}

/// Halves the systems of a team until their numbers fit in its scratch memory.
void fit_scratch(LaunchConfig& config, const LaunchSizes& sizes, std::int64_t scratch) {
  constexpr std::int64_t all = std::numeric_limits<std::int64_t>::max();
  const std::int64_t bytes = make_scratch_layout(sizes.pieces, all).scratch_length * sizes.scalar_bytes;
  const int fewest = std::min(config.systems_per_team, LaneGroupTuning::team_lanes / config.vector_length);
  if (sizes.scratch_fit == ScratchFit::fewer_systems_if_all_fits && bytes * fewest > scratch) return;
  while (config.systems_per_team > fewest && bytes * config.systems_per_team > scratch)
    config.threads = config.systems_per_team = config.systems_per_team / 2;
}

/// The number of systems that a host thread takes at a time: several, because threads wait for each other at
/// the counter, but few enough that the last ones do not delay the end.
int turn_of_host(std::int64_t num_systems, std::int64_t workers) {
  constexpr std::int64_t turns = 32, most = 16;
  return static_cast<int>(
      std::clamp<std::int64_t>(num_systems / (turns * std::max<std::int64_t>(1, workers)), 1, most));
}

}  // namespace

LaunchConfig make_launch_config(const BatchedOptions& options, const LaunchSizes& sizes) {
  LaunchConfig config;
  config.lanes = choose_lanes(options, sizes);
  if (!sizes.host) share_lanes(config, sizes.num_rows);
  const std::int64_t scratch = std::min<std::int64_t>(options.scratch, sizes.most_scratch);
  if (sizes.scratch_fit != ScratchFit::any) fit_scratch(config, sizes, scratch);
  const std::int64_t capacity = scratch / config.systems_per_team / sizes.scalar_bytes;
  config.layout = make_scratch_layout(sizes.pieces, capacity, sizes.elsewhere);
  config.scratch_bytes = config.layout.scratch_length * sizes.scalar_bytes * config.systems_per_team;
  config.is_dynamic = sizes.host || config.layout.spilled_length > 0;
  if (sizes.copied >= 0 && !config.layout.is_in_scratch(sizes.copied))
    append_spilled(config.layout, static_cast<int>(sizes.pieces.size()), sizes.pieces[sizes.copied]);
  config.workers = sizes.num_systems;
  if (!config.is_dynamic) return config;
  const std::int64_t lanes_of_system =
      std::int64_t(config.vector_length) * config.threads / config.systems_per_team;
  config.workers = std::min(config.workers, std::max<std::int64_t>(1, sizes.concurrency / lanes_of_system));
  if (sizes.host) config.at_once = turn_of_host(sizes.num_systems, config.workers);
  const std::int64_t slice = config.layout.spilled_length * sizes.scalar_bytes;
  if (slice > 0)
    config.workers = std::min(config.workers, std::max<std::int64_t>(1, options.workspace_budget / slice));
  return config;
}

}  // namespace prekond::impl::batched
