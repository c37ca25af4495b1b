// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The launches for matrices by blocks.

#include "core/instantiate.hpp"
#include "precond/approximate_inverse/isai/general_blocks.hpp"

namespace prekond {

#define PREKOND_ISAI_OF_BLOCKS(Scalar, Space) template class impl::isai::GeneralBlockSetup<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_ISAI_OF_BLOCKS)

}  // namespace prekond
