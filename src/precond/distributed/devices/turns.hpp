// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The same work on several execution spaces at a time.
#include <prekond/core/views.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

namespace prekond::impl::devices {

/// A mutex that threads get in the order in which they ask for it. A thread that gives a std::mutex back and
/// asks again at once is ahead of those that it has woken up.
class TicketLock {
 public:
  void lock() {
    const std::uint32_t mine = m_next.fetch_add(1);
    for (std::uint32_t served = m_served.load(); served != mine; served = m_served.load())
      m_served.wait(served);
  }
  void unlock() {
    m_served.fetch_add(1);
    m_served.notify_all();
  }
  /// How many have it or wait for it.
  std::uint32_t users() const { return m_next.load() - m_served.load(); }

 private:
  std::atomic<std::uint32_t> m_next = 0;    ///< the ticket that is given next
  std::atomic<std::uint32_t> m_served = 0;  ///< the ticket that has the lock
};

/// The memory that a device has allocated in a phase, held until all devices have ended it. Where Kokkos
/// takes memory from CUDA's pools (Kokkos_ENABLE_IMPL_CUDA_MALLOC_ASYNC), freeing it waits for the kernels of
/// all devices: without this a device that frees a temporary would wait for the others.
class HeldViews {
 public:
  /// Temporaries of more than `limit` bytes in all are given up during the phase, for the price of the wait.
  explicit HeldViews(std::size_t limit = ~std::size_t(0)) : m_limit(limit) {}

  void add(std::unique_ptr<HeldView> view);
  /// Gives up what nobody else uses. \returns its bytes
  std::size_t release();
  /// The bytes of all views that are held, in use elsewhere or not.
  std::size_t bytes() const;

 private:
  std::vector<std::unique_ptr<HeldView>> m_views;
  std::size_t m_limit;
};

/// `work(k)` for 0 <= k < fences.size(), the first by the calling thread. One after another or, `by_turns`,
/// by a thread for each, of which one at a time calls Kokkos: the others wait for their devices. Kernels of
/// all devices run at the same time, launches do not. `fences[k]` waits for what the k-th one's kernels do;
/// by turns `held[k]` gets what the k-th one allocates. \returns what each one has thrown, or null
///
/// Turns are for devices: Kokkos 4.6 to 5.2 keep what the driver says of a kernel in one table for each
/// kernel, with an entry a device, and write it without a lock when the kernel is launched on a device for
/// the first time (CUDA, get_cuda_kernel_func_attributes): two threads must not do so at once. One after
/// another would leave all devices but one idle, since a setup waits for totals that its next kernel needs.
///
/// A thread passes the turn on whenever it waits for its device, which it notices by Kokkos's own events (its
/// tools' callbacks): in every fence; and before a copy or the end of an allocation, which wait inside of the
/// driver, in a fence of its own. So it does before `allocate`, which waits for the stream too. A tool's own
/// callbacks go on being called, by the thread that has the turn. As with PhaseCounter, nobody else may set
/// callbacks at the time when this begins or ends.
///
/// A kernel whose arguments Kokkos keeps in constant memory (512 bytes and more on CUDA, but for those of a
/// KernelPolicy) waits for the one before it without an event, and so does a scan whose sum the host gets:
/// the turn stays where it is. (Kokkos tells its tools of a kernel after a fence of all devices: no help.)
std::vector<std::exception_ptr> side_by_side(bool by_turns, const std::function<void(int)>& work,
                                             const std::vector<std::function<void()>>& fences,
                                             const std::vector<HeldViews*>& held);

}  // namespace prekond::impl::devices
