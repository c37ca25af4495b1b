// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/pattern/level_schedule.hpp>
#include <prekond/pattern/order_statistics.hpp>

#include "instantiate.hpp"
#include "pattern/levels/frontiers.hpp"
#include "pattern/levels/schedule.hpp"

namespace prekond {

template <class Space>
LevelSchedule<Space> level_schedule(const Space& space,
                                    const std::type_identity_t<CsrGraphView<Space>>& graph, Triangle which) {
  if constexpr (is_host_space<Space>)
    return impl::levels::schedule_by_rows(space, graph, which);
  else
    return impl::levels::schedule_by_frontiers(space, graph, which);
}

template <class Space>
std::int64_t count_levels(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& a) {
  if (a.num_rows == 0) return 0;
  if constexpr (is_host_space<Space>) {
    space.fence("prekond::count_levels::begin");
    return impl::levels::levels_by_rows(a, Triangle::lower).num_levels;
  } else {
    return impl::levels::find_frontiers(space, a, Triangle::lower).num_levels;
  }
}

#define PREKOND_LEVEL_SCHEDULE(Space)                                                                      \
  template LevelSchedule<Space> level_schedule<Space>(const Space&, const CsrGraphView<Space>&, Triangle); \
  template std::int64_t count_levels<Space>(const Space&, const CsrGraphView<Space>&);
PREKOND_INSTANTIATE_SPACES(PREKOND_LEVEL_SCHEDULE)

}  // namespace prekond
