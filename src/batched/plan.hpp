// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// How a batch is given to the lanes of a machine, and to its memories: from sizes alone.
#include <prekond/batched/options.hpp>

#include "batched/lane_group.hpp"
#include "batched/placement.hpp"

namespace prekond::impl::batched {

struct Plan {
  Placement placement;
  BatchedLanes lanes = BatchedLanes::vector;  ///< never automatic
  int threads = 1;                            ///< of a team: vectors of lanes
  int systems_per_team = 1;                   ///< `threads`, or 1
  int vector_length = 1;
  std::int64_t workers = 0;        ///< systems on their way at a time
  bool in_turns = false;           ///< workers take systems when they are done with others
  int at_once = 1;                 ///< systems that a worker takes in one turn
  std::int64_t scratch_bytes = 0;  ///< of a team, without what its level needs

  /// Vectors of lanes that work on one system
  int groups() const { return threads / systems_per_team; }
  std::int64_t num_teams() const { return (workers + systems_per_team - 1) / systems_per_team; }
};

/// Has a team fewer systems, so that all their numbers fit in its scratch memory? `as_far_as_it_goes`: down
/// to a warp's lanes; `all_or_as_it_comes`: where that is enough.
enum class InScratch { as_it_comes, as_far_as_it_goes, all_or_as_it_comes };

/// What a plan depends on, beside the options.
struct PlanSizes {
  std::int64_t num_rows, num_systems;
  std::vector<std::int64_t> pieces;  ///< in order of priority
  unsigned elsewhere;                ///< \see place_pieces
  std::int64_t scalar_bytes;
  bool host;
  std::int64_t concurrency;   ///< of the space
  std::int64_t most_scratch;  ///< bytes that a team may have
  InScratch in_scratch = InScratch::as_it_comes;
  std::int64_t num_levels = 0;  ///< of a preconditioner that takes rows level by level, else 0
};

/// With a budget too small for one system it is one system.
Plan make_plan(const BatchedOptions& options, const PlanSizes& sizes);

}  // namespace prekond::impl::batched
