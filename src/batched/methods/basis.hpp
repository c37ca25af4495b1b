// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "batched/level.hpp"

namespace prekond::impl::batched {

/// Vectors of n numbers, one after the other.
template <class Scalar>
struct VectorBlock {
  Scalar* data;
  int n;

  KOKKOS_FORCEINLINE_FUNCTION Scalar* operator[](int k) const { return data + std::int64_t(k) * n; }

  /// sums(k) = (v_k, w), k < count, four of them a pass and a barrier.
  template <class Level, class Other>
  KOKKOS_FORCEINLINE_FUNCTION void project(const Level& level, int count, const Other* w, Other* sums) const {
    constexpr int width = LevelTuning::most_sums;
    for (int first = 0; first < count; first += width) {
      Other found[width];
      several_sums<Other, width>(level, n, found, [&](int i, Other* mine) {
        const Other w_i = w[i];
        for (int k = 0; k < width; ++k)
          if (first + k < count) mine[k] += conjugate((*this)[first + k][i]) * w_i;
      });
      level.once([&] {
        for (int k = 0; k < width; ++k)
          if (first + k < count) sums[first + k] = found[k];
      });
    }
  }

  /// Element i of sum_k c_k v_k, begin <= k < end.
  template <class Other>
  KOKKOS_FORCEINLINE_FUNCTION Other combined(int i, int begin, int end, const Other* c) const {
    Other sum = 0;
    for (int k = begin; k < end; ++k) sum += c[k] * (*this)[k][i];
    return sum;
  }
};

}  // namespace prekond::impl::batched
