// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/stopping.hpp>
#include <prekond/core/views.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace prekond {

/// The results of the systems of a batch, one element a system. `solve` allocates the views unless they have
/// the right lengths.
template <class Space>
struct BatchedResult {
  Vector<int, Space> iterations;
  Vector<double, Space> relative_residual;  ///< ||b - A x|| / ||b||, from x at the end; 0 where b = 0
  Vector<StopReason, Space> reasons;
  /// The number of pivots of the preconditioner that were zero, too small or not finite, and were replaced
  Vector<int, Space> replaced_pivots;
  Vector<int, Space> unsettled_factors;  ///< 1 where the factors of par_ilu still changed in the last sweep
  /// Element (k, s) is the recursive ||r|| of system s after its iteration k (0: before the first); elements
  /// after its last iteration are not written. The option `history` is the number of rows.
  MultiVector<double, Space> history;

  std::int64_t num_systems() const { return static_cast<std::int64_t>(iterations.extent(0)); }
};

/// One system of a report.
struct BatchedSystemReport {
  std::int64_t system = 0;
  int iterations = 0;
  double relative_residual = 0;
  StopReason reason = StopReason::max_iters;
};

/// Systems whose iterations are `first` to `last`.
struct BatchedBin {
  int first = 0, last = 0;
  std::int64_t systems = 0;
};

/// A summary of the results of a batch.
struct BatchedReport {
  std::int64_t num_systems = 0;
  std::int64_t num_converged = 0;
  int min_iterations = 0, max_iterations = 0;
  double mean_iterations = 0;
  /// The least k that a quarter, a half and three quarters of the systems do not exceed
  std::array<int, 3> quartiles{};
  /// From min_iterations to max_iterations, at most 16 bins of equal width, empty ones too
  std::vector<BatchedBin> histogram;
  std::map<StopReason, std::int64_t> reasons;  ///< systems by reason
  std::int64_t systems_with_replaced_pivots = 0, replaced_pivots = 0;
  std::int64_t unsettled_factors = 0;  ///< systems whose factors of par_ilu still changed in the last sweep
  std::vector<BatchedSystemReport> slowest;   ///< most iterations first, then by number
  std::vector<BatchedSystemReport> failures;  ///< the first that did not converge, by their number

  /// The distribution and the systems by number, as lines of text.
  std::string text() const;
};

/// The report, with up to `named` systems in each list. Copies 20 bytes a system to the host. Fences.
template <class Space>
BatchedReport summarize(const Space& space, const BatchedResult<Space>& result, int named = 10);

}  // namespace prekond
