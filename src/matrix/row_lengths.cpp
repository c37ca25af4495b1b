// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/matrix/csr_graph.hpp>

#include "core/instantiate.hpp"

namespace prekond::impl {

#define PREKOND_MAKE_SCAN_ROW_LENGTHS(Space) PREKOND_SCAN_ROW_LENGTHS(, Space)
PREKOND_INSTANTIATE_SPACES(PREKOND_MAKE_SCAN_ROW_LENGTHS)

}  // namespace prekond::impl
