// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/devices.hpp>

#include <memory>

#include "processes.hpp"
#include "run.hpp"
#include "settings.hpp"

namespace prekond::driver {

/// \throws OptionError for several devices of several processes
void check_devices(const Settings& settings, const Processes& processes);

/// The devices that the settings ask for, null for one. Within a Session. \throws OptionError where there are
/// fewer
std::unique_ptr<const Devices> choose_devices(const Settings& settings);

/// Can the method's setup be shared by several devices? Within a Session, before any setup. \throws
/// OptionError where it cannot; names the methods that can
template <class Scalar>
void check_devices(const Devices* devices, const Method<Scalar>& method);

}  // namespace prekond::driver
