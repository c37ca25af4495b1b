// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core/instantiate.hpp"
#include "precond/approximate_inverse/fsai/numeric.hpp"

namespace prekond {

#define PREKOND_FSAI(Scalar, Space) template class Fsai<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_FSAI)

}  // namespace prekond
