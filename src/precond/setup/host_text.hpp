// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdio>
#include <string>

namespace prekond::impl {

/// The end of a note: "; one thread of the host made the partition in 0.12 s". Empty for no seconds.
inline std::string host_text(const std::string& did, double seconds) {
  if (seconds <= 0) return "";
  char number[32];
  std::snprintf(number, sizeof(number), "%.2g", seconds);
  return "; one thread of the host " + did + " in " + number + " s";
}

}  // namespace prekond::impl
