// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/approximate_inverse/factored_inverse_steps.hpp"

#include "core/instantiate.hpp"

namespace prekond {

#define PREKOND_FACTORED_INVERSE(Scalar, Space) template class FactoredInverse<Scalar, Space>;
PREKOND_INSTANTIATE_COMPLEX(PREKOND_FACTORED_INVERSE)

}  // namespace prekond
