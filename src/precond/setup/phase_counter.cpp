// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/impl/small_views.hpp>
#include <prekond/precond/impl/phase_counter.hpp>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace prekond::impl {
namespace {

namespace tools = Kokkos::Tools::Experimental;

std::mutex installing;
int counters = 0;  ///< of all threads
/// The callbacks of a tool that was there before.
std::atomic<Kokkos_Profiling_beginFenceFunction> tools_fence{nullptr};
std::atomic<Kokkos_Profiling_allocateDataFunction> tools_allocation{nullptr};
std::atomic<Kokkos_Profiling_deallocateDataFunction> tools_deallocation{nullptr};

/// An allocation, or the end of one.
struct MemoryEvent {
  std::int64_t bytes;      ///< negative for an end
  std::size_t allocation;  ///< the index of the allocation that begins or ends here
  bool is_left_out;        ///< an allocation without an end so far, which is no temporary
};

/// The counts of a thread; it is empty while no counter of the thread lives.
struct Counts {
  int counters = 0;
  int fences = 0;
  std::vector<MemoryEvent> events;
  std::unordered_map<const void*, std::size_t> alive;  ///< the index of an allocation's event

  /// An array of small views counts to its end, though some of them may stay.
  void allocate(const void* data, std::int64_t bytes, bool of_small_views) {
    alive[data] = events.size();
    events.push_back({bytes, events.size(), !of_small_views});
  }
  void deallocate(const void* data) {
    const auto found = alive.find(data);
    if (found == alive.end()) return;  // it was allocated before
    MemoryEvent& allocation = events[found->second];
    allocation.is_left_out = false;
    events.push_back({-allocation.bytes, allocation.allocation, false});
    alive.erase(found);
  }
};
thread_local Counts counts;
thread_local bool calling_tool = false;

/// Calls a tool's callback. A tool that was installed during a phase may call the callbacks that it found,
/// these ones: they do nothing then.
template <class Callback, class... Arguments>
void call_tool(const std::atomic<Callback>& tool, const Arguments&... arguments) {
  const Callback callback = tool.load();
  if (!callback) return;
  struct Calling {  // also where the tool throws
    Calling() { calling_tool = true; }
    ~Calling() { calling_tool = false; }
  } const calling;
  callback(arguments...);
}

void count_fence(const char* name, std::uint32_t device, std::uint64_t* handle) {
  if (calling_tool) return;
  if (std::strstr(name, "Kokkos Profile Tool Fence") == nullptr) ++counts.fences;
  call_tool(tools_fence, name, device, handle);
}

void count_allocation(Kokkos_Profiling_SpaceHandle space, const char* label, const void* data,
                      std::uint64_t bytes) {
  if (calling_tool) return;
  if (counts.counters > 0 && std::strncmp(label, "Kokkos::", 8) != 0)
    counts.allocate(data, static_cast<std::int64_t>(bytes), std::strcmp(label, SmallViews::label) == 0);
  call_tool(tools_allocation, space, label, data, bytes);
}

void count_deallocation(Kokkos_Profiling_SpaceHandle space, const char* label, const void* data,
                        std::uint64_t bytes) {
  if (calling_tool) return;
  if (counts.counters > 0) counts.deallocate(data);
  call_tool(tools_deallocation, space, label, data, bytes);
}

void install() {
  const auto found = tools::get_callbacks();
  tools_fence = found.begin_fence;
  tools_allocation = found.allocate_data;
  tools_deallocation = found.deallocate_data;
  tools::set_begin_fence_callback(&count_fence);
  tools::set_allocate_data_callback(&count_allocation);
  tools::set_deallocate_data_callback(&count_deallocation);
}

/// A callback that a tool installed during the phase stays.
void uninstall() {
  const auto now = tools::get_callbacks();
  if (now.begin_fence == &count_fence) tools::set_begin_fence_callback(tools_fence);
  if (now.allocate_data == &count_allocation) tools::set_allocate_data_callback(tools_allocation);
  if (now.deallocate_data == &count_deallocation) tools::set_deallocate_data_callback(tools_deallocation);
}

}  // namespace

PhaseCounter::PhaseCounter() : m_fences_before(counts.fences), m_first_event(counts.events.size()) {
  ++counts.counters;
  const std::lock_guard<std::mutex> lock(installing);
  if (counters++ == 0) install();
}

PhaseCounter::~PhaseCounter() {
  if (--counts.counters == 0) {
    counts.events.clear();
    counts.alive.clear();
  }
  const std::lock_guard<std::mutex> lock(installing);
  if (--counters == 0) uninstall();
}

int PhaseCounter::fences() const {
  return counts.fences - m_fences_before;
}

std::int64_t PhaseCounter::temporary_bytes() const {
  std::int64_t now = 0, peak = 0;
  for (std::size_t k = m_first_event; k < counts.events.size(); ++k) {
    const MemoryEvent& event = counts.events[k];
    if (event.is_left_out || event.allocation < m_first_event) continue;
    peak = std::max(peak, now += event.bytes);
  }
  return peak;
}

}  // namespace prekond::impl
