// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/instantiate.hpp"
#include "precond/approximate_inverse/adaptive_fsai/numeric.hpp"

namespace prekond {

#define PREKOND_ADAPTIVE_FSAI(Scalar, Space) template class AdaptiveFsai<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_ADAPTIVE_FSAI)

}  // namespace prekond
