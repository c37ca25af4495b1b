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

template <class Space>
void make_chunks(const Space& space, int chunk_rows, RowSchedule<Space>& schedule) {
  const auto& level_ptrs = schedule.levels.host_level_ptrs;
  const int num_levels = schedule.levels.num_levels();
  std::vector<int> ptrs(num_levels + 1, 0);
  for (int k = 0; k < num_levels; ++k)
    ptrs[k + 1] = ptrs[k] + (level_ptrs[k + 1] - level_ptrs[k] + chunk_rows - 1) / chunk_rows;
  schedule.num_chunks = ptrs.back();
  schedule.chunks =
      allocate<Vector<int, Space>>(space, "prekond::ilu::chunks", 2 * std::int64_t(ptrs.back()));
  if (num_levels == 0) return;
  const auto device = allocate<Vector<int, Space>>(space, "prekond::ilu::chunk_ptrs", ptrs.size());
  Kokkos::deep_copy(space, device, Kokkos::View<const int*, Kokkos::HostSpace>(ptrs.data(), ptrs.size()));
  constexpr int team = is_host_space<Space> ? 1 : 64;
  Kokkos::parallel_for("prekond::ilu::symbolic::make_chunks",
                       Kokkos::TeamPolicy<Space>(space, num_levels, team),
                       MakeChunks<Space>{schedule.levels.level_ptrs, device, schedule.chunks, chunk_rows});
  space.fence("prekond::ilu::chunk_ptrs");
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
    make_chunks(space,
                is_host_space<Space>
                    ? ScheduleTuning::chunk_rows_on_host
                    : FactorTuning::team_threads / FactorTuning::lanes(lower.nnz(), lower.num_rows),
                result);
  return result;
}

#define PREKOND_ILU_SCHEDULE(Space) \
  template RowSchedule<Space> schedule_rows<Space>(const Space&, const CsrGraph<Space>&, FactorSchedule);
PREKOND_INSTANTIATE_SPACES(PREKOND_ILU_SCHEDULE)

}  // namespace prekond::impl::ilu
