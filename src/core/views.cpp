// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/views.hpp>

#include "core/instantiate.hpp"

namespace prekond {

namespace impl {
namespace {
thread_local AllocationWatch* watch_of_mine = nullptr;
}  // namespace

void set_allocation_watch(AllocationWatch* watch) {
  watch_of_mine = watch;
}
AllocationWatch* allocation_watch() {
  return watch_of_mine;
}
}  // namespace impl

#define PREKOND_MAKE_USUAL_VIEWS(Space) PREKOND_USUAL_VIEWS(, Space)
PREKOND_INSTANTIATE_SPACES(PREKOND_MAKE_USUAL_VIEWS)

}  // namespace prekond
