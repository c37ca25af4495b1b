// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <system_error>

#include "phase.hpp"
#include "text.hpp"

namespace prekond::driver {
namespace {

constexpr std::size_t max_width = 78;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Names of files may have anything in them.
std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 127; }, '?');
  return text;
}

}  // namespace

Progress::Progress(bool wanted, Times times) : m_wanted(wanted), m_times(times) {
  if (!wanted || isatty(STDERR_FILENO) != 1) return;
  try {
    m_writer = std::thread([this] { paint(); });
  } catch (const std::system_error&) {
    // Where no thread can be had, there is no progress to see.
  }
}

void Progress::end() {
  if (!live()) return;
  {
    const std::lock_guard lock(m_mutex);
    m_done = true;
  }
  m_wake.notify_one();
  m_writer.join();
}

void Progress::row(std::size_t number, std::size_t count, const std::string& label) {
  const std::lock_guard lock(m_mutex);
  m_row = "row " + std::to_string(number) + " of " + std::to_string(count) + " (" + printable(label) + ")";
}

void Progress::phase(const std::string& text) {
  const std::lock_guard lock(m_mutex);
  m_text = printable(text);
  Phase::begin(m_text);
  m_phase_start = Clock::now();
  m_iteration = -1;
}

void Progress::note(const std::string& text) {
  say("note: " + text);
}

void Progress::say(const std::string& text) {
  if (!m_wanted) return;
  const std::lock_guard lock(m_mutex);
  std::fprintf(stderr, "%sprekond: %s\n", live() ? "\r\033[K" : "", text.c_str());
  std::fflush(stderr);
}

void Progress::iteration(std::int64_t number, double relative_residual) {
  m_residual.store(relative_residual, std::memory_order_relaxed);
  m_iteration.store(number, std::memory_order_relaxed);
  if (m_every > 0 && number % m_every == 0)
    say(format("iteration %lld, relative residual %.6e", static_cast<long long>(number), relative_residual));
}

/// The text may be shortened, the numbers are not.
std::string Progress::line() const {
  const std::int64_t iteration = m_iteration.load(std::memory_order_relaxed);
  std::string end;
  if (iteration >= 0)
    end = format(": iteration %lld, relative residual %.1e", static_cast<long long>(iteration),
                 m_residual.load(std::memory_order_relaxed));
  end += format(" (%.1f s of %.1f s)", seconds_since(m_phase_start), seconds_since(m_start));
  const std::string text = (m_row.empty() ? "" : m_row + ": ") + m_text;
  const std::size_t room = max_width - std::min(max_width, end.size());
  return (text.size() > room ? text.substr(0, room - std::min<std::size_t>(room, 3)) + "..." : text) + end;
}

void Progress::paint() {
  std::unique_lock lock(m_mutex);
  if (m_wake.wait_for(lock, m_times.silent, [this] { return m_done; })) return;
  do {
    std::fprintf(stderr, "\r%s\033[K", line().c_str());
    std::fflush(stderr);
  } while (!m_wake.wait_for(lock, m_times.interval, [this] { return m_done; }));
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
}

}  // namespace prekond::driver
