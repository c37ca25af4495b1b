// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interrupts.hpp"

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

#include "atomic_file.hpp"
#include "phase.hpp"

namespace prekond::driver {
namespace {

/// Held for ever by the thread that ends the process.
struct Action {
  std::mutex mutex;
  std::function<void(const Failure&)> work;
};

Action& action() {
  static auto* const instance = new Action;  // outlives every thread
  return *instance;
}

std::mutex deferring;  // the two below
bool is_deferred = false;
std::atomic<int> request{0};

constexpr int not_a_request = SIGTERM;  // wakes the thread at the end

bool is_ignored(int signal) {
  struct sigaction now {};
  return sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

/// Was SIGHUP left ignored by the caller (nohup)? UCX, which MPI may bring, sets a handler while the
/// libraries are loaded, so main would look too late.
bool hangup_was_ignored = false;
#if defined(__ELF__) && defined(__GLIBC__)
void look_at_hangup(int, char**, char**) {
  hangup_was_ignored = is_ignored(SIGHUP);
}
// Called before the libraries' constructors.
[[gnu::section(".preinit_array"), gnu::used]] void (*const look_before_libraries)(int, char**,
                                                                                  char**) = look_at_hangup;
#endif

void say(const std::string& text) {
  const std::string line = std::string(isatty(STDERR_FILENO) == 1 ? "\r\033[K" : "") + text;
  // The live line's thread must not write after it, and may hold the stream where a terminal is stopped.
  for (int k = 0; k < 100 && ftrylockfile(stderr) != 0; ++k) usleep(1000);
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) return;
}

}  // namespace

Interrupts::Interrupts() {
  if (hangup_was_ignored) std::signal(SIGHUP, SIG_IGN);
  sigemptyset(&m_signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    if (!is_ignored(signal)) sigaddset(&m_signals, signal);
  sigset_t blocked = m_signals;
  sigaddset(&blocked, not_a_request);
  pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
  try {
    m_waiting = std::thread([this] { wait(); });
  } catch (const std::system_error&) {
    pthread_sigmask(SIG_UNBLOCK, &blocked, nullptr);  // without a thread they end the process as ever
  }
}

Interrupts::~Interrupts() {
  if (!m_waiting.joinable()) return;
  m_over = true;
  pthread_kill(m_waiting.native_handle(), not_a_request);
  m_waiting.join();
}

void Interrupts::on_interrupt(std::function<void(const Failure&)> work) {
  const std::lock_guard lock(action().mutex);
  action().work = std::move(work);
}

Interrupts::Deferred::Deferred() {
  const std::lock_guard lock(deferring);
  is_deferred = true;
}

Interrupts::Deferred::~Deferred() {
  const std::lock_guard lock(deferring);
  is_deferred = false;
}

int Interrupts::requested() {
  return request;
}

bool Interrupts::defers(int signal) {
  const std::lock_guard lock(deferring);
  if (!is_deferred || request != 0) return false;
  request = signal;
  return true;
}

void Interrupts::wait() {
  sigset_t awaited = m_signals;
  sigaddset(&awaited, not_a_request);
  for (int signal = 0;;) {
    if (sigwait(&awaited, &signal) != 0) continue;
    if (m_over) return;
    if (sigismember(&m_signals, signal) == 1 && !defers(signal)) end(signal);
  }
}

void Interrupts::end(int signal) {
  pthread_sigmask(SIG_UNBLOCK, &m_signals, nullptr);  // the next one ends the process
  const Failure failure(code_of(signal), "interrupted" + Phase::where());
  stop_writing();
  action().mutex.lock();
  try {
    if (action().work) action().work(failure);
  } catch (const std::exception&) {
    // Only the line below can be said.
  }
  if (!m_silent) say("prekond: error: " + std::string(failure.what()) + "\n");
  _exit(code_of(signal));
}

}  // namespace prekond::driver
