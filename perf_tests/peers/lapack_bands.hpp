// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// LAPACK's dgbsv for each system of a batch, where its library was found.
#include "../benchmark_main.hpp"

#include <prekond/batched/convert.hpp>

#include <vector>

#ifdef PREKOND_PERF_LAPACK
extern "C" void dgbsv_(const int* n, const int* lower, const int* upper, const int* nrhs, double* ab,
                       const int* ldab, int* pivots, double* b, const int* ldb, int* info);
#endif

namespace prekond::perf {

#if defined(PREKOND_PERF_LAPACK) && !defined(KOKKOS_ENABLE_CUDA)
inline constexpr bool has_lapack_bands = true;

/// Seconds of all solves, each of them with its copy to the place that dgbsv overwrites.
inline double lapack_bands(const BatchedCsr<double, Space>& a, const MultiVectorView<const double, Space>& b,
                           const MultiVectorView<double, Space>& x) {
  const Space space;
  const auto banded = to_banded(space, a);
  const auto& m = banded.matrix;
  const int n = int(m.num_rows), leading = 2 * m.lower + m.upper + 1, one = 1, lower = m.lower,
            upper = m.upper;
  const double* values = m.values.data();
  const std::size_t stride = m.values.stride(1);
  return seconds(space, [&] {
    Kokkos::parallel_for(
        "prekond::perf::dgbsv",
        Kokkos::RangePolicy<Space, Kokkos::Schedule<Kokkos::Static>>(space, 0, m.num_systems()),
        [=](std::int64_t s) {
          thread_local std::vector<double> factors;
          thread_local std::vector<int> pivots;
          factors.resize(std::size_t(leading) * n);
          pivots.resize(n);
          for (int j = 0; j < n; ++j)
            for (int k = 0; k <= lower + upper; ++k)
              factors[std::size_t(j) * leading + lower + k] =
                  values[s * stride + std::size_t(j) * m.leading + k];
          for (int i = 0; i < n; ++i) x(i, s) = b(i, s);
          int info = 0;
          dgbsv_(&n, &lower, &upper, &one, factors.data(), &leading, pivots.data(), &x(0, s), &n, &info);
        });
  });
}
#else
inline constexpr bool has_lapack_bands = false;
inline double lapack_bands(const BatchedCsr<double, Space>&, const MultiVectorView<const double, Space>&,
                           const MultiVectorView<double, Space>&) {
  return 0;
}
#endif

}  // namespace prekond::perf
