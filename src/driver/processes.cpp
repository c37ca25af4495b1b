// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "processes.hpp"

namespace prekond::driver {
namespace {

std::optional<Failure> failure_in(const std::function<void()>& work) {
  try {
    work();
    return std::nullopt;
  } catch (...) {
    return failure_of(std::current_exception());
  }
}

}  // namespace

void Processes::together(const std::function<void()>& work) const {
  if (alone())
    work();
  else
    agree(failure_in(work), true);
}

void Processes::only_first(const std::function<void()>& work) const {
  if (alone())
    work();
  else
    agree(first() ? failure_in(work) : std::nullopt, false);
}

std::string Processes::text_of_least(std::int64_t key, const std::string& text) const {
  const std::int64_t least = min(key);
  if (least == no_key) return "";
  const int speaks = static_cast<int>(min(key == least ? m_rank : m_size));
  std::string result = text;
  broadcast(result, speaks);
  return result;
}

void Processes::agree(const std::optional<Failure>& own, bool name_the_rank) const {
  const int failed = static_cast<int>(min(own ? m_rank : m_size));
  if (failed == m_size) return;
  std::string text = own ? own->what() : "";
  broadcast(text, failed);
  const auto code =
      static_cast<ExitCode>(min(m_rank == failed ? own->code() : std::numeric_limits<int>::max()));
  const bool alike = min(own && own->code() == code && own->what() == text ? 1 : 0) == 1;
  if (name_the_rank && !alike) text = name_of(failed) + ": " + text;
  throw Failure(code, text);
}

}  // namespace prekond::driver
