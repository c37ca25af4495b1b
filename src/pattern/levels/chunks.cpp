// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pattern/levels/chunks.hpp"

#include "core/instantiate.hpp"

#include <vector>

namespace prekond::impl::levels {
namespace {

/// The chunks of each level.
template <class Space>
struct FillChunks {
  VectorView<const int, Space> level_ptrs, chunk_ptrs;
  VectorView<int, Space> bounds;
  int rows_per_chunk;
  KOKKOS_FUNCTION void operator()(const typename Kokkos::TeamPolicy<Space>::member_type& team) const {
    const int level = team.league_rank();
    const int end = level_ptrs(level + 1), first = chunk_ptrs(level);
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, chunk_ptrs(level + 1) - first), [&](int c) {
      const int begin = level_ptrs(level) + c * rows_per_chunk;
      bounds(2 * (first + c)) = begin;
      bounds(2 * (first + c) + 1) = begin + rows_per_chunk < end ? begin + rows_per_chunk : end;
    });
  }
};

}  // namespace

template <class Space>
Chunks<Space> make_chunks(const Space& space, const LevelSchedule<Space>& schedule, int rows_per_chunk) {
  const auto& level_ptrs = schedule.host_level_ptrs;
  const int num_levels = schedule.num_levels();
  std::vector<int> ptrs(num_levels + 1, 0);
  for (int k = 0; k < num_levels; ++k)
    ptrs[k + 1] = ptrs[k] + (level_ptrs[k + 1] - level_ptrs[k] + rows_per_chunk - 1) / rows_per_chunk;
  Chunks<Space> result;
  result.count = ptrs.back();
  result.bounds =
      allocate<Vector<int, Space>>(space, "prekond::levels::chunks", 2 * std::int64_t(result.count));
  if (num_levels == 0) return result;
  const auto device = allocate<Vector<int, Space>>(space, "prekond::levels::chunk_ptrs", ptrs.size());
  Kokkos::deep_copy(space, device, Kokkos::View<const int*, Kokkos::HostSpace>(ptrs.data(), ptrs.size()));
  constexpr int team = is_host_space<Space> ? 1 : 64;
  Kokkos::parallel_for("prekond::levels::make_chunks", Kokkos::TeamPolicy<Space>(space, num_levels, team),
                       FillChunks<Space>{schedule.level_ptrs, device, result.bounds, rows_per_chunk});
  space.fence("prekond::levels::chunk_ptrs");
  return result;
}

#define PREKOND_LEVEL_CHUNKS(Space) \
  template Chunks<Space> make_chunks<Space>(const Space&, const LevelSchedule<Space>&, int);
PREKOND_INSTANTIATE_SPACES(PREKOND_LEVEL_CHUNKS)

}  // namespace prekond::impl::levels
