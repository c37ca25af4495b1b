// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "instantiate.hpp"
#include "precond/nonsymmetric_fsai/numeric.hpp"

namespace prekond {

#define PREKOND_NONSYMMETRIC_FSAI(Scalar, Space) template class NonsymmetricFsai<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_NONSYMMETRIC_FSAI)

}  // namespace prekond
