// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The types that the library is compiled for: PREKOND_INSTANTIATE(MACRO) expands MACRO(Scalar, Space) for
/// double and float on the default execution space and, where it is another one, on the host's.
/// PREKOND_INSTANTIATE_COMPLEX(MACRO) does so for complex<double> and complex<float>, where an algorithm
/// takes them. PREKOND_INSTANTIATE_SPACES(MACRO) expands MACRO(Space) for the same spaces.
#include <Kokkos_Core.hpp>

#if defined(KOKKOS_ENABLE_CUDA) || defined(KOKKOS_ENABLE_HIP) || defined(KOKKOS_ENABLE_SYCL)
#define PREKOND_INSTANTIATE_SPACES(MACRO) \
  MACRO(Kokkos::DefaultExecutionSpace)    \
  MACRO(Kokkos::DefaultHostExecutionSpace)
#define PREKOND_INSTANTIATE(MACRO)                 \
  MACRO(double, Kokkos::DefaultExecutionSpace)     \
  MACRO(float, Kokkos::DefaultExecutionSpace)      \
  MACRO(double, Kokkos::DefaultHostExecutionSpace) \
  MACRO(float, Kokkos::DefaultHostExecutionSpace)
#define PREKOND_INSTANTIATE_COMPLEX(MACRO)                          \
  MACRO(Kokkos::complex<double>, Kokkos::DefaultExecutionSpace)     \
  MACRO(Kokkos::complex<float>, Kokkos::DefaultExecutionSpace)      \
  MACRO(Kokkos::complex<double>, Kokkos::DefaultHostExecutionSpace) \
  MACRO(Kokkos::complex<float>, Kokkos::DefaultHostExecutionSpace)
#else
#define PREKOND_INSTANTIATE_SPACES(MACRO) MACRO(Kokkos::DefaultExecutionSpace)
#define PREKOND_INSTANTIATE(MACRO)             \
  MACRO(double, Kokkos::DefaultExecutionSpace) \
  MACRO(float, Kokkos::DefaultExecutionSpace)
#define PREKOND_INSTANTIATE_COMPLEX(MACRO)                      \
  MACRO(Kokkos::complex<double>, Kokkos::DefaultExecutionSpace) \
  MACRO(Kokkos::complex<float>, Kokkos::DefaultExecutionSpace)
#endif
