// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Products and sums whose rounding is written down. In `a * b + c` a compiler may fuse the two operations or
/// round twice, and takes one or the other by how it vectorised the loop around them: two kernels that say
/// the same then differ in the last bit. So the rule on bits is: a kernel, compiled once, gives the same ones
/// for any number of threads; of two kernels, or two instantiations of one, closeness to rounding is all that
/// is promised or tested, unless both say multiply_add, in the same order, wherever they add a product. That
/// is fused where the processor compiled for has the instruction; where it has not, there is nothing to
/// choose.
#include <Kokkos_Core.hpp>

#include <cmath>

namespace prekond {

/// Is std::fma one instruction of the processor compiled for? (Elsewhere it is a call that costs ten
/// products.)
#if defined(__FMA__) || defined(__FP_FAST_FMA) || defined(FP_FAST_FMA) || defined(__aarch64__)
inline constexpr bool has_fused_multiply_add = true;
#else
inline constexpr bool has_fused_multiply_add = false;
#endif

/// a b + c
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Real multiply_add(const Real& a, const Real& b, const Real& c) {
  KOKKOS_IF_ON_DEVICE((return Kokkos::fma(a, b, c);))
  KOKKOS_IF_ON_HOST((
      if constexpr (has_fused_multiply_add) { return std::fma(a, b, c); } else { return a * b + c; }))
}

/// a b
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Real multiply(const Real& a, const Real& b) {
  return a * b;
}
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Kokkos::complex<Real> multiply(const Kokkos::complex<Real>& a,
                                                           const Kokkos::complex<Real>& b) {
  return Kokkos::complex<Real>(multiply_add(-a.imag(), b.imag(), a.real() * b.real()),
                               multiply_add(a.imag(), b.real(), a.real() * b.imag()));
}

template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Kokkos::complex<Real> multiply_add(const Kokkos::complex<Real>& a,
                                                               const Kokkos::complex<Real>& b,
                                                               const Kokkos::complex<Real>& c) {
  return c + multiply(a, b);
}

}  // namespace prekond
