// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/approximate_inverse/adaptive_fsai/grow_rows.hpp"

namespace prekond::impl::adaptive_fsai {

#define PREKOND_GROW_BY_MARKER(Scalar, Space) PREKOND_GROW_ROWS(Gradient::marker, Scalar, Space)
PREKOND_INSTANTIATE(PREKOND_GROW_BY_MARKER)

}  // namespace prekond::impl::adaptive_fsai
