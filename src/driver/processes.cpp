// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "processes.hpp"

namespace prekond::driver {
namespace {

/// Code `done` where the work has succeeded.
Failure failure_in(const std::function<void()>& work) {
  try {
    work();
    return {done, ""};
  } catch (...) {
    return failure_of(std::current_exception());
  }
}

}  // namespace

void Processes::collective(const std::function<void()>& work) const {
  if (is_serial()) return work();
  agree(failure_in(work), true);
}

void Processes::on_root(const std::function<void()>& work) const {
  if (is_serial()) return work();
  agree(is_root() ? failure_in(work) : Failure(done, ""), false);
}

std::string Processes::text_of_least(std::int64_t key, const std::string& text) const {
  const std::int64_t least = min(key);
  if (least == no_key) return "";
  std::string result = text;
  broadcast(result, static_cast<int>(min(key == least ? m_rank : m_size)));
  return result;
}

void Processes::agree(const Failure& own, bool name_the_rank) const {
  const int failed = static_cast<int>(min(own.code() != done ? m_rank : m_size));
  if (failed == m_size) return;
  std::string text = own.what();
  broadcast(text, failed);
  const auto code =
      static_cast<ExitCode>(min(m_rank == failed ? own.code() : std::numeric_limits<int>::max()));
  const bool is_alike = min(own.code() == code && own.what() == text ? 1 : 0) == 1;
  throw Failure(code, name_the_rank && !is_alike ? name_of(failed) + ": " + text : text);
}

}  // namespace prekond::driver
