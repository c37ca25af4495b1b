// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/distributed/devices/turns.hpp"

#include <Kokkos_Core.hpp>

#include <mutex>
#include <thread>
#include <utility>

namespace prekond::impl::devices {
namespace {

namespace tools = Kokkos::Tools::Experimental;

std::mutex installing;
int installed = 0;
tools::EventSet others;  ///< the callbacks that were there before; set before the threads begin

TicketLock turn;

class Turn;
thread_local Turn* mine = nullptr;  ///< null: the thread takes no turns

/// The calling thread takes part while this lives: it waits for the turn, and gives it back in the end.
class Turn : public AllocationWatch {
 public:
  /// `fence` waits for the thread's device, by a fence of Kokkos.
  Turn(const std::function<void()>& fence, HeldViews& held) : m_fence(fence), m_held(held) {
    mine = this;
    set_allocation_watch(this);
    take();
  }
  ~Turn() override {
    set_allocation_watch(nullptr);
    mine = nullptr;
    pass_on();
  }

  void take() {
    if (!std::exchange(m_has_turn, true)) turn.lock();
  }
  void pass_on() {
    if (std::exchange(m_has_turn, false)) turn.unlock();
  }
  /// A fence waits here in place of the driver.
  void wait() {
    if (!m_has_turn || m_is_waiting) return;
    m_is_waiting = true;
    m_fence();
    m_is_waiting = false;
  }
  void before_allocation() override { wait(); }
  void allocated(std::unique_ptr<HeldView> view) override { m_held.add(std::move(view)); }

 private:
  const std::function<void()>& m_fence;
  HeldViews& m_held;
  bool m_has_turn = false;
  bool m_is_waiting = false;
};

void begin_fence(const char* name, std::uint32_t device, std::uint64_t* handle) {
  if (others.begin_fence) others.begin_fence(name, device, handle);
  if (mine) mine->pass_on();
}

void end_fence(std::uint64_t handle) {
  if (mine) mine->take();
  if (others.end_fence) others.end_fence(handle);
}

void deallocate(Kokkos_Profiling_SpaceHandle space, const char* label, const void* data,
                std::uint64_t bytes) {
  if (mine) mine->wait();
  if (others.deallocate_data) others.deallocate_data(space, label, data, bytes);
}

void begin_copy(Kokkos_Profiling_SpaceHandle to, const char* to_label, const void* to_data,
                Kokkos_Profiling_SpaceHandle from, const char* from_label, const void* from_data,
                std::uint64_t bytes) {
  if (mine) mine->wait();
  if (others.begin_deep_copy)
    others.begin_deep_copy(to, to_label, to_data, from, from_label, from_data, bytes);
}

/// While this lives, threads with a `Turn` call Kokkos one at a time.
class TakingTurns {
 public:
  TakingTurns() {
    const std::lock_guard<std::mutex> lock(installing);
    if (installed++ > 0) return;
    others = tools::get_callbacks();
    tools::set_begin_fence_callback(&begin_fence);
    tools::set_end_fence_callback(&end_fence);
    tools::set_deallocate_data_callback(&deallocate);
    tools::set_begin_deep_copy_callback(&begin_copy);
  }
  ~TakingTurns() {
    const std::lock_guard<std::mutex> lock(installing);
    if (--installed > 0) return;
    tools::set_begin_fence_callback(others.begin_fence);
    tools::set_end_fence_callback(others.end_fence);
    tools::set_deallocate_data_callback(others.deallocate_data);
    tools::set_begin_deep_copy_callback(others.begin_deep_copy);
  }
};

}  // namespace

void HeldViews::add(std::unique_ptr<HeldView> view) {
  m_views.push_back(std::move(view));
  std::size_t unused = 0;
  for (const auto& held : m_views)
    if (held->is_last_user()) unused += held->bytes();
  if (unused > m_limit) release();
}

std::size_t HeldViews::release() {
  const std::size_t before = bytes();
  std::erase_if(m_views, [](const auto& held) { return held->is_last_user(); });
  return before - bytes();
}

std::size_t HeldViews::bytes() const {
  std::size_t sum = 0;
  for (const auto& held : m_views) sum += held->bytes();
  return sum;
}

std::vector<std::exception_ptr> side_by_side(bool by_turns, const std::function<void(int)>& work,
                                             const std::vector<std::function<void()>>& fences,
                                             const std::vector<HeldViews*>& held) {
  const std::size_t count = fences.size();
  std::vector<std::exception_ptr> thrown(count);
  const auto do_one = [&](std::size_t k) {
    try {
      work(static_cast<int>(k));
    } catch (...) {
      thrown[k] = std::current_exception();
    }
  };
  if (!by_turns || count < 2) {
    for (std::size_t k = 0; k < count; ++k) do_one(k);
    return thrown;
  }
  const auto take_part = [&](std::size_t k) {
    const Turn part(fences[k], *held[k]);
    do_one(k);
  };
  const TakingTurns turns;
  std::vector<std::thread> threads;
  for (std::size_t k = 1; k < count; ++k) {
    try {
      threads.emplace_back(take_part, k);
    } catch (...) {  // the system gives no thread
      thrown[k] = std::current_exception();
    }
  }
  take_part(0);
  for (std::thread& thread : threads) thread.join();
  return thrown;
}

}  // namespace prekond::impl::devices
