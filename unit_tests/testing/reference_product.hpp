// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The expected product with a matrix.
#include "testing/host_matrix.hpp"

#include <gtest/gtest.h>
#include <prekond/core/operator.hpp>

#include <cmath>
#include <limits>
#include <vector>

namespace prekond::testing {

/// y = product A x + direct x + previous y + source b of one column, in long double, and how far rounding may
/// take it.
template <class Scalar>
void expect_step(const HostMatrix<Scalar>& a, const RecurrenceStep<Scalar>& step,
                 const std::vector<Scalar>& x, const std::vector<Scalar>& b,
                 const std::vector<Scalar>& before, const std::vector<Scalar>& y) {
  for (std::int64_t i = 0; i < a.num_rows; ++i) {
    long double sum = 0, size = 0;
    const auto add = [&](long double term) {
      sum += term;
      size += std::abs(term);
    };
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
      add(static_cast<long double>(step.product) * a.values[k] * x[a.col_idxs[k]]);
    if (step.direct != 0) add(static_cast<long double>(step.direct) * x[i]);
    if (step.previous != 0) add(static_cast<long double>(step.previous) * before[i]);
    if (step.source != 0) add(static_cast<long double>(step.source) * b[i]);
    const double allowed = double(20 * size * std::numeric_limits<Scalar>::epsilon());
    ASSERT_NEAR(y[i], double(sum), allowed) << "row " << i;
  }
}

}  // namespace prekond::testing
