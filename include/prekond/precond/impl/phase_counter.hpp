// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstddef>
#include <cstdint>

namespace prekond::impl {

/// Counts the calling thread's fences and allocations while it lives, by Kokkos's own events (the callbacks
/// of its tools).
///
/// A fence counts where Kokkos makes it by itself too, after a reduction to the host for example. A fence
/// that Kokkos makes for a tool that listens to kernels does not count. A tool's own callbacks are still
/// called, and are the only ones again once no counter lives, also after an exception.
///
/// Counters may be nested: the outer one counts the events of both. Each thread has its own count. Kokkos
/// reads its callbacks without a lock: other threads may go on launching and fencing, but a tool's callbacks
/// must not be set by another thread at the time when a counter begins or ends.
///
/// Cost: no fence (Kokkos 4.6 to 5.2); a launch makes a string more, an allocation an entry of a hash table.
class PhaseCounter {
 public:
  PhaseCounter();
  ~PhaseCounter();
  PhaseCounter(const PhaseCounter&) = delete;
  PhaseCounter& operator=(const PhaseCounter&) = delete;

  int fences() const;

  /// The most bytes that were allocated at a time, without the allocations that are still alive: the peak of
  /// the temporaries. Arrays of SmallViews count though parts of them are alive. Kokkos's own scratch memory,
  /// which Kokkos keeps, is not counted.
  std::int64_t temporary_bytes() const;

 private:
  int m_fences_before;
  std::size_t m_first_event;
};

}  // namespace prekond::impl
