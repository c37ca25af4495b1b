// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/distributed/devices/side_by_side.hpp"

#include <optional>
#include <thread>

#include "precond/distributed/devices/turns.hpp"

namespace prekond::impl::devices {

std::vector<std::exception_ptr> side_by_side(Manner manner, int count, const std::function<void(int)>& work,
                                             const std::vector<std::function<void()>>& fences,
                                             const std::vector<HeldViews*>& held) {
  std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(count));
  const bool by_turns = manner == Manner::turns && count > 1;
  const auto do_one = [&](int k) {
    const auto place = static_cast<std::size_t>(k);
    std::optional<Turn> turn;
    if (by_turns) turn.emplace(fences[place], held.empty() ? nullptr : held[place]);
    try {
      work(k);
    } catch (...) {
      thrown[place] = std::current_exception();
    }
  };
  if (manner == Manner::in_sequence) {
    for (int k = 0; k < count; ++k) do_one(k);
    return thrown;
  }
  std::optional<TakingTurns> turns;
  if (by_turns) turns.emplace();
  std::vector<std::thread> threads;
  for (int k = 1; k < count; ++k) {
    try {
      threads.emplace_back(do_one, k);
    } catch (...) {  // the system gives no thread
      thrown[static_cast<std::size_t>(k)] = std::current_exception();
    }
  }
  if (count > 0) do_one(0);
  for (std::thread& thread : threads) thread.join();
  return thrown;
}

}  // namespace prekond::impl::devices
