// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace prekond::driver {

/// A line on standard error that says what the command is at. It appears when the work has lasted a second,
/// on a terminal only, ten times a second at most, and is gone when the Progress is.
///
/// A thread of its own paints it, because reading and setup have no callback.
class Progress {
 public:
  explicit Progress(bool wanted);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Is anybody looking?
  bool live() const { return m_painter.joinable(); }

  /// A new phase: "reading matrix.mtx".
  void phase(const std::string& text);

  /// What a user should know before the end: a line on standard error, terminal or not, where it is wanted.
  void note(const std::string& text);

  /// An iteration of the phase, and its relative residual. Cheap.
  void iteration(std::int64_t number, double relative_residual);

 private:
  void paint();

  bool m_wanted;
  std::chrono::steady_clock::time_point m_start = std::chrono::steady_clock::now();
  std::mutex m_mutex;
  std::condition_variable m_wake;
  bool m_done = false;
  std::string m_text;
  std::atomic<std::int64_t> m_iteration{-1};
  std::atomic<double> m_residual{0};
  std::thread m_painter;
};

}  // namespace prekond::driver
