// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "batched/lane_group.hpp"

namespace prekond::impl::batched {

/// Vectors of n numbers at a distance of `stride`.
template <class Scalar>
struct VectorBlock {
  Scalar* data;
  int n;
  int stride = n;

  KOKKOS_FORCEINLINE_FUNCTION Scalar* operator[](int k) const { return data + std::int64_t(k) * stride; }

  /// sums(k) = (v_k, w) for k < count, with one pass and one barrier for four of them.
  template <class LaneGroup, class Other>
  KOKKOS_FORCEINLINE_FUNCTION void project(const LaneGroup& lane_group, int count, const Other* w,
                                           Other* sums) const {
    constexpr int width = LaneGroupTuning::most_sums;
    for (int first = 0; first < count; first += width) {
      Other found[width];
      const Scalar* v[width];  // after the last one the first of the pass, whose sum is not used
      for (int k = 0; k < width; ++k) v[k] = (*this)[first + k < count ? first + k : first];
      several_sums<Other, width>(lane_group, n, found, [&](int i, Other* mine) {
        const Other w_i = w[i];
        for (int k = 0; k < width; ++k) mine[k] += conjugate(v[k][i]) * w_i;
      });
      lane_group.once([&] {
        for (int k = 0; k < width; ++k)
          if (first + k < count) sums[first + k] = found[k];
      });
    }
  }

  /// `project` with one lane for each sum, or several where there are more lanes than sums: no exchanges
  /// between lanes, and two barriers. It reads across the vectors, which suits fast memory and an odd stride
  /// (no two lanes at the same bank). The number of lanes is a power of two, and the length of `partial`.
  template <class LaneGroup, class Other>
  KOKKOS_FORCEINLINE_FUNCTION void project_by_lanes(const LaneGroup& lane_group, int count, const Other* w,
                                                    Other* sums, Other* partial) const {
    int at_once = lane_group.size();
    while (at_once > 1 && at_once / 2 >= count) at_once /= 2;
    const int parts = lane_group.size() / at_once, share = (n + parts - 1) / parts;
    lane_group.region([&](int lane) {
      for (int k = lane % at_once; k < count; k += at_once) {
        const int begin = lane / at_once * share, end = begin + share < n ? begin + share : n;
        const Scalar* v_k = (*this)[k];
        Other sum = 0;
#pragma unroll 4
        for (int i = begin; i < end; ++i) sum += conjugate(v_k[i]) * w[i];
        (parts == 1 ? sums[k] : partial[lane]) = sum;
      }
    });
    if (parts == 1) return;
    lane_group.region([&](int lane) {
      if (lane >= count) return;
      Other sum = partial[lane];
      for (int part = 1; part < parts; ++part) sum += partial[part * at_once + lane];
      sums[lane] = sum;
    });
  }

  /// Element i of sum_k c_k v_k, begin <= k < end.
  template <class Other>
  KOKKOS_FORCEINLINE_FUNCTION Other combined(int i, int begin, int end, const Other* c) const {
    Other sum = 0;
    const Scalar* v = (*this)[begin] + i;
#pragma unroll 4
    for (int k = begin; k < end; ++k, v += stride) sum += c[k] * *v;
    return sum;
  }
};

}  // namespace prekond::impl::batched
