// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "instantiate.hpp"
#include "precond/isai/numeric.hpp"

namespace prekond {

#define PREKOND_ISAI(Scalar, Space) template class Isai<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_ISAI)

}  // namespace prekond
