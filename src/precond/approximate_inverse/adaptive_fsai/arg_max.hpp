// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The candidate with the largest gradient.
#include <prekond/core/scalar.hpp>

#include "precond/approximate_inverse/adaptive_fsai/lanes.hpp"

namespace prekond::impl::adaptive_fsai {

/// The magnitude of x as an integer of the same order.
KOKKOS_FORCEINLINE_FUNCTION unsigned magnitude(float x) {
  return Kokkos::bit_cast<unsigned>(x) & 0x7fffffffu;
}
KOKKOS_FORCEINLINE_FUNCTION unsigned long long magnitude(double x) {
  return Kokkos::bit_cast<unsigned long long>(x) & 0x7fffffffffffffffull;
}

/// |x| without a square that leaves the range, and of a real number exactly its own. (By hypot the setup in
/// double precision took 8.0 s instead of 4.5, magnetic3d:48 with 25 steps of 1 on two threads.)
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Real modulus(const Kokkos::complex<Real>& x) {
  constexpr Real least = sizeof(Real) == 4 ? Real(0x1p-100) : Real(0x1p-960);
  constexpr Real most = 1 / least;
  const Real square = abs2(x);
  if (square > least && square < most) return Kokkos::sqrt(square);
  const Real a = Kokkos::abs(x.real()), b = Kokkos::abs(x.imag());
  const Real larger = a < b ? b : a, ratio = (a < b ? a : b) / larger;
  return larger > 0 ? larger * Kokkos::sqrt(1 + ratio * ratio) : larger;
}
KOKKOS_FORCEINLINE_FUNCTION unsigned magnitude(const Kokkos::complex<float>& x) {
  return magnitude(modulus(x));
}
KOKKOS_FORCEINLINE_FUNCTION unsigned long long magnitude(const Kokkos::complex<double>& x) {
  return magnitude(modulus(x));
}

/// The key of the largest of n candidates, with magnitudes `size_of(s)` and keys `key_of(s)`, that
/// `accept(s)` lets pass; ties go to the smaller key. It is -1 where there is none, or all are zero. Single
/// precision packs magnitude and key into one number; double needs two sweeps. (Finding the candidate again
/// by its key costs less than the registers that would carry it along: 50 against 53 ms at k_max 10.)
template <class Real, class LaneGroup, class Size, class Key, class Accept>
KOKKOS_FORCEINLINE_FUNCTION int arg_max(const LaneGroup& lane_group, int n, const Size& size_of,
                                        const Key& key_of, const Accept& accept) {
  using Bits = unsigned long long;
  if constexpr (sizeof(Real) == 4) {
    const Bits best = lane_group.template max<Bits>([&](int lane) {
      Bits mine = 0;
      each_of_lane<LaneGroup::width>(n, lane, [&](int s) {
        const Bits packed = Bits(size_of(s)) << 32 | (0xffffffffu - unsigned(key_of(s)));
        if (packed > mine && accept(s)) mine = packed;
      });
      return mine;
    });
    return (best >> 32) == 0 ? -1 : int(0xffffffffu - unsigned(best));
  } else {
    const Bits best = lane_group.template max<Bits>([&](int lane) {
      Bits mine = 0;
      each_of_lane<LaneGroup::width>(n, lane, [&](int s) {
        const Bits size = size_of(s);
        if (size > mine && accept(s)) mine = size;
      });
      return mine;
    });
    if (best == 0) return -1;
    return int(lane_group.template min<unsigned>([&](int lane) {
      unsigned mine = ~0u;
      each_of_lane<LaneGroup::width>(n, lane, [&](int s) {
        const unsigned key = unsigned(key_of(s));
        if (key < mine && size_of(s) == best && accept(s)) mine = key;
      });
      return mine;
    }));
  }
}

}  // namespace prekond::impl::adaptive_fsai
