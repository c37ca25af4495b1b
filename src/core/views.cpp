// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/views.hpp>

#include "instantiate.hpp"

namespace prekond {

#define PREKOND_MAKE_USUAL_VIEWS(Space) PREKOND_USUAL_VIEWS(, Space)
PREKOND_INSTANTIATE_SPACES(PREKOND_MAKE_USUAL_VIEWS)

}  // namespace prekond
