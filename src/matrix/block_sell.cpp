// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "matrix/block_sell_kernels.hpp"

#include "core/instantiate.hpp"

namespace prekond {

#define PREKOND_BLOCK_SELL_STORED(Scalar, Space)       \
  PREKOND_BLOCK_SELL(Scalar, Space)                    \
  PREKOND_BLOCK_SELL_RECURRENCE(Scalar, Scalar, Space) \
  PREKOND_BLOCK_SELL_RECURRENCE(Half, Scalar, Space)   \
  PREKOND_BLOCK_SELL_RECURRENCE(BFloat16, Scalar, Space)
PREKOND_INSTANTIATE(PREKOND_BLOCK_SELL_STORED)

#define PREKOND_BLOCK_SELL_IN_SINGLE(Scalar, Space) \
  PREKOND_BLOCK_SELL(float, Space)                  \
  PREKOND_BLOCK_SELL(Half, Space)                   \
  PREKOND_BLOCK_SELL(BFloat16, Space)               \
  PREKOND_BLOCK_SELL_RECURRENCE(float, Scalar, Space)
PREKOND_INSTANTIATE_DOUBLE(PREKOND_BLOCK_SELL_IN_SINGLE, double)

}  // namespace prekond
