// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The reports and errors of devices, as one.
#include <prekond/core/report.hpp>

#include <cstdint>
#include <exception>
#include <vector>

namespace prekond::impl::devices {

/// The part of a device. Rows of its report are counted from `first_read` on.
struct DevicePart {
  DeviceReport device;  ///< rows, entries and copies
  std::int64_t first_read;
  std::int64_t setup_bytes;  ///< at least, for all that the setup does not count
  Report report;             ///< empty where the device has no rows
};

/// Adds what the devices report to what is known of the whole inverse.
void merge_reports(const std::vector<DevicePart>& parts, Report& whole);

/// Throws the error of the first device that has failed; nothing where none has. An InputError has A's row
/// and the name of the device. `first_rows`: from which row on each device counts.
void throw_first(const std::vector<std::exception_ptr>& thrown, const std::vector<std::int64_t>& first_rows);

}  // namespace prekond::impl::devices
