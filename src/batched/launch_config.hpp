// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/batched/options.hpp>

#include "batched/lane_group.hpp"
#include "batched/scratch_layout.hpp"

namespace prekond::impl::batched {

/// The lanes and the memory that the systems of a batch get, from sizes only.
struct LaunchConfig {
  ScratchLayout layout;
  BatchedLanes lanes = BatchedLanes::vector;  ///< never automatic
  int threads = 1;                            ///< vectors of lanes in a team
  int systems_per_team = 1;                   ///< `threads`, or 1
  int vector_length = 1;
  std::int64_t workers = 0;        ///< systems that are worked on at a time
  bool is_dynamic = false;         ///< a worker takes further systems when it has finished some
  int at_once = 1;                 ///< systems that a worker takes in one turn
  std::int64_t scratch_bytes = 0;  ///< bytes of a team without those of its lane group

  /// Vectors of lanes that work on one system
  int groups() const { return threads / systems_per_team; }
  std::int64_t num_teams() const { return (workers + systems_per_team - 1) / systems_per_team; }
};

/// Whether a team gets fewer systems so that all their numbers fit in its scratch memory: never, down to the
/// lanes of one warp, or only where that is enough.
enum class ScratchFit { any, fewer_systems, fewer_systems_if_all_fits };

/// The sizes that a launch depends on besides the options.
struct LaunchSizes {
  std::int64_t num_rows, num_systems;
  std::vector<std::int64_t> pieces;  ///< in order of priority
  unsigned elsewhere;                ///< \see make_scratch_layout
  std::int64_t scalar_bytes;
  bool host;
  std::int64_t concurrency;   ///< threads of the space
  std::int64_t most_scratch;  ///< bytes that a team may have
  ScratchFit scratch_fit = ScratchFit::any;
  std::int64_t num_levels = 0;  ///< levels of rows of a preconditioner that works level by level, else 0
  int copied = -1;              ///< the piece of which there is a copy, see make_launch_config
};

/// A budget that is too small for one system counts as one system. Where the piece `copied` is not in
/// scratch, a last piece of its length is in the workspace. It does not make the workers take systems in
/// turn: they do where others are there.
LaunchConfig make_launch_config(const BatchedOptions& options, const LaunchSizes& sizes);

}  // namespace prekond::impl::batched
