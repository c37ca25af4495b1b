// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <Kokkos_Core.hpp>

namespace prekond::perf {

/// Kokkos's tools get the callbacks back that they had, where it ends.
class ToolCallbacks {
 public:
  ToolCallbacks() : m_before(Kokkos::Tools::Experimental::get_callbacks()) {}
  ~ToolCallbacks() { Kokkos::Tools::Experimental::set_callbacks(m_before); }
  ToolCallbacks(const ToolCallbacks&) = delete;
  ToolCallbacks& operator=(const ToolCallbacks&) = delete;

  /// For kernels of all three kinds.
  static void set_kernels(Kokkos_Profiling_beginFunction begin, Kokkos_Profiling_endFunction end) {
    namespace Tools = Kokkos::Tools::Experimental;
    Tools::set_begin_parallel_for_callback(begin);
    Tools::set_begin_parallel_reduce_callback(begin);
    Tools::set_begin_parallel_scan_callback(begin);
    Tools::set_end_parallel_for_callback(end);
    Tools::set_end_parallel_reduce_callback(end);
    Tools::set_end_parallel_scan_callback(end);
  }

 private:
  Kokkos::Tools::Experimental::EventSet m_before;
};

}  // namespace prekond::perf
