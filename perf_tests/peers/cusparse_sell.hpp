// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// cuSPARSE's product with a matrix in its sliced ELLPACK format.
#ifdef KOKKOS_ENABLE_CUDA
#include "cusparse.hpp"

#include <algorithm>
#include <vector>

namespace prekond::perf {

/// y = A x by cusparseSpMV on slices of 32 rows, unsorted, which the host fills.
class CusparseSell {
 public:
  using Matrix = CsrMatrix<const double, const int, const std::size_t, Kokkos::CudaSpace>;

  CusparseSell(const Kokkos::Cuda& space, const Matrix& a) {
    fill(a);
    if (m_slots == 0) return;
    check(cusparseCreate(&m_handle));
    check(cusparseSetStream(m_handle, space.cuda_stream()));
    check(cusparseCreateSlicedEll(&m_matrix, a.num_rows, a.num_cols, a.nnz(), m_slots, slice, m_ptrs.data(),
                                  m_cols.data(), m_values.data(), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                  CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
    Kokkos::View<double*, Kokkos::CudaSpace> x("x", a.num_cols), y("y", a.num_rows);
    check(cusparseCreateDnVec(&m_in, a.num_cols, x.data(), CUDA_R_64F));
    check(cusparseCreateDnVec(&m_out, a.num_rows, y.data(), CUDA_R_64F));
    const double one = 1, zero = 0;
    std::size_t bytes = 0;
    check(cusparseSpMV_bufferSize(m_handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, m_matrix, m_in, &zero,
                                  m_out, CUDA_R_64F, CUSPARSE_SPMV_SELL_ALG1, &bytes));
    m_buffer = Kokkos::View<char*, Kokkos::CudaSpace>("buffer", bytes);
    space.fence();
  }
  ~CusparseSell() {
    if (m_slots == 0) return;
    cusparseDestroyDnVec(m_in);
    cusparseDestroyDnVec(m_out);
    cusparseDestroySpMat(m_matrix);
    cusparseDestroy(m_handle);
  }
  CusparseSell(const CusparseSell&) = delete;
  CusparseSell& operator=(const CusparseSell&) = delete;

  /// False where padding would take more than four places an entry.
  bool fits() const { return m_slots > 0; }

  void multiply(const double* x, double* y) const {
    const double one = 1, zero = 0;
    check(cusparseDnVecSetValues(m_in, const_cast<double*>(x)));
    check(cusparseDnVecSetValues(m_out, y));
    check(cusparseSpMV(m_handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, m_matrix, m_in, &zero, m_out,
                       CUDA_R_64F, CUSPARSE_SPMV_SELL_ALG1, m_buffer.data()));
  }

 private:
  static constexpr int slice = 32;

  void fill(const Matrix& a) {
    const auto ptrs = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), a.row_ptrs);
    const auto cols = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), a.col_idxs);
    const auto values = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), a.values);
    const std::int64_t slices = (a.num_rows + slice - 1) / slice;
    std::vector<std::int64_t> begin(slices + 1);
    for (std::int64_t s = 0; s < slices; ++s) {
      std::size_t width = 0;
      for (std::int64_t i = s * slice; i < std::min(a.num_rows, (s + 1) * slice); ++i)
        width = std::max(width, ptrs(i + 1) - ptrs(i));
      begin[s + 1] = begin[s] + std::int64_t(width) * slice;
    }
    if (begin[slices] > 4 * a.nnz() || begin[slices] >= (std::int64_t(1) << 31)) return;
    m_slots = begin[slices];
    std::vector<int> ptrs_32(begin.begin(), begin.end()), padded_cols(m_slots, -1);
    std::vector<double> padded_values(m_slots);
    for (std::int64_t i = 0; i < a.num_rows; ++i)
      for (std::size_t k = ptrs(i); k < ptrs(i + 1); ++k) {
        const std::int64_t place = begin[i / slice] + std::int64_t(k - ptrs(i)) * slice + i % slice;
        padded_cols[place] = cols(k);
        padded_values[place] = values(k);
      }
    m_ptrs = copied(ptrs_32);
    m_cols = copied(padded_cols);
    m_values = copied(padded_values);
  }

  template <class T>
  static Kokkos::View<T*, Kokkos::CudaSpace> copied(const std::vector<T>& from) {
    const Kokkos::View<T*, Kokkos::CudaSpace> to("copied", from.size());
    Kokkos::deep_copy(to, Kokkos::View<const T*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(
                              from.data(), from.size()));
    return to;
  }

  std::int64_t m_slots = 0;
  Kokkos::View<int*, Kokkos::CudaSpace> m_ptrs, m_cols;
  Kokkos::View<double*, Kokkos::CudaSpace> m_values;
  Kokkos::View<char*, Kokkos::CudaSpace> m_buffer;
  cusparseHandle_t m_handle{};
  cusparseSpMatDescr_t m_matrix{};
  cusparseDnVecDescr_t m_in{}, m_out{};
};

}  // namespace prekond::perf
#endif
