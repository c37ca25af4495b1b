// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batched/methods/gmres.hpp"

#include "batched/units/instances.hpp"

namespace prekond::impl::batched {

#define PREKOND_UNIT(Scalar, Space) PREKOND_BATCHED_SOLVE(GmresMethod, Scalar, BatchedCsr, Scalar, Space)
PREKOND_INSTANTIATE(PREKOND_UNIT)

}  // namespace prekond::impl::batched
