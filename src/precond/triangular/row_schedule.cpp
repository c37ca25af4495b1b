// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/triangular/row_schedule.hpp"

#include "core/instantiate.hpp"

namespace prekond::impl {
template <class Space>
RowSchedule<Space> make_row_schedule(const Space& space, const LevelSchedule<Space>& levels,
                                     FactorSchedule how, int rows_per_chunk, int small) {
  RowSchedule<Space> result;
  result.levels = levels;
  const std::vector<int>& ptrs = result.levels.host_level_ptrs;
  result.groups =
      merge_small(static_cast<int>(ptrs.size()) - 1, [&](int k) { return ptrs[k + 1] - ptrs[k] <= small; });
  result.how = how;
  if (how == FactorSchedule::automatic)
    result.how = is_host_space<Space> ? FactorSchedule::levels : FactorSchedule::sync_free;
  if (result.how == FactorSchedule::sync_free)
    result.chunks = levels::make_chunks<Space>(
        space, levels, is_host_space<Space> ? ScheduleTuning::chunk_rows_on_host : rows_per_chunk);
  return result;
}

#define PREKOND_ROW_SCHEDULE(Space)                                                               \
  template RowSchedule<Space> make_row_schedule<Space>(const Space&, const LevelSchedule<Space>&, \
                                                       FactorSchedule, int, int);
PREKOND_INSTANTIATE_SPACES(PREKOND_ROW_SCHEDULE)

}  // namespace prekond::impl
