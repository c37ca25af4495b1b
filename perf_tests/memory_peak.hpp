// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <Kokkos_Core.hpp>

#include <cstdint>
#include <cstring>

namespace prekond::perf {

/// The most bytes of MemorySpace that were held at a time of all that was allocated while it lives, Kokkos's
/// own scratch included, through Kokkos's tool callbacks.
template <class MemorySpace>
class MemoryPeak {
 public:
  MemoryPeak() {
    state() = {};
    Kokkos::Tools::Experimental::set_allocate_data_callback(
        [](Kokkos_Profiling_SpaceHandle space, const char*, const void*, std::uint64_t bytes) {
          if (std::strcmp(space.name, MemorySpace::name()) != 0) return;
          state().now += std::int64_t(bytes);
          if (state().now > state().peak) state().peak = state().now;
        });
    Kokkos::Tools::Experimental::set_deallocate_data_callback(
        [](Kokkos_Profiling_SpaceHandle space, const char*, const void*, std::uint64_t bytes) {
          if (std::strcmp(space.name, MemorySpace::name()) == 0) state().now -= std::int64_t(bytes);
        });
  }
  ~MemoryPeak() {
    Kokkos::Tools::Experimental::set_allocate_data_callback(nullptr);
    Kokkos::Tools::Experimental::set_deallocate_data_callback(nullptr);
  }
  MemoryPeak(const MemoryPeak&) = delete;
  MemoryPeak& operator=(const MemoryPeak&) = delete;

  std::int64_t bytes() const { return state().peak; }

 private:
  struct State {
    std::int64_t now = 0;
    std::int64_t peak = 0;
  };
  static State& state() {
    static State s;
    return s;
  }
};

}  // namespace prekond::perf
