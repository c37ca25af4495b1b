// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "tool_callbacks.hpp"

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace prekond::perf {

/// Prints, where it ends, what happened between its birth and its end in order: each kernel's launch, fence,
/// allocation and deallocation, with the milliseconds since the event before. Kokkos fences around kernels
/// where somebody listens, so a kernel's end comes after its launch and its run.
class EventTimes {
 public:
  explicit EventTimes(std::string title) : m_title(std::move(title)) {
    namespace Tools = Kokkos::Tools::Experimental;
    events().clear();
    timer().reset();
    ToolCallbacks::set_kernels(&begin_kernel, &end_kernel);
    Tools::set_begin_fence_callback([](const char* name, std::uint32_t, std::uint64_t*) {
      if (std::string(name).find("Kokkos Profile Tool Fence") == std::string::npos) note("fence", name);
    });
    Tools::set_allocate_data_callback(
        [](Kokkos_Profiling_SpaceHandle, const char* label, const void*, std::uint64_t bytes) {
          note("allocated " + std::to_string(bytes), label);
        });
    Tools::set_deallocate_data_callback(
        [](Kokkos_Profiling_SpaceHandle, const char* label, const void*, std::uint64_t bytes) {
          note("to free " + std::to_string(bytes), label);
        });
  }
  ~EventTimes() {
    Kokkos::fence();
    note("end", "");
    std::printf("events of %s: ms since the event before\n", m_title.c_str());
    double before = 0;
    for (const Event& event : events()) {
      std::printf("  %10.3f  %s %s\n", 1e3 * (event.time - before), event.what.c_str(), event.label.c_str());
      before = event.time;
    }
    std::printf("  %10.3f  in all\n", 1e3 * before);
  }
  EventTimes(const EventTimes&) = delete;
  EventTimes& operator=(const EventTimes&) = delete;

 private:
  struct Event {
    double time;
    std::string what, label;
  };
  static std::vector<Event>& events() {
    static std::vector<Event> list;
    return list;
  }
  static Kokkos::Timer& timer() {
    static Kokkos::Timer t;
    return t;
  }
  static void note(const std::string& what, const char* label) {
    const double now = timer().seconds();
    events().push_back({now, what, label});
  }
  static void begin_kernel(const char* name, std::uint32_t, std::uint64_t*) { note("kernel", name); }
  static void end_kernel(std::uint64_t) { note("  ended", ""); }

  std::string m_title;
  ToolCallbacks m_before;
};

}  // namespace prekond::perf
