// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/views.hpp>

namespace prekond {

/// K sums that are computed together.
template <class Scalar, int K>
struct Sums {
  Scalar value[K] = {};
  KOKKOS_FUNCTION Sums& operator+=(const Sums& other) {
    for (int k = 0; k < K; ++k) value[k] += other.value[k];
    return *this;
  }
};

namespace impl {

/// Lanes of a warp, which CUDA's sums of a team are made of; and the warps of the largest team.
inline constexpr int sum_warp = 32;
inline constexpr int most_warps = 32;

template <class Scalar, class Space>
using TeamSumMemory =
    Kokkos::View<Scalar*, typename Space::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// Scratch memory of a team for K sums by team_sum, which a host does without.
template <int K, class Scalar, class Space>
std::size_t team_sum_bytes() {
  return is_host_space<Space> ? 0 : TeamSumMemory<Scalar, Space>::shmem_size(K * most_warps);
}
template <int K, class Scalar, class Space, class Team>
KOKKOS_FORCEINLINE_FUNCTION Scalar* team_sum_memory(const Team& team) {
  if constexpr (is_host_space<Space>)
    return nullptr;
  else
    return TeamSumMemory<Scalar, Space>(team.team_scratch(0), K * most_warps).data();
}

#ifdef KOKKOS_ENABLE_CUDA
template <int K, class Scalar>
__device__ void add_lanes(Sums<Scalar, K>& sums) {
  for (int step = sum_warp / 2; step > 0; step /= 2)
    for (int k = 0; k < K; ++k) sums.value[k] += Kokkos::shfl_down(sums.value[k], step, sum_warp);
}

/// Lanes of a warp exchange what they have, and one warp adds the warps' sums: one barrier, where Kokkos's
/// own reduction has more. Lane 0 has the result.
template <int K, class Scalar, class Member>
__device__ Sums<Scalar, K> team_sum_by_warps(const Member& team, int lanes, const Sums<Scalar, K>& of_lane,
                                             Scalar* scratch) {
  const int lane = int(threadIdx.y * blockDim.x + threadIdx.x);
  Sums<Scalar, K> sums = of_lane;
  add_lanes(sums);
  if (lane % sum_warp == 0)
    for (int k = 0; k < K; ++k) scratch[K * (lane / sum_warp) + k] = sums.value[k];
  team.team_barrier();
  if (lane >= sum_warp) return sums;
  for (int k = 0; k < K; ++k) sums.value[k] = lane * sum_warp < lanes ? scratch[K * lane + k] : Scalar(0);
  add_lanes(sums);
  return sums;
}
#endif

/// The sums of what each lane of a team has, in an order that depends only on their number, known to the
/// lane that Kokkos::single(PerTeam) chooses. `scratch`: the team's team_sum_memory. Called by all lanes, of
/// which there are a multiple of 32, or few on a host. A barrier before the next call is the caller's.
template <int K, class Scalar, class Member>
KOKKOS_FORCEINLINE_FUNCTION Sums<Scalar, K> team_sum(const Member& team, int lanes,
                                                     const Sums<Scalar, K>& of_lane, Scalar* scratch) {
#ifdef KOKKOS_ENABLE_CUDA
  KOKKOS_IF_ON_DEVICE((return team_sum_by_warps<K>(team, lanes, of_lane, scratch);))
#endif
  (void)scratch;
  Sums<Scalar, K> total;
  Kokkos::parallel_reduce(
      Kokkos::TeamVectorRange(team, lanes), [&](int, Sums<Scalar, K>& sums) { sums += of_lane; }, total);
  return total;
}

/// Does any thread of a team say yes? One barrier. Called by all of them.
template <class Member>
KOKKOS_FORCEINLINE_FUNCTION bool team_any(const Member& team, bool yes) {
#ifdef KOKKOS_ENABLE_CUDA
  KOKKOS_IF_ON_DEVICE((return __syncthreads_or(yes);))
#endif
  int any = yes ? 1 : 0;
  team.team_reduce(Kokkos::Max<int>(any));
  return any != 0;
}

}  // namespace impl
}  // namespace prekond
