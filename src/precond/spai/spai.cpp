// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "instantiate.hpp"
#include "precond/spai/numeric.hpp"

namespace prekond {

#define PREKOND_SPAI(Scalar, Space) template class Spai<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_SPAI)

}  // namespace prekond
