// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/impl/multiply_add.hpp>

namespace prekond::impl {

/// The square root of the sum of the squares of value(r, c), row by row in this order, where they would
/// overflow or underflow too.
template <class Value>
KOKKOS_FUNCTION double frobenius_norm(int rows, int cols, const Value& value) {
  double largest = 0, sum = 0;
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < cols; ++c) {
      const double x = value(r, c);
      largest = Kokkos::fmax(largest, Kokkos::abs(x));
      sum = multiply_add(x, x, sum);
    }
  // Squares of ordinary numbers need no scaling.
  if (largest == 0 || (largest > 0x1p-400 && largest < 0x1p400)) return Kokkos::sqrt(sum);
  sum = 0;
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < cols; ++c) {
      const double x = value(r, c) / largest;
      sum = multiply_add(x, x, sum);
    }
  return Kokkos::sqrt(sum) * largest;
}

}  // namespace prekond::impl
