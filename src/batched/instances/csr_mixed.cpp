// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batched/instances/instantiate_solves.hpp"

namespace prekond::impl::batched {

// Values in single precision, vectors in double.
#define PREKOND_UNIT(Scalar, Space) PREKOND_BATCHED(Scalar, BatchedCsr, float, Space)
PREKOND_INSTANTIATE_DOUBLE(PREKOND_UNIT, double)

}  // namespace prekond::impl::batched
