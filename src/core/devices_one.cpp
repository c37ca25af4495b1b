// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The devices of a backend that has no instances on further ones.
#include <prekond/core/devices.hpp>
#include <prekond/core/error.hpp>
#include <prekond/core/impl/device_speed.hpp>
#include <prekond/core/impl/setup_memory.hpp>

namespace prekond {

struct Devices::Streams {};

int Devices::available() {
  return 1;
}

Devices::Devices(int count) : m_names(1) {
  if (count != 1)
    throw OptionError(std::to_string(count) + " devices were asked for, and this build (" + Space::name() +
                      ") has one: ask for 1, or take a build for NVIDIA GPUs; threads and processes share "
                      "the work of a host");
}

Devices::~Devices() = default;

void keep_freed_memory(std::uint64_t) {}

void impl::SetupMemory::begin() {}
impl::SetupMemory::~SetupMemory() = default;

std::int64_t impl::speed_of_device(int) {
  return 0;
}

}  // namespace prekond
