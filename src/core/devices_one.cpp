// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The devices of a backend that has no instances on further ones.
#include <prekond/core/devices.hpp>

namespace prekond {

struct Devices::Streams {};

int Devices::available() {
  return 1;
}

Devices::Devices(int count) : m_names(1) {
  impl::check_number_of_devices(count, available());
}

Devices::~Devices() = default;

void keep_freed_memory(std::uint64_t) {}

}  // namespace prekond
