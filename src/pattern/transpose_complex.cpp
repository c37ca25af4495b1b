// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pattern/transpose_entries.hpp"

#include "instantiate.hpp"

namespace prekond {

PREKOND_INSTANTIATE_COMPLEX(PREKOND_TRANSPOSE)

}  // namespace prekond
