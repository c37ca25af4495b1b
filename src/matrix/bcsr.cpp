// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/instantiate.hpp"
#include "matrix/bcsr_kernels.hpp"

namespace prekond {

PREKOND_INSTANTIATE(PREKOND_BCSR)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_BCSR)

}  // namespace prekond
