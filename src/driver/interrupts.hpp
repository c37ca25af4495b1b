// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <atomic>
#include <csignal>
#include <functional>
#include <thread>

#include "failure.hpp"

namespace prekond::driver {

/// The signals that end the command: SIGINT (Ctrl-C), SIGTERM, SIGHUP. A thread waits for them, because a
/// signal handler could not do the work: no file is left half written, one line is said, and the process
/// ends with 128 and the signal's number. A second signal ends it at once. A signal that was ignored at the
/// start (nohup) stays ignored.
///
/// To be made before anything starts a thread: threads inherit that these signals are not for them.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  /// Turns the line off: mpirun, which ends its processes so, speaks for them.
  void be_silent() { m_silent = true; }

  /// Sets the work to do before the end, in the thread that waits; nullptr: none.
  static void on_interrupt(std::function<void(const Failure&)> action);

  /// While it lives, the first signal does not end the process: `requested` has the signal, and the owner
  /// ends what it does soon, and the process with `code_of` the signal.
  class Deferred {
   public:
    Deferred();
    ~Deferred();
    Deferred(const Deferred&) = delete;
    Deferred& operator=(const Deferred&) = delete;
  };
  /// The signal that came while it was deferred, or 0.
  static int requested();
  static ExitCode code_of(int signal) { return static_cast<ExitCode>(signalled + signal); }

 private:
  void wait();
  static bool defers(int signal);
  [[noreturn]] void end(int signal);

  sigset_t m_signals;
  std::atomic<bool> m_over{false};
  std::atomic<bool> m_silent{false};
  std::thread m_waiting;
};

}  // namespace prekond::driver
