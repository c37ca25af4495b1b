// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/devices.hpp>
#include <prekond/core/error.hpp>
#include <prekond/core/views.hpp>

namespace prekond::impl {

void check_number_of_devices(int count, int available) {
  if (count >= 1 && count <= available) return;
  const std::string asked = std::to_string(count) + (count == 1 ? " device" : " devices");
  if (count < 1) throw OptionError(asked + ": there has to be one at least");
  if (is_host_space<Devices::Space>)
    throw OptionError(asked + " were asked for, and this build computes on the host (" +
                      Devices::Space::name() +
                      "), which is one device: ask for 1, or take a build for GPUs; threads and processes "
                      "share the work of a host");
  throw OptionError(asked + " were asked for, and Kokkos (" + Devices::Space::name() + ") sees " +
                    std::to_string(available) +
                    ": ask for fewer, or look at what CUDA_VISIBLE_DEVICES hides");
}

}  // namespace prekond::impl
