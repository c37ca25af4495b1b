// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <atomic>
#include <cstdint>

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

}  // namespace prekond::impl::devices
