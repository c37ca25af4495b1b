// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <Kokkos_Core.hpp>

namespace prekond::impl {

/// The square root of the sum of the squares of value(0) .. value(count - 1), in this order, where they would
/// overflow or underflow too.
template <class Value>
KOKKOS_FUNCTION double frobenius_norm(int count, const Value& value) {
  double largest = 0;
  for (int p = 0; p < count; ++p) largest = Kokkos::fmax(largest, Kokkos::abs(value(p)));
  // Squares of ordinary numbers need no scaling.
  const double unit = largest == 0 || (largest > 0x1p-400 && largest < 0x1p400) ? 1 : largest;
  double sum = 0;
  for (int p = 0; p < count; ++p) {
    const double x = value(p) / unit;
    sum = Kokkos::fma(x, x, sum);
  }
  return Kokkos::sqrt(sum) * unit;
}

}  // namespace prekond::impl
