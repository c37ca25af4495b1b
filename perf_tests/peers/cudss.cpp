// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "direct.hpp"

#include <cuda_runtime.h>
#include <cudss.h>

#include <limits>
#include <stdexcept>

/// cuDSS on A x = A 1, SPD, on the GPU: peer_cudss NAME:SIZE | FILE.mtx[.gz] prints {"factor_nnz",
/// "analysis_seconds", "factor_seconds", "solve_seconds", "residual"}. Its defaults; A and b are on the
/// device before the first clock starts but for the copies of b and x, which count as part of the solve.
namespace {

using Space = Kokkos::DefaultExecutionSpace;

template <class T>
Kokkos::View<T*, Space> on_device(const std::vector<T>& values) {
  const Kokkos::View<const T*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>> host(
      values.data(), values.size());
  const Kokkos::View<T*, Space> device("peer_cudss", values.size());
  Kokkos::deep_copy(device, host);
  return device;
}

void check(cudssStatus_t status, const char* what) {
  if (status != CUDSS_STATUS_SUCCESS)
    throw std::runtime_error(std::string(what) + ": status " + std::to_string(int(status)));
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess)
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

class Cudss {
 public:
  explicit Cudss(const prekond::peers::LowerTriangle& a)
      : m_columns(on_device(a.columns)),
        m_values(on_device(a.values)),
        m_x("peer_cudss", a.num_rows()),
        m_b("peer_cudss", a.num_rows()) {
    if (a.ptrs.back() > std::numeric_limits<int>::max()) throw std::runtime_error("more than 2^31 entries");
    m_ptrs = on_device(std::vector<int>(a.ptrs.begin(), a.ptrs.end()));
    const std::int64_t n = a.num_rows();
    check(cudssCreate(&m_handle), "cudssCreate");
    check(cudssConfigCreate(&m_config), "cudssConfigCreate");
    check(cudssDataCreate(m_handle, &m_data), "cudssDataCreate");
    check(cudssMatrixCreateCsr(&m_a, n, n, a.ptrs.back(), m_ptrs.data(), nullptr, m_columns.data(),
                               m_values.data(), CUDA_R_32I, CUDA_R_64F, CUDSS_MTYPE_SPD, CUDSS_MVIEW_LOWER,
                               CUDSS_BASE_ZERO),
          "cudssMatrixCreateCsr");
    check(cudssMatrixCreateDn(&m_right, n, 1, n, m_b.data(), CUDA_R_64F, CUDSS_LAYOUT_COL_MAJOR),
          "cudssMatrixCreateDn");
    check(cudssMatrixCreateDn(&m_left, n, 1, n, m_x.data(), CUDA_R_64F, CUDSS_LAYOUT_COL_MAJOR),
          "cudssMatrixCreateDn");
  }

  void analyze() { execute(CUDSS_PHASE_ANALYSIS, "analysis"); }
  void factor() {
    execute(CUDSS_PHASE_FACTORIZATION, "factorisation");
    int info = 0;
    std::size_t written = 0;
    check(cudssDataGet(m_handle, m_data, CUDSS_DATA_INFO, &info, sizeof(info), &written), "info");
    if (info != 0) throw std::runtime_error("not positive definite in row " + std::to_string(info));
  }
  std::vector<double> solve(const std::vector<double>& b) {
    Kokkos::deep_copy(m_b, Kokkos::View<const double*, Kokkos::HostSpace>(b.data(), b.size()));
    execute(CUDSS_PHASE_SOLVE, "solve");
    std::vector<double> x(b.size());
    Kokkos::deep_copy(Kokkos::View<double*, Kokkos::HostSpace>(x.data(), x.size()), m_x);
    return x;
  }
  std::int64_t factor_entries() {
    std::int64_t entries = 0;
    std::size_t written = 0;
    check(cudssDataGet(m_handle, m_data, CUDSS_DATA_LU_NNZ, &entries, sizeof(entries), &written), "entries");
    return entries;
  }

 private:
  void execute(int phase, const char* what) {
    check(cudssExecute(m_handle, phase, m_config, m_data, m_a, m_left, m_right), what);
  }

  Kokkos::View<int*, Space> m_ptrs, m_columns;
  Kokkos::View<double*, Space> m_values, m_x, m_b;
  // The process ends with them.
  cudssHandle_t m_handle = nullptr;
  cudssConfig_t m_config = nullptr;
  cudssData_t m_data = nullptr;
  cudssMatrix_t m_a = nullptr, m_left = nullptr, m_right = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  return prekond::peers::run_direct<Cudss>("cudss", argc, argv);
}
