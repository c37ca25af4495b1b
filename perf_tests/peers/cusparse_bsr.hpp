// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// cuSPARSE's product with a matrix by blocks.
#ifdef KOKKOS_ENABLE_CUDA
#include <prekond/matrix/bcsr_matrix.hpp>

#include "cusparse.hpp"

namespace prekond::perf {

/// y = A x by cusparseDbsrmv, on a matrix's own columns and values. The row pointers are copied into 32 bits.
class CusparseBsr {
 public:
  using Matrix = BcsrMatrix<const double, const int, const std::size_t, Kokkos::CudaSpace>;

  CusparseBsr(const Kokkos::Cuda& space, const Matrix& a)
      : m_a(a), m_row_ptrs("row_ptrs", a.row_ptrs.extent(0)) {
    Kokkos::deep_copy(space, m_row_ptrs, a.row_ptrs);
    check(cusparseCreate(&m_handle));
    check(cusparseSetStream(m_handle, space.cuda_stream()));
    check(cusparseCreateMatDescr(&m_description));
    space.fence();
  }
  ~CusparseBsr() {
    cusparseDestroyMatDescr(m_description);
    cusparseDestroy(m_handle);
  }
  CusparseBsr(const CusparseBsr&) = delete;
  CusparseBsr& operator=(const CusparseBsr&) = delete;

  void multiply(const double* x, double* y) const {
    const double one = 1, zero = 0;
    const auto direction =
        m_a.order == BlockOrder::by_columns ? CUSPARSE_DIRECTION_COLUMN : CUSPARSE_DIRECTION_ROW;
    check(cusparseDbsrmv(m_handle, direction, CUSPARSE_OPERATION_NON_TRANSPOSE,
                         static_cast<int>(m_a.num_block_rows), static_cast<int>(m_a.num_block_cols),
                         static_cast<int>(m_a.num_blocks()), &one, m_description, m_a.values.data(),
                         m_row_ptrs.data(), m_a.col_idxs.data(), m_a.block_size, x, &zero, y));
  }

 private:
  Matrix m_a;
  Kokkos::View<int*, Kokkos::CudaSpace> m_row_ptrs;
  cusparseHandle_t m_handle;
  cusparseMatDescr_t m_description;
};

}  // namespace prekond::perf
#endif
