// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core/instantiate.hpp"
#include "precond/approximate_inverse/spai/dynamic_numeric.hpp"

namespace prekond {

#define PREKOND_DYNAMIC_SPAI(Scalar, Space) template class DynamicSpai<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_DYNAMIC_SPAI)

}  // namespace prekond
