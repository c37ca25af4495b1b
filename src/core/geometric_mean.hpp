// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <Kokkos_Core.hpp>

namespace prekond {

/// sqrt(x y) for x, y >= 0, which neither overflows nor underflows on the way. It takes one root and not two:
/// for 2^k x and 2^k y it is exactly 2^k times as much, so that what is compared with it does not depend on a
/// matrix's scale.
KOKKOS_INLINE_FUNCTION double geometric_mean(double x, double y) {
  const double product = x * y;
  if (product > 0x1p-900 && product < 0x1p900) return Kokkos::sqrt(product);
  if (x == 0 || y == 0) return product;
  // Both are below 2^174, or both above 2^-124.
  const double unit = product < 1 ? 0x1p-512 : 0x1p512;
  return Kokkos::sqrt((x / unit) * (y / unit)) * unit;
}

}  // namespace prekond
