// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/report.hpp>

#include <string>

namespace prekond {

/// The columns and entries that a setup on several ranks left out, in words; empty where there are none.
/// Without columns that were left out as a whole, the entries are those of the rows that a rank has, its own
/// and the ones it read of other ranks, in columns beyond these.
inline std::string left_out(const Report& report) {
  if (report.foreign_columns > 0)
    return "columns of other ranks, left out: " + std::to_string(report.foreign_columns) + " with " +
           std::to_string(report.foreign_entries) + " entries";
  if (report.foreign_entries > 0)
    return "entries left out, beyond the rows of other ranks that the setup reads: " +
           std::to_string(report.foreign_entries);
  return "";
}

}  // namespace prekond
