// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/views.hpp>

#include "core/instantiate.hpp"

namespace prekond {

namespace impl {
namespace {
thread_local AllocationWatch* watch_of_mine = nullptr;

struct SmallViewsOfSetup {
  const void* setup = nullptr;
  int device = -1;
  std::unique_ptr<SmallViews> views;
};
thread_local SmallViewsOfSetup of_setup;
}  // namespace

void set_allocation_watch(AllocationWatch* watch) {
  watch_of_mine = watch;
}
AllocationWatch* allocation_watch() {
  return watch_of_mine;
}

SmallViews* small_views(int device) {
  return of_setup.device == device ? of_setup.views.get() : nullptr;
}
void begin_small_views(const void* setup, int device) {
  if (!of_setup.views) of_setup = {setup, device, std::make_unique<SmallViews>()};
}
void end_small_views(const void* setup) {
  if (of_setup.setup == setup) of_setup = {};
}
}  // namespace impl

#define PREKOND_MAKE_USUAL_VIEWS(Space) PREKOND_USUAL_VIEWS(, Space)
PREKOND_INSTANTIATE_SPACES(PREKOND_MAKE_USUAL_VIEWS)

}  // namespace prekond
