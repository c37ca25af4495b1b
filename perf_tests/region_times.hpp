// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "tool_callbacks.hpp"

#include <Kokkos_Core.hpp>

#include <map>
#include <string>

namespace prekond::perf {

/// Wall seconds of regions by name, through Kokkos's tool callbacks (which fence where a region begins and
/// ends), while it lives. A region within another one counts as part of that.
class RegionTimes {
 public:
  RegionTimes() {
    state().seconds.clear();
    Kokkos::Tools::Experimental::set_push_region_callback(&begin);
    Kokkos::Tools::Experimental::set_pop_region_callback(&end);
  }

  double seconds(const std::string& name) const {
    const auto found = state().seconds.find(name);
    return found == state().seconds.end() ? 0 : found->second;
  }

 private:
  struct State {
    std::map<std::string, double> seconds;
    int depth = 0;
    std::string name;
    Kokkos::Timer timer;
  };
  static State& state() {
    static State s;
    return s;
  }
  static void begin(const char* name) {
    if (state().depth++ > 0) return;
    Kokkos::fence();
    state().name = name;
    state().timer.reset();
  }
  static void end() {
    if (--state().depth > 0) return;
    Kokkos::fence();
    state().seconds[state().name] += state().timer.seconds();
  }

  ToolCallbacks m_before;
};

}  // namespace prekond::perf
