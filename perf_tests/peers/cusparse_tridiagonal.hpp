// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// cuSPARSE's solves of batches of tridiagonal systems, without pivoting, where there is CUDA.
#include "benchmark_main.hpp"

#include <prekond/batched/csr.hpp>

#ifdef KOKKOS_ENABLE_CUDA
#include <cusparse.h>
#endif

namespace prekond::perf {

#ifdef KOKKOS_ENABLE_CUDA
inline constexpr bool has_cusparse_tridiagonal = true;

/// The three diagonals of each system, one system after the other.
struct SplitDiagonals {
  impl::batched::CsrSystems<double> systems;
  double *lower, *middle, *upper;
  KOKKOS_FUNCTION void operator()(std::int64_t row) const {
    const std::int64_t n = systems.num_rows, i = row % n;
    lower[row] = upper[row] = 0;
    systems.system(row / n).for_each_entry(static_cast<int>(i), [&](std::size_t, int col, double value) {
      (col < i ? lower : col > i ? upper : middle)[row] = value;
    });
  }
};

/// Seconds of one solve of all systems, x = b at its beginning.
inline double cusparse_tridiagonal(const BatchedCsr<double, Space>& a,
                                   const MultiVectorView<const double, Space>& b,
                                   const MultiVectorView<double, Space>& x) {
  const Space space;
  const int n = static_cast<int>(a.num_rows), count = static_cast<int>(a.num_systems());
  const Kokkos::View<double**, Kokkos::LayoutLeft, Space> diagonals("diagonals", std::size_t(n) * count, 3);
  double* data = diagonals.data();
  const std::size_t length = std::size_t(n) * count;
  Kokkos::parallel_for("prekond::perf::diagonals", Kokkos::RangePolicy<Space>(space, 0, length),
                       SplitDiagonals{a.systems(), data, data + length, data + 2 * length});
  cusparseHandle_t handle;
  cusparseCreate(&handle);
  std::size_t bytes = 0;
  cusparseDgtsv2StridedBatch_bufferSizeExt(handle, n, data, data + length, data + 2 * length, x.data(), count,
                                           n, &bytes);
  const Kokkos::View<char*, Space> buffer("buffer", bytes);
  double time = 0;
  for (int k = 0; k < 2; ++k) {
    Kokkos::deep_copy(x, b);
    time = seconds(space, [&] {
      cusparseDgtsv2StridedBatch(handle, n, data, data + length, data + 2 * length, x.data(), count, n,
                                 buffer.data());
      cudaDeviceSynchronize();
    });
  }
  cusparseDestroy(handle);
  return time;
}
#else
inline constexpr bool has_cusparse_tridiagonal = false;
inline double cusparse_tridiagonal(const BatchedCsr<double, Space>&,
                                   const MultiVectorView<const double, Space>&,
                                   const MultiVectorView<double, Space>&) {
  return 0;
}
#endif

}  // namespace prekond::perf
