// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batched/instances/instantiate_solves.hpp"

namespace prekond::impl::batched {

#define PREKOND_UNIT(Scalar, Space) PREKOND_BATCHED(Scalar, BatchedCsr, Scalar, Space)
PREKOND_INSTANTIATE(PREKOND_UNIT)

}  // namespace prekond::impl::batched
