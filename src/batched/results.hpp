// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The views of a result, and the log that writes to them.
#include <prekond/batched/result.hpp>

#include "batched/log.hpp"

namespace prekond::impl::batched {

/// Allocates the views of the results unless they have the right sizes.
template <class Space>
void make_room(const Space& space, BatchedResult<Space>& result, std::int64_t num_systems, int history) {
  const auto n = static_cast<std::size_t>(num_systems);
  if (result.iterations.extent(0) != n)
    result.iterations = allocate<Vector<int, Space>>(space, "prekond::batched::iterations", n);
  if (result.relative_residual.extent(0) != n)
    result.relative_residual =
        allocate<Vector<double, Space>>(space, "prekond::batched::relative_residual", n);
  if (result.reasons.extent(0) != n)
    result.reasons = allocate<Vector<StopReason, Space>>(space, "prekond::batched::reasons", n);
  if (result.replaced_pivots.extent(0) != n)
    result.replaced_pivots = allocate<Vector<int, Space>>(space, "prekond::batched::replaced_pivots", n);
  if (result.unsettled_factors.extent(0) != n)
    result.unsettled_factors = allocate<Vector<int, Space>>(space, "prekond::batched::unsettled_factors", n);
  if (result.history.extent(0) != static_cast<std::size_t>(history) || result.history.extent(1) != n)
    result.history = allocate<MultiVector<double, Space>>(space, "prekond::batched::history", history, n);
}

template <class Space>
HistoryLog log_of(const BatchedResult<Space>& result) {
  HistoryLog log;
  log.iterations = result.iterations.data();
  log.relative_residual = result.relative_residual.data();
  log.reasons = result.reasons.data();
  log.replaced_pivots = result.replaced_pivots.data();
  log.unsettled_factors = result.unsettled_factors.data();
  log.norms = result.history.data();
  log.stride = static_cast<std::int64_t>(result.history.stride(1));
  log.length = static_cast<int>(result.history.extent(0));
  return log;
}

}  // namespace prekond::impl::batched
