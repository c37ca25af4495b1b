// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Loggers, which are a template parameter of the kernel of a solve:
///
///   iteration(lane group, s, iteration, norm_r), end(lane group, s, iterations, relative, reason, replaced)
/// All lanes call the functions. The library uses HistoryLog, in which a history of no rows costs a
/// comparison an iteration, so that a kernel is compiled once.
#include <prekond/core/stopping.hpp>

#include <cstdint>

namespace prekond::impl::batched {

/// No log.
struct NoLog {
  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION void iteration(const LaneGroup&, std::int64_t, int, double) const {}
  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION void end(const LaneGroup&, std::int64_t, int, double, StopReason, int) const {}
};

/// The result of each system.
struct ConvergenceLog {
  int* iterations = nullptr;
  double* relative_residual = nullptr;
  StopReason* reasons = nullptr;
  int* replaced_pivots = nullptr;
  int* unsettled_factors = nullptr;

  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION void iteration(const LaneGroup&, std::int64_t, int, double) const {}
  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION void end(const LaneGroup& lane_group, std::int64_t s, int count,
                                       double relative, StopReason reason, int replaced) const {
    lane_group.once([&] {
      iterations[s] = count;
      relative_residual[s] = relative;
      reasons[s] = reason;
      replaced_pivots[s] = replaced < 0 ? ~replaced : replaced;
      unsettled_factors[s] = replaced < 0;
    });
  }
};

/// The result of each system and ||r|| of its first iterations.
struct HistoryLog : ConvergenceLog {
  double* norms = nullptr;
  std::int64_t stride = 0;
  int length = 0;

  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION void iteration(const LaneGroup& lane_group, std::int64_t s, int k,
                                             double norm_r) const {
    if (k < length) lane_group.once([&] { norms[s * stride + k] = norm_r; });
  }
};

}  // namespace prekond::impl::batched
