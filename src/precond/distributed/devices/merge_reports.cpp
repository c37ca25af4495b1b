// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/distributed/devices/merge_reports.hpp"

#include <prekond/core/error.hpp>

#include <algorithm>
#include <string>

namespace prekond::impl::devices {
namespace {

std::string named(std::size_t device, const std::string& text) {
  return "device " + std::to_string(device) + ": " + text;
}

/// A device's breakdowns, added to those of the devices before it.
void add_breakdowns(const Breakdowns& own, std::int64_t first_read, const std::string& action,
                    Breakdowns& sum) {
  if (own.count == 0) return;
  const std::int64_t row = own.first_row + first_read;
  if (sum.count == 0 || row < sum.first_row) {
    sum.first_row = row;
    sum.first_pivot = own.first_pivot;
  }
  sum.count += own.count;
  sum.action += (sum.action.empty() ? "" : "; ") + action;
}

/// A note that all devices have once, others with the device.
void add_notes(const std::vector<DevicePart>& parts, std::vector<std::string>& notes) {
  const auto has = [](const std::vector<std::string>& list, const std::string& note) {
    return std::find(list.begin(), list.end(), note) != list.end();
  };
  for (std::size_t k = 0; k < parts.size(); ++k)
    for (const std::string& note : parts[k].report.notes) {
      const bool of_all = std::all_of(parts.begin(), parts.end(), [&](const DevicePart& part) {
        return part.device.num_rows == 0 || has(part.report.notes, note);
      });
      const std::string text = of_all ? note : named(k, note);
      if (!has(notes, text)) notes.push_back(text);
    }
}

}  // namespace

void merge_reports(const std::vector<DevicePart>& parts, Report& whole) {
  whole.numeric_flops = 0;
  whole.pattern_kept = true;
  for (const DevicePart& part : parts) {
    const Report& own = part.report;
    DeviceReport device = part.device;
    if (device.num_rows > 0) {
      device.bytes = own.bytes;
      device.symbolic_seconds = own.symbolic_seconds;
      device.numeric_seconds = own.numeric_seconds;
      device.fences = own.fences;
      whole.numeric_flops += own.numeric_flops;
      whole.pattern_kept = whole.pattern_kept && own.pattern_kept;
      whole.host_seconds = std::max(whole.host_seconds, own.host_seconds);
      whole.setup_bytes = std::max(whole.setup_bytes, part.setup_bytes);
      add_breakdowns(own.breakdowns, part.first_read, named(whole.devices.size(), own.breakdowns.action),
                     whole.breakdowns);
    }
    whole.devices.push_back(device);
  }
  add_notes(parts, whole.notes);
}

void throw_first(const std::vector<std::exception_ptr>& thrown, const std::vector<std::int64_t>& first_rows) {
  const auto failed = std::find_if(thrown.begin(), thrown.end(), [](const auto& one) { return one; });
  if (failed == thrown.end()) return;
  const auto k = static_cast<std::size_t>(failed - thrown.begin());
  try {
    std::rethrow_exception(*failed);
  } catch (const OptionError&) {
    throw;
  } catch (const InputError& error) {
    const std::int64_t before = first_rows[k], row = error.row() < 0 ? -1 : error.row() + before;
    const std::string place = row < 0 || before == 0
                                  ? ""
                                  : " (rows are counted from A's row " + std::to_string(before + 1) +
                                        " on: of all rows it is row " + std::to_string(row + 1) + ")";
    throw InputError(named(k, error.what()) + place, row);
  }
}

}  // namespace prekond::impl::devices
