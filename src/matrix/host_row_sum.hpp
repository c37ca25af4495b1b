// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/impl/multiply_add.hpp>

namespace prekond::impl::products {

/// The product of `length` entries with x by one thread of a host. Sums that do not depend on each other hide
/// the latency of the additions; their number and order depend only on the entries.
template <class Value, class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar host_row_sum(const Value* values, const int* cols, int length,
                                                const Scalar* x) {
  constexpr int parts = 4;
  Scalar sum = 0;
  int k = 0;
  Scalar others[parts - 1] = {};
  for (; k + parts <= length; k += parts) {
    sum = multiply_add(static_cast<Scalar>(values[k]), x[cols[k]], sum);
    for (int p = 1; p < parts; ++p)
      others[p - 1] = multiply_add(static_cast<Scalar>(values[k + p]), x[cols[k + p]], others[p - 1]);
  }
  for (; k < length; ++k) sum = multiply_add(static_cast<Scalar>(values[k]), x[cols[k]], sum);
  return length < parts ? sum : (sum + others[0]) + (others[1] + others[2]);
}

}  // namespace prekond::impl::products
