// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The launches for matrices by blocks.

#include "core/instantiate.hpp"
#include "precond/approximate_inverse/fsai/setup.hpp"

namespace prekond {

#define PREKOND_FSAI_SETUP_OF_BLOCKS(Scalar, Space) \
  template class impl::fsai::Setup<Scalar, Space, impl::BlockEntries<Scalar, Space>>;
PREKOND_INSTANTIATE(PREKOND_FSAI_SETUP_OF_BLOCKS)

}  // namespace prekond
