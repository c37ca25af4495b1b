// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/block_reduce.hpp>

namespace prekond::impl {

inline constexpr int team_sum_scratch = 32;

#ifdef KOKKOS_ENABLE_CUDA
/// Lanes of a warp exchange what they have, and one warp adds the warps' sums: one barrier, where Kokkos's
/// own reduction has more. Lane 0 has the result.
template <class Scalar, class Member>
__device__ Scalar team_sum_by_warps(const Member& team, int lanes, const Scalar& of_lane, Scalar* scratch) {
  constexpr int warp = 32;
  const int lane = int(threadIdx.y * blockDim.x + threadIdx.x);
  Scalar sum = of_lane;
  for (int step = warp / 2; step > 0; step /= 2) sum += Kokkos::shfl_down(sum, step, warp);
  if (lane % warp == 0) scratch[lane / warp] = sum;
  team.team_barrier();
  if (lane >= warp) return sum;
  sum = lane * warp < lanes ? scratch[lane] : Scalar(0);
  for (int step = warp / 2; step > 0; step /= 2) sum += Kokkos::shfl_down(sum, step, warp);
  return sum;
}
#endif

/// The sum of what each lane of a team has, in an order that depends on their number alone, known to the lane
/// that Kokkos::single(PerTeam) chooses. `scratch`: team_sum_scratch numbers of the team's, which CUDA needs.
/// Called by all lanes, of which there are a multiple of 32, or few on a host.
template <class Scalar, class Member>
KOKKOS_FORCEINLINE_FUNCTION Scalar team_sum(const Member& team, int lanes, const Scalar& of_lane,
                                            Scalar* scratch) {
#ifdef KOKKOS_ENABLE_CUDA
  KOKKOS_IF_ON_DEVICE((return team_sum_by_warps(team, lanes, of_lane, scratch);))
#endif
  (void)scratch;
  Sums<Scalar, 1> total;
  Kokkos::parallel_reduce(
      Kokkos::TeamVectorRange(team, lanes), [&](int, Sums<Scalar, 1>& sum) { sum.value[0] += of_lane; },
      total);
  return total.value[0];
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

}  // namespace prekond::impl
