// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The reports and errors of devices, as one.
#include <prekond/core/report.hpp>

#include <cstdint>
#include <exception>
#include <vector>

namespace prekond::impl::devices {

/// An exception of a listener: it reaches the caller as it is.
struct ThrownByListener {
  std::exception_ptr what;
};

/// The part of a device. Rows of its report are counted from `first_read` on.
struct DevicePart {
  std::int64_t first_row, num_rows, first_read, rows_read;
  std::int64_t nnz;         ///< entries found in its own rows
  std::int64_t rows_bytes;  ///< of A, in addition to those that the setup counts
  std::int64_t held_bytes;  ///< of what was allocated, the result too, where it is kept until the phase ends
  double copy_seconds;      ///< of both phases
  Report report;            ///< empty where the device has no rows
};

/// Adds what the devices report to what is known of the whole inverse.
void merge_reports(const std::vector<DevicePart>& parts, Report& whole);

/// Throws the error of the smallest row of A or, where none has a row, that of the first device; nothing
/// where none has failed. The device is named, where there are several, and InputErrors have A's row.
/// `first_rows`: from which row on each device counts.
void throw_first(const std::vector<std::exception_ptr>& thrown, const std::vector<std::int64_t>& first_rows);

}  // namespace prekond::impl::devices
