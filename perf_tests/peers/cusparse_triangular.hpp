// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// cuSPARSE's triangular solve with one vector.
#ifdef KOKKOS_ENABLE_CUDA
#include "peers/cusparse.hpp"

#include <prekond/pattern/level_schedule.hpp>

namespace prekond::perf {

/// y = (I + N)^-1 x by cusparseSpSV, N a strict triangle of doubles: the unit diagonal is not stored. The row
/// pointers are copied into 32 bits.
class CusparseTriangle {
 public:
  using Matrix = CusparseMatrix::Matrix;

  CusparseTriangle(const Kokkos::Cuda& space, const Matrix& n, Triangle which)
      : m_n(n), m_row_ptrs("row_ptrs", n.num_rows + 1), m_x("x", n.num_rows), m_y("y", n.num_rows) {
    if (n.nnz() >= (std::int64_t(1) << 31)) throw std::runtime_error("cuSPARSE: more than 2^31 entries");
    Kokkos::parallel_for("prekond::perf::shorten",
                         Kokkos::RangePolicy<Kokkos::Cuda>(space, 0, m_row_ptrs.extent(0)),
                         CusparseMatrix::Shorten{n.row_ptrs, m_row_ptrs});
    space.fence();
    check(cusparseCreate(&m_handle));
    check(cusparseSetStream(m_handle, space.cuda_stream()));
    check(cusparseCreateCsr(&m_matrix, n.num_rows, n.num_rows, n.nnz(), m_row_ptrs.data(), n.col_idxs.data(),
                            n.values.data(), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                            CUDA_R_64F));
    cusparseFillMode_t fill = which == Triangle::lower ? CUSPARSE_FILL_MODE_LOWER : CUSPARSE_FILL_MODE_UPPER;
    cusparseDiagType_t diagonal = CUSPARSE_DIAG_TYPE_UNIT;
    check(cusparseSpMatSetAttribute(m_matrix, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof(fill)));
    check(cusparseSpMatSetAttribute(m_matrix, CUSPARSE_SPMAT_DIAG_TYPE, &diagonal, sizeof(diagonal)));
    check(cusparseCreateDnVec(&m_in, n.num_rows, m_x.data(), CUDA_R_64F));
    check(cusparseCreateDnVec(&m_out, n.num_rows, m_y.data(), CUDA_R_64F));
    check(cusparseSpSV_createDescr(&m_solve));
    std::size_t bytes = 0;
    check(cusparseSpSV_bufferSize(m_handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &m_one, m_matrix, m_in, m_out,
                                  CUDA_R_64F, CUSPARSE_SPSV_ALG_DEFAULT, m_solve, &bytes));
    m_buffer = Kokkos::View<char*, Kokkos::CudaSpace>("buffer", bytes);
  }
  ~CusparseTriangle() {
    cusparseSpSV_destroyDescr(m_solve);
    cusparseDestroyDnVec(m_in);
    cusparseDestroyDnVec(m_out);
    cusparseDestroySpMat(m_matrix);
    cusparseDestroy(m_handle);
  }
  CusparseTriangle(const CusparseTriangle&) = delete;
  CusparseTriangle& operator=(const CusparseTriangle&) = delete;

  void analyse() const {
    check(cusparseSpSV_analysis(m_handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &m_one, m_matrix, m_in, m_out,
                                CUDA_R_64F, CUSPARSE_SPSV_ALG_DEFAULT, m_solve, m_buffer.data()));
  }
  void solve(const double* x, double* y) const {
    check(cusparseDnVecSetValues(m_in, const_cast<double*>(x)));
    check(cusparseDnVecSetValues(m_out, y));
    check(cusparseSpSV_solve(m_handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &m_one, m_matrix, m_in, m_out,
                             CUDA_R_64F, CUSPARSE_SPSV_ALG_DEFAULT, m_solve));
  }

 private:
  Matrix m_n;
  double m_one = 1;
  Kokkos::View<int*, Kokkos::CudaSpace> m_row_ptrs;
  Kokkos::View<double*, Kokkos::CudaSpace> m_x, m_y;
  Kokkos::View<char*, Kokkos::CudaSpace> m_buffer;
  cusparseHandle_t m_handle{};
  cusparseSpMatDescr_t m_matrix{};
  cusparseDnVecDescr_t m_in{}, m_out{};
  cusparseSpSVDescr_t m_solve{};
};

}  // namespace prekond::perf
#endif
