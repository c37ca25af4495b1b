// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The time of a setup on one device and shared by several, by which it is shared or not: estimates that are
/// the same for the same matrix, options and number of devices, in a first setup or in later ones.
///
/// Source: perf_tests/results/h200/ranks/devices_elasticity3d_100.json, on 1, 2 and 4 H200 with default
/// options, ms. The first is at most what was measured, there and for higher powers, more steps and shorter
/// rows, the second at least.
///
/// | method            | one   | by 2, estimate | by 4, estimate |
/// | adaptive_fsai     | 34.7  | 31.6, 32.6     | 36.8, 36.9     |
/// | fsai              | 68.9  | 49.5, 52.0     | 42.1, 43.9     |
/// | nonsymmetric_fsai | 154.5 | 96.6, 103      | 66.5, 73.9     |
/// | isai              | 425.3 | 230.3, 266     | 132.4, 169     |
/// | spai              | 451.4 | 262.6, 282     | 157.8, 179     |
#include <prekond/core/options.hpp>

#include <algorithm>
#include <map>
#include <string>

namespace prekond::impl::devices {

/// Milliseconds on one device. 0 where a filter makes a pattern that is not known before.
///
/// Formula: c p nnz^2 / n for a static pattern of power p, whose rows have systems as large as A's rows; with
/// blocks of b rows, which share one, 1 / b of it. c s n for adaptive rows, which grow in s steps: as many as
/// were measured at most, 30, or 15 where they end by `step_tolerance`, and one where they end sooner. ISAI's
/// kinds with triangles count as `fsai`.
inline double time_on_one(const std::string& method, const OptionMap& options, double num_rows, double nnz) {
  static const std::map<std::string, double> nanoseconds = {{"adaptive_fsai", 0.78},
                                                            {"fsai", 0.0118},
                                                            {"nonsymmetric_fsai", 0.0265},
                                                            {"isai", 0.073},
                                                            {"spai", 0.0774}};
  const auto number = [&](const std::string& name, double otherwise) {
    const auto option = options.find(name);
    return option == options.end() ? otherwise : std::stod(to_string(option->second));
  };
  const auto kind = options.find("kind");
  const bool is_triangular = kind != options.end() && to_string(kind->second) != "general";
  const auto found = nanoseconds.find(is_triangular ? "fsai" : method);
  if (found == nanoseconds.end() || num_rows == 0 || number("prefilter", 0) > 0) return 0;
  double work = number("power", 1) / number("block_size", 1) * nnz * (nnz / num_rows);
  if (method == "adaptive_fsai") {
    const double most = number("tolerance", 0) > 1e-3 ? 1 : number("step_tolerance", 0) > 0 ? 15 : 30;
    work = std::min(number("max_steps", 0), most) * num_rows;
  }
  return 1e-6 * found->second * work;
}

/// Milliseconds on several devices of the same speed, of which all but the first are sent `bytes` of A's
/// rows.
///
/// Formula: one (1 / N + 0.1) + bytes / 220 GB/s + 3.5 ms N: the part of a device, the gathering and what is
/// read twice, the copies of A, and the host's threads. In the first setup that is shared 30 ms (N - 1) more:
/// each further device loads its kernels, which took two H100 26 ms (perf_tests/results/h100/ilu.md).
inline double time_shared(double one, double bytes, int num_devices, bool is_first) {
  return one * (1.0 / num_devices + 0.1) + bytes / 220e6 + 3.5 * num_devices +
         (is_first ? 30.0 * (num_devices - 1) : 0.0);
}

}  // namespace prekond::impl::devices
