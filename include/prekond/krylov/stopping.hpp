// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/stopping.hpp>

#include <cstdint>
#include <functional>
#include <vector>

namespace prekond {

/// The result of a solve. Norms are 2-norms over all processes of the reducer. They neither under- nor
/// overflow where the ratio does not.
struct SolveResult {
  StopReason reason = StopReason::max_iters;
  bool converged = false;  ///< ||b - A x|| <= max(rtol ||b||, atol), the residual computed from x at the end
  /// Without success: whether the least of ||A v|| / ||v|| for v = x, b and b - A x is below eps^(3/4) times
  /// the largest, or below sqrt(eps) times the largest for a relative residual above eps^(1/4).
  bool looks_singular = false;
  std::int64_t iterations = 0;
  std::int64_t matrix_products = 0;
  double relative_residual = 0;       ///< the solver's own ||r|| / ||b|| at the end
  double true_relative_residual = 0;  ///< ||b - A x|| / ||b||, computed at the end
  double seconds = 0;                 ///< fenced wall time
};

/// A function that is called with the iteration (0 before the first) and ||r||.
using Monitor = std::function<void(std::int64_t, double)>;

/// A function that is called with the column (from 0), its iteration and its ||r||.
using ColumnMonitor = std::function<void(int, std::int64_t, double)>;

}  // namespace prekond
