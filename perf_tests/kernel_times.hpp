// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "tool_callbacks.hpp"

#include <Kokkos_Core.hpp>

#include <cstdio>
#include <map>
#include <string>

namespace prekond::perf {

/// Wall times of kernels by label, through Kokkos's tool callbacks (which fence before and after each
/// kernel), while it lives. `print` writes a line for each label, and what the kernels leave of the whole.
class KernelTimes {
 public:
  KernelTimes() {
    state().times.clear();
    state().whole.reset();
    ToolCallbacks::set_kernels(&begin, &end);
  }

  void print(const char* title) const {
    const double whole = state().whole.seconds();
    double sum = 0;
    std::printf("kernels of %s\n", title);
    for (const auto& [label, entry] : state().times) {
      std::printf("  %10.3f ms %6d x  %s\n", 1e3 * entry.seconds, entry.calls, label.c_str());
      sum += entry.seconds;
    }
    std::printf("  %10.3f ms           all kernels\n  %10.3f ms           besides them\n", 1e3 * sum,
                1e3 * (whole - sum));
  }

 private:
  struct Entry {
    double seconds = 0;
    int calls = 0;
  };
  struct State {
    std::map<std::string, Entry> times;
    std::string label;
    Kokkos::Timer timer, whole;
  };
  static State& state() {
    static State s;
    return s;
  }
  static void begin(const char* name, std::uint32_t, std::uint64_t*) {
    Kokkos::fence();
    state().label = name;
    state().timer.reset();
  }
  static void end(std::uint64_t) {
    Kokkos::fence();
    Entry& entry = state().times[state().label];
    entry.seconds += state().timer.seconds();
    ++entry.calls;
  }

  ToolCallbacks m_before;
};

}  // namespace prekond::perf
