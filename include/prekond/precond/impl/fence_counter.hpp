// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace prekond::impl {

/// Counts the calling thread's fences while this lives, by Kokkos's own events (its tools'
/// callback `begin_fence`): those that Kokkos makes by itself too, after a reduction to the host, say. Fences
/// for the sake of a tool that listens to kernels are not counted. A tool's own callback goes on being
/// called, and is alone again once no counter lives, also after an exception.
///
/// Cost: a listener to nothing but fences brings no fence (Kokkos 4.6 to 5.2); a launch makes a string more.
///
/// Counters may live one in another, the outer one counts both's; each thread has its own count. Kokkos reads
/// its callbacks without a lock: other threads may go on launching and fencing, but a tool's callbacks must
/// not be set by another thread at the time when a counter begins or ends.
class FenceCounter {
 public:
  FenceCounter();
  ~FenceCounter();
  FenceCounter(const FenceCounter&) = delete;
  FenceCounter& operator=(const FenceCounter&) = delete;

  int count() const;

 private:
  int m_before;
};

}  // namespace prekond::impl
