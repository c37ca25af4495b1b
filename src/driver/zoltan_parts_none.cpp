// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A build without Zoltan.
#include "partition_choice.hpp"
#include "zoltan_parts.hpp"

namespace prekond::driver {

bool has_zoltan() {
  return false;
}

std::vector<int> parts_by_zoltan(const Processes& processes, const HostRows&) {
  processes.together([] { check_partition("zoltan"); });  // which refuses it
  return {};
}

void check_zoltan(int, const std::string&) {}

}  // namespace prekond::driver
