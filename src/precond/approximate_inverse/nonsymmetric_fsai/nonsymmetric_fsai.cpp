// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core/instantiate.hpp"
#include "precond/approximate_inverse/nonsymmetric_fsai/numeric.hpp"

namespace prekond {

#define PREKOND_NONSYMMETRIC_FSAI(Scalar, Space) template class NonsymmetricFsai<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_NONSYMMETRIC_FSAI)

}  // namespace prekond
