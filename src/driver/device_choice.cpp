// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device_choice.hpp"

#include <prekond/core/error.hpp>
#include <prekond/precond/several_devices.hpp>

namespace prekond::driver {

void check_devices(const Settings& settings, const Processes& processes) {
  if (settings.devices == 1 || processes.alone()) return;
  at_origin(settings.origins, "devices", [&] {
    throw OptionError("--devices " + std::to_string(settings.devices) +
                      " shares a setup out over the devices of one process, and these are " +
                      std::to_string(processes.size()) +
                      " processes: start one without mpirun, or leave --devices out, so that each process "
                      "sets up its own rows");
  });
}

std::unique_ptr<const Devices> choose_devices(const Settings& settings) {
  if (settings.devices == 1) return nullptr;
  std::unique_ptr<const Devices> devices;
  at_origin(settings.origins, "devices", [&] {
    try {
      devices = std::make_unique<const Devices>(static_cast<int>(settings.devices));
    } catch (const OptionError& error) {
      throw OptionError(std::string("--devices: ") + error.what());
    }
  });
  return devices;
}

template <class Scalar>
void check_devices(const Devices* devices, const Method<Scalar>& method) {
  if (devices == nullptr) return;
  try {
    const SeveralDevices<Scalar, Space> shared(*method.precond, devices->others());
  } catch (const InputError& error) {
    throw OptionError(std::string("--devices: ") + error.what());
  }
}

template void check_devices<double>(const Devices*, const Method<double>&);
template void check_devices<Complex>(const Devices*, const Method<Complex>&);

}  // namespace prekond::driver
