// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// cuSPARSE's solves of batches of tridiagonal systems, where there is CUDA.
#include "../benchmark_main.hpp"

#include <prekond/batched/formats.hpp>

#ifdef KOKKOS_ENABLE_CUDA
#include <cusparse.h>
#endif

namespace prekond::perf {

#ifdef KOKKOS_ENABLE_CUDA
inline constexpr bool has_cusparse_tridiagonal = true;

/// The three diagonals of each system, one system after the other, or row by row of all systems.
struct SplitDiagonals {
  impl::batched::CsrSystems<double> systems;
  std::int64_t count;
  bool interleaved;
  double *lower, *middle, *upper;
  KOKKOS_FUNCTION void operator()(std::int64_t row) const {
    const std::int64_t n = systems.num_rows, i = row % n, s = row / n;
    const std::int64_t place = interleaved ? i * count + s : row;
    lower[place] = upper[place] = 0;
    systems.system(s).for_each_entry(static_cast<int>(i), [&](std::size_t, int col, double value) {
      (col < i ? lower : col > i ? upper : middle)[place] = value;
    });
  }
};

struct Diagonals {
  Diagonals(const BatchedCsr<double, Space>& a, bool interleaved)
      : n(int(a.num_rows)), count(int(a.num_systems())) {
    const std::size_t length = std::size_t(n) * count;
    all = Kokkos::View<double**, Kokkos::LayoutLeft, Space>("diagonals", length, 3);
    lower = all.data();
    middle = lower + length;
    upper = middle + length;
    Kokkos::parallel_for("prekond::perf::diagonals", Kokkos::RangePolicy<Space>(0, length),
                         SplitDiagonals{a.systems(), count, interleaved, lower, middle, upper});
    cusparseCreate(&handle);
  }
  ~Diagonals() { cusparseDestroy(handle); }
  int n, count;
  Kokkos::View<double**, Kokkos::LayoutLeft, Space> all;
  double *lower, *middle, *upper;
  cusparseHandle_t handle;
};

/// Seconds of one solve of all systems, x = b at its beginning.
inline double cusparse_tridiagonal(const BatchedCsr<double, Space>& a,
                                   const MultiVectorView<const double, Space>& b,
                                   const MultiVectorView<double, Space>& x) {
  const Diagonals d(a, false);
  std::size_t bytes = 0;
  cusparseDgtsv2StridedBatch_bufferSizeExt(d.handle, d.n, d.lower, d.middle, d.upper, x.data(), d.count, d.n,
                                           &bytes);
  const Kokkos::View<char*, Space> buffer("buffer", bytes);
  double time = 0;
  for (int k = 0; k < 2; ++k) {
    Kokkos::deep_copy(x, b);
    time = seconds(Space(), [&] {
      cusparseDgtsv2StridedBatch(d.handle, d.n, d.lower, d.middle, d.upper, x.data(), d.count, d.n,
                                 buffer.data());
      cudaDeviceSynchronize();
    });
  }
  return time;
}

/// The same of interleaved systems; it overwrites the matrix.
inline double cusparse_tridiagonal_interleaved(const BatchedCsr<double, Space>& a,
                                               const MultiVectorView<const double, Space>& b,
                                               const MultiVectorView<double, Space>& x, int algorithm) {
  double time = 0;
  for (int k = 0; k < 2; ++k) {
    const Diagonals d(a, true);
    std::size_t bytes = 0;
    cusparseDgtsvInterleavedBatch_bufferSizeExt(d.handle, algorithm, d.n, d.lower, d.middle, d.upper,
                                                x.data(), d.count, &bytes);
    const Kokkos::View<char*, Space> buffer("buffer", bytes);
    Kokkos::deep_copy(x, b);  // all elements of b are the same
    time = seconds(Space(), [&] {
      cusparseDgtsvInterleavedBatch(d.handle, algorithm, d.n, d.lower, d.middle, d.upper, x.data(), d.count,
                                    buffer.data());
      cudaDeviceSynchronize();
    });
  }
  return time;
}
#else
inline constexpr bool has_cusparse_tridiagonal = false;
inline double cusparse_tridiagonal(const BatchedCsr<double, Space>&,
                                   const MultiVectorView<const double, Space>&,
                                   const MultiVectorView<double, Space>&) {
  return 0;
}
inline double cusparse_tridiagonal_interleaved(const BatchedCsr<double, Space>&,
                                               const MultiVectorView<const double, Space>&,
                                               const MultiVectorView<double, Space>&, int) {
  return 0;
}
#endif

}  // namespace prekond::perf
