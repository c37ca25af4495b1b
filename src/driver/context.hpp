// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/devices.hpp>

#include "kokkos_session.hpp"
#include "processes.hpp"
#include "progress.hpp"
#include "settings.hpp"

namespace prekond::driver {

/// The parts of a run that its steps share. Within a KokkosSession.
struct Context {
  const Settings& settings;
  const Processes& processes;
  Progress& progress;
  const Devices* devices = nullptr;  ///< that share the setups; null for one
  Space space = {};
};

}  // namespace prekond::driver
