// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/distributed/devices/turns.hpp"

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <mutex>
#include <utility>

#include "precond/distributed/devices/ticket_lock.hpp"

namespace prekond::impl::devices {
namespace {

namespace tools = Kokkos::Tools::Experimental;

/// The callbacks that were there before.
struct Others {
  Kokkos_Profiling_beginFenceFunction begin_fence = nullptr;
  Kokkos_Profiling_endFenceFunction end_fence = nullptr;
  Kokkos_Profiling_deallocateDataFunction deallocate = nullptr;
  Kokkos_Profiling_beginDeepCopyFunction begin_copy = nullptr;
};

std::mutex installing;
int installed = 0;
Others others;  ///< set before the threads begin

TicketLock turn;
thread_local const std::function<void()>* fence_of_mine = nullptr;  ///< null: the thread takes no turns
thread_local bool has_turn = false;
thread_local bool is_waiting = false;

void pass_on() {
  if (std::exchange(has_turn, false)) turn.unlock();
}

void take() {
  if (fence_of_mine == nullptr || has_turn) return;
  turn.lock();
  has_turn = true;
}

/// A fence waits here in place of the driver.
void wait_for_mine() {
  if (fence_of_mine == nullptr || !has_turn || is_waiting) return;
  is_waiting = true;
  (*fence_of_mine)();
  is_waiting = false;
}

void begin_fence(const char* name, std::uint32_t device, std::uint64_t* handle) {
  if (others.begin_fence) others.begin_fence(name, device, handle);
  pass_on();
}

void end_fence(std::uint64_t handle) {
  take();
  if (others.end_fence) others.end_fence(handle);
}

void deallocate(Kokkos_Profiling_SpaceHandle space, const char* label, const void* data,
                std::uint64_t bytes) {
  wait_for_mine();
  if (others.deallocate) others.deallocate(space, label, data, bytes);
}

void begin_copy(Kokkos_Profiling_SpaceHandle to, const char* to_label, const void* to_data,
                Kokkos_Profiling_SpaceHandle from, const char* from_label, const void* from_data,
                std::uint64_t bytes) {
  wait_for_mine();
  if (others.begin_copy) others.begin_copy(to, to_label, to_data, from, from_label, from_data, bytes);
}

}  // namespace

TakingTurns::TakingTurns() {
  const std::lock_guard<std::mutex> lock(installing);
  if (installed++ > 0) return;
  const auto callbacks = tools::get_callbacks();
  others = {callbacks.begin_fence, callbacks.end_fence, callbacks.deallocate_data, callbacks.begin_deep_copy};
  tools::set_begin_fence_callback(&begin_fence);
  tools::set_end_fence_callback(&end_fence);
  tools::set_deallocate_data_callback(&deallocate);
  tools::set_begin_deep_copy_callback(&begin_copy);
}

TakingTurns::~TakingTurns() {
  const std::lock_guard<std::mutex> lock(installing);
  if (--installed > 0) return;
  tools::set_begin_fence_callback(others.begin_fence);
  tools::set_end_fence_callback(others.end_fence);
  tools::set_deallocate_data_callback(others.deallocate);
  tools::set_begin_deep_copy_callback(others.begin_copy);
}

Turn::Turn(const std::function<void()>& fence, HeldViews* held) : m_held(held) {
  fence_of_mine = &fence;
  set_allocation_watch(this);
  take();
}

Turn::~Turn() {
  set_allocation_watch(nullptr);
  fence_of_mine = nullptr;
  pass_on();
}

void Turn::before_allocation() {
  wait_for_mine();
}

void Turn::allocated(std::unique_ptr<HeldView> view) {
  if (m_held != nullptr) m_held->add(std::move(view));
}

}  // namespace prekond::impl::devices
