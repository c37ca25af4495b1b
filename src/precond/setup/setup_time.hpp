// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// An estimate of the time that the dense systems of a setup take, and a note where it is long.
#include <prekond/core/views.hpp>
#include "core/concurrency.hpp"

#include <algorithm>
#include <cstdio>
#include <string>

namespace prekond::impl {

/// Operations a second that a setup's dense kernels reach on any but the slowest hardware.
struct CautiousRates {
  static constexpr double host_thread = 4e9;
  static constexpr double device = 5e11;
  static constexpr double device_team = 5e9;  ///< one row or column is a team's
  static constexpr double searched_by_thread = 2e8, searched_by_device = 2e10;  ///< entries of a search
};

/// Floating-point operations: all of them, and those of the largest system.
struct DenseWork {
  double flops = 0;
  double largest = 0;
};

/// At the cautious rates; the threads of a host share what is long.
template <class Space>
double cautious_seconds(const Space& space, const DenseWork& work) {
  if constexpr (is_host_space<Space>)
    return work.flops / (CautiousRates::host_thread * std::max(1, concurrency(space)));
  return std::max(work.flops / CautiousRates::device, work.largest / CautiousRates::device_team);
}

inline std::string duration_text(double seconds) {
  char text[48];
  if (seconds < 100)
    std::snprintf(text, sizeof(text), "%.0f seconds", seconds);
  else if (seconds < 6000)
    std::snprintf(text, sizeof(text), "%.0f minutes", seconds / 60);
  else
    std::snprintf(text, sizeof(text), "%.1f hours", seconds / 3600);
  return text;
}

/// "ick: the search for fill meets 4.1e+11 entries, which may take 17 minutes; ..."; empty where it is less
/// than a minute.
template <class Space>
std::string search_note(const Space& space, const std::string& search, double entries,
                        const std::string& advice) {
  const double rate = is_host_space<Space>
                          ? CautiousRates::searched_by_thread * std::max(1, concurrency(space))
                          : CautiousRates::searched_by_device;
  const double seconds = entries / rate;
  if (!(seconds > 60)) return {};
  char count[32];
  std::snprintf(count, sizeof(count), "%.2g", entries);
  return search + " " + count + " entries, which may take " + duration_text(seconds) + "; " + advice;
}

/// "isai: the setup's 1.1e+12 operations may take 2 minutes; 1e+12 are those of ..."; empty where it is less
/// than a minute.
template <class Space>
std::string cost_note(const Space& space, const std::string& name, const DenseWork& work,
                      const std::string& largest_system) {
  const double seconds = cautious_seconds(space, work);
  if (!(seconds > 60)) return {};
  char flops[32], largest[32];
  std::snprintf(flops, sizeof(flops), "%.2g", work.flops);
  std::snprintf(largest, sizeof(largest), "%.2g", work.largest);
  return name + ": the setup's " + flops + " operations may take " + duration_text(seconds) + "; " + largest +
         " are those of " + largest_system;
}

}  // namespace prekond::impl
