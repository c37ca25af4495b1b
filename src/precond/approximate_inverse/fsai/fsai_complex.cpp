// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A file of its own, so that it is compiled at the same time as the real one.

#include "core/instantiate.hpp"
#include "precond/approximate_inverse/fsai/numeric.hpp"

namespace prekond {

#define PREKOND_FSAI(Scalar, Space) template class Fsai<Scalar, Space>;
PREKOND_INSTANTIATE_COMPLEX(PREKOND_FSAI)

}  // namespace prekond
