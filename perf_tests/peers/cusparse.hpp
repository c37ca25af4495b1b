// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// cuSPARSE's product as an operator and as an FSAI preconditioner, so that the same CG runs on it.
#ifdef KOKKOS_ENABLE_CUDA
#include <cusparse.h>
#include <prekond/core/operator.hpp>
#include <prekond/core/preconditioner.hpp>
#include <prekond/matrix/csr_matrix.hpp>

#include <memory>
#include <stdexcept>
#include <string>

namespace prekond::perf {

inline void check(cusparseStatus_t status) {
  if (status != CUSPARSE_STATUS_SUCCESS)
    throw std::runtime_error(std::string("cuSPARSE: ") + cusparseGetErrorString(status));
}

/// y = alpha A x + beta y by cusparseSpMV on a CSR matrix of doubles. The row pointers are copied into 32
/// bits, which is what cuSPARSE reads fastest; columns and values are A's own. The analysis
/// (cusparseSpMV_preprocess) is done once.
class CusparseMatrix {
 public:
  using Matrix = CsrMatrix<double, int, std::size_t, Kokkos::CudaSpace>;

  CusparseMatrix(const Kokkos::Cuda& space, const Matrix& a, cusparseSpMVAlg_t algorithm)
      : m_a(a),
        m_algorithm(algorithm),
        m_row_ptrs("row_ptrs", a.num_rows + 1),
        m_x("x", a.num_cols),
        m_y("y", a.num_rows) {
    if (a.nnz() >= (std::int64_t(1) << 31)) throw std::runtime_error("cuSPARSE: more than 2^31 entries");
    shorten(space);
    check(cusparseCreate(&m_handle));
    check(cusparseSetStream(m_handle, space.cuda_stream()));
    check(cusparseCreateCsr(&m_matrix, a.num_rows, a.num_cols, a.nnz(), m_row_ptrs.data(), a.col_idxs.data(),
                            a.values.data(), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                            CUDA_R_64F));
    check(cusparseCreateDnVec(&m_in, a.num_cols, m_x.data(), CUDA_R_64F));
    check(cusparseCreateDnVec(&m_out, a.num_rows, m_y.data(), CUDA_R_64F));
    const double one = 1, zero = 0;
    std::size_t bytes = 0;
    check(cusparseSpMV_bufferSize(m_handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, m_matrix, m_in, &zero,
                                  m_out, CUDA_R_64F, m_algorithm, &bytes));
    m_buffer = Kokkos::View<char*, Kokkos::CudaSpace>("buffer", bytes);
    check(cusparseSpMV_preprocess(m_handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, m_matrix, m_in, &zero,
                                  m_out, CUDA_R_64F, m_algorithm, m_buffer.data()));
    m_x = {};
    m_y = {};
  }
  ~CusparseMatrix() {
    cusparseDestroyDnVec(m_in);
    cusparseDestroyDnVec(m_out);
    cusparseDestroySpMat(m_matrix);
    cusparseDestroy(m_handle);
  }
  CusparseMatrix(const CusparseMatrix&) = delete;
  CusparseMatrix& operator=(const CusparseMatrix&) = delete;

  void multiply(double alpha, const double* x, double beta, double* y) const {
    check(cusparseDnVecSetValues(m_in, const_cast<double*>(x)));
    check(cusparseDnVecSetValues(m_out, y));
    check(cusparseSpMV(m_handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &alpha, m_matrix, m_in, &beta, m_out,
                       CUDA_R_64F, m_algorithm, m_buffer.data()));
  }
  const Matrix& matrix() const { return m_a; }

  struct Shorten {
    decltype(Matrix::row_ptrs) from;
    Kokkos::View<int*, Kokkos::CudaSpace> to;
    KOKKOS_FUNCTION void operator()(int i) const { to(i) = static_cast<int>(from(i)); }
  };
  void shorten(const Kokkos::Cuda& space) {
    Kokkos::parallel_for("prekond::perf::shorten",
                         Kokkos::RangePolicy<Kokkos::Cuda>(space, 0, m_row_ptrs.extent(0)),
                         Shorten{m_a.row_ptrs, m_row_ptrs});
    space.fence();
  }

 private:
  Matrix m_a;
  cusparseSpMVAlg_t m_algorithm;
  Kokkos::View<int*, Kokkos::CudaSpace> m_row_ptrs;
  Kokkos::View<double*, Kokkos::CudaSpace> m_x, m_y;
  Kokkos::View<char*, Kokkos::CudaSpace> m_buffer;
  cusparseHandle_t m_handle{};
  cusparseSpMatDescr_t m_matrix{};
  cusparseDnVecDescr_t m_in{}, m_out{};
};

/// A by cuSPARSE; p . A p is then a kernel of its own.
class CusparseOperator : public Operator<double, Kokkos::Cuda> {
 public:
  explicit CusparseOperator(std::shared_ptr<CusparseMatrix> a) : m_a(std::move(a)) {}
  std::int64_t num_rows() const override { return m_a->matrix().num_rows; }
  std::int64_t num_cols() const override { return m_a->matrix().num_cols; }
  void apply(const Kokkos::Cuda&, MultiVectorView<const double, Kokkos::Cuda> x,
             MultiVectorView<double, Kokkos::Cuda> y, double alpha, double beta) const override {
    m_a->multiply(alpha, x.data(), beta, y.data());
  }

 private:
  std::shared_ptr<CusparseMatrix> m_a;
};

/// y = G^T (G x) by cuSPARSE, for one vector.
class CusparseFactoredInverse : public Preconditioner<double, Kokkos::Cuda> {
 public:
  CusparseFactoredInverse(std::shared_ptr<CusparseMatrix> g, std::shared_ptr<CusparseMatrix> gt)
      : m_g(std::move(g)), m_gt(std::move(gt)), m_z("z", m_g->matrix().num_rows) {}
  std::string name() const override { return "cusparse"; }
  std::int64_t num_rows() const override { return m_g->matrix().num_rows; }
  bool is_symmetric() const override { return true; }
  void apply(const Kokkos::Cuda&, MultiVectorView<const double, Kokkos::Cuda> x,
             MultiVectorView<double, Kokkos::Cuda> y, Workspace&) const override {
    m_g->multiply(1, x.data(), 0, m_z.data());
    m_gt->multiply(1, m_z.data(), 0, y.data());
  }

 private:
  std::shared_ptr<CusparseMatrix> m_g, m_gt;
  Kokkos::View<double*, Kokkos::CudaSpace> m_z;
};

}  // namespace prekond::perf
#endif
