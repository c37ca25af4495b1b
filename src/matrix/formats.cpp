// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/instantiate.hpp"
#include "matrix/format_fill.hpp"
#include "matrix/format_kernels.hpp"

namespace prekond {

// Values of a type of their own, in vectors of another.
#define PREKOND_STORED_FORMATS(Value, Scalar, Space)        \
  PREKOND_FORMAT_RECURRENCE(SellView, Value, Scalar, Space) \
  PREKOND_FORMAT_RECURRENCE(DiaView, Value, Scalar, Space)  \
  PREKOND_FORMAT_RECURRENCE(JadView, Value, Scalar, Space)

#define PREKOND_FULL_FORMATS(Scalar, Space)     \
  PREKOND_MAKE_FORMATS(Scalar, Space)           \
  PREKOND_STORED_FORMATS(Scalar, Scalar, Space) \
  PREKOND_FORMAT_DOT(SellView, Scalar, Space)   \
  PREKOND_FORMAT_DOT(DiaView, Scalar, Space)    \
  PREKOND_FORMAT_DOT(JadView, Scalar, Space)
PREKOND_INSTANTIATE(PREKOND_FULL_FORMATS)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_FULL_FORMATS)

#define PREKOND_FORMATS_IN_HALF(Scalar, Space) \
  PREKOND_STORED_FORMATS(Half, Scalar, Space)  \
  PREKOND_STORED_FORMATS(BFloat16, Scalar, Space)
#define PREKOND_FORMATS_IN_PAIRS(Scalar, Space)            \
  PREKOND_STORED_FORMATS(ComplexPair<Half>, Scalar, Space) \
  PREKOND_STORED_FORMATS(ComplexPair<BFloat16>, Scalar, Space)
PREKOND_INSTANTIATE(PREKOND_FORMATS_IN_HALF)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_FORMATS_IN_PAIRS)

#define PREKOND_SHORT_FORMATS(Scalar, Space)          \
  PREKOND_MAKE_FORMATS(Half, Space)                   \
  PREKOND_MAKE_FORMATS(BFloat16, Space)               \
  PREKOND_MAKE_FORMATS(float, Space)                  \
  PREKOND_STORED_FORMATS(float, Scalar, Space)        \
  PREKOND_MAKE_FORMATS(ComplexPair<Half>, Space)      \
  PREKOND_MAKE_FORMATS(ComplexPair<BFloat16>, Space)  \
  PREKOND_MAKE_FORMATS(Kokkos::complex<float>, Space) \
  PREKOND_STORED_FORMATS(Kokkos::complex<float>, Kokkos::complex<Scalar>, Space)
PREKOND_INSTANTIATE_DOUBLE(PREKOND_SHORT_FORMATS, double)

}  // namespace prekond
