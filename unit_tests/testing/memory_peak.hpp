// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "testing/no_small_views.hpp"

namespace prekond::testing {

/// Records, through Kokkos's own tool callbacks, what is allocated and freed while it lives. Meanwhile the
/// thread's setups on devices have no small views, so that each view has an allocation of its own.
class MemoryPeak {
 public:
  MemoryPeak() {
    events().clear();
    Kokkos::Tools::Experimental::set_allocate_data_callback(
        [](Kokkos_Profiling_SpaceHandle, const char* label, const void* pointer, std::uint64_t bytes) {
          if (std::string(label).rfind("prekond::", 0) == 0)
            events().push_back({pointer, std::int64_t(bytes), true});
        });
    Kokkos::Tools::Experimental::set_deallocate_data_callback(
        [](Kokkos_Profiling_SpaceHandle, const char*, const void* pointer, std::uint64_t bytes) {
          events().push_back({pointer, std::int64_t(bytes), false});
        });
  }
  ~MemoryPeak() {
    Kokkos::Tools::Experimental::set_allocate_data_callback(nullptr);
    Kokkos::Tools::Experimental::set_deallocate_data_callback(nullptr);
  }
  MemoryPeak(const MemoryPeak&) = delete;
  MemoryPeak& operator=(const MemoryPeak&) = delete;

  /// Most bytes that were held at a time, without the views that begin at `results`.
  std::int64_t without(const std::vector<const void*>& results) const { return walk(results).peak; }
  /// The bytes that are still held, without those views.
  std::int64_t left(const std::vector<const void*>& results) const { return walk(results).now; }

 private:
  NoSmallViews m_no_small_views;

  struct Held {
    std::int64_t now = 0, peak = 0;
  };
  Held walk(const std::vector<const void*>& results) const {
    std::int64_t now = 0, peak = 0;
    std::vector<const void*> live;
    for (std::size_t k = 0; k < events().size(); ++k) {
      const Event& event = events()[k];
      if (event.allocated) {
        if (std::any_of(results.begin(), results.end(), [&](const void* data) { return k == last_of(data); }))
          continue;
        live.push_back(event.pointer);
        peak = std::max(peak, now += event.bytes);
      } else if (const auto found = std::find(live.begin(), live.end(), event.pointer); found != live.end()) {
        live.erase(found);
        now -= event.bytes;
      }
    }
    return {now, peak};
  }

  struct Event {
    const void* pointer;
    std::int64_t bytes;
    bool allocated;
    /// A view's data begins after a header.
    bool holds(const void* data) const {
      const auto distance = static_cast<const char*>(data) - static_cast<const char*>(pointer);
      return distance >= 0 && distance <= 256;
    }
  };
  /// The last allocation of a view's data: before, the place may have been another's.
  static std::size_t last_of(const void* data) {
    std::size_t last = events().size();
    for (std::size_t k = 0; k < events().size(); ++k)
      if (events()[k].allocated && events()[k].holds(data)) last = k;
    return last;
  }
  static std::vector<Event>& events() {
    static std::vector<Event> list;
    return list;
  }
};

}  // namespace prekond::testing
