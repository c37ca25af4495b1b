// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/distributed/devices/merge_reports.hpp"

#include <prekond/core/error.hpp>

#include <algorithm>
#include <new>
#include <stdexcept>
#include <string>

namespace prekond::impl::devices {
namespace {

std::string named(std::size_t device, std::size_t count, const std::string& text) {
  return count > 1 ? "device " + std::to_string(device) + ": " + text : text;
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
std::vector<std::string> merged_notes(const std::vector<DevicePart>& parts) {
  std::vector<std::string> notes;
  const auto has = [](const std::vector<std::string>& list, const std::string& note) {
    return std::find(list.begin(), list.end(), note) != list.end();
  };
  for (std::size_t k = 0; k < parts.size(); ++k)
    for (const std::string& note : parts[k].report.notes) {
      const bool of_all = std::all_of(parts.begin(), parts.end(), [&](const DevicePart& part) {
        return part.num_rows == 0 || has(part.report.notes, note);
      });
      const std::string text = of_all ? note : named(k, parts.size(), note);
      if (!has(notes, text)) notes.push_back(text);
    }
  return notes;
}

/// The row of A that an error is of, -1 where it is of none.
std::int64_t row_of(const std::exception_ptr& thrown, std::int64_t first_row) {
  try {
    std::rethrow_exception(thrown);
  } catch (const InputError& error) {
    return error.row() < 0 ? -1 : error.row() + first_row;
  } catch (...) {
    return -1;
  }
}

std::string text_of(const InputError& error, std::int64_t first_row) {
  if (error.row() < 0 || first_row == 0) return error.what();
  return std::string(error.what()) + " (rows are counted from A's row " + std::to_string(first_row + 1) +
         " on: of all rows it is row " + std::to_string(error.row() + first_row + 1) + ")";
}

}  // namespace

void merge_reports(const std::vector<DevicePart>& parts, Report& whole) {
  whole.numeric_flops = 0;
  whole.pattern_kept = true;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const DevicePart& part = parts[k];
    const Report& own = part.report;
    DeviceReport device;
    device.first_row = part.first_row;
    device.num_rows = part.num_rows;
    device.rows_read = part.rows_read;
    if (part.num_rows > 0) {
      device.nnz = part.nnz;
      device.bytes = own.bytes;
      device.copy_seconds = part.copy_seconds;
      device.symbolic_seconds = own.symbolic_seconds;
      device.numeric_seconds = own.numeric_seconds;
      device.fences = own.fences;
      whole.numeric_flops += own.numeric_flops;
      whole.pattern_kept = whole.pattern_kept && own.pattern_kept;
      whole.setup_bytes =
          std::max({whole.setup_bytes, own.setup_bytes + part.rows_bytes, part.held_bytes - own.bytes});
      add_breakdowns(own.breakdowns, part.first_read, named(k, parts.size(), own.breakdowns.action),
                     whole.breakdowns);
    }
    whole.devices.push_back(device);
  }
  const auto notes = merged_notes(parts);
  whole.notes.insert(whole.notes.end(), notes.begin(), notes.end());
}

void throw_first(const std::vector<std::exception_ptr>& thrown, const std::vector<std::int64_t>& first_rows) {
  std::size_t chosen = thrown.size();
  std::int64_t chosen_row = -1;
  for (std::size_t k = 0; k < thrown.size(); ++k) {
    if (!thrown[k]) continue;
    const std::int64_t row = row_of(thrown[k], first_rows[k]);
    const bool is_before = row >= 0 && (chosen_row < 0 || row < chosen_row);
    if (chosen == thrown.size() || is_before) {
      chosen = k;
      chosen_row = row;
    }
  }
  if (chosen == thrown.size()) return;
  const auto name = [&](const std::string& text) { return named(chosen, thrown.size(), text); };
  const std::int64_t first_row = first_rows[chosen];
  try {
    std::rethrow_exception(thrown[chosen]);
  } catch (const ThrownByListener& listener) {
    std::rethrow_exception(listener.what);
  } catch (const OptionError& error) {
    throw OptionError(name(error.what()));
  } catch (const InputError& error) {
    throw InputError(name(text_of(error, first_row)), row_of(thrown[chosen], first_row));
  } catch (const std::bad_alloc& error) {
    throw std::runtime_error(name(std::string("it failed to allocate memory: ") + error.what()));
  } catch (const std::exception& error) {
    throw std::runtime_error(name(error.what()));
  }
}

}  // namespace prekond::impl::devices
