// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// cuBLAS's batched LU of dense matrices, with partial pivoting, where there is CUDA.
#include "../benchmark_main.hpp"

#include <prekond/batched/convert.hpp>

#ifdef KOKKOS_ENABLE_CUDA
#include <cublas_v2.h>
#endif

namespace prekond::perf {

#ifdef KOKKOS_ENABLE_CUDA
inline constexpr bool has_cublas_batched = true;

struct FillPointers {
  double* data;
  std::int64_t stride;
  double** pointers;
  KOKKOS_FUNCTION void operator()(std::int64_t s) const { pointers[s] = data + s * stride; }
};

/// Seconds of factorisation and solve of all systems.
inline double cublas_batched_lu(const BatchedCsr<double, Space>& a,
                                const MultiVectorView<const double, Space>& b,
                                const MultiVectorView<double, Space>& x) {
  const Space space;
  const auto dense = to_dense(space, a);
  const int n = int(a.num_rows), count = int(a.num_systems());
  const Kokkos::View<char*, Space> memory("pointers", 2 * sizeof(double*) * count);
  double** const matrices = reinterpret_cast<double**>(memory.data());
  double** const sides = matrices + count;
  const Vector<int, Space> pivots("pivots", std::size_t(n) * count), infos("infos", count);
  const auto fill = [&](double* data, std::int64_t stride, double** pointers) {
    Kokkos::parallel_for("prekond::perf::pointers", Kokkos::RangePolicy<Space>(space, 0, count),
                         FillPointers{data, stride, pointers});
  };
  fill(dense.values.data(), std::int64_t(dense.values.stride(1)), matrices);
  fill(x.data(), std::int64_t(x.stride(1)), sides);
  Kokkos::deep_copy(x, b);
  cublasHandle_t handle;
  cublasCreate(&handle);
  const double time = seconds(space, [&] {
    int info = 0;
    cublasDgetrfBatched(handle, n, matrices, dense.matrix.leading, pivots.data(), infos.data(), count);
    cublasDgetrsBatched(handle, CUBLAS_OP_N, n, 1, matrices, dense.matrix.leading, pivots.data(), sides,
                        int(x.stride(1)), &info, count);
    cudaDeviceSynchronize();
  });
  cublasDestroy(handle);
  return time;
}
#else
inline constexpr bool has_cublas_batched = false;
inline double cublas_batched_lu(const BatchedCsr<double, Space>&, const MultiVectorView<const double, Space>&,
                                const MultiVectorView<double, Space>&) {
  return 0;
}
#endif

}  // namespace prekond::perf
