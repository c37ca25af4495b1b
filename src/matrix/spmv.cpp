// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "matrix/spmv_kernels.hpp"

#include "core/instantiate.hpp"

namespace prekond {

#define PREKOND_SPMV_STORED_AS(Scalar, Space) \
  PREKOND_SPMV_STORED(float, Scalar, Space)   \
  PREKOND_SPMV_STORED(Half, Scalar, Space)    \
  PREKOND_SPMV_STORED(BFloat16, Scalar, Space)
PREKOND_INSTANTIATE(PREKOND_SPMV_STORED_AS)

#define PREKOND_SPMV_STORED_AS_PAIRS(Scalar, Space)          \
  PREKOND_SPMV_STORED(Kokkos::complex<float>, Scalar, Space) \
  PREKOND_SPMV_STORED(ComplexPair<Half>, Scalar, Space)      \
  PREKOND_SPMV_STORED(ComplexPair<BFloat16>, Scalar, Space)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_SPMV_STORED_AS_PAIRS)

PREKOND_INSTANTIATE(PREKOND_SPMV)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_SPMV)

#define PREKOND_SPMV_RECURRENCE_IN_FULL(Scalar, Space) PREKOND_SPMV_RECURRENCE(Scalar, Scalar, Space)
PREKOND_INSTANTIATE_DOUBLE(PREKOND_SPMV_RECURRENCE_IN_FULL, double)
PREKOND_INSTANTIATE_DOUBLE(PREKOND_SPMV_RECURRENCE_IN_FULL, Kokkos::complex<double>)

}  // namespace prekond
