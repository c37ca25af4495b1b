// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A vector lane group whose lanes are threads of the host's: what a GPU's warp does, with its registers,
/// barriers and votes, where there is no GPU. Nothing keeps a lane in step with the others but the barriers
/// that the code asks for, so that a missing one shows (under a thread sanitizer surely, else by chance).
#include <gtest/gtest.h>
#include <Kokkos_Core.hpp>

#include <atomic>
#include <barrier>
#include <thread>
#include <vector>

namespace prekond::testing {

template <int Width>
class LaneThreads {
 public:
  class LaneGroup {
   public:
    static constexpr int width = Width;
    static constexpr bool keeps_registers = true;
    KOKKOS_FUNCTION LaneGroup(LaneThreads& lanes, int lane) : m_lanes(&lanes), m_lane(lane) {}
    KOKKOS_FUNCTION static constexpr int size() { return width; }

    KOKKOS_FUNCTION int lane() const { return m_lane; }
    KOKKOS_FUNCTION void barrier() const { KOKKOS_IF_ON_HOST((m_lanes->m_barrier.arrive_and_wait();)) }
    KOKKOS_FUNCTION unsigned vote(bool yes) const {
      static_assert(Width == 32);
      unsigned all = 0;
      KOKKOS_IF_ON_HOST((all = m_lanes->vote(m_lane, yes);))
      (void)yes;
      return all;
    }
    KOKKOS_FUNCTION int broadcast(int value, int lane) const {
      int values[Width];
      for (int k = 0; k < Width; ++k) values[k] = sum<int>([&](int own) { return own == k ? value : 0; });
      return values[lane];
    }
    KOKKOS_FUNCTION static void pause() { KOKKOS_IF_ON_HOST((std::this_thread::yield();)) }
    KOKKOS_FUNCTION static unsigned atomic_compare_exchange(unsigned* word, unsigned expected,
                                                            unsigned desired) {
      return Kokkos::atomic_compare_exchange(word, expected, desired);
    }

    template <class F>
    KOKKOS_FUNCTION void region(const F& f) const {
      f(m_lane);
      barrier();
    }
    template <class F>
    KOKKOS_FUNCTION void once(const F& f) const {
      if (m_lane == 0) f();
      barrier();
    }
    template <class T, class F>
    KOKKOS_FUNCTION T sum(const F& f) const {
      return gather<T>(f(m_lane), [](T a, T b) { return a + b; });
    }
    template <class T, int N, class F>
    KOKKOS_FUNCTION void sums(T (&result)[N], const F& f) const {
      T mine[N];
      f(m_lane, mine);
      for (int k = 0; k < N; ++k) result[k] = gather<T>(mine[k], [](T a, T b) { return a + b; });
    }
    template <class T, class F>
    KOKKOS_FUNCTION T max(const F& f) const {
      return gather<T>(f(m_lane), [](T a, T b) { return a < b ? b : a; });
    }
    template <class T, class F>
    KOKKOS_FUNCTION T min(const F& f) const {
      return gather<T>(f(m_lane), [](T a, T b) { return b < a ? b : a; });
    }

    KOKKOS_FUNCTION static constexpr int num_groups() { return 1; }
    KOKKOS_FUNCTION static constexpr int group() { return 0; }
    KOKKOS_FUNCTION const LaneGroup& vector() const { return *this; }
    KOKKOS_FUNCTION void join() const {}

   private:
    /// All lanes' values, joined in the lanes' order.
    template <class T, class Join>
    KOKKOS_FUNCTION T gather(T mine, const Join& join) const {
      static_assert(sizeof(T) <= sizeof(Slot));
      T all = mine;
      KOKKOS_IF_ON_HOST((*reinterpret_cast<T*>(m_lanes->m_slots[m_lane].bytes) = mine; barrier();
                         all = *reinterpret_cast<const T*>(m_lanes->m_slots[0].bytes);
                         for (int k = 1; k < width; ++k) {
                           all = join(all, *reinterpret_cast<const T*>(m_lanes->m_slots[k].bytes));
                         } barrier();))
      (void)join;
      return all;
    }

    LaneThreads* m_lanes;
    int m_lane;
  };

  /// Runs work(lane group) on every lane.
  template <class Work>
  void run(const Work& work) {
    std::vector<std::thread> threads;
    for (int lane = 0; lane < Width; ++lane)
      threads.emplace_back([&, lane] { work(LaneGroup(*this, lane)); });
    for (auto& thread : threads) thread.join();
  }

 private:
  /// Waits for the others' votes, but is no barrier for what was written.
  unsigned vote(int lane, bool yes) {
    const unsigned epoch = ++m_epochs[lane];
    auto& votes = m_votes[epoch % 2];
    votes[lane].store(epoch << 1 | unsigned(yes), std::memory_order_relaxed);
    unsigned all = 0;
    for (int k = 0; k < Width; ++k) {
      unsigned vote = 0;
      while ((vote = votes[k].load(std::memory_order_relaxed)) >> 1 != epoch) std::this_thread::yield();
      all |= (vote & 1u) << k;
    }
    return all;
  }

  struct alignas(8) Slot {
    unsigned char bytes[8];
  };
  std::barrier<> m_barrier{Width};
  Slot m_slots[Width];
  unsigned m_epochs[Width] = {};
  std::atomic<unsigned> m_votes[2][Width] = {};
};

/// Tests of code whose lanes share memory by Kokkos's atomics. In a build for one thread these may be
/// ordinary operations, and lanes that are threads lose each other's results by chance.
class LanesTest : public ::testing::Test {
 protected:
  void SetUp() override {
#ifdef KOKKOS_ENABLE_ATOMICS_BYPASS
    GTEST_SKIP() << "Kokkos was built with KOKKOS_ENABLE_ATOMICS_BYPASS: its atomics are none";
#endif
  }
};

}  // namespace prekond::testing
