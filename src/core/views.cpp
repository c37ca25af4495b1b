// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/views.hpp>

#include "instantiate.hpp"

namespace prekond {

namespace impl {
namespace {
thread_local void (*work_before_allocation)() = nullptr;
}  // namespace

void set_before_allocation(void (*work)()) {
  work_before_allocation = work;
}
void before_allocation() {
  if (work_before_allocation != nullptr) work_before_allocation();
}
}  // namespace impl

#define PREKOND_MAKE_USUAL_VIEWS(Space) PREKOND_USUAL_VIEWS(, Space)
PREKOND_INSTANTIATE_SPACES(PREKOND_MAKE_USUAL_VIEWS)

}  // namespace prekond
