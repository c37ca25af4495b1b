// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The types that the library is compiled for: PREKOND_INSTANTIATE(MACRO) expands MACRO(Scalar, Space) for
/// double and float on the default execution space and, where it is another one, on the host's.
/// PREKOND_INSTANTIATE_COMPLEX(MACRO) does so for complex<double> and complex<float>, where an algorithm
/// takes them. PREKOND_INSTANTIATE_SPACES(MACRO) expands MACRO(Space) for the same spaces.
///
/// The METHODS of src/CMakeLists.txt are compiled twice, for one precision each: with PREKOND_ONLY_DOUBLE or
/// PREKOND_ONLY_SINGLE the other one's expansions are empty. Code without a precision goes with double.
#include <Kokkos_Core.hpp>

#if defined(KOKKOS_ENABLE_CUDA) || defined(KOKKOS_ENABLE_HIP) || defined(KOKKOS_ENABLE_SYCL)
#define PREKOND_INSTANTIATE_SPACES(MACRO) \
  MACRO(Kokkos::DefaultExecutionSpace)    \
  MACRO(Kokkos::DefaultHostExecutionSpace)
#define PREKOND_INSTANTIATE_SCALAR(MACRO, Scalar) \
  MACRO(Scalar, Kokkos::DefaultExecutionSpace)    \
  MACRO(Scalar, Kokkos::DefaultHostExecutionSpace)
#else
#define PREKOND_INSTANTIATE_SPACES(MACRO) MACRO(Kokkos::DefaultExecutionSpace)
#define PREKOND_INSTANTIATE_SCALAR(MACRO, Scalar) MACRO(Scalar, Kokkos::DefaultExecutionSpace)
#endif

#if defined(PREKOND_ONLY_SINGLE)
#undef PREKOND_INSTANTIATE_SPACES
#define PREKOND_INSTANTIATE_SPACES(MACRO)
#define PREKOND_INSTANTIATE_DOUBLE(MACRO, Scalar)
#else
#define PREKOND_INSTANTIATE_DOUBLE(MACRO, Scalar) PREKOND_INSTANTIATE_SCALAR(MACRO, Scalar)
#endif
#if defined(PREKOND_ONLY_DOUBLE)
#define PREKOND_INSTANTIATE_SINGLE(MACRO, Scalar)
#else
#define PREKOND_INSTANTIATE_SINGLE(MACRO, Scalar) PREKOND_INSTANTIATE_SCALAR(MACRO, Scalar)
#endif

#define PREKOND_INSTANTIATE(MACRO)          \
  PREKOND_INSTANTIATE_DOUBLE(MACRO, double) \
  PREKOND_INSTANTIATE_SINGLE(MACRO, float)
#define PREKOND_INSTANTIATE_COMPLEX(MACRO)                   \
  PREKOND_INSTANTIATE_DOUBLE(MACRO, Kokkos::complex<double>) \
  PREKOND_INSTANTIATE_SINGLE(MACRO, Kokkos::complex<float>)
