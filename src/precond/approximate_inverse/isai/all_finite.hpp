// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Are a row's values finite?
#include <prekond/core/views.hpp>

namespace prekond::impl::isai {

/// Counts the values that are not finite as `Scalar`. \pre *counter is 0
template <class Scalar, class LaneGroup, class Value>
KOKKOS_FUNCTION bool all_finite(const LaneGroup& lane_group, int length, int* counter, const Value& value) {
  lane_group.region([&](int lane) {
    for (int k = lane; k < length; k += lane_group.size())
      if (!Kokkos::isfinite(static_cast<Scalar>(value(k)))) Kokkos::atomic_inc(counter);
  });
  return *counter == 0;
}

}  // namespace prekond::impl::isai
