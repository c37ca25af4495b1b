// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace prekond::testing {

/// Records, through Kokkos's own tool callbacks, what happens while it lives: kernels, fences, allocations,
/// regions that begin.
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
    Tools::set_push_region_callback([](const char* name) { events().regions.push_back(name); });
    Tools::set_pop_region_callback([] { ++events().ended_regions; });
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
    Tools::set_push_region_callback(nullptr);
    Tools::set_pop_region_callback(nullptr);
    Tools::set_allocate_data_callback(nullptr);
  }
  ToolEvents(const ToolEvents&) = delete;
  ToolEvents& operator=(const ToolEvents&) = delete;

  const std::vector<std::string>& kernels() const { return events().kernels; }
  const std::vector<std::string>& fences() const { return events().fences; }
  const std::vector<std::string>& allocations() const { return events().allocations; }
  const std::vector<std::string>& regions() const { return events().regions; }
  std::size_t num_ended_regions() const { return events().ended_regions; }
  std::uint64_t allocated_bytes() const { return events().allocated_bytes; }

 private:
  struct Lists {
    std::vector<std::string> kernels, fences, allocations, regions;
    std::size_t ended_regions = 0;
    std::uint64_t allocated_bytes = 0;
  };
  static Lists& events() {
    static Lists lists;
    return lists;
  }
  static void kernel(const char* name, std::uint32_t, std::uint64_t*) { events().kernels.push_back(name); }
};

/// How many of the exchanges that `begins` to `ends` are have a product's kernel between the two; -1 where
/// one has none.
inline int overlapped_exchanges(const std::vector<std::string>& kernels, const std::string& begins,
                                const std::string& ends) {
  int count = 0;
  bool is_under_way = false, has_product = false;
  for (const std::string& label : kernels) {
    if (label == begins) {
      is_under_way = true;
      has_product = false;
    } else if (label.find("prekond::spmv::apply") != std::string::npos ||
               label.find("prekond::bcsr::apply") != std::string::npos) {
      has_product = true;
    } else if (label == ends) {
      if (!is_under_way || !has_product) return -1;
      is_under_way = false;
      ++count;
    }
  }
  return is_under_way ? -1 : count;
}
inline int overlapped_imports(const std::vector<std::string>& kernels) {
  return overlapped_exchanges(kernels, "prekond::import::pack", "prekond::import::unpack");
}
inline int overlapped_sums(const std::vector<std::string>& kernels) {
  return overlapped_exchanges(kernels, "prekond::import::pack_reverse", "prekond::import::add");
}

/// The kernels and allocations that expanded blocks.
inline std::vector<std::string> expansions(const ToolEvents& events) {
  std::vector<std::string> found;
  for (const auto* list : {&events.kernels(), &events.allocations()})
    for (const std::string& name : *list)
      if (name.find("prekond::expand_blocks") != std::string::npos) found.push_back(name);
  return found;
}

}  // namespace prekond::testing
