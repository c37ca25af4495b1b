// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/views.hpp>

#include "core/concurrent_words.hpp"

#include <string>

namespace prekond::impl {

/// Whether any thread of a kernel has found something. It has to outlive the kernel. On an H200 reductions
/// over teams that looked for something took 9.5 of the 111 ms of a setup's kernels (any_broken and
/// rows_ascend in perf_tests/results/h200/ranks/elasticity3d_100_amg_kernels_np2.txt).
template <class Space>
class Flag {
 public:
  /// The part that the kernel gets.
  class Raise {
   public:
    explicit Raise(int* word) : m_word(word) {}
    KOKKOS_FORCEINLINE_FUNCTION void operator()() const { raise_flag(*m_word, 1); }
    /// May be false for a while after another thread has raised it.
    KOKKOS_FORCEINLINE_FUNCTION bool is_raised() const { return concurrent_load(*m_word) != 0; }

   private:
    int* m_word;
  };

  Flag(const Space& space, const std::string& label) {
    if constexpr (!is_host_space<Space>) m_word = allocate_zero<Vector<int, Space>>(space, label, 1);
  }
  Flag(const Flag&) = delete;
  Flag& operator=(const Flag&) = delete;

  Raise raise() { return Raise(is_host_space<Space> ? &m_on_host : m_word.data()); }

  /// Fences.
  bool is_raised(const Space& space) {
    if constexpr (!is_host_space<Space>)
      Kokkos::deep_copy(
          space, Kokkos::View<int, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(&m_on_host),
          Kokkos::subview(m_word, 0));
    space.fence("prekond::flag");
    return m_on_host != 0;
  }

 private:
  int m_on_host = 0;
  Vector<int, Space> m_word;  ///< of a device
};

}  // namespace prekond::impl
