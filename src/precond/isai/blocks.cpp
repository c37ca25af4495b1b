// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The launches for matrices by blocks.

#include "instantiate.hpp"
#include "precond/isai/general_blocks.hpp"

namespace prekond {

#define PREKOND_ISAI_OF_BLOCKS(Scalar, Space) template class impl::isai::GeneralBlockSetup<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_ISAI_OF_BLOCKS)

}  // namespace prekond
