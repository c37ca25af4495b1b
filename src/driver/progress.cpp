// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "progress.hpp"

#include <unistd.h>

#include <cstdio>

namespace prekond::driver {
namespace {
constexpr std::chrono::milliseconds silent_time{1000};
constexpr std::chrono::milliseconds interval{100};
constexpr std::size_t max_width = 78;
}  // namespace

Progress::Progress(bool wanted) : m_wanted(wanted) {
  if (wanted && isatty(STDERR_FILENO) == 1) m_painter = std::thread([this] { paint(); });
}

Progress::~Progress() {
  if (!live()) return;
  {
    const std::lock_guard lock(m_mutex);
    m_done = true;
  }
  m_wake.notify_one();
  m_painter.join();
}

void Progress::phase(const std::string& text) {
  const std::lock_guard lock(m_mutex);
  m_text = text;
  m_iteration = -1;
}

void Progress::note(const std::string& text) {
  if (!m_wanted) return;
  const std::lock_guard lock(m_mutex);
  std::fprintf(stderr, "%sprekond: note: %s\n", live() ? "\r\033[K" : "", text.c_str());
  std::fflush(stderr);
}

void Progress::iteration(std::int64_t number, double relative_residual) {
  m_residual.store(relative_residual, std::memory_order_relaxed);
  m_iteration.store(number, std::memory_order_relaxed);
}

void Progress::paint() {
  std::unique_lock lock(m_mutex);
  if (m_wake.wait_for(lock, silent_time, [this] { return m_done; })) return;
  do {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - m_start;
    const std::int64_t iteration = m_iteration.load(std::memory_order_relaxed);
    char numbers[96] = "";
    if (iteration >= 0) {
      std::snprintf(numbers, sizeof numbers, ": iteration %lld, relative residual %.1e",
                    static_cast<long long>(iteration), m_residual.load(std::memory_order_relaxed));
    }
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, " (%.1f s)", elapsed.count());
    const std::string line = m_text + numbers + seconds;
    std::fprintf(stderr, "\r%.*s\033[K", static_cast<int>(max_width), line.c_str());
    std::fflush(stderr);
  } while (!m_wake.wait_for(lock, interval, [this] { return m_done; }));
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
}

}  // namespace prekond::driver
