// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <mutex>
#include <string>
#include <utility>

namespace prekond::driver {

/// The step of the command that is under way, such as "reading a.mtx": the line of an interrupt or of missing
/// memory names it.
class Phase {
 public:
  static void begin(std::string text) {
    const std::lock_guard lock(state().mutex);
    state().text = std::move(text);
  }
  static std::string current() {
    const std::lock_guard lock(state().mutex);
    return state().text;
  }
  /// " in the step 'reading a.mtx'", nothing before the first.
  static std::string where() {
    std::string text = current();
    if (text.empty()) return "";
    for (char& c : text)
      if (static_cast<unsigned char>(c) < ' ') c = '?';
    return " in the step '" + text + "'";
  }

 private:
  struct State {
    std::mutex mutex;
    std::string text;
  };
  static State& state() {
    static auto* const instance = new State;  // outlives every thread
    return *instance;
  }
};

}  // namespace prekond::driver
