// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <Kokkos_Core.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace prekond::testing {

/// Records, through Kokkos's own tool callbacks, what happens while it lives: kernels, fences, allocations.
class ToolEvents {
 public:
  ToolEvents() {
    events() = {};
    namespace Tools = Kokkos::Tools::Experimental;
    Tools::set_begin_parallel_for_callback(&kernel);
    Tools::set_begin_parallel_reduce_callback(&kernel);
    Tools::set_begin_parallel_scan_callback(&kernel);
    Tools::set_begin_fence_callback([](const char* name, std::uint32_t, std::uint64_t*) {
      // Kokkos fences around kernels for the sake of a tool that listens, as this one does.
      if (std::string(name).find("Kokkos Profile Tool Fence") == std::string::npos)
        events().fences.push_back(name);
    });
    Tools::set_allocate_data_callback(
        [](Kokkos_Profiling_SpaceHandle, const char* label, const void*, std::uint64_t bytes) {
          if (bytes == 0) return;  // CUDA's launch of a team kernel asks for scratch, even for none
          events().allocations.push_back(label);
          events().allocated_bytes += bytes;
        });
  }
  ~ToolEvents() {
    namespace Tools = Kokkos::Tools::Experimental;
    Tools::set_begin_parallel_for_callback(nullptr);
    Tools::set_begin_parallel_reduce_callback(nullptr);
    Tools::set_begin_parallel_scan_callback(nullptr);
    Tools::set_begin_fence_callback(nullptr);
    Tools::set_allocate_data_callback(nullptr);
  }
  ToolEvents(const ToolEvents&) = delete;
  ToolEvents& operator=(const ToolEvents&) = delete;

  const std::vector<std::string>& kernels() const { return events().kernels; }
  const std::vector<std::string>& fences() const { return events().fences; }
  const std::vector<std::string>& allocations() const { return events().allocations; }
  std::uint64_t allocated_bytes() const { return events().allocated_bytes; }

 private:
  struct Lists {
    std::vector<std::string> kernels, fences, allocations;
    std::uint64_t allocated_bytes = 0;
  };
  static Lists& events() {
    static Lists lists;
    return lists;
  }
  static void kernel(const char* name, std::uint32_t, std::uint64_t*) { events().kernels.push_back(name); }
};

/// Are there kernels whose labels contain these names, each behind the one before?
inline bool are_in_order(const std::vector<std::string>& kernels, const std::vector<std::string>& names) {
  auto at = kernels.begin();
  for (const std::string& name : names) {
    at = std::find_if(at, kernels.end(),
                      [&](const std::string& label) { return label.find(name) != std::string::npos; });
    if (at++ == kernels.end()) return false;
  }
  return true;
}

/// What expanded blocks, of the kernels and allocations.
inline std::vector<std::string> expansions(const ToolEvents& events) {
  std::vector<std::string> found;
  for (const auto* list : {&events.kernels(), &events.allocations()})
    for (const std::string& name : *list)
      if (name.find("prekond::expand_blocks") != std::string::npos) found.push_back(name);
  return found;
}

}  // namespace prekond::testing
