// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Rows that need each other, by levels: how they are launched.
#include <prekond/pattern/level_schedule.hpp>
#include <prekond/precond/incomplete_options.hpp>

#include "pattern/levels/chunks.hpp"
#include "pattern/levels/row_blocks.hpp"

#include <cstdint>
#include <vector>

namespace prekond::impl {

struct ScheduleTuning {
  static constexpr int chunk_rows_on_host = 16;  ///< of a ticket; on a device the vectors of a team
  /// Levels of so few rows make one launch together, of one team.
  static constexpr int small_on_device = 64, small_on_host = 256;
  template <class Space>
  static constexpr int small = is_host_space<Space> ? small_on_host : small_on_device;
  static constexpr int many_levels = 10000;                          ///< of which a device's user is told
  static constexpr std::int64_t most_polls = std::int64_t(1) << 24;  ///< some 10 s
};

/// Levels of one launch.
struct LevelGroup {
  int first = 0, last = 0;  ///< levels first .. last - 1
  bool merged = false;      ///< small ones, by one team
};

/// Groups 0 .. count - 1 as launches: those next to each other that are small make one.
template <class IsSmall>
std::vector<LevelGroup> merge_small(int count, const IsSmall& is_small) {
  std::vector<LevelGroup> launches;
  for (int k = 0; k < count; ++k) {
    const bool merged = is_small(k);
    if (merged && !launches.empty() && launches.back().merged)
      launches.back().last = k + 1;
    else
      launches.push_back({k, k + 1, merged});
  }
  return launches;
}

/// Which rows are worked on when. \see FactorSchedule
template <class Space>
struct RowSchedule {
  LevelSchedule<Space> levels;
  levels::RowBlocks<Space> blocks;  ///< on a host in place of levels, where rows are block-diagonal
  std::vector<LevelGroup> groups;
  levels::Chunks<Space> chunks;                 ///< of tickets
  FactorSchedule how = FactorSchedule::levels;  ///< never `automatic`
  int lanes = 1;                                ///< of a row of single entries, on a device
  bool has_long_rows = true;                    ///< of a factorisation: rows that others look up
  bool by_tables = true;                        ///< likewise: a host may find columns in tables
  int threads_in_order = 0;  ///< up to this number of threads of a host, one may have all rows in their order
  std::int64_t most_polls = ScheduleTuning::most_polls;

  std::int64_t bytes() const {
    return static_cast<std::int64_t>(
        (levels.rows.span() + levels.level_ptrs.span() + chunks.bounds.span() + blocks.bounds.span()) *
        sizeof(int));
  }
};

/// `automatic` is `levels` on a host, `sync_free` on a device. `rows_per_chunk`: of a device's ticket.
/// `small`: levels of so few rows make one launch together, of one team. Fences.
template <class Space>
RowSchedule<Space> make_row_schedule(const Space& space, const LevelSchedule<Space>& levels,
                                     FactorSchedule how, int rows_per_chunk,
                                     int small = ScheduleTuning::small<Space>);

}  // namespace prekond::impl
