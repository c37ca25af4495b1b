// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The rates of the machine that others are measured against, each found once in a run.
#include "benchmark_main.hpp"

#include <prekond/core/views.hpp>

#include <algorithm>

namespace prekond::perf {

/// Bytes a second, read and written, of a copy between two vectors of 1 GB together.
inline double copy_bandwidth() {
  static const double bandwidth = [] {
    const Space space;
    const Vector<double, Space> from("from", 1 << 26), to("to", 1 << 26);
    Kokkos::deep_copy(space, to, from);
    double best = 0;
    for (int k = 0; k < 5; ++k)
      best = std::max(best, 16.0 * (1 << 26) / seconds(space, [&] { Kokkos::deep_copy(space, to, from); }));
    return best;
  }();
  return bandwidth;
}

/// Sixteen chains of multiply-adds a work item.
template <class Real>
struct MultiplyAdds {
  static constexpr int chains = 16, length = 1024;
  Vector<Real, Space> results;
  Real factor, summand;

  KOKKOS_FUNCTION void operator()(int i) const {
    Real values[chains];
    for (int c = 0; c < chains; ++c) values[c] = Real(i + c);
    for (int k = 0; k < length; ++k)
      for (int c = 0; c < chains; ++c) values[c] = Kokkos::fma(values[c], factor, summand);
    Real sum = 0;
    for (int c = 0; c < chains; ++c) sum += values[c];
    results(i) = sum;
  }
};

/// Operations a second of multiply-adds in registers, two each, without matrix units.
template <class Real>
double multiply_add_rate() {
  static const double rate = [] {
    const Space space;
    const int items = 16 * std::max(1024, space.concurrency());
    const MultiplyAdds<Real> work{Vector<Real, Space>("results", items), Real(0.999), Real(0.001)};
    double best = 0;
    for (int k = 0; k < 5; ++k) {
      const double time = seconds(space, [&] {
        Kokkos::parallel_for("prekond::perf::multiply_add", Kokkos::RangePolicy<Space>(space, 0, items),
                             work);
      });
      best = std::max(best, 2.0 * MultiplyAdds<Real>::chains * MultiplyAdds<Real>::length * items / time);
    }
    return best;
  }();
  return rate;
}

}  // namespace prekond::perf
