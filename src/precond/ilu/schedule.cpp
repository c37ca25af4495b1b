// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "instantiate.hpp"
#include "precond/ilu/kernels.hpp"
#include "precond/ilu/numeric.hpp"

namespace prekond::impl::ilu {
namespace {

std::vector<LevelGroup> group_levels(const std::vector<int>& level_ptrs, int small) {
  std::vector<LevelGroup> groups;
  for (int k = 0; k + 1 < static_cast<int>(level_ptrs.size()); ++k) {
    const bool merged = level_ptrs[k + 1] - level_ptrs[k] <= small;
    if (merged && !groups.empty() && groups.back().merged)
      groups.back().last = k + 1;
    else
      groups.push_back({k, k + 1, merged});
  }
  return groups;
}

}  // namespace

template <class Space>
RowSchedule<Space> schedule_rows(const Space& space, const CsrGraph<Space>& lower, FactorSchedule how) {
  RowSchedule<Space> result;
  result.levels = level_schedule<Space>(space, lower, Triangle::lower);
  result.groups =
      group_levels(result.levels.host_level_ptrs,
                   is_host_space<Space> ? ScheduleTuning::small_on_host : ScheduleTuning::small_on_device);
  result.how = how;
  if (how == FactorSchedule::automatic)
    result.how = is_host_space<Space> ? FactorSchedule::levels : FactorSchedule::sync_free;
  if (result.how == FactorSchedule::sync_free)
    result.chunks = levels::make_chunks<Space>(
        space, result.levels,
        is_host_space<Space> ? ScheduleTuning::chunk_rows_on_host
                             : FactorTuning::team_threads / FactorTuning::lanes(lower.nnz(), lower.num_rows));
  return result;
}

#define PREKOND_ILU_SCHEDULE(Space) \
  template RowSchedule<Space> schedule_rows<Space>(const Space&, const CsrGraph<Space>&, FactorSchedule);
PREKOND_INSTANTIATE_SPACES(PREKOND_ILU_SCHEDULE)

}  // namespace prekond::impl::ilu
