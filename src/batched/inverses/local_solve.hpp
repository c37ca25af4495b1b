// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/scalar.hpp>

#include <cstdint>

namespace prekond::impl::batched {

/// A small dense system by the lanes of a vector: k x k by columns, the right-hand side behind it, then the
/// pivots.
template <class Scalar>
struct LocalSystem {
  using Real = real_type_t<Scalar>;
  Scalar* data;
  int k;

  KOKKOS_FUNCTION static constexpr std::int64_t length(std::int64_t k) { return k * (k + 2); }
  KOKKOS_FORCEINLINE_FUNCTION Scalar* column(int j) const { return data + std::int64_t(j) * k; }
  KOKKOS_FORCEINLINE_FUNCTION Scalar* solution() const { return column(k); }
  KOKKOS_FORCEINLINE_FUNCTION Scalar* pivots() const { return column(k + 1); }

  /// Gaussian elimination with row exchanges; a lane has whole columns, so that a step is one barrier, and
  /// two with the substitution. False where a pivot is zero or something is not finite.
  template <class Vector>
  KOKKOS_FUNCTION bool solve(const Vector& vector) const {
    for (int c = 0; c < k; ++c) {
      // Nobody writes to column c any more.
      const Scalar* own = column(c);
      int row = c;
      Real largest = Kokkos::abs(own[c]);
      for (int i = c + 1; i < k; ++i) {
        const Real size = Kokkos::abs(own[i]);
        const bool larger = size > largest || size != size;
        largest = larger ? size : largest;
        row = larger ? i : row;
      }
      const Scalar pivot = own[row], inverse = Scalar(1) / pivot;
      if (pivot == Scalar(0) || !is_finite(pivot) || !is_finite(inverse)) return false;
      vector.region([&](int lane) {
        if (lane == 0) pivots()[c] = inverse;
        for (int j = c + 1 + lane; j <= k; j += vector.size()) {
          Scalar* other = column(j);
          const Scalar moved = other[row];
          other[row] = other[c];
          other[c] = moved;
          const Scalar factor = moved * inverse;
          for (int i = c + 1; i < k; ++i) other[i] -= own[i == row ? c : i] * factor;
        }
      });
    }
    for (int c = k - 1; c >= 0; --c) {
      const Scalar value = solution()[c] * pivots()[c];
      if (!is_finite(value)) return false;
      vector.region([&](int lane) {
        const Scalar* own = column(c);
        for (int i = lane; i < c; i += vector.size()) solution()[i] -= own[i] * value;
      });
    }
    vector.region([&](int lane) {
      for (int i = lane; i < k; i += vector.size()) solution()[i] *= pivots()[i];
    });
    return true;
  }
};

}  // namespace prekond::impl::batched
