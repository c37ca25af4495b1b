// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/scalar.hpp>

#include <cstdint>

namespace prekond::impl::batched {

/// min ||beta e_1 - H y|| of one system for a Hessenberg matrix H that grows by columns, by QR with Givens
/// rotations, as HessenbergLeastSquares of the krylov layer, in memory that all lanes share.
template <class Scalar>
struct SmallLeastSquares {
  using Real = real_type_t<Scalar>;
  Scalar* data;
  int most;  ///< columns

  /// R by columns, the rotations, the right-hand side, y, a column of H, and three numbers
  KOKKOS_FORCEINLINE_FUNCTION static constexpr std::int64_t length(std::int64_t most) {
    return most * (most + 1) / 2 + 5 * most + 7;
  }

  KOKKOS_FORCEINLINE_FUNCTION Scalar& r(int i, int j) const { return data[j * (j + 1) / 2 + i]; }
  KOKKOS_FORCEINLINE_FUNCTION Scalar* rest() const { return data + most * (most + 1) / 2; }
  KOKKOS_FORCEINLINE_FUNCTION Scalar* cosines() const { return rest(); }
  KOKKOS_FORCEINLINE_FUNCTION Scalar* sines() const { return rest() + most; }
  KOKKOS_FORCEINLINE_FUNCTION Scalar* y() const { return rest() + 2 * most; }
  KOKKOS_FORCEINLINE_FUNCTION Scalar* rhs() const { return rest() + 3 * most; }         // most + 1
  KOKKOS_FORCEINLINE_FUNCTION Scalar* column() const { return rest() + 4 * most + 1; }  // most + 2
  KOKKOS_FORCEINLINE_FUNCTION Scalar& largest_norm() const { return rest()[5 * most + 3]; }
  KOKKOS_FORCEINLINE_FUNCTION Scalar& residual() const { return rest()[5 * most + 4]; }
  KOKKOS_FORCEINLINE_FUNCTION Scalar& negligible() const { return rest()[5 * most + 5]; }

  KOKKOS_FORCEINLINE_FUNCTION Scalar* after() const { return data + length(most); }

  /// Adds `column` + `more` as column j, with `below` under its last entry; one lane calls it. Sets the norm
  /// of the residual, and whether the column is in the span of the others but for rounding: it is then left
  /// out. `rounding` is the error of the entries relative to the largest norm of a column, or to ten times
  /// that of this one where that is larger and `below` is 0.
  KOKKOS_FUNCTION void push(int j, const Scalar* KOKKOS_RESTRICT more, Real below, Real rounding) const {
    const Scalar *KOKKOS_RESTRICT h = column(), *KOKKOS_RESTRICT c = cosines(), *KOKKOS_RESTRICT s = sines();
    Scalar* KOKKOS_RESTRICT r_j = &r(0, j);
    Scalar upper = h[0] + more[0];
    Real squares = abs2(upper) + below * below;
    for (int i = 0; i < j; ++i) {
      const Scalar lower = h[i + 1] + more[i + 1], sine = s[i];
      const Real cosine = real_part(c[i]);
      squares += abs2(lower);
      r_j[i] = cosine * upper + sine * lower;
      upper = cosine * lower - conjugate(sine) * upper;
    }
    const Real norm = Kokkos::sqrt(squares), size = Kokkos::abs(upper);
    Real largest = real_part(largest_norm());
    if (Kokkos::isfinite(norm) && norm > largest) largest = norm;
    largest_norm() = Scalar(largest);
    const Real hypotenuse = Kokkos::hypot(size, below);
    const Real compared = below == Real(0) && 10 * norm > largest ? 10 * norm : largest;
    const bool out = hypotenuse <= rounding * compared;
    negligible() = Scalar(out ? 1 : 0);
    if (!out) {
      cosines()[j] = Scalar(size / hypotenuse);
      sines()[j] = (size > Real(0) ? upper / size : Scalar(1)) * (below / hypotenuse);
      r(j, j) = real_part(cosines()[j]) * upper + sines()[j] * below;
      rhs()[j + 1] = Scalar(0);
      rotate(j, rhs()[j], rhs()[j + 1]);
    }
    residual() = Scalar(Kokkos::abs(rhs()[out ? j : j + 1]));
  }

  /// Computes `columns` entries of y, by all lanes.
  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION void solve(const LaneGroup& lane_group, int columns) const {
    for (int i = columns - 1; i >= 0; --i)
      lane_group.region([&](int lane) {
        const Scalar value = rhs()[i] / r(i, i);
        if (lane == 0) y()[i] = value;
        for (int k = lane; k < i; k += lane_group.size()) rhs()[k] -= r(k, i) * value;
      });
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION void rotate(int k, Scalar& upper, Scalar& lower) const {
    const Real cosine = real_part(cosines()[k]);
    const Scalar sine = sines()[k], first = cosine * upper + sine * lower;
    lower = cosine * lower - conjugate(sine) * upper;
    upper = first;
  }
};

}  // namespace prekond::impl::batched
