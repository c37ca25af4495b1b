// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/solve_result.hpp>

#include <Kokkos_Core.hpp>

namespace prekond {

/// Is that a success?
KOKKOS_FORCEINLINE_FUNCTION constexpr bool converged(StopReason reason) {
  return reason == StopReason::rtol || reason == StopReason::atol || reason == StopReason::zero_rhs;
}

}  // namespace prekond
