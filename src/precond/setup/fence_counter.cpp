// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/precond/impl/fence_counter.hpp>

#include <Kokkos_Core.hpp>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>

namespace prekond::impl {
namespace {

namespace tools = Kokkos::Tools::Experimental;

std::mutex installing;
int counters = 0;  ///< of all threads
std::atomic<Kokkos_Profiling_beginFenceFunction> tool{nullptr};

thread_local int fences = 0;
thread_local bool calling_tool = false;

void count_fence(const char* name, std::uint32_t device, std::uint64_t* handle) {
  if (calling_tool) return;  // by a tool that was put in during a phase and calls what it found there
  if (std::strstr(name, "Kokkos Profile Tool Fence") == nullptr) ++fences;
  const auto next = tool.load();
  if (!next) return;
  calling_tool = true;
  next(name, device, handle);
  calling_tool = false;
}

}  // namespace

FenceCounter::FenceCounter() : m_before(fences) {
  const std::lock_guard<std::mutex> lock(installing);
  if (counters++ > 0) return;
  tool = tools::get_callbacks().begin_fence;
  tools::set_begin_fence_callback(&count_fence);
}

FenceCounter::~FenceCounter() {
  const std::lock_guard<std::mutex> lock(installing);
  if (--counters > 0) return;
  // Another one was put in during the phase: that is left there.
  if (tools::get_callbacks().begin_fence == &count_fence) tools::set_begin_fence_callback(tool.load());
}

int FenceCounter::count() const {
  return fences - m_before;
}

}  // namespace prekond::impl
