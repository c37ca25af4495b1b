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

#define PREKOND_FORMATS(Scalar, Space)            \
  PREKOND_MAKE_FORMATS(Scalar, Space)             \
  PREKOND_STORED_FORMATS(Scalar, Scalar, Space)   \
  PREKOND_STORED_FORMATS(Half, Scalar, Space)     \
  PREKOND_STORED_FORMATS(BFloat16, Scalar, Space) \
  PREKOND_FORMAT_DOT(SellView, Scalar, Space)     \
  PREKOND_FORMAT_DOT(DiaView, Scalar, Space)      \
  PREKOND_FORMAT_DOT(JadView, Scalar, Space)
PREKOND_INSTANTIATE(PREKOND_FORMATS)

#define PREKOND_FORMATS_OF_STORED(Scalar, Space) \
  PREKOND_MAKE_FORMATS(Half, Space)              \
  PREKOND_MAKE_FORMATS(BFloat16, Space)
PREKOND_INSTANTIATE_DOUBLE(PREKOND_FORMATS_OF_STORED, double)

#define PREKOND_FORMATS_IN_SINGLE(Scalar, Space) \
  PREKOND_MAKE_FORMATS(float, Space)             \
  PREKOND_STORED_FORMATS(float, Scalar, Space)
PREKOND_INSTANTIATE_DOUBLE(PREKOND_FORMATS_IN_SINGLE, double)

}  // namespace prekond
