// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// cuSOLVER's sparse QR of systems of one pattern, where there is CUDA.
#include "../benchmark_main.hpp"

#include <prekond/batched/formats.hpp>

#include <stdexcept>

#ifdef KOKKOS_ENABLE_CUDA
#include <cusolverSp.h>
#endif

namespace prekond::perf {

#ifdef KOKKOS_ENABLE_CUDA
inline constexpr bool has_cusolver_batched = true;

struct NarrowRowPtrs {
  VectorView<const std::size_t, Space> from;
  Vector<int, Space> to;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { to(i) = static_cast<int>(from(i)); }
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
/// Seconds of factorisation and solve of all systems, without the analysis of the pattern; 0 where it does
/// not fit into memory.
inline double cusolver_batched_qr(const BatchedCsr<double, Space>& a,
                                  const MultiVectorView<const double, Space>& b,
                                  const MultiVectorView<double, Space>& x) {
  const Space space;
  const int n = int(a.num_rows), nnz = int(a.num_entries()), count = int(a.num_systems());
  const Vector<int, Space> row_ptrs("row_ptrs", n + 1);
  Kokkos::parallel_for("prekond::perf::row_ptrs", Kokkos::RangePolicy<Space>(space, 0, n + 1),
                       NarrowRowPtrs{a.row_ptrs, row_ptrs});
  space.fence();
  cusolverSpHandle_t handle;
  cusolverSpCreate(&handle);
  cusparseMatDescr_t description;
  cusparseCreateMatDescr(&description);
  csrqrInfo_t info;
  cusolverSpCreateCsrqrInfo(&info);
  cusolverSpXcsrqrAnalysisBatched(handle, n, n, nnz, description, row_ptrs.data(), a.col_idxs.data(), info);
  std::size_t internal = 0, bytes = 0;
  cusolverSpDcsrqrBufferInfoBatched(handle, n, n, nnz, description, a.values.data(), row_ptrs.data(),
                                    a.col_idxs.data(), count, info, &internal, &bytes);
  double time = 0;
  constexpr std::size_t most_bytes = std::size_t(40) << 30;
  if (internal + bytes < most_bytes) {
    const Kokkos::View<char*, Space> buffer("cusolver", bytes);
    time = seconds(space, [&] {
      const auto status =
          cusolverSpDcsrqrsvBatched(handle, n, n, nnz, description, a.values.data(), row_ptrs.data(),
                                    a.col_idxs.data(), b.data(), x.data(), count, info, buffer.data());
      cudaDeviceSynchronize();
      if (status != CUSOLVER_STATUS_SUCCESS) throw std::runtime_error("cusolverSpDcsrqrsvBatched failed");
    });
  }
  cusolverSpDestroyCsrqrInfo(info);
  cusparseDestroyMatDescr(description);
  cusolverSpDestroy(handle);
  return time;
}
#pragma GCC diagnostic pop
#else
inline constexpr bool has_cusolver_batched = false;
inline double cusolver_batched_qr(const BatchedCsr<double, Space>&,
                                  const MultiVectorView<const double, Space>&,
                                  const MultiVectorView<double, Space>&) {
  return 0;
}
#endif

}  // namespace prekond::perf
