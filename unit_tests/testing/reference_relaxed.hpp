// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Richardson's iteration, sequentially.
#include "testing/host_matrix.hpp"

#include <vector>

namespace prekond::testing {

/// y_0 = M^-1 x, y_(l + 1) = y_l + M^-1 (x - A y_l), with M^-1 applied by `once`. Columns >= num_rows are
/// left out.
template <class Scalar, class Once>
std::vector<Scalar> reference_relaxed(const HostMatrix<Scalar>& a, const std::vector<Scalar>& x, int steps,
                                      const Once& once) {
  std::vector<Scalar> y = once(x);
  for (int step = 0; step < steps; ++step) {
    std::vector<Scalar> residual = x;
    for (std::size_t i = 0; i < x.size(); ++i)
      for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
        if (a.col_idxs[k] < a.num_rows) residual[i] -= a.values[k] * y[a.col_idxs[k]];
    const std::vector<Scalar> correction = once(residual);
    for (std::size_t i = 0; i < x.size(); ++i) y[i] += correction[i];
  }
  return y;
}

}  // namespace prekond::testing
