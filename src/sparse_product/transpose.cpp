// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sparse_product/transpose_entries.hpp"

#include "core/instantiate.hpp"

namespace prekond {

PREKOND_INSTANTIATE(PREKOND_TRANSPOSE)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_TRANSPOSE)

}  // namespace prekond
