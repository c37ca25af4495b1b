// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/scalar.hpp>
#include <prekond/matrix/csr_matrix.hpp>

#include <cstdint>

namespace prekond::impl::amg {

/// The `most` largest entries of a row in magnitude, of equal ones the first; no zeros. For filter_pattern.
template <class Scalar, class Space>
struct IsLargest {
  CsrView<Scalar, Space> w;
  int most;

  KOKKOS_FUNCTION bool operator()(std::int64_t i, std::size_t k) const {
    const double own = size(k);
    if (own == 0) return false;
    int before = 0;
    for (std::size_t l = w.row_ptrs(i); l < w.row_ptrs(i + 1) && before < most; ++l)
      before += size(l) > own || (size(l) == own && l < k);
    return before < most;
  }
  KOKKOS_FORCEINLINE_FUNCTION double size(std::size_t k) const { return Kokkos::abs(to_double(w.values(k))); }
};

}  // namespace prekond::impl::amg
