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

/// A line on standard error with the present phase of the command and its time. It appears when the work has
/// lasted a second, on a terminal only, ten times a second at most, and is gone at the end.
///
/// A thread of its own writes, because reading and setup have no callback.
class Progress {
 public:
  struct Times {
    std::chrono::milliseconds silent{1000};   ///< before the line appears
    std::chrono::milliseconds interval{100};  ///< between two of its states
  };

  explicit Progress(bool wanted) : Progress(wanted, Times{}) {}
  Progress(bool wanted, Times times);
  ~Progress() { end(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Is anybody looking at the line?
  bool live() const { return m_writer.joinable(); }
  /// Removes the line.
  void end();

  /// A row of several: "row 2 of 5 (isai)" comes before its phases.
  void row(std::size_t number, std::size_t count, const std::string& label);

  /// A new phase: "reading matrix.mtx".
  void phase(const std::string& text);

  /// A message for the user before the end: a line on standard error, terminal or not, where it is wanted.
  void note(const std::string& text);

  /// From now on every iteration whose number `every` divides has a line on standard error, terminal or not,
  /// where messages are wanted; none for 0.
  void monitor(std::int64_t every) { m_every = every; }

  /// An iteration of the phase, and its relative residual. Cheap where it is not monitored.
  void iteration(std::int64_t number, double relative_residual);

 private:
  using Clock = std::chrono::steady_clock;

  void paint();
  std::string line() const;
  void say(const std::string& text);

  bool m_wanted;
  std::int64_t m_every = 0;
  Times m_times;
  Clock::time_point m_start = Clock::now();
  Clock::time_point m_phase_start = m_start;
  std::mutex m_mutex;
  std::condition_variable m_wake;
  bool m_done = false;
  std::string m_row;
  std::string m_text;
  std::atomic<std::int64_t> m_iteration{-1};
  std::atomic<double> m_residual{0};
  std::thread m_writer;
};

}  // namespace prekond::driver
